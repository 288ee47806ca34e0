/* Prints routes between two nodes of a cluster as JSON. */
#include "topo/view/print_cluster.h"

#include "base/buf.h"
#include "base/json.h"
#include "topo/cluster/internode.h"

enum { GT_NAME_TEXT = 512 };

static void gt_internode_text(struct gt_buf *buf, const char *before,
			      const char *key, const char *text)
{
	gt_buf_printf(buf, "%s\"%s\": ", before, key);
	gt_json_quote(buf, text);
}

static const char *gt_internode_id(const struct gt_cluster_kind *kind,
				   uint32_t node)
{
	return gt_topo_node(kind->topo, node)->id;
}

static void gt_internode_json_route(const struct gt_internode *internode,
				    const uint32_t gpus[2], struct gt_buf *buf)
{
	const struct gt_cluster_kind *const *kinds = internode->kinds;
	struct gt_cluster_route route;
	char gbs[GT_RAT_TEXT_MAX];

	gt_internode_route(internode, gpus, &route);
	gt_internode_text(buf, "{", "from", gt_internode_id(kinds[0], gpus[0]));
	gt_internode_text(buf, ", ", "to", gt_internode_id(kinds[1], gpus[1]));
	gt_internode_text(buf, ", ", "kind", gt_path_kind_name(route.kind));
	if (route.kind != GT_PATH_DIS) {
		gt_internode_text(buf, ", ", "over",
				  gt_fabric_kind_name(route.over));
		gt_buf_printf(buf, ", \"gbs\": \"%s\", \"bw_gbs\": %.6g",
			      gt_rat_print(route.gbs, gbs),
			      gt_rat_double(route.gbs));
		gt_buf_puts(buf, ", \"ports\": [");
		for (int i = 0; i < 2; i++) {
			gt_buf_puts(buf, i ? ", " : "");
			gt_json_quote(buf, gt_internode_id(
						   kinds[i],
						   kinds[i]->ports[route.over]
							   .list[route.ports[i]]
							   .device));
		}
		gt_buf_puts(buf, "]");
	}
	gt_buf_puts(buf, "}");
}

void gt_internode_print_json(const struct gt_internode *internode,
			     const uint32_t *gpus, struct gt_buf *buf)
{
	const struct gt_topo *from = internode->kinds[0]->topo;
	const struct gt_topo *to = internode->kinds[1]->topo;
	uint32_t n = gt_topo_ngpus(to), pair[2];
	char name[GT_NAME_TEXT];

	gt_cluster_node_name(internode->cluster, internode->nodes[0], name,
			     sizeof(name));
	gt_internode_text(buf, "{", "from", name);
	gt_internode_text(buf, ", ", "from_kind", internode->kinds[0]->name);
	gt_cluster_node_name(internode->cluster, internode->nodes[1], name,
			     sizeof(name));
	gt_internode_text(buf, ", ", "to", name);
	gt_internode_text(buf, ", ", "to_kind", internode->kinds[1]->name);
	gt_buf_puts(buf, ", \"routes\": [");
	if (gpus) {
		gt_buf_puts(buf, "\n   ");
		gt_internode_json_route(internode, gpus, buf);
	}
	for (uint32_t i = 0; !gpus && i < gt_topo_ngpus(from) * n; i++) {
		pair[0] = gt_topo_gpu(from, i / n);
		pair[1] = gt_topo_gpu(to, i % n);
		gt_buf_puts(buf, i ? ",\n   " : "\n   ");
		gt_internode_json_route(internode, pair, buf);
	}
	gt_buf_puts(buf, "]}");
}
