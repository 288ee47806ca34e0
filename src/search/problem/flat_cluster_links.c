/*
 * The links of a flat cluster, with their names: those of the nodes, of their
 * ports, between levels of switches, and of explicit cables.
 */
#include "search/problem/flat_cluster.h"

#include "base/arena.h"
#include "base/err.h"

enum { GT_FLAT_NAME_MAX = 512 };

uint32_t gt_flat_vertex(const struct gt_flat_cluster *flat, uint32_t node,
			uint32_t device)
{
	return flat->first_vertex[node] + device;
}

uint32_t gt_flat_nvswitch(const struct gt_topo *topo)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			return i;
	return GT_NONE;
}

uint32_t gt_flat_port(const struct gt_flat_cluster *flat,
		      enum gt_fabric_kind over, uint32_t node, uint32_t port)
{
	const struct gt_cluster_kind *kind =
		gt_cluster_kind_of(flat->cluster, node);

	return gt_flat_vertex(flat, node,
			      over == GT_FABRIC_NVLINK
				      ? gt_flat_nvswitch(kind->topo)
				      : kind->ports[over].list[port].device);
}

static const char *gt_flat_name(struct gt_flat_cluster *flat, uint32_t vertex)
{
	const struct gt_cluster *cluster = flat->cluster;
	uint32_t node = cluster->nnodes, base = flat->first_vertex[node];
	char name[GT_FLAT_NAME_MAX];

	for (int over = 0; over < GT_NFABRICKINDS && vertex >= base; over++) {
		const struct gt_cluster_fabric *f = &cluster->fabrics[over];

		if (vertex - base < f->nswitches)
			return f->switches[vertex - base];
		base += f->nswitches;
		for (uint32_t l = 0; l < f->nlevels; l++) {
			if (vertex - base < f->levels[l].nswitches)
				return gt_arena_printf(
					flat->arena, "%sswitch%u.%u",
					over == GT_FABRIC_NVLINK ? "nv" : "", l,
					vertex - base);
			base += f->levels[l].nswitches;
		}
	}
	while (flat->first_vertex[node] > vertex)
		node--;
	gt_cluster_node_name(cluster, node, name, sizeof(name));
	return gt_arena_printf(
		flat->arena, "%s:%s", name,
		gt_topo_node(gt_cluster_kind_of(cluster, node)->topo,
			     vertex - flat->first_vertex[node])
			->id);
}

static void gt_flat_link(struct gt_flat_cluster *flat, uint32_t from,
			 uint32_t to, struct gt_rat gbs, const char *kind)
{
	uint32_t i = flat->fabric.nlinks++;
	const char *a = gt_flat_name(flat, from), *b = gt_flat_name(flat, to);

	flat->fabric.links[i] =
		(struct gt_fabric_link){.from = from, .to = to, .gbs = gbs};
	flat->link_kinds[i] = kind;
	flat->link_ids[i] =
		a && b ? gt_arena_printf(flat->arena, "%s>%s", a, b) : NULL;
	flat->failed |= !flat->link_ids[i];
}

static void gt_flat_cable(struct gt_flat_cluster *flat, uint32_t a, uint32_t b,
			  struct gt_rat gbs, const char *kind)
{
	gt_flat_link(flat, a, b, gbs, kind);
	gt_flat_link(flat, b, a, gbs, kind);
}

static void gt_flat_node_links(struct gt_flat_cluster *flat, uint32_t node)
{
	const struct gt_topo *topo =
		gt_cluster_kind_of(flat->cluster, node)->topo;
	char name[GT_FLAT_NAME_MAX];

	gt_cluster_node_name(flat->cluster, node, name, sizeof(name));
	flat->first_link[node] = flat->fabric.nlinks;
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		uint32_t at = flat->fabric.nlinks++;

		flat->fabric.links[at] = (struct gt_fabric_link){
			.from = gt_flat_vertex(flat, node, link->from),
			.to = gt_flat_vertex(flat, node, link->to),
			.gbs = link->gbs,
			.charged = link->kind == GT_LINK_PCI,
		};
		flat->link_kinds[at] = gt_link_kind_name(link->kind);
		flat->link_ids[at] =
			gt_arena_printf(flat->arena, "%s:%s", name, link->id);
		flat->failed |= !flat->link_ids[at];
	}
}

static uint32_t gt_flat_switch(const struct gt_flat_cluster *flat,
			       enum gt_fabric_kind over, uint32_t level,
			       uint32_t which)
{
	const struct gt_cluster *cluster = flat->cluster;
	uint32_t at = flat->first_vertex[cluster->nnodes];

	for (int o = 0; o < GT_NFABRICKINDS; o++) {
		const struct gt_cluster_fabric *f = &cluster->fabrics[o];
		uint32_t n =
			(enum gt_fabric_kind)o == over ? level : f->nlevels;

		at += f->nswitches;
		for (uint32_t l = 0; l < n; l++)
			at += f->levels[l].nswitches;
		if ((enum gt_fabric_kind)o == over)
			break;
	}
	return at + which;
}

/* The vertex of the explicit switch of that number. */
static uint32_t gt_flat_named_switch(const struct gt_flat_cluster *flat,
				     enum gt_fabric_kind over, uint32_t which)
{
	return gt_flat_switch(flat, over, 0, which) -
	       flat->cluster->fabrics[over].nswitches;
}

/*
 * A node's port and the switch above it.  NVLinks of one node come to the same
 * NVSwitches, where each of its GPUs adds its own.
 */
static void gt_flat_ports(struct gt_flat_cluster *flat,
			  enum gt_fabric_kind over, uint32_t node)
{
	const struct gt_cluster_ports *ports =
		&gt_cluster_kind_of(flat->cluster, node)->ports[over];
	const char *kind = over == GT_FABRIC_NET ? "NET" : "NVL";

	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];
		struct gt_rat gbs = port->gbs;

		if (over == GT_FABRIC_NVLINK && i)
			return;
		for (uint32_t k = 1; over == GT_FABRIC_NVLINK && k < ports->n;
		     k++)
			flat->failed |=
				!gt_rat_add(gbs, ports->list[k].gbs, &gbs);
		gt_flat_cable(
			flat, gt_flat_port(flat, over, node, i),
			gt_flat_switch(flat, over, 0,
				       gt_cluster_switch(flat->cluster, over, 0,
							 node, port->rail)),
			gbs, kind);
	}
}

static int gt_flat_levels(struct gt_flat_cluster *flat,
			  enum gt_fabric_kind over, struct gt_err *err)
{
	const struct gt_cluster *cluster = flat->cluster;
	const struct gt_cluster_fabric *f = &cluster->fabrics[over];
	struct gt_rat gbs;
	int rc = GT_OK;

	for (uint32_t i = 0; f->nlevels && i < cluster->nnodes; i++)
		gt_flat_ports(flat, over, i);
	for (uint32_t l = 0; l + 1 < f->nlevels; l++)
		for (uint32_t i = 0; i < f->levels[l].nswitches && !rc; i++) {
			rc = gt_cluster_uplink(cluster, over, l, i, &gbs, err);
			if (rc || !gbs.num)
				continue;
			gt_flat_cable(
				flat, gt_flat_switch(flat, over, l, i),
				gt_flat_switch(flat, over, l + 1,
					       gt_cluster_parent_switch(
						       cluster, over, l, i)),
				gbs, over == GT_FABRIC_NET ? "NET" : "NVL");
		}
	return rc;
}

static void gt_flat_cables(struct gt_flat_cluster *flat,
			   enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *f = &flat->cluster->fabrics[over];
	uint32_t at[2];

	for (uint32_t i = 0; i < f->ncables; i++) {
		const struct gt_cluster_cable *cable = &f->cables[i];

		for (int k = 0; k < 2; k++) {
			const struct gt_cluster_end *end = &cable->ends[k];

			at[k] = end->node == GT_NONE
					? gt_flat_named_switch(flat, over,
							       end->at)
					: gt_flat_port(flat, over, end->node,
						       end->at);
		}
		gt_flat_cable(flat, at[0], at[1], cable->gbs,
			      over == GT_FABRIC_NET ? "NET" : "NVL");
	}
}

int gt_flat_links(struct gt_flat_cluster *flat, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < flat->cluster->nnodes; i++)
		gt_flat_node_links(flat, i);
	flat->first_net = flat->fabric.nlinks;
	for (int o = 0; o < GT_NFABRICKINDS && !rc; o++) {
		rc = gt_flat_levels(flat, (enum gt_fabric_kind)o, err);
		gt_flat_cables(flat, (enum gt_fabric_kind)o);
	}
	return rc;
}
