/*
 * Prints one route link by link, and the links that most pairs of GPUs share.
 */
#include "topo/view/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "topo/graph/name.h"
#include "topo/graph/path.h"
#include "topo/view/show_text.h"

/* Writes who a node is: "GPU0 0000:1b:00.0", "NUMA 0". */
static void gt_route_name(const struct gt_node *node, char *text, size_t size)
{
	char label[64];

	gt_show_label(node, label, sizeof(label));
	snprintf(text, size, "%s%s%s", label, node->bus_id ? " " : "",
		 node->bus_id ? node->bus_id : "");
}

/* Is this the name of the card that the port is on? */
static int is_card_of(const struct gt_topo *topo, const struct gt_node *port,
		      const char *name)
{
	return port->kind == GT_NODE_NET && port->up != GT_NONE &&
	       gt_node_is_called(gt_topo_node(topo, port->up), name);
}

int gt_print_find_device(const struct gt_topo *topo, const char *name,
			 uint32_t *device)
{
	char label[64];

	for (uint32_t i = 0; i < gt_topo_ndevices(topo); i++) {
		uint32_t index = gt_topo_device(topo, i);
		const struct gt_node *node = gt_topo_node(topo, index);

		gt_show_label(node, label, sizeof(label));
		if (!strcasecmp(label, name) || gt_node_is_called(node, name) ||
		    is_card_of(topo, node, name)) {
			*device = index;
			return 1;
		}
	}
	return 0;
}

/* Returns what one transfer on the route gets of a link. */
static double gt_route_gbs(const struct gt_path *path,
			   const struct gt_link *link)
{
	return gt_rat_double(link->gbs) /
	       (link->kind == GT_LINK_PCI ? gt_rat_double(path->charge) : 1);
}

static void gt_route_link(const struct gt_topo *topo,
			  const struct gt_path *path, uint32_t hop,
			  struct gt_buf *buf)
{
	const struct gt_link *link = gt_topo_link(topo, path->links[hop]);
	double gbs = gt_route_gbs(path, link);
	int narrowest = gbs <= gt_rat_double(path->gbs) * (1 + 1e-9);
	char from[96], to[96], count[16] = "";

	gt_route_name(gt_topo_node(topo, link->from), from, sizeof(from));
	gt_route_name(gt_topo_node(topo, link->to), to, sizeof(to));
	if (link->count)
		snprintf(count, sizeof(count), "x%u", link->count);
	gt_buf_printf(buf, "%-22s > %-22s %-4s%-4s", from, to,
		      gt_link_kind_name(link->kind), count);
	if (gbs < 5000)
		gt_buf_printf(buf, "%8.4g GB/s%s", gbs,
			      narrowest ? "  narrowest" : "");
	else
		gt_buf_puts(buf, "   local");
	gt_buf_puts(buf, "\n");
}

/* Says in which memory bytes wait; none if there is no route. */
static void gt_route_memory(const struct gt_topo *topo,
			    const struct gt_path *path, struct gt_buf *buf)
{
	char memory[96] = "the host's memory";

	for (uint32_t i = 0; i < path->nhops; i++) {
		const struct gt_link *link = gt_topo_link(topo, path->links[i]);

		if (link->kind == GT_LINK_MEM)
			snprintf(memory, sizeof(memory),
				 "the memory of NUMA %d",
				 gt_topo_node(topo, link->from)->dev);
	}
	gt_buf_printf(buf,
		      "The two have no peer access (gt_p2p): bytes wait in "
		      "%s.\n",
		      memory);
}

/*
 * Says why two GPUs have no peer access, and what their route would be if they
 * had.
 */
static void gt_route_staged(const struct gt_topo *topo, const uint32_t ends[2],
			    const struct gt_path *path, struct gt_buf *buf)
{
	const char *why = gt_topo_node(topo, ends[0])->peer_cause;
	const struct gt_path *open;
	struct gt_paths *paths;
	struct gt_err none;

	if (!why)
		why = gt_topo_node(topo, ends[1])->peer_cause;
	gt_route_memory(topo, path, buf);
	if (why)
		gt_buf_printf(buf, "Most likely, %s.\n", why);
	gt_err_init(&none);
	if (gt_paths_new_open(topo, &paths, &none)) {
		buf->failed = 1;
		return;
	}
	open = gt_paths_get(paths, ends[0], ends[1]);
	if (open->kind < GT_PATH_DIS)
		gt_buf_printf(
			buf,
			"With access it would be %s, %u link%s, %.4g GB/s "
			"one way.\n",
			gt_path_kind_name(open->kind), open->nhops,
			gt_plural(open->nhops), gt_rat_double(open->gbs));
	gt_paths_free(paths);
}

void gt_print_route(const struct gt_topo *topo, const struct gt_path *path,
		    const uint32_t ends[2], struct gt_buf *buf)
{
	char from[64], to[64];

	gt_show_label(gt_topo_node(topo, ends[0]), from, sizeof(from));
	gt_show_label(gt_topo_node(topo, ends[1]), to, sizeof(to));
	if (path->kind == GT_PATH_DIS) {
		gt_buf_printf(buf, "%s to %s: not connected\n", from, to);
		return;
	}
	gt_buf_printf(buf, "%s to %s: %s, %u link%s, %.4g GB/s one way: %s\n",
		      from, to, gt_path_kind_name(path->kind), path->nhops,
		      gt_plural(path->nhops), gt_rat_double(path->gbs),
		      gt_print_kind_meaning(topo, path->kind));
	for (uint32_t hop = 0; hop < path->nhops; hop++)
		gt_route_link(topo, path, hop, buf);
	if (path->is_staged)
		gt_route_staged(topo, ends, path, buf);
	if (path->charge.num != path->charge.den)
		gt_buf_puts(buf, "PCI links count 5/6 of what they carry: the "
				 "host bridge is Intel's.\n");
}

/*
 * A load is a link, the number of pairs that cross it, and what each then gets.
 */
struct gt_load {
	uint32_t link, pairs;
	double charge; /* summed over all pairs */
	double each;
	int both; /* whether it stands for its reverse, too */
};

static int gt_load_cmp(const void *left, const void *right)
{
	const struct gt_load *a = left, *b = right;

	if (a->each < b->each || a->each > b->each)
		return a->each < b->each ? -1 : 1;
	return a->link < b->link ? -1 : a->link > b->link;
}

static void gt_load_count(const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_load *loads)
{
	uint32_t n = gt_topo_ngpus(topo);
	const struct gt_path *path;

	for (uint32_t i = 0; i < n * n; i++) {
		if (i / n == i % n)
			continue;
		path = gt_paths_get(paths, gt_topo_gpu(topo, i / n),
				    gt_topo_gpu(topo, i % n));
		for (uint32_t hop = 0; hop < path->nhops; hop++) {
			struct gt_load *load = &loads[path->links[hop]];
			const struct gt_link *link =
				gt_topo_link(topo, path->links[hop]);

			load->pairs++;
			load->charge += link->kind == GT_LINK_PCI
						? gt_rat_double(path->charge)
						: 1;
		}
	}
}

/* Most links carry as much each way: then one line tells of both. */
static void gt_load_fold(const struct gt_topo *topo, struct gt_load *loads,
			 uint32_t i)
{
	const struct gt_link *link = gt_topo_link(topo, loads[i].link), *other;

	for (uint32_t j = i + 1; j < gt_topo_nlinks(topo); j++) {
		other = gt_topo_link(topo, loads[j].link);
		if (loads[j].each > loads[i].each)
			return;
		if (other->from != link->to || other->to != link->from ||
		    other->kind != link->kind || !loads[j].pairs ||
		    loads[j].pairs != loads[i].pairs)
			continue;
		loads[i].both = 1;
		loads[j].pairs = 0;
		return;
	}
}

static void gt_load_print(const struct gt_topo *topo,
			  const struct gt_load *load, struct gt_buf *buf)
{
	const struct gt_link *link = gt_topo_link(topo, load->link);
	char from[96], to[96];

	gt_route_name(gt_topo_node(topo, link->from), from, sizeof(from));
	gt_route_name(gt_topo_node(topo, link->to), to, sizeof(to));
	gt_buf_printf(buf, "%8.4g%10.4g%8u  %-5s%s %s %s\n", load->each,
		      gt_rat_double(link->gbs), load->pairs,
		      gt_link_kind_name(link->kind), from,
		      load->both ? "<>" : ">", to);
}

/*
 * Returns the links that several pairs share, the scarcest first, in memory
 * that is the caller's; NULL when it ran out.
 */
static struct gt_load *gt_load_list(const struct gt_topo *topo,
				    const struct gt_paths *paths,
				    uint32_t *shared)
{
	uint32_t n = gt_topo_nlinks(topo);
	struct gt_load *loads = calloc(n + 1, sizeof(*loads));

	*shared = 0;
	if (!loads)
		return NULL;
	gt_load_count(topo, paths, loads);
	for (uint32_t i = 0; i < n; i++) {
		loads[i].link = i;
		loads[i].each = gt_rat_double(gt_topo_link(topo, i)->gbs) /
				(loads[i].pairs ? loads[i].charge : 1e-9);
	}
	qsort(loads, n, sizeof(*loads), gt_load_cmp);
	for (uint32_t i = 0; i < n; i++) {
		if (loads[i].pairs < 2)
			continue;
		gt_load_fold(topo, loads, i);
		loads[(*shared)++] = loads[i];
	}
	return loads;
}

void gt_print_bottlenecks(const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_buf *buf)
{
	uint32_t shared;
	struct gt_load *loads = gt_load_list(topo, paths, &shared);

	if (!loads) {
		buf->failed = 1;
		return;
	}
	gt_buf_puts(buf,
		    "Links that more than one pair of GPUs uses, by what each "
		    "pair gets when all\nsend at once (GB/s, one way):\n\n"
		    "    each      GB/s   pairs  kind link\n");
	for (uint32_t i = 0; i < shared; i++)
		gt_load_print(topo, &loads[i], buf);
	if (!shared)
		gt_buf_puts(buf, "    none\n");
	free(loads);
}

static void gt_load_put(const struct gt_topo *topo, const struct gt_load *load,
			struct gt_json_writer *json)
{
	const struct gt_link *link = gt_topo_link(topo, load->link);
	char from[96], to[96];

	gt_route_name(gt_topo_node(topo, link->from), from, sizeof(from));
	gt_route_name(gt_topo_node(topo, link->to), to, sizeof(to));
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_double(json, "each_gbs", "%.6g", load->each);
	gt_json_put_double(json, "bw_gbs", "%.6g", gt_rat_double(link->gbs));
	gt_json_put_int(json, "pairs", load->pairs);
	gt_json_put_text(json, "kind", gt_link_kind_name(link->kind));
	gt_json_put_text(json, "link", link->id);
	gt_json_put_text(json, "from", from);
	gt_json_put_text(json, "to", to);
	gt_json_put_bool(json, "both", load->both);
	gt_json_end(json);
}

void gt_print_bottlenecks_json(const struct gt_topo *topo,
			       const struct gt_paths *paths, struct gt_buf *buf)
{
	struct gt_json_writer json;
	uint32_t shared;
	struct gt_load *loads = gt_load_list(topo, paths, &shared);

	if (!loads) {
		buf->failed = 1;
		return;
	}
	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.bottlenecks/1");
	gt_json_open_array(&json, "bottlenecks", GT_JSON_LINES);
	for (uint32_t i = 0; i < shared; i++)
		gt_load_put(topo, &loads[i], &json);
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(buf, "\n");
	free(loads);
}
