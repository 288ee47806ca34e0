/* Tells of NCCL's graph files, as text and as JSON. */
#include "cli/nccl/file.h"

#include <config.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/tint.h"
#include "topo/graph/topo.h"
#include "topo/nccl/fill.h"
#include "topo/nccl/graph_file.h"
#include "topo/nccl/load.h"
#include "topo/nccl/system.h"

/* A graph that is to be told, with its load where a machine was named. */
struct graph_told {
	const struct gt_nccl_file_request *request;
	const struct gt_nccl_file_graph *graph;
	int has_load;
	struct gt_nccl_load load;
};

static const char *load_link(const struct graph_told *told)
{
	const struct gt_nccl_links *links =
		gt_nccl_system_facts(told->request->system)->links;

	return gt_topo_link(links->topo, told->load.link)->id;
}

static int same_channel(const struct gt_nccl_file_channel *a,
			const struct gt_nccl_file_channel *b)
{
	return a->net_first == b->net_first && a->net_last == b->net_last &&
	       !memcmp(a->gpus, b->gpus, a->ngpus * sizeof(*a->gpus));
}

static void print_channels(const struct gt_nccl_file_graph *graph,
			   struct gt_buf *out)
{
	const struct gt_nccl_file_channel *channel;
	uint32_t times;

	for (uint32_t i = 0; i < graph->nchannels; i += times) {
		channel = &graph->channels[i];
		for (times = 1; i + times < graph->nchannels; times++)
			if (!same_channel(channel, &graph->channels[i + times]))
				break;
		gt_buf_printf(out, "        %2u x ", times);
		if (channel->net_first >= 0)
			gt_buf_printf(out, " NET%lld",
				      (long long)channel->net_first);
		for (uint32_t g = 0; g < channel->ngpus; g++)
			gt_buf_printf(out, " %u", channel->gpus[g]);
		if (channel->net_last >= 0)
			gt_buf_printf(out, " NET%lld",
				      (long long)channel->net_last);
		gt_buf_puts(out, "\n");
	}
}

static void print_graph(const struct graph_told *told, struct gt_buf *out)
{
	const struct gt_nccl_file_graph *graph = told->graph;
	const char *name = gt_nccl_graph_name(graph->id);
	int width = strlen(name) < 8 ? (int)(8 - strlen(name)) : 1;

	gt_tint_put(out, told->request->colour, GT_TINT_BOLD, name);
	gt_buf_printf(out, "%*s%u channel%s", width, "", graph->nchannels,
		      gt_plural(graph->nchannels));
	if (!graph->nchannels) {
		gt_buf_puts(out, "\n");
		return;
	}
	gt_buf_printf(out, " of %g GB/s, %g together, over %s",
		      graph->intra_gbs, graph->intra_gbs * graph->nchannels,
		      gt_path_kind_name(graph->intra));
	if (graph->channels[0].net_first >= 0)
		gt_buf_printf(out, "; %g GB/s between machines, over %s",
			      graph->inter_gbs,
			      gt_path_kind_name(graph->inter));
	gt_buf_puts(out, "\n");
	print_channels(graph, out);
	if (!told->has_load || told->load.link == GT_NONE)
		return;
	gt_buf_printf(out,
		      "        %s: link '%s' carries %.4g %% of its width\n",
		      told->load.part > 1 + 1e-6 ? "too much" : "fits",
		      load_link(told), 100 * told->load.part);
}

static void put_channels(struct gt_json_writer *json,
			 const struct gt_nccl_file_graph *graph)
{
	gt_json_open_array(json, "orders", GT_JSON_LINES);
	for (uint32_t c = 0; c < graph->nchannels; c++) {
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t g = 0; g < graph->channels[c].ngpus; g++)
			gt_json_put_int(json, NULL, graph->channels[c].gpus[g]);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_graph(struct gt_json_writer *json,
		      const struct graph_told *told)
{
	const struct gt_nccl_file_graph *graph = told->graph;

	gt_json_open_object(json, NULL, GT_JSON_LINES);
	gt_json_put_text(json, "graph", gt_nccl_graph_name(graph->id));
	gt_json_put_int(json, "pattern", graph->pattern);
	gt_json_put_int(json, "channels", graph->nchannels);
	gt_json_put_double(json, "channel_gbs", "%.6g", graph->intra_gbs);
	gt_json_put_double(json, "gbs", "%.6g",
			   graph->intra_gbs * graph->nchannels);
	gt_json_put_double(json, "inter_gbs", "%.6g", graph->inter_gbs);
	gt_json_put_text(json, "kind", gt_path_kind_name(graph->intra));
	gt_json_put_text(json, "inter_kind", gt_path_kind_name(graph->inter));
	gt_json_put_bool(json, "alike", graph->same);
	if (told->has_load && told->load.link != GT_NONE) {
		gt_json_put_text(json, "fullest_link", load_link(told));
		gt_json_put_double(json, "fullest_part", "%.6g",
				   told->load.part);
	}
	put_channels(json, graph);
	gt_json_end(json);
}

/* Rings and trees within a machine load its links; the others' ways vary. */
static int find_load(struct graph_told *told, struct gt_err *err)
{
	const struct gt_nccl_file_graph *graph = told->graph;
	int closed = graph->pattern == GT_NCCL_RING;
	int inside = graph->nchannels && graph->channels[0].net_first < 0;

	if (!told->request->system || !inside || graph->id > GT_NCCL_GRAPH_TREE)
		return GT_OK;
	told->has_load = 1;
	return gt_nccl_load_find(told->request->system, graph, closed,
				 &told->load, err);
}

int gt_nccl_file_tell(const struct gt_xml *xml,
		      const struct gt_nccl_file_request *request,
		      struct gt_arena *arena, struct gt_buf *out,
		      struct gt_err *err)
{
	struct gt_json_writer json;
	struct gt_nccl_file file;
	int rc = gt_nccl_file_read(xml, arena, &file, err);

	if (rc)
		return rc;
	gt_json_begin(&json, out);
	if (request->json) {
		gt_json_open_object(&json, NULL, GT_JSON_LINES);
		gt_json_put_text(&json, "schema", "gtopo.nccl-graph/1");
		gt_json_put_text(&json, "gtopo", PACKAGE_VERSION);
		gt_json_put_text(&json, "file", request->name);
		gt_json_open_array(&json, "graphs", GT_JSON_LINES);
	} else {
		gt_buf_put_plain(out, request->name);
		gt_buf_printf(out, ": %u graph%s of NCCL\n", file.ngraphs,
			      gt_plural(file.ngraphs));
	}
	for (uint32_t i = 0; i < file.ngraphs && !rc; i++) {
		struct graph_told told = {.request = request,
					  .graph = &file.graphs[i]};

		rc = find_load(&told, err);
		if (!rc && request->json)
			put_graph(&json, &told);
		else if (!rc)
			print_graph(&told, out);
	}
	if (request->json) {
		gt_json_end(&json);
		gt_json_end(&json);
		gt_buf_puts(out, "\n");
	}
	return rc;
}
