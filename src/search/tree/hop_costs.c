#include "search/tree/hop_costs.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"

/* Used both ways, does row b bind whenever row a does? */
static int gt_tree_hops_covers(const struct gt_link_rows *rows, uint32_t a,
			       uint32_t b)
{
	const uint32_t *x = rows->rows[a].load, *y = rows->rows[b].load;
	uint32_t n = rows->n;

	if (gt_rat_cmp(rows->rows[b].gbs, rows->rows[a].gbs) > 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (x[i * n + j] + x[j * n + i] >
			    y[i * n + j] + y[j * n + i])
				return 0;
	return 1;
}

static void gt_tree_hops_fold(struct gt_link_rows *rows)
{
	uint32_t kept = 0;

	for (uint32_t a = 0; a < rows->nrows; a++) {
		int covered = 0;

		for (uint32_t b = 0; b < kept && !covered; b++)
			covered = gt_tree_hops_covers(rows, a, b);
		if (!covered)
			rows->rows[kept++] = rows->rows[a];
	}
	rows->nrows = kept;
}

static int gt_tree_hops_fixed(struct gt_tree_hops *arcs, int both,
			      struct gt_err *err)
{
	struct gt_link_rows *rows;
	int rc = gt_link_rows_new(arcs->fabric, arcs->arena, &rows, err);

	if (rc)
		return rc;
	if (both) {
		gt_tree_hops_fold(rows);
		if (!gt_link_rows_index(rows, arcs->arena))
			return gt_err_nomem(err);
	}
	arcs->fixed = rows;
	arcs->unit = rows->unit;
	arcs->routes = arcs->fabric->routes;
	for (uint32_t i = 0; i < rows->nrows; i++) {
		arcs->rows[i].link = rows->rows[i].link;
		arcs->rows[i].gbs = rows->rows[i].gbs;
	}
	arcs->nrows = rows->nrows;
	for (uint32_t i = 0; i < arcs->n * arcs->n; i++)
		arcs->pick[i] = i;
	return GT_OK;
}

/* Pair links with equal ones the other way; 0 when some has none. */
static int gt_tree_hops_pair(const struct gt_fabric *f, uint32_t *back)
{
	for (uint32_t i = 0; i < f->nlinks; i++)
		back[i] = UINT32_MAX;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		const struct gt_fabric_link *a = &f->links[i];
		uint32_t j = i + 1;

		if (back[i] != UINT32_MAX)
			continue;
		while (j < f->nlinks &&
		       (back[j] != UINT32_MAX || f->links[j].from != a->to ||
			f->links[j].to != a->from ||
			gt_rat_cmp(f->links[j].gbs, a->gbs)))
			j++;
		if (j == f->nlinks)
			return 0;
		back[i] = j;
		back[j] = i;
	}
	return 1;
}

static int gt_tree_hops_open(struct gt_tree_hops *arcs, int both,
			     struct gt_err *err)
{
	const struct gt_fabric *f = arcs->fabric;

	arcs->row = gt_arena_array(arcs->arena, f->nlinks, sizeof(*arcs->row));
	arcs->far = gt_arena_array(arcs->arena, f->nnodes, sizeof(*arcs->far));
	arcs->into =
		gt_arena_array(arcs->arena, f->nnodes, sizeof(*arcs->into));
	arcs->hops =
		gt_arena_array(arcs->arena, f->nnodes, sizeof(*arcs->hops));
	arcs->trial = gt_arena_array(arcs->arena, 2 * (size_t)f->nnodes,
				     sizeof(*arcs->trial));
	arcs->done = gt_arena_alloc(arcs->arena, f->nnodes);
	arcs->back =
		gt_arena_array(arcs->arena, f->nlinks, sizeof(*arcs->back));
	if (!arcs->row || !arcs->far || !arcs->into || !arcs->hops ||
	    !arcs->trial || !arcs->done || !arcs->back)
		return gt_err_nomem(err);
	if (!both || !gt_tree_hops_pair(f, arcs->back))
		arcs->back = NULL;
	/* a row's hops count there and back, on a link they load once */
	arcs->unit = arcs->back ? 2 : 1;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		arcs->row[i] = UINT32_MAX;
		if (f->links[i].gbs.num <= 0)
			continue;
		if (arcs->back && arcs->back[i] < i) {
			arcs->row[i] = arcs->row[arcs->back[i]];
			continue;
		}
		arcs->row[i] = arcs->nrows;
		arcs->rows[arcs->nrows].link = i;
		arcs->rows[arcs->nrows++].gbs = f->links[i].gbs;
	}
	return GT_OK;
}

int gt_tree_hops_init(struct gt_tree_hops *arcs, const struct gt_fabric *fabric,
		      int both, struct gt_arena *arena, struct gt_err *err)
{
	size_t nn = (size_t)fabric->nranks * fabric->nranks;

	memset(arcs, 0, sizeof(*arcs));
	arcs->fabric = fabric;
	arcs->arena = arena;
	arcs->n = fabric->nranks;
	arcs->rows = gt_arena_array(arena, fabric->nlinks, sizeof(*arcs->rows));
	arcs->cost = gt_arena_array(arena, nn, sizeof(*arcs->cost));
	arcs->pick = gt_arena_array(arena, nn, sizeof(*arcs->pick));
	if (!arcs->rows || !arcs->cost || !arcs->pick)
		return gt_err_nomem(err);
	return fabric->open ? gt_tree_hops_open(arcs, both, err)
			    : gt_tree_hops_fixed(arcs, both, err);
}

/* Of the nodes met, the nearest to go on from; then with fewest hops. */
static uint32_t gt_tree_hops_nearest(const struct gt_tree_hops *arcs)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t v = 0; v < arcs->fabric->nnodes; v++) {
		if (arcs->done[v] || arcs->far[v] >= GT_TREE_NO_HOP)
			continue;
		if (best == UINT32_MAX || arcs->far[v] < arcs->far[best] ||
		    (arcs->far[v] == arcs->far[best] &&
		     arcs->hops[v] < arcs->hops[best]))
			best = v;
	}
	return best;
}

static void gt_tree_hops_relax(struct gt_tree_hops *arcs, uint32_t u,
			       const int64_t *prices)
{
	const struct gt_fabric *f = arcs->fabric;

	for (uint32_t i = 0; i < f->nlinks; i++) {
		uint32_t v = f->links[i].to;
		int64_t far;

		if (f->links[i].from != u || arcs->row[i] == UINT32_MAX)
			continue;
		far = arcs->far[u] + prices[arcs->row[i]];
		if (far > arcs->far[v] ||
		    (far == arcs->far[v] && arcs->hops[u] + 1 >= arcs->hops[v]))
			continue;
		arcs->far[v] = far;
		arcs->hops[v] = arcs->hops[u] + 1;
		arcs->into[v] = i;
	}
}

/* From one rank (Dijkstra); other ranks are not gone on from. */
static void gt_tree_hops_walk(struct gt_tree_hops *arcs, uint32_t rank,
			      const int64_t *prices)
{
	const struct gt_fabric *f = arcs->fabric;
	uint32_t u = f->ranks[rank];

	for (uint32_t v = 0; v < f->nnodes; v++) {
		arcs->far[v] = GT_TREE_NO_HOP;
		arcs->hops[v] = 0;
		arcs->done[v] = 0;
	}
	for (uint32_t i = 0; i < f->nranks; i++)
		arcs->done[f->ranks[i]] = 1;
	for (arcs->far[u] = 0; u != UINT32_MAX;
	     u = gt_tree_hops_nearest(arcs)) {
		arcs->done[u] = 1;
		gt_tree_hops_relax(arcs, u, prices);
	}
}

/* Room for one more route. */
static int gt_tree_hops_grow(struct gt_tree_hops *arcs)
{
	uint32_t max = 2 * arcs->max_routes + 64;
	struct gt_fabric_route *more;

	if (arcs->nroutes < arcs->max_routes)
		return 1;
	more = gt_arena_array(arcs->arena, max, sizeof(*more));
	if (!more)
		return 0;
	if (arcs->nroutes)
		memcpy(more, arcs->routes, arcs->nroutes * sizeof(*more));
	arcs->routes = more;
	arcs->max_routes = max;
	return 1;
}

/* The number of this route, or UINT32_MAX. */
static uint32_t gt_tree_hops_keep(struct gt_tree_hops *arcs,
				  const uint32_t *links, uint32_t len)
{
	uint32_t *copy;

	for (uint32_t i = 0; i < arcs->nroutes; i++)
		if (arcs->routes[i].nlinks == len &&
		    !memcmp(arcs->routes[i].links, links, len * sizeof(*links)))
			return i;
	copy = gt_arena_array(arcs->arena, len, sizeof(*copy));
	if (!copy || !gt_tree_hops_grow(arcs))
		return UINT32_MAX;
	memcpy(copy, links, len * sizeof(*copy));
	arcs->routes[arcs->nroutes] =
		(struct gt_fabric_route){GT_RAT(1, 1), len, copy};
	return arcs->nroutes++;
}

/* The route just walked, and if ways are alike the way back. */
static int gt_tree_hops_take(struct gt_tree_hops *arcs, uint32_t from,
			     uint32_t to)
{
	const struct gt_fabric *f = arcs->fabric;
	uint32_t end = f->ranks[to], len = arcs->hops[end], n = arcs->n;
	uint32_t *there = arcs->trial, *back = there + f->nnodes;

	for (uint32_t v = end, k = len; k; v = f->links[there[k]].from)
		there[--k] = arcs->into[v];
	arcs->cost[from * n + to] = arcs->far[end];
	arcs->pick[from * n + to] = gt_tree_hops_keep(arcs, there, len);
	if (arcs->pick[from * n + to] == UINT32_MAX)
		return GT_ESYS;
	if (!arcs->back)
		return GT_OK;
	for (uint32_t k = 0; k < len; k++)
		back[len - 1 - k] = arcs->back[there[k]];
	arcs->cost[to * n + from] = arcs->far[end];
	arcs->pick[to * n + from] = gt_tree_hops_keep(arcs, back, len);
	return arcs->pick[to * n + from] == UINT32_MAX ? GT_ESYS : GT_OK;
}

static int gt_tree_hops_price_open(struct gt_tree_hops *arcs,
				   const int64_t *prices)
{
	uint32_t n = arcs->n;

	for (uint32_t i = 0; i < n * n; i++)
		arcs->cost[i] = GT_TREE_NO_HOP;
	for (uint32_t from = 0; from < n; from++) {
		gt_tree_hops_walk(arcs, from, prices);
		for (uint32_t to = arcs->back ? from + 1 : 0; to < n; to++) {
			if (to == from || arcs->far[arcs->fabric->ranks[to]] >=
						  GT_TREE_NO_HOP)
				continue;
			if (gt_tree_hops_take(arcs, from, to))
				return GT_ESYS;
		}
	}
	return GT_OK;
}

int gt_tree_hops_price(struct gt_tree_hops *arcs, const int64_t *prices)
{
	size_t nn = (size_t)arcs->n * arcs->n;

	if (!arcs->fixed)
		return gt_tree_hops_price_open(arcs, prices);
	gt_ring_weights(arcs->fixed, prices, arcs->cost);
	for (size_t i = 0; i < nn; i++)
		if (!arcs->fixed->joined[i] || arcs->cost[i] > GT_TREE_NO_HOP)
			arcs->cost[i] = GT_TREE_NO_HOP;
	return GT_OK;
}

const struct gt_fabric_route *gt_tree_hops_route(
	const struct gt_tree_hops *arcs, uint32_t route)
{
	return &arcs->routes[route];
}

void gt_tree_hops_load(const struct gt_tree_hops *arcs, uint32_t route,
		       int32_t *loads)
{
	const struct gt_fabric_route *r = &arcs->routes[route];
	const struct gt_link_rows *fixed = arcs->fixed;

	for (uint32_t k = 0; !fixed && k < r->nlinks; k++)
		loads[arcs->row[r->links[k]]]++;
	if (!fixed)
		return;
	for (uint32_t k = fixed->first[route]; k < fixed->first[route + 1]; k++)
		loads[fixed->uses[k].row] += (int32_t)fixed->uses[k].load;
}
