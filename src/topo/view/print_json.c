/*
 * Prints one machine as JSON: its graph, schema gtopo.machine/1, or its routes,
 * schema gtopo.paths/1.
 */
#include "topo/view/print.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "topo/graph/path.h"
#include "topo/view/show_text.h"

/* Writes a text that may be unknown. */
static void put_known(struct gt_json_writer *json, const char *key,
		      const char *text)
{
	if (text)
		gt_json_put_text(json, key, text);
	else
		gt_json_put_null(json, key);
}

/* Leaves the node's object open, so that more can be put into it. */
static void begin_node(const struct gt_node *node, struct gt_json_writer *out,
		       struct gt_buf *buf)
{
	struct gt_json_writer json;

	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "id", node->id);
	gt_json_put_text(&json, "kind", gt_node_kind_name(node->kind));
	gt_json_put_int(&json, "dev", node->dev);
	if (node->bus_id)
		gt_json_put_text(&json, "bus_id", node->bus_id);
	if (node->name)
		gt_json_put_text(&json, "name", node->name);
	if (node->guid)
		gt_json_put_text(&json, "guid", node->guid);
	if (node->port)
		gt_json_put_int(&json, "port", node->port);
	if (node->rank >= 0)
		gt_json_put_int(&json, "rank", node->rank);
	if (node->sm)
		gt_json_put_int(&json, "sm", node->sm);
	if (node->assumed)
		gt_json_put_bool(&json, "assumed", 1);
	*out = json;
}

static void print_device(const struct gt_node *node, struct gt_buf *buf)
{
	struct gt_json_writer json;

	begin_node(node, &json, buf);
	gt_json_end(&json);
}

/* Writes what a PCI function is: its model, its link, its slot. */
static void put_pci(const struct gt_node *node, struct gt_json_writer *json)
{
	char text[128] = "";

	if (!node->pci)
		return;
	gt_show_model(node, text, sizeof(text));
	if (*text)
		gt_json_put_text(json, "model", text);
	gt_show_rate(node->pci->link, text, sizeof(text));
	gt_json_put_text(json, "pcie", text);
	if (node->pci->slot)
		gt_json_put_text(json, "slot", node->pci->slot);
}

/* Writes a node with what it hangs on and what people are told of it. */
static void print_node(const struct gt_topo *topo, const struct gt_node *node,
		       struct gt_buf *buf)
{
	struct gt_json_writer json;

	begin_node(node, &json, buf);
	if (node->up != GT_NONE)
		gt_json_put_text(&json, "up", gt_topo_node(topo, node->up)->id);
	if (node->affinity)
		gt_json_put_text(&json, "affinity", node->affinity);
	if (node->kind == GT_NODE_NET && node->rail >= 0)
		gt_json_put_int(&json, "rail", node->rail);
	put_pci(node, &json);
	if (node->facts)
		gt_json_put_text(&json, "facts", node->facts);
	if (node->problem)
		gt_json_put_text(&json, "problem", node->problem);
	gt_json_end(&json);
}

static void print_path(const struct gt_topo *topo, const struct gt_path *path,
		       const struct gt_node *ends[2], struct gt_buf *buf)
{
	struct gt_json_writer json;
	char text[GT_RAT_TEXT_MAX];

	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "from", ends[0]->id);
	gt_json_put_text(&json, "to", ends[1]->id);
	gt_json_put_text(&json, "kind", gt_path_kind_name(path->kind));
	gt_json_put_int(&json, "hops", path->nhops);
	gt_json_put_text(&json, "gbs", gt_rat_print(path->gbs, text));
	gt_json_put_double(&json, "bw_gbs", "%.6g", gt_rat_double(path->gbs));
	gt_json_put_text(&json, "charge", gt_rat_print(path->charge, text));
	gt_json_open_array(&json, "links", GT_JSON_FLAT);
	for (uint32_t i = 0; i < path->nhops; i++)
		gt_json_put_text(&json, NULL,
				 gt_topo_link(topo, path->links[i])->id);
	gt_json_end(&json);
	gt_json_end(&json);
}

/* With a topology the link's ends are written, too. */
static void print_link(const struct gt_topo *topo, const struct gt_link *link,
		       struct gt_buf *buf)
{
	struct gt_json_writer json;
	char gbs[GT_RAT_TEXT_MAX];

	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "id", link->id);
	gt_json_put_text(&json, "kind", gt_link_kind_name(link->kind));
	if (topo) {
		gt_json_put_text(&json, "from",
				 gt_topo_node(topo, link->from)->id);
		gt_json_put_text(&json, "to", gt_topo_node(topo, link->to)->id);
		if (link->count)
			gt_json_put_int(&json, "count", link->count);
	}
	gt_json_put_text(&json, "gbs", gt_rat_print(link->gbs, gbs));
	gt_json_put_double(&json, "bw_gbs", "%.6g", gt_rat_double(link->gbs));
	gt_json_end(&json);
}

/*
 * Begins the document.  Its three lists have a line for each item, which is a
 * layout of its own, so their brackets are written as text.
 */
static void print_head(const struct gt_topo *topo, const char *schema,
		       enum gt_rates rates, struct gt_buf *buf)
{
	struct gt_json_writer json;

	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "schema", schema);
	put_known(&json, "source", gt_topo_source(topo));
	put_known(&json, "digest", gt_topo_digest(topo));
	put_known(&json, "shape_digest", gt_topo_shape_digest(topo));
	gt_json_put_text(&json, "rates", gt_rates_name(rates));
}

/*
 * Returns what stands between two things of a list; nothing is before the
 * first.
 */
static const char *comma(uint32_t i)
{
	return i ? ",\n  " : "\n  ";
}

static void print_head_of_paths(const struct gt_topo *topo, enum gt_rates rates,
				struct gt_buf *buf)
{
	print_head(topo, "gtopo.paths/1", rates, buf);
	gt_buf_puts(buf, ",\n \"devices\": [");
}

void gt_print_topo_json(const struct gt_topo *topo, enum gt_rates rates,
			struct gt_buf *buf)
{
	print_head(topo, "gtopo.machine/1", rates, buf);
	gt_buf_puts(buf, ",\n \"nodes\": [");
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		gt_buf_puts(buf, comma(i));
		print_node(topo, gt_topo_node(topo, i), buf);
	}
	gt_buf_puts(buf, "],\n \"links\": [");
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		gt_buf_puts(buf, comma(i));
		print_link(topo, gt_topo_link(topo, i), buf);
	}
	gt_buf_puts(buf, "]}\n");
}

void gt_print_paths_json(const struct gt_topo *topo,
			 const struct gt_paths *paths, enum gt_rates rates,
			 struct gt_buf *buf)
{
	uint32_t n = gt_topo_ndevices(topo), from, to, written = 0;

	print_head_of_paths(topo, rates, buf);
	for (uint32_t i = 0; i < n; i++) {
		gt_buf_puts(buf, comma(i));
		print_device(gt_topo_node(topo, gt_topo_device(topo, i)), buf);
	}
	gt_buf_puts(buf, "],\n \"links\": [");
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		gt_buf_puts(buf, comma(i));
		print_link(NULL, gt_topo_link(topo, i), buf);
	}
	gt_buf_puts(buf, "],\n \"paths\": [");
	for (uint32_t i = 0; i < n * n; i++) {
		from = gt_topo_device(topo, i / n);
		to = gt_topo_device(topo, i % n);
		if (from == to)
			continue;
		gt_buf_puts(buf, comma(written++));
		print_path(topo, gt_paths_get(paths, from, to),
			   (const struct gt_node *[]){gt_topo_node(topo, from),
						      gt_topo_node(topo, to)},
			   buf);
	}
	gt_buf_puts(buf, "]}\n");
}

void gt_print_route_json(const struct gt_topo *topo, const struct gt_path *path,
			 const uint32_t ends[2], enum gt_rates rates,
			 struct gt_buf *buf)
{
	const struct gt_node *nodes[] = {gt_topo_node(topo, ends[0]),
					 gt_topo_node(topo, ends[1])};

	print_head_of_paths(topo, rates, buf);
	for (uint32_t i = 0; i < 2; i++) {
		gt_buf_puts(buf, comma(i));
		print_device(nodes[i], buf);
	}
	gt_buf_puts(buf, "],\n \"links\": [");
	for (uint32_t i = 0; i < path->nhops; i++) {
		gt_buf_puts(buf, comma(i));
		print_link(NULL, gt_topo_link(topo, path->links[i]), buf);
	}
	gt_buf_puts(buf, "],\n \"paths\": [\n  ");
	print_path(topo, path, nodes, buf);
	gt_buf_puts(buf, "]}\n");
}
