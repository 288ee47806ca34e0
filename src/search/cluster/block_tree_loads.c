#include "search/cluster/block_trees.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"

enum { GT_HIER_UNIT_MAX = 1024 };

int gt_quotient_ports_joined(const struct gt_quotient *hier, uint32_t out,
			     uint32_t in)
{
	const struct gt_plan_cluster *cluster = &hier->cluster;

	/* Rails that meet higher up, if at all, are not made to. */
	return !cluster->levels[0].by_rail ||
	       cluster->ports[out].rail == cluster->ports[in].rail;
}

static int gt_hier_unit(const struct gt_fabric_route *routes, size_t n,
			uint32_t *unit)
{
	struct gt_rat step;

	for (size_t i = 0; i < n; i++) {
		if (!routes[i].nlinks)
			continue;
		if (!gt_rat_make(routes[i].charge.den, *unit, &step) ||
		    step.num * *unit > GT_HIER_UNIT_MAX ||
		    routes[i].charge.num > 4 * routes[i].charge.den)
			return 0;
		*unit *= (uint32_t)step.num;
	}
	return 1;
}

/* Uplinks: by level, rail, and direction (out, in). */
static uint32_t gt_hier_uplink(const struct gt_quotient *hier, uint32_t level,
			       uint32_t rail, int in)
{
	return hier->box->nlinks + 2 * (level * hier->cluster.nrails + rail) +
	       (uint32_t)in;
}

/* The rate of the link that leads back, of the like if there are several. */
static struct gt_rat gt_hier_back(const struct gt_fabric *box, uint32_t link)
{
	const struct gt_fabric_link *l = &box->links[link];
	struct gt_rat back = GT_RAT(0, 1);

	for (uint32_t i = 0; i < box->nlinks; i++) {
		const struct gt_fabric_link *other = &box->links[i];

		if (other->from != l->to || other->to != l->from ||
		    !other->charged != !l->charged)
			continue;
		if (!back.num || !gt_rat_cmp(other->gbs, l->gbs))
			back = other->gbs;
	}
	return back;
}

static void gt_hier_rows_both(const struct gt_fabric *box,
			      struct gt_quotient_rows *rows)
{
	for (uint32_t i = 0; i < box->nlinks; i++) {
		struct gt_rat back = gt_hier_back(box, i);

		if (gt_rat_cmp(back, rows->gbs[i]) < 0)
			rows->gbs[i] = back;
	}
}

int gt_quotient_rows_init(const struct gt_quotient *hier, enum gt_coll coll,
			  struct gt_arena *arena, struct gt_quotient_rows *rows,
			  struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = &hier->cluster;
	size_t n = hier->box->nranks;

	rows->unit = 1;
	rows->n = gt_hier_uplink(hier, cluster->nlevels - 1, 0, 0);
	rows->gbs = gt_arena_array(arena, rows->n, sizeof(*rows->gbs));
	if (!rows->gbs)
		return gt_err_nomem(err);
	if (!gt_hier_unit(hier->box->routes, n * n, &rows->unit) ||
	    !gt_hier_unit(hier->out, n * cluster->nports, &rows->unit) ||
	    !gt_hier_unit(hier->in, n * cluster->nports, &rows->unit))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a route's charge is out of range");
	for (uint32_t i = 0; i < hier->box->nlinks; i++)
		rows->gbs[i] = hier->box->links[i].gbs;
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		for (uint32_t i = 0; i < 2 * cluster->nrails; i++)
			rows->gbs[gt_hier_uplink(hier, l, 0, 0) + i] =
				cluster->levels[l].gbs;
	if (coll != GT_COLL_ALLGATHER)
		gt_hier_rows_both(hier->box, rows);
	return GT_OK;
}

static void gt_hier_load_route(const struct gt_quotient *hier,
			       const struct gt_quotient_rows *rows,
			       const struct gt_fabric_route *route,
			       int32_t *loads)
{
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat load = hier->box->links[link].charged
					     ? route->charge
					     : GT_RAT(1, 1);

		loads[link] += (int32_t)(load.num * (rows->unit / load.den));
	}
}

/* The blocks of all nodes that are not below a switch enter it, once each. */
static void gt_hier_load_uplinks(const struct gt_quotient *hier,
				 const struct gt_quotient_rows *rows,
				 const struct gt_network_hop *net,
				 int32_t *loads)
{
	const struct gt_plan_cluster *cluster = &hier->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		int rails = cluster->levels[l].by_rail;
		uint32_t out = rails ? cluster->ports[net->out].rail : 0;
		uint32_t in = rails ? cluster->ports[net->in].rail : 0;
		int32_t load =
			(int32_t)(rows->unit *
				  (cluster->nnodes - cluster->levels[l].nodes));

		loads[gt_hier_uplink(hier, l, out, 0)] += load;
		loads[gt_hier_uplink(hier, l, in, 1)] += load;
	}
}

void gt_block_tree_load(const struct gt_quotient *hier,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree)
{
	const struct gt_fabric *box = hier->box;
	uint32_t n = box->nranks, nports = hier->cluster.nports;
	int away = tree->root == n;

	memset(tree->loads, 0, rows->n * sizeof(*tree->loads));
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_network_hop *net = &tree->net[i];

		if (tree->parent[i] >= 0) {
			gt_hier_load_route(
				hier, rows,
				&box->routes[(uint32_t)tree->parent[i] * n + i],
				tree->loads);
			continue;
		}
		if (!away)
			continue;
		gt_hier_load_route(hier, rows,
				   &hier->out[net->from * nports + net->out],
				   tree->loads);
		gt_hier_load_route(hier, rows, &hier->in[i * nports + net->in],
				   tree->loads);
	}
	if (!away)
		return;
	for (uint32_t r = 0; r < box->nlinks; r++)
		tree->loads[r] *= (int32_t)(hier->cluster.nnodes - 1);
	for (uint32_t i = 0; i < n; i++)
		if (tree->parent[i] < 0)
			gt_hier_load_uplinks(hier, rows, &tree->net[i],
					     tree->loads);
}
