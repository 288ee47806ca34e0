#include "search/cluster/block_trees.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

enum { GT_QUOTIENT_UNIT_MAX = 1024 };

int gt_quotient_ports_joined(const struct gt_quotient *q, uint32_t out,
			     uint32_t in)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	/* Rails that meet higher up, if at all, are not made to. */
	return !cluster->levels[0].by_rail ||
	       cluster->ports[out].rail == cluster->ports[in].rail;
}

static int refine_unit(const struct gt_fabric_route *routes, size_t n,
		       uint32_t *unit)
{
	struct gt_rat step;

	for (size_t i = 0; i < n; i++) {
		if (!routes[i].nlinks)
			continue;
		if (!gt_rat_make(routes[i].charge.den, *unit, &step) ||
		    step.num * *unit > GT_QUOTIENT_UNIT_MAX ||
		    routes[i].charge.num > 4 * routes[i].charge.den)
			return 0;
		*unit *= (uint32_t)step.num;
	}
	return 1;
}

/* Uplinks: by level, rail, and direction (out, in). */
static uint32_t uplink_row(const struct gt_quotient *q, uint32_t level,
			   uint32_t rail, int in)
{
	return q->fabric->nlinks + 2 * (level * q->cluster.nrails + rail) +
	       (uint32_t)in;
}

/* The rate of the link that leads back, of the like if there are several. */
static struct gt_rat opposite_rate(const struct gt_fabric *f, uint32_t link)
{
	const struct gt_fabric_link *l = &f->links[link];
	struct gt_rat back = GT_RAT(0, 1);

	for (uint32_t i = 0; i < f->nlinks; i++) {
		const struct gt_fabric_link *other = &f->links[i];

		if (other->from != l->to || other->to != l->from ||
		    !other->charged != !l->charged)
			continue;
		if (!back.num || !gt_rat_cmp(other->gbs, l->gbs))
			back = other->gbs;
	}
	return back;
}

static void limit_to_both_directions(const struct gt_fabric *f,
				     struct gt_quotient_rows *rows)
{
	for (uint32_t i = 0; i < f->nlinks; i++) {
		struct gt_rat back = opposite_rate(f, i);

		if (gt_rat_cmp(back, rows->gbs[i]) < 0)
			rows->gbs[i] = back;
	}
}

int gt_quotient_rows_init(const struct gt_quotient *q, enum gt_coll coll,
			  struct gt_arena *arena, struct gt_quotient_rows *rows,
			  struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	size_t n = q->fabric->nranks;

	rows->unit = 1;
	rows->n = uplink_row(q, cluster->nlevels - 1, 0, 0);
	rows->gbs = gt_arena_array(arena, rows->n, sizeof(*rows->gbs));
	if (!rows->gbs)
		return gt_err_nomem(err);
	if (!refine_unit(q->fabric->routes, n * n, &rows->unit) ||
	    !refine_unit(q->out, n * cluster->nports, &rows->unit) ||
	    !refine_unit(q->in, n * cluster->nports, &rows->unit))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a route's charge is out of range");
	for (uint32_t i = 0; i < q->fabric->nlinks; i++)
		rows->gbs[i] = q->fabric->links[i].gbs;
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		for (uint32_t i = 0; i < 2 * cluster->nrails; i++)
			rows->gbs[uplink_row(q, l, 0, 0) + i] =
				cluster->levels[l].gbs;
	if (coll != GT_COLL_ALLGATHER)
		limit_to_both_directions(q->fabric, rows);
	return GT_OK;
}

static void load_route(const struct gt_quotient *q,
		       const struct gt_quotient_rows *rows,
		       const struct gt_fabric_route *route, int32_t *loads)
{
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat load = q->fabric->links[link].charged
					     ? route->charge
					     : GT_RAT(1, 1);

		loads[link] += (int32_t)(load.num * (rows->unit / load.den));
	}
}

/* The blocks of all nodes that are not below a switch enter it, once each. */
static void load_uplinks(const struct gt_quotient *q,
			 const struct gt_quotient_rows *rows,
			 const struct gt_network_hop *net, int32_t *loads)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		int rails = cluster->levels[l].by_rail;
		uint32_t out = rails ? cluster->ports[net->out].rail : 0;
		uint32_t in = rails ? cluster->ports[net->in].rail : 0;
		int32_t load =
			(int32_t)(rows->unit *
				  (cluster->nnodes - cluster->levels[l].nodes));

		loads[uplink_row(q, l, out, 0)] += load;
		loads[uplink_row(q, l, in, 1)] += load;
	}
}

void gt_quotient_rows_first_prices(const struct gt_quotient_rows *rows,
				   double *prices)
{
	for (uint32_t r = 0; r < rows->n; r++) {
		double gbs = gt_rat_double(rows->gbs[r]);

		prices[r] = gbs > 0 ? 1 / gbs : 0;
	}
}

void gt_block_tree_load(const struct gt_quotient *q,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree)
{
	const struct gt_fabric *f = q->fabric;
	uint32_t n = f->nranks, nports = q->cluster.nports;
	int away = tree->root == n;

	memset(tree->loads, 0, rows->n * sizeof(*tree->loads));
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_network_hop *net = &tree->net[i];

		if (tree->parent[i] >= 0) {
			load_route(
				q, rows,
				&f->routes[(uint32_t)tree->parent[i] * n + i],
				tree->loads);
			continue;
		}
		if (!away)
			continue;
		load_route(q, rows, &q->out[net->from * nports + net->out],
			   tree->loads);
		load_route(q, rows, &q->in[i * nports + net->in], tree->loads);
	}
	if (!away)
		return;
	for (uint32_t r = 0; r < f->nlinks; r++)
		tree->loads[r] *= (int32_t)(q->cluster.nnodes - 1);
	for (uint32_t i = 0; i < n; i++)
		if (tree->parent[i] < 0)
			load_uplinks(q, rows, &tree->net[i], tree->loads);
}
