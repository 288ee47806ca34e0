/* The GPUs of several nodes that were picked, in each format. */
#include "cli/pick/print.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "search/pick/several.h"
#include "topo/cluster/cluster.h"

enum { NAME_MAX_BYTES = 512 };

static const struct gt_topo *topo_of(const struct gt_cluster *cluster,
				     const struct gt_picked_node *node)
{
	return gt_cluster_kind_of(cluster, node->node)->topo;
}

/* Print the numbers that the driver's library gives a node's GPUs: "0,3". */
static void print_numbers(const struct gt_cluster *cluster,
			  const struct gt_picked_node *node, struct gt_buf *out)
{
	const struct gt_topo *topo = topo_of(cluster, node);
	const char *comma = "";

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++)
		if (node->gpus >> i & 1) {
			gt_buf_printf(
				out, "%s%d", comma,
				gt_topo_node(topo, gt_topo_gpu(topo, i))->dev);
			comma = ",";
		}
}

void gt_pick_several_print(const struct gt_cluster *cluster,
			   const struct gt_pick_several *pick,
			   struct gt_buf *out)
{
	char name[NAME_MAX_BYTES];

	gt_buf_printf(
		out,
		"%u GPU%s on %u node%s, the best of %" PRIu64 " choice%s\n",
		pick->n, gt_plural(pick->n), pick->nnodes,
		gt_plural(pick->nnodes), pick->nways, gt_plural(pick->nways));
	if (pick->n > 1)
		gt_buf_printf(out,
			      "proved    no all-reduce over %s exceeds %g "
			      "GB/s busbw\n",
			      pick->nnodes > 1 ? "their nearest ports" : "them",
			      gt_rat_double(pick->gbs));
	if (gt_rat_cmp(pick->first_gbs, pick->gbs) < 0)
		gt_buf_printf(out,
			      "by number the first %u reach at most %g GB/s\n",
			      pick->n, gt_rat_double(pick->first_gbs));
	gt_buf_puts(out, "\nnode                 GPUs\n");
	for (uint32_t i = 0; i < pick->nnodes; i++) {
		gt_cluster_node_name(cluster, pick->nodes[i].node, name,
				     sizeof(name));
		gt_buf_printf(out, "%-20s ", name);
		print_numbers(cluster, &pick->nodes[i], out);
		gt_buf_puts(out, "\n");
	}
}

void gt_pick_several_print_cuda(const struct gt_cluster *cluster,
				const struct gt_pick_several *pick,
				struct gt_buf *out)
{
	char name[NAME_MAX_BYTES];

	for (uint32_t i = 0; i < pick->nnodes; i++) {
		gt_cluster_node_name(cluster, pick->nodes[i].node, name,
				     sizeof(name));
		gt_buf_printf(out,
			      "%s CUDA_DEVICE_ORDER=PCI_BUS_ID "
			      "CUDA_VISIBLE_DEVICES=",
			      name);
		print_numbers(cluster, &pick->nodes[i], out);
		gt_buf_puts(out, "\n");
	}
}

int gt_pick_several_print_slurm(const struct gt_cluster *cluster,
				const struct gt_pick_several *pick,
				struct gt_buf *out, struct gt_err *err)
{
	char name[NAME_MAX_BYTES];

	for (uint32_t i = 1; i < pick->nnodes; i++)
		if (pick->nodes[i].gpus != pick->nodes[0].gpus)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "nodes have different GPUs, which "
					  "--gpu-bind cannot say; take --to "
					  "json");
	gt_buf_puts(out, "--nodelist=");
	for (uint32_t i = 0; i < pick->nnodes; i++) {
		gt_cluster_node_name(cluster, pick->nodes[i].node, name,
				     sizeof(name));
		gt_buf_printf(out, "%s%s", i ? "," : "", name);
	}
	gt_buf_puts(out, " --gpu-bind=map_gpu:");
	print_numbers(cluster, &pick->nodes[0], out);
	gt_buf_puts(out, "\n");
	return GT_OK;
}

static void put_rate(struct gt_json_writer *json, const char *exact,
		     const char *rounded, struct gt_rat gbs)
{
	char text[GT_RAT_TEXT_MAX];

	gt_json_put_text(json, exact, gt_rat_print(gbs, text));
	gt_json_put_double(json, rounded, "%.6g", gt_rat_double(gbs));
}

static void put_node(const struct gt_cluster *cluster,
		     const struct gt_picked_node *node,
		     struct gt_json_writer *json)
{
	const struct gt_topo *topo = topo_of(cluster, node);
	char name[NAME_MAX_BYTES];

	gt_cluster_node_name(cluster, node->node, name, sizeof(name));
	gt_json_open_object(json, NULL, GT_JSON_LINES);
	gt_json_put_text(json, "node", name);
	gt_json_open_array(json, "gpus", GT_JSON_LINES);
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, gt_topo_gpu(topo, i));

		if (!(node->gpus >> i & 1))
			continue;
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "id", gpu->id);
		gt_json_put_int(json, "dev", gpu->dev);
		if (gpu->bus_id)
			gt_json_put_text(json, "bus_id", gpu->bus_id);
		gt_json_end(json);
	}
	gt_json_end(json);
	gt_json_end(json);
}

void gt_pick_several_print_json(const struct gt_cluster *cluster,
				enum gt_rates rates,
				const struct gt_pick_several *pick,
				struct gt_buf *out)
{
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.pick/1");
	gt_json_put_text(&json, "source", cluster->source);
	gt_json_put_text(&json, "rates", gt_rates_name(rates));
	gt_json_put_int(&json, "choices", (int64_t)pick->nways);
	gt_json_put_bool(&json, "complete", pick->complete);
	put_rate(&json, "gbs", "bw_gbs", pick->gbs);
	put_rate(&json, "first_gbs", "first_bw_gbs", pick->first_gbs);
	put_rate(&json, "net_gbs", "net_bw_gbs", pick->net_gbs);
	gt_json_open_array(&json, "nodes", GT_JSON_LINES);
	for (uint32_t i = 0; i < pick->nnodes; i++)
		put_node(cluster, &pick->nodes[i], &json);
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
