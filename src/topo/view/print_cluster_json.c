/* Prints routes between two nodes of a cluster as JSON. */
#include "topo/view/print.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "topo/cluster/internode.h"

enum { GT_NAME_TEXT = 512 };

static const char *id_of(const struct gt_cluster_kind *kind, uint32_t node)
{
	return gt_topo_node(kind->topo, node)->id;
}

static void print_route(const struct gt_internode *internode,
			const uint32_t gpus[2], struct gt_buf *buf)
{
	const struct gt_cluster_kind *const *kinds = internode->kinds;
	struct gt_cluster_route route;
	struct gt_json_writer json;
	char gbs[GT_RAT_TEXT_MAX];

	gt_internode_route(internode, gpus, &route);
	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "from", id_of(kinds[0], gpus[0]));
	gt_json_put_text(&json, "to", id_of(kinds[1], gpus[1]));
	gt_json_put_text(&json, "kind", gt_path_kind_name(route.kind));
	if (route.kind != GT_PATH_DIS) {
		gt_json_put_text(&json, "over",
				 gt_fabric_kind_name(route.over));
		gt_json_put_text(&json, "gbs", gt_rat_print(route.gbs, gbs));
		gt_json_put_double(&json, "bw_gbs", "%.6g",
				   gt_rat_double(route.gbs));
		gt_json_open_array(&json, "ports", GT_JSON_FLAT);
		for (int i = 0; i < 2; i++)
			gt_json_put_text(
				&json, NULL,
				id_of(kinds[i], kinds[i]->ports[route.over]
							.list[route.ports[i]]
							.device));
		gt_json_end(&json);
	}
	gt_json_end(&json);
}

/*
 * Begins the object of two nodes.  Its routes have a line each, which is a
 * layout of its own, so their brackets are written as text.
 */
static void print_head(const struct gt_internode *internode, struct gt_buf *buf)
{
	static const char *const keys[2][2] = {{"from", "from_kind"},
					       {"to", "to_kind"}};
	struct gt_json_writer json;
	char name[GT_NAME_TEXT];

	gt_json_begin(&json, buf);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	for (int i = 0; i < 2; i++) {
		gt_cluster_node_name(internode->cluster, internode->nodes[i],
				     name, sizeof(name));
		gt_json_put_text(&json, keys[i][0], name);
		gt_json_put_text(&json, keys[i][1], internode->kinds[i]->name);
	}
	gt_buf_puts(buf, ", \"routes\": [");
}

void gt_internode_print_json(const struct gt_internode *internode,
			     const uint32_t *gpus, struct gt_buf *buf)
{
	const struct gt_topo *from = internode->kinds[0]->topo;
	const struct gt_topo *to = internode->kinds[1]->topo;
	uint32_t n = gt_topo_ngpus(to), pair[2];

	print_head(internode, buf);
	if (gpus) {
		gt_buf_puts(buf, "\n   ");
		print_route(internode, gpus, buf);
	}
	for (uint32_t i = 0; !gpus && i < gt_topo_ngpus(from) * n; i++) {
		pair[0] = gt_topo_gpu(from, i / n);
		pair[1] = gt_topo_gpu(to, i % n);
		gt_buf_puts(buf, i ? ",\n   " : "\n   ");
		print_route(internode, pair, buf);
	}
	gt_buf_puts(buf, "]}");
}
