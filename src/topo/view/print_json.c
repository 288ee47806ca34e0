/* Prints routes of one machine as JSON, schema gtopo.paths/1. */
#include "topo/view/print.h"

#include "base/buf.h"
#include "base/json.h"
#include "topo/graph/path.h"

static void gt_json_pair(struct gt_buf *buf, const char *key, const char *text)
{
	gt_buf_printf(buf, ", \"%s\": ", key);
	if (text)
		gt_json_quote(buf, text);
	else
		gt_buf_puts(buf, "null");
}

static void gt_json_device(const struct gt_node *node, struct gt_buf *buf)
{
	gt_buf_puts(buf, "{\"id\": ");
	gt_json_quote(buf, node->id);
	gt_json_pair(buf, "kind", gt_node_kind_name(node->kind));
	gt_buf_printf(buf, ", \"dev\": %d", node->dev);
	if (node->bus_id)
		gt_json_pair(buf, "bus_id", node->bus_id);
	if (node->name)
		gt_json_pair(buf, "name", node->name);
	if (node->guid)
		gt_json_pair(buf, "guid", node->guid);
	if (node->port)
		gt_buf_printf(buf, ", \"port\": %d", node->port);
	if (node->rank >= 0)
		gt_buf_printf(buf, ", \"rank\": %d", node->rank);
	if (node->sm)
		gt_buf_printf(buf, ", \"sm\": %d", node->sm);
	if (node->assumed)
		gt_buf_puts(buf, ", \"assumed\": true");
	gt_buf_puts(buf, "}");
}

static void gt_json_path(const struct gt_topo *topo, const struct gt_path *path,
			 const struct gt_node *ends[2], struct gt_buf *buf)
{
	char gbs[GT_RAT_TEXT_MAX], charge[GT_RAT_TEXT_MAX];

	gt_buf_puts(buf, "{\"from\": ");
	gt_json_quote(buf, ends[0]->id);
	gt_json_pair(buf, "to", ends[1]->id);
	gt_json_pair(buf, "kind", gt_path_kind_name(path->kind));
	gt_buf_printf(buf,
		      ", \"hops\": %u, \"gbs\": \"%s\", \"bw_gbs\": %.6g, "
		      "\"charge\": \"%s\", \"links\": [",
		      path->nhops, gt_rat_print(path->gbs, gbs),
		      gt_rat_double(path->gbs),
		      gt_rat_print(path->charge, charge));
	for (uint32_t i = 0; i < path->nhops; i++) {
		gt_buf_puts(buf, i ? ", " : "");
		gt_json_quote(buf, gt_topo_link(topo, path->links[i])->id);
	}
	gt_buf_puts(buf, "]}");
}

static void gt_json_link(const struct gt_link *link, const char *separator,
			 struct gt_buf *buf)
{
	char gbs[GT_RAT_TEXT_MAX];

	gt_buf_printf(buf, "%s{\"id\": ", separator);
	gt_json_quote(buf, link->id);
	gt_json_pair(buf, "kind", gt_link_kind_name(link->kind));
	gt_json_pair(buf, "gbs", gt_rat_print(link->gbs, gbs));
	gt_buf_puts(buf, "}");
}

static void gt_json_head(const struct gt_topo *topo, enum gt_rates rates,
			 struct gt_buf *buf)
{
	gt_buf_puts(buf, "{\"schema\": \"gtopo.paths/1\"");
	gt_json_pair(buf, "source", gt_topo_source(topo));
	gt_json_pair(buf, "digest", gt_topo_digest(topo));
	gt_json_pair(buf, "shape_digest", gt_topo_shape_digest(topo));
	gt_json_pair(buf, "rates", gt_rates_name(rates));
	gt_buf_puts(buf, ",\n \"devices\": [");
}

/*
 * Returns what stands between two things of a list; nothing is before the
 * first.
 */
static const char *gt_json_comma(uint32_t i)
{
	return i ? ",\n  " : "\n  ";
}

void gt_print_paths_json(const struct gt_topo *topo,
			 const struct gt_paths *paths, enum gt_rates rates,
			 struct gt_buf *buf)
{
	uint32_t n = gt_topo_ndevices(topo), from, to, written = 0;

	gt_json_head(topo, rates, buf);
	for (uint32_t i = 0; i < n; i++) {
		gt_buf_puts(buf, gt_json_comma(i));
		gt_json_device(gt_topo_node(topo, gt_topo_device(topo, i)),
			       buf);
	}
	gt_buf_puts(buf, "],\n \"links\": [");
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		gt_json_link(gt_topo_link(topo, i), gt_json_comma(i), buf);
	gt_buf_puts(buf, "],\n \"paths\": [");
	for (uint32_t i = 0; i < n * n; i++) {
		from = gt_topo_device(topo, i / n);
		to = gt_topo_device(topo, i % n);
		if (from == to)
			continue;
		gt_buf_puts(buf, gt_json_comma(written++));
		gt_json_path(
			topo, gt_paths_get(paths, from, to),
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

	gt_json_head(topo, rates, buf);
	for (uint32_t i = 0; i < 2; i++) {
		gt_buf_puts(buf, gt_json_comma(i));
		gt_json_device(nodes[i], buf);
	}
	gt_buf_puts(buf, "],\n \"links\": [");
	for (uint32_t i = 0; i < path->nhops; i++)
		gt_json_link(gt_topo_link(topo, path->links[i]),
			     gt_json_comma(i), buf);
	gt_buf_puts(buf, "],\n \"paths\": [\n  ");
	gt_json_path(topo, path, nodes, buf);
	gt_buf_puts(buf, "]}\n");
}
