/*
 * Finds routes between GPUs of two nodes: first the width between every two
 * ports through the fabric, then for a pair of GPUs the best of all pairs of
 * ports.
 */
#include "topo/cluster/internode.h"

#include "base/arena.h"
#include "base/err.h"

static const struct gt_cluster_port *gt_internode_port(
	const struct gt_internode *internode, enum gt_fabric_kind over, int end,
	uint32_t i)
{
	return &internode->kinds[end]->ports[over].list[i];
}

/*
 * Computes the width between two ports through levels of switches, up to the
 * first switch that both are below; 0 when there is none.
 */
static int gt_internode_levels(const struct gt_internode *internode,
			       enum gt_fabric_kind over,
			       const uint32_t ports[2], struct gt_rat *width,
			       struct gt_err *err)
{
	const struct gt_cluster *cluster = internode->cluster;
	const struct gt_cluster_port *port[2];
	struct gt_rat least, uplink;
	uint32_t meet, at;
	int rc;

	*width = GT_RAT(0, 1);
	for (int i = 0; i < 2; i++)
		port[i] = gt_internode_port(internode, over, i, ports[i]);
	meet = gt_cluster_common_level(
		cluster, over, (uint32_t[]){internode->nodes[0], port[0]->rail},
		(uint32_t[]){internode->nodes[1], port[1]->rail});
	if (meet == GT_NONE)
		return GT_OK;
	least = gt_rat_min(port[0]->gbs, port[1]->gbs);
	for (uint32_t level = 0; level < meet; level++)
		for (int i = 0; i < 2; i++) {
			at = gt_cluster_switch(cluster, over, level,
					       internode->nodes[i],
					       port[i]->rail);
			rc = gt_cluster_uplink(cluster, over, level, at,
					       &uplink, err);
			if (rc)
				return rc;
			least = gt_rat_min(least, uplink);
		}
	*width = least;
	return GT_OK;
}

static int gt_internode_is(const struct gt_cluster_end *end, uint32_t node,
			   uint32_t at)
{
	return end->node == node && end->at == at;
}

/*
 * Widens what reaches each switch over cables between switches, until nothing
 * changes.
 */
static void gt_internode_spread(const struct gt_cluster_fabric *fabric,
				struct gt_rat *reach)
{
	int changed = 1;

	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < 2 * fabric->ncables; i++) {
			const struct gt_cluster_cable *cable =
				&fabric->cables[i / 2];
			const struct gt_cluster_end *from = &cable->ends[i % 2];
			const struct gt_cluster_end *to =
				&cable->ends[1 - i % 2];
			struct gt_rat width;

			if (from->node != GT_NONE || to->node != GT_NONE)
				continue;
			width = gt_rat_min(reach[from->at], cable->gbs);
			if (gt_rat_cmp(reach[to->at], width) >= 0)
				continue;
			reach[to->at] = width;
			changed = 1;
		}
	}
}

/*
 * Computes the width at which a port of the second node is reached, by a cable
 * from the first port or from a switch.
 */
static void gt_internode_arrive(const struct gt_internode *internode,
				enum gt_fabric_kind over,
				const uint32_t ports[2],
				const struct gt_rat *reach,
				struct gt_rat *width)
{
	const struct gt_cluster_fabric *fabric =
		&internode->cluster->fabrics[over];
	struct gt_rat most = GT_RAT(0, 1), here;

	for (uint32_t i = 0; i < 2 * fabric->ncables; i++) {
		const struct gt_cluster_cable *cable = &fabric->cables[i / 2];
		const struct gt_cluster_end *from = &cable->ends[i % 2];

		if (!gt_internode_is(&cable->ends[1 - i % 2],
				     internode->nodes[1], ports[1]))
			continue;
		if (from->node == GT_NONE)
			here = gt_rat_min(reach[from->at], cable->gbs);
		else if (gt_internode_is(from, internode->nodes[0], ports[0]))
			here = cable->gbs;
		else
			continue;
		if (gt_rat_cmp(here, most) > 0)
			most = here;
	}
	for (int i = 0; i < 2; i++)
		most = gt_rat_min(
			most,
			gt_internode_port(internode, over, i, ports[i])->gbs);
	*width = most;
}

/*
 * Fills the row of widths from one port of the first node, through switches and
 * cables.
 */
static int gt_internode_cables(const struct gt_internode *internode,
			       enum gt_fabric_kind over, uint32_t port,
			       struct gt_arena *arena, struct gt_rat *row,
			       struct gt_err *err)
{
	const struct gt_cluster_fabric *fabric =
		&internode->cluster->fabrics[over];
	struct gt_rat *reach =
		gt_arena_array(arena, fabric->nswitches, sizeof(*reach));

	if (!reach)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < fabric->nswitches; i++)
		reach[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < 2 * fabric->ncables; i++) {
		const struct gt_cluster_cable *cable = &fabric->cables[i / 2];
		const struct gt_cluster_end *to = &cable->ends[1 - i % 2];

		if (to->node == GT_NONE &&
		    gt_internode_is(&cable->ends[i % 2], internode->nodes[0],
				    port) &&
		    gt_rat_cmp(reach[to->at], cable->gbs) < 0)
			reach[to->at] = cable->gbs;
	}
	gt_internode_spread(fabric, reach);
	for (uint32_t i = 0; i < internode->kinds[1]->ports[over].n; i++)
		gt_internode_arrive(internode, over, (uint32_t[]){port, i},
				    reach, &row[i]);
	return GT_OK;
}

static int gt_internode_widths(struct gt_internode *internode,
			       enum gt_fabric_kind over, struct gt_arena *arena,
			       struct gt_err *err)
{
	const struct gt_cluster_fabric *fabric =
		&internode->cluster->fabrics[over];
	uint32_t n = internode->kinds[0]->ports[over].n;
	uint32_t m = internode->kinds[1]->ports[over].n;
	struct gt_rat *width =
		gt_arena_array(arena, (size_t)n * m, sizeof(*width));
	int rc = GT_OK;

	if (!width)
		return gt_err_nomem(err);
	internode->widths[over] = width;
	for (uint32_t i = 0; i < n && !rc; i++)
		if (fabric->nlevels)
			for (uint32_t j = 0; j < m && !rc; j++)
				rc = gt_internode_levels(
					internode, over, (uint32_t[]){i, j},
					&width[i * m + j], err);
		else
			rc = gt_internode_cables(internode, over, i, arena,
						 &width[i * m], err);
	return rc;
}

int gt_internode_make(const struct gt_cluster *cluster, const uint32_t nodes[2],
		      const struct gt_paths *const paths[2],
		      struct gt_arena *arena, struct gt_internode *out,
		      struct gt_err *err)
{
	struct gt_internode internode = {.cluster = cluster};
	int rc = GT_OK;

	for (int i = 0; i < 2; i++) {
		internode.nodes[i] = nodes[i];
		internode.kinds[i] = gt_cluster_kind_of(cluster, nodes[i]);
		internode.paths[i] = paths[i];
	}
	for (int over = 0; over < GT_NFABRICKINDS && !rc; over++)
		rc = gt_internode_widths(&internode, (enum gt_fabric_kind)over,
					 arena, err);
	if (!rc)
		*out = internode;
	return rc;
}

/*
 * Gives a pair of GPUs its route through a fabric of NVSwitches, if there is
 * one; there a GPU is its own port.
 */
static void gt_internode_nvlink(const struct gt_internode *internode,
				const uint32_t gpus[2],
				struct gt_cluster_route *route)
{
	const struct gt_cluster_ports *to =
		&internode->kinds[1]->ports[GT_FABRIC_NVLINK];
	uint32_t at[2];

	for (int end = 0; end < 2; end++) {
		const struct gt_cluster_ports *ports =
			&internode->kinds[end]->ports[GT_FABRIC_NVLINK];

		at[end] = 0;
		while (at[end] < ports->n &&
		       ports->list[at[end]].device != gpus[end])
			at[end]++;
		if (at[end] == ports->n)
			return;
	}
	route->gbs = internode->widths[GT_FABRIC_NVLINK][at[0] * to->n + at[1]];
	if (!route->gbs.num)
		return;
	route->kind = GT_PATH_NVL;
	route->over = GT_FABRIC_NVLINK;
	route->ports[0] = at[0];
	route->ports[1] = at[1];
}

static uint32_t gt_internode_hops(const struct gt_cluster_route *route)
{
	return route->out->nhops + route->in->nhops;
}

static int gt_internode_beats(const struct gt_cluster_route *a,
			      const struct gt_cluster_route *b)
{
	int wider = gt_rat_cmp(a->gbs, b->gbs);

	if (b->kind == GT_PATH_DIS || wider)
		return b->kind == GT_PATH_DIS || wider > 0;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return gt_internode_hops(a) < gt_internode_hops(b);
}

static void gt_internode_net(const struct gt_internode *internode,
			     const uint32_t gpus[2],
			     struct gt_cluster_route *best)
{
	const struct gt_cluster_ports *from =
		&internode->kinds[0]->ports[GT_FABRIC_NET];
	const struct gt_cluster_ports *to =
		&internode->kinds[1]->ports[GT_FABRIC_NET];
	struct gt_cluster_route route = {.over = GT_FABRIC_NET};

	for (uint32_t i = 0; i < from->n * to->n; i++) {
		route.ports[0] = i / to->n;
		route.ports[1] = i % to->n;
		route.out = gt_paths_get(internode->paths[0], gpus[0],
					 from->list[route.ports[0]].device);
		route.in =
			gt_paths_get(internode->paths[1],
				     to->list[route.ports[1]].device, gpus[1]);
		route.kind = route.out->kind > route.in->kind ? route.out->kind
							      : route.in->kind;
		if (!internode->widths[GT_FABRIC_NET][i].num ||
		    route.kind == GT_PATH_DIS)
			continue;
		route.gbs =
			gt_rat_min(internode->widths[GT_FABRIC_NET][i],
				   gt_rat_min(route.out->gbs, route.in->gbs));
		if (gt_internode_beats(&route, best))
			*best = route;
	}
}

void gt_internode_route(const struct gt_internode *internode,
			const uint32_t gpus[2], struct gt_cluster_route *route)
{
	struct gt_cluster_route best = {.kind = GT_PATH_DIS,
					.gbs = GT_RAT(0, 1)};

	gt_internode_nvlink(internode, gpus, &best);
	if (best.kind == GT_PATH_DIS)
		gt_internode_net(internode, gpus, &best);
	*route = best;
}
