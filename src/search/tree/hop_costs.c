/*
 * The hops between ranks: over fixed routes, or over the cheapest paths through
 * open switches.
 */
#include "search/tree/hop_costs.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"

/* When trees are used both ways, does row b bind whenever row a does? */
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

static int gt_tree_hops_fixed(struct gt_tree_hops *hops, int both,
			      struct gt_err *err)
{
	struct gt_link_rows *rows;
	int rc = gt_link_rows_new(hops->fabric, hops->arena, &rows, err);

	if (rc)
		return rc;
	if (both) {
		gt_tree_hops_fold(rows);
		if (!gt_link_rows_index(rows, hops->arena))
			return gt_err_nomem(err);
	}
	hops->fixed = rows;
	hops->unit = rows->unit;
	hops->routes = hops->fabric->routes;
	for (uint32_t i = 0; i < rows->nrows; i++) {
		hops->rows[i].link = rows->rows[i].link;
		hops->rows[i].gbs = rows->rows[i].gbs;
	}
	hops->nrows = rows->nrows;
	for (uint32_t i = 0; i < hops->n * hops->n; i++)
		hops->pick[i] = i;
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

static int gt_tree_hops_open(struct gt_tree_hops *hops, int both,
			     struct gt_err *err)
{
	const struct gt_fabric *f = hops->fabric;

	hops->row = gt_arena_array(hops->arena, f->nlinks, sizeof(*hops->row));
	hops->far = gt_arena_array(hops->arena, f->nnodes, sizeof(*hops->far));
	hops->into =
		gt_arena_array(hops->arena, f->nnodes, sizeof(*hops->into));
	hops->nlinks =
		gt_arena_array(hops->arena, f->nnodes, sizeof(*hops->nlinks));
	hops->trial = gt_arena_array(hops->arena, 2 * (size_t)f->nnodes,
				     sizeof(*hops->trial));
	hops->done = gt_arena_alloc(hops->arena, f->nnodes);
	hops->back =
		gt_arena_array(hops->arena, f->nlinks, sizeof(*hops->back));
	if (!hops->row || !hops->far || !hops->into || !hops->nlinks ||
	    !hops->trial || !hops->done || !hops->back)
		return gt_err_nomem(err);
	if (!both || !gt_tree_hops_pair(f, hops->back))
		hops->back = NULL;
	/* a row's hops count there and back, on a link they load once */
	hops->unit = hops->back ? 2 : 1;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		hops->row[i] = UINT32_MAX;
		if (f->links[i].gbs.num <= 0)
			continue;
		if (hops->back && hops->back[i] < i) {
			hops->row[i] = hops->row[hops->back[i]];
			continue;
		}
		hops->row[i] = hops->nrows;
		hops->rows[hops->nrows].link = i;
		hops->rows[hops->nrows++].gbs = f->links[i].gbs;
	}
	return GT_OK;
}

int gt_tree_hops_init(struct gt_tree_hops *hops, const struct gt_fabric *fabric,
		      int both, struct gt_arena *arena, struct gt_err *err)
{
	size_t nn = (size_t)fabric->nranks * fabric->nranks;

	memset(hops, 0, sizeof(*hops));
	hops->fabric = fabric;
	hops->arena = arena;
	hops->n = fabric->nranks;
	hops->rows = gt_arena_array(arena, fabric->nlinks, sizeof(*hops->rows));
	hops->cost = gt_arena_array(arena, nn, sizeof(*hops->cost));
	hops->pick = gt_arena_array(arena, nn, sizeof(*hops->pick));
	if (!hops->rows || !hops->cost || !hops->pick)
		return gt_err_nomem(err);
	return fabric->open ? gt_tree_hops_open(hops, both, err)
			    : gt_tree_hops_fixed(hops, both, err);
}

/* The nearest node to go on from, of several the one with fewest links. */
static uint32_t gt_tree_hops_nearest(const struct gt_tree_hops *hops)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t v = 0; v < hops->fabric->nnodes; v++) {
		if (hops->done[v] || hops->far[v] >= GT_TREE_NO_HOP)
			continue;
		if (best == UINT32_MAX || hops->far[v] < hops->far[best] ||
		    (hops->far[v] == hops->far[best] &&
		     hops->nlinks[v] < hops->nlinks[best]))
			best = v;
	}
	return best;
}

static void gt_tree_hops_relax(struct gt_tree_hops *hops, uint32_t u,
			       const int64_t *prices)
{
	const struct gt_fabric *f = hops->fabric;

	for (uint32_t i = 0; i < f->nlinks; i++) {
		uint32_t v = f->links[i].to;
		int64_t far;

		if (f->links[i].from != u || hops->row[i] == UINT32_MAX)
			continue;
		far = hops->far[u] + prices[hops->row[i]];
		if (far > hops->far[v] ||
		    (far == hops->far[v] &&
		     hops->nlinks[u] + 1 >= hops->nlinks[v]))
			continue;
		hops->far[v] = far;
		hops->nlinks[v] = hops->nlinks[u] + 1;
		hops->into[v] = i;
	}
}

/*
 * Find the cheapest paths from one rank (Dijkstra); they do not pass through
 * other ranks.
 */
static void gt_tree_hops_walk(struct gt_tree_hops *hops, uint32_t rank,
			      const int64_t *prices)
{
	const struct gt_fabric *f = hops->fabric;
	uint32_t u = f->ranks[rank];

	for (uint32_t v = 0; v < f->nnodes; v++) {
		hops->far[v] = GT_TREE_NO_HOP;
		hops->nlinks[v] = 0;
		hops->done[v] = 0;
	}
	for (uint32_t i = 0; i < f->nranks; i++)
		hops->done[f->ranks[i]] = 1;
	for (hops->far[u] = 0; u != UINT32_MAX;
	     u = gt_tree_hops_nearest(hops)) {
		hops->done[u] = 1;
		gt_tree_hops_relax(hops, u, prices);
	}
}

/*
 * The number of this route, which is kept if it is new; UINT32_MAX when memory
 * ran out.
 */
static uint32_t gt_tree_hops_keep(struct gt_tree_hops *hops,
				  const uint32_t *links, uint32_t len)
{
	struct gt_fabric_route *routes;
	uint32_t *copy;

	for (uint32_t i = 0; i < hops->nroutes; i++)
		if (hops->routes[i].nlinks == len &&
		    !memcmp(hops->routes[i].links, links, len * sizeof(*links)))
			return i;
	copy = gt_arena_array(hops->arena, len, sizeof(*copy));
	routes = gt_vec_grow_in(hops->arena, hops->routes, hops->nroutes,
				&hops->max_routes, sizeof(*routes));
	if (!copy || !routes)
		return UINT32_MAX;
	hops->routes = routes;
	memcpy(copy, links, len * sizeof(*copy));
	routes[hops->nroutes] = (struct gt_fabric_route){
		.charge = GT_RAT(1, 1), .nlinks = len, .links = copy};
	return hops->nroutes++;
}

/*
 * Keep the route just found, and its reverse where both directions are alike.
 */
static int gt_tree_hops_take(struct gt_tree_hops *hops, uint32_t from,
			     uint32_t to)
{
	const struct gt_fabric *f = hops->fabric;
	uint32_t end = f->ranks[to], len = hops->nlinks[end], n = hops->n;
	uint32_t *there = hops->trial, *back = there + f->nnodes;

	for (uint32_t v = end, k = len; k; v = f->links[there[k]].from)
		there[--k] = hops->into[v];
	hops->cost[from * n + to] = hops->far[end];
	hops->pick[from * n + to] = gt_tree_hops_keep(hops, there, len);
	if (hops->pick[from * n + to] == UINT32_MAX)
		return GT_ESYS;
	if (!hops->back)
		return GT_OK;
	for (uint32_t k = 0; k < len; k++)
		back[len - 1 - k] = hops->back[there[k]];
	hops->cost[to * n + from] = hops->far[end];
	hops->pick[to * n + from] = gt_tree_hops_keep(hops, back, len);
	return hops->pick[to * n + from] == UINT32_MAX ? GT_ESYS : GT_OK;
}

static int gt_tree_hops_price_open(struct gt_tree_hops *hops,
				   const int64_t *prices)
{
	uint32_t n = hops->n;

	for (uint32_t i = 0; i < n * n; i++)
		hops->cost[i] = GT_TREE_NO_HOP;
	for (uint32_t from = 0; from < n; from++) {
		gt_tree_hops_walk(hops, from, prices);
		for (uint32_t to = hops->back ? from + 1 : 0; to < n; to++) {
			if (to == from || hops->far[hops->fabric->ranks[to]] >=
						  GT_TREE_NO_HOP)
				continue;
			if (gt_tree_hops_take(hops, from, to))
				return GT_ESYS;
		}
	}
	return GT_OK;
}

int gt_tree_hops_price(struct gt_tree_hops *hops, const int64_t *prices)
{
	size_t nn = (size_t)hops->n * hops->n;

	if (!hops->fixed)
		return gt_tree_hops_price_open(hops, prices);
	gt_ring_weights(hops->fixed, prices, hops->cost);
	for (size_t i = 0; i < nn; i++)
		if (!hops->fixed->joined[i] || hops->cost[i] > GT_TREE_NO_HOP)
			hops->cost[i] = GT_TREE_NO_HOP;
	return GT_OK;
}

const struct gt_fabric_route *gt_tree_hops_route(
	const struct gt_tree_hops *hops, uint32_t route)
{
	return &hops->routes[route];
}

void gt_tree_hops_load(const struct gt_tree_hops *hops, uint32_t route,
		       uint32_t units, int32_t *loads)
{
	const struct gt_fabric_route *r = &hops->routes[route];
	const struct gt_link_rows *fixed = hops->fixed;

	for (uint32_t k = 0; !fixed && k < r->nlinks; k++)
		loads[hops->row[r->links[k]]] += (int32_t)units;
	if (!fixed)
		return;
	for (uint32_t k = fixed->first[route]; k < fixed->first[route + 1]; k++)
		loads[fixed->uses[k].row] +=
			(int32_t)(units * fixed->uses[k].load);
}
