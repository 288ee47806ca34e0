/*
 * Prints routes between two nodes of a cluster, as a matrix and link by link.
 */
#include "topo/view/print.h"

#include <stdio.h>

#include "base/buf.h"
#include "topo/cluster/internode.h"
#include "topo/view/show_text.h"

enum { GT_NAME_TEXT = 512, GT_CELLS = 8 };

static void gt_internode_cell(const struct gt_cluster_route *route,
			      struct gt_buf *buf)
{
	char text[48] = "-";

	if (route->kind != GT_PATH_DIS)
		snprintf(text, sizeof(text), "%s %.4g",
			 gt_path_kind_name(route->kind),
			 gt_rat_double(route->gbs));
	gt_buf_printf(buf, "  %-9s", text);
}

static void gt_internode_rows(const struct gt_internode *internode,
			      uint32_t first, uint32_t last, struct gt_buf *buf)
{
	const struct gt_topo *from = internode->kinds[0]->topo;
	const struct gt_topo *to = internode->kinds[1]->topo;
	struct gt_cluster_route route;
	char label[64];

	gt_buf_puts(buf, "from\\to");
	for (uint32_t j = first; j < last; j++) {
		gt_show_label(gt_topo_node(to, gt_topo_gpu(to, j)), label,
			      sizeof(label));
		gt_buf_printf(buf, "  %-9s", label);
	}
	gt_print_newline(buf);
	for (uint32_t i = 0; i < gt_topo_ngpus(from); i++) {
		gt_show_label(gt_topo_node(from, gt_topo_gpu(from, i)), label,
			      sizeof(label));
		gt_buf_printf(buf, "%-7s", label);
		for (uint32_t j = first; j < last; j++) {
			gt_internode_route(internode,
					   (uint32_t[]){gt_topo_gpu(from, i),
							gt_topo_gpu(to, j)},
					   &route);
			gt_internode_cell(&route, buf);
		}
		gt_print_newline(buf);
	}
}

void gt_internode_print(const struct gt_internode *internode,
			struct gt_buf *buf)
{
	uint32_t n = gt_topo_ngpus(internode->kinds[1]->topo), last;
	char names[2][GT_NAME_TEXT];

	for (int i = 0; i < 2; i++)
		gt_cluster_node_name(internode->cluster, internode->nodes[i],
				     names[i], sizeof(names[i]));
	gt_buf_printf(buf, "\n%s (%s) to %s (%s)\n", names[0],
		      internode->kinds[0]->name, names[1],
		      internode->kinds[1]->name);
	if (!n || !gt_topo_ngpus(internode->kinds[0]->topo))
		gt_buf_puts(buf, "no GPUs\n");
	for (uint32_t first = 0; first < n; first = last) {
		last = n - first > GT_CELLS ? first + GT_CELLS : n;
		gt_internode_rows(internode, first, last, buf);
	}
}

static void gt_internode_line(const char *from, const char *to,
			      struct gt_rat gbs, struct gt_buf *buf)
{
	gt_buf_printf(buf, "%-22s > %-22s fabric  %8.4g GB/s\n", from, to,
		      gt_rat_double(gbs));
}

/*
 * Prints the uplinks from a port up to the level where both meet, or down from
 * there.
 */
static void gt_internode_climb(const struct gt_internode *internode,
			       const struct gt_cluster_route *route, int end,
			       struct gt_buf *buf)
{
	const struct gt_cluster *cluster = internode->cluster;
	const struct gt_cluster_port *ports[2];
	uint32_t meet, which, n;
	struct gt_rat gbs;
	char up[64], down[64];

	for (int i = 0; i < 2; i++)
		ports[i] = &internode->kinds[i]
				    ->ports[route->over]
				    .list[route->ports[i]];
	meet = gt_cluster_common_level(
		cluster, route->over,
		(uint32_t[]){internode->nodes[0], ports[0]->rail},
		(uint32_t[]){internode->nodes[1], ports[1]->rail});
	for (n = 0; n < meet; n++) {
		uint32_t level = end ? meet - 1 - n : n;

		which = gt_cluster_switch(cluster, route->over, level,
					  internode->nodes[end],
					  ports[end]->rail);
		snprintf(down, sizeof(down), "level %u switch %u", level + 1,
			 which);
		snprintf(up, sizeof(up), "level %u switch %u", level + 2,
			 gt_cluster_parent_switch(cluster, route->over, level,
						  which));
		if (!gt_cluster_uplink(cluster, route->over, level, which, &gbs,
				       NULL))
			gt_internode_line(end ? up : down, end ? down : up, gbs,
					  buf);
	}
}

static void gt_internode_fabric(const struct gt_internode *internode,
				const struct gt_cluster_route *route,
				struct gt_buf *buf)
{
	const struct gt_cluster_fabric *fabric =
		&internode->cluster->fabrics[route->over];
	char text[2][GT_NAME_TEXT], name[GT_NAME_TEXT], label[64];
	const struct gt_cluster_ports *list;
	struct gt_rat gbs =
		internode->widths[route->over]
				 [route->ports[0] * internode->kinds[1]
							    ->ports[route->over]
							    .n +
				  route->ports[1]];

	for (int i = 0; i < 2; i++) {
		list = &internode->kinds[i]->ports[route->over];
		gt_show_label(gt_topo_node(internode->kinds[i]->topo,
					   list->list[route->ports[i]].device),
			      label, sizeof(label));
		gt_cluster_node_name(internode->cluster, internode->nodes[i],
				     name, sizeof(name));
		snprintf(text[i], sizeof(text[i]), "%.400s/%s", name, label);
	}
	gt_internode_line(text[0], text[1], gbs, buf);
	if (!fabric->nlevels)
		return;
	gt_internode_climb(internode, route, 0, buf);
	gt_internode_climb(internode, route, 1, buf);
}

/* Returns the port that a route uses at one end, as a node of the topology. */
static uint32_t port_device(const struct gt_internode *internode,
			    const struct gt_cluster_route *route, int end)
{
	return internode->kinds[end]
		->ports[route->over]
		.list[route->ports[end]]
		.device;
}

void gt_internode_print_route(const struct gt_internode *internode,
			      const uint32_t gpus[2], struct gt_buf *buf)
{
	struct gt_cluster_route route;
	char names[2][GT_NAME_TEXT], labels[2][64];

	gt_internode_route(internode, gpus, &route);
	for (int i = 0; i < 2; i++) {
		gt_cluster_node_name(internode->cluster, internode->nodes[i],
				     names[i], sizeof(names[i]));
		gt_show_label(gt_topo_node(internode->kinds[i]->topo, gpus[i]),
			      labels[i], sizeof(labels[i]));
	}
	gt_buf_printf(buf, "%s/%s to %s/%s: ", names[0], labels[0], names[1],
		      labels[1]);
	if (route.kind == GT_PATH_DIS) {
		gt_buf_puts(buf, "not connected\n");
		return;
	}
	gt_buf_printf(buf, "%s, %.4g GB/s one way over %s\n",
		      gt_path_kind_name(route.kind), gt_rat_double(route.gbs),
		      route.over == GT_FABRIC_NET ? "the network"
						  : "NVSwitches");
	if (route.out)
		gt_print_route(internode->kinds[0]->topo, route.out,
			       (uint32_t[]){gpus[0],
					    port_device(internode, &route, 0)},
			       buf);
	gt_internode_fabric(internode, &route, buf);
	if (route.in)
		gt_print_route(internode->kinds[1]->topo, route.in,
			       (uint32_t[]){port_device(internode, &route, 1),
					    gpus[1]},
			       buf);
}
