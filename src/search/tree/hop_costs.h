/*
 * The hops that trees are made of: what each hop between two ranks loads
 * links with, and what it costs under prices of links.
 *
 * Where the fabric fixes the routes there is one a pair.  Where it does not
 * (gt_fabric.open) a hop may take any path through nodes that are no ranks,
 * and takes the cheapest; routes met are kept and numbered.
 *
 * Loads are whole numbers: the true ones times `unit`.
 *
 * Trees that are used both ways load a hop's route and the way back alike
 * where both are the same links turned round.  Then one row stands for both
 * directions of a link.
 */
#ifndef GT_SEARCH_TREE_HOP_COSTS_H
#define GT_SEARCH_TREE_HOP_COSTS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;
struct gt_link_rows;

struct gt_tree_hop_row {
	uint32_t link; /* of the fabric */
	struct gt_rat gbs;
};

/* The cost of a hop that does not exist. */
#define GT_TREE_NO_HOP (INT64_C(1) << 56)

struct gt_tree_hops {
	const struct gt_fabric *fabric;
	struct gt_arena *arena;
	uint32_t n, nrows, unit;
	struct gt_tree_hop_row *rows; /* links that can bind */
	/* After gt_tree_hops_price(), by from * n + to. */
	int64_t *cost;  /* or GT_TREE_NO_HOP */
	uint32_t *pick; /* route */
	/* The implementation's own. */
	const struct gt_link_rows *fixed; /* NULL: routes are open */
	uint32_t *row;                    /* link -> row, or UINT32_MAX */
	uint32_t *back; /* link -> the other way; NULL: ways differ */
	uint32_t nroutes, max_routes;
	struct gt_fabric_route *routes;
	int64_t *far;
	uint32_t *into, *nlinks, *trial;
	unsigned char *done;
};

/* Memory is the arena's.  both: every hop is used there and back. */
int gt_tree_hops_init(struct gt_tree_hops *hops, const struct gt_fabric *fabric,
		      int both, struct gt_arena *arena, struct gt_err *err);

/* Costs and routes under these prices (row -> price >= 0). */
int gt_tree_hops_price(struct gt_tree_hops *hops, const int64_t *prices);

const struct gt_fabric_route *gt_tree_hops_route(
	const struct gt_tree_hops *hops, uint32_t route);

/* Add what so many units load a route with to loads[row]. */
void gt_tree_hops_load(const struct gt_tree_hops *hops, uint32_t route,
		       uint32_t units, int32_t *loads);

#endif
