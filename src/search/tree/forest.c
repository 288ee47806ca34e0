/*
 * The forest's linear program without trees, and the costs of hops under the
 * prices that it gives.
 */
#include "search/tree/forest.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "search/graph/graph.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* Dearer than any hop of a tree in use; no hop is dearer still. */
#define GT_FOREST_DEAR (INT64_C(1) << 50)

/*
 * What blocks cost together is at most counted as this, of which all roots'
 * fit 64 bits.  To count less makes a bound weaker, not wrong.
 */
#define GT_FOREST_MOST (INT64_C(1) << 56)

static int gt_forest_scratch(struct gt_forest *f)
{
	struct gt_arena *arena = f->args->arena;
	size_t n = f->hops.n, nrows = f->hops.nrows;

	f->load = gt_arena_array(arena, nrows, sizeof(*f->load));
	f->prices = gt_arena_array(arena, nrows, sizeof(*f->prices));
	f->weights = gt_arena_array(arena, n * n, sizeof(*f->weights));
	f->mixed = gt_arena_array(arena, n * n, sizeof(*f->mixed));
	f->parent = gt_arena_array(arena, n, sizeof(*f->parent));
	f->far = gt_arena_array(arena, n, sizeof(*f->far));
	f->entries = gt_arena_array(arena, nrows + n, sizeof(*f->entries));
	return f->load && f->prices && f->weights && f->mixed && f->parent &&
	       f->far && f->entries;
}

double gt_forest_capacity(const struct gt_forest *f, uint32_t row)
{
	return gt_rat_double(f->hops.rows[row].gbs) * f->hops.unit;
}

/*
 * Make the program without trees: it has only x, of which no root has any yet.
 */
static int gt_forest_begin(struct gt_forest *f)
{
	uint32_t nrows = f->hops.nrows;
	double *upper = gt_arena_array(f->args->arena, nrows + f->nroots,
				       sizeof(*upper));

	/* A unit's rate is about 1 then, which floats have a tolerance for. */
	f->unit_gbs = f->args->demand ? 1 / (double)f->args->demand->most : 1;
	for (uint32_t i = 0; upper && i < nrows; i++)
		upper[i] = gt_forest_capacity(f, i) / f->unit_gbs;
	f->lp = upper ? gt_lp_new(nrows + f->nroots, upper) : NULL;
	if (!f->lp)
		return 0;
	for (uint32_t i = 0; i < f->nroots; i++)
		f->entries[nrows + i] = 1;
	gt_lp_add(f->lp, 1, f->entries);
	return 1;
}

/* Find the ranks that trees may hang from, or must. */
static int gt_forest_starts(struct gt_forest *f)
{
	const struct gt_shape_args *args = f->args;
	uint32_t n = f->hops.n;

	f->starts = gt_arena_array(args->arena, n, sizeof(*f->starts));
	f->place = gt_arena_array(args->arena, n, sizeof(*f->place));
	if (!f->starts || !f->place)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_coll_is_rooted(args->coll) && i != args->root)
			continue;
		f->place[i] = f->nstarts;
		f->starts[f->nstarts++] = i;
	}
	f->nroots = gt_coll_has_blocks(args->coll) ? f->nstarts : 1;
	return 1;
}

/* Find the ranks that have a block for someone, and for whom. */
static int gt_forest_senders(struct gt_forest *f)
{
	const struct gt_shape_args *args = f->args;
	uint32_t n = f->hops.n;
	uint32_t *wants =
		gt_arena_array(args->arena, (size_t)n * n, sizeof(*wants));

	f->starts = gt_arena_array(args->arena, n, sizeof(*f->starts));
	f->place = gt_arena_array(args->arena, n, sizeof(*f->place));
	if (!f->starts || !f->place || !wants)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int any = 0;

		for (uint32_t j = 0; j < n; j++) {
			wants[i * n + j] =
				args->demand ? args->demand->units[i * n + j]
					     : (uint32_t)gt_coll_has_pair(
						       args->coll, n,
						       args->root, i, j);
			any |= wants[i * n + j] > 0;
		}
		f->place[i] = f->nstarts;
		f->starts[f->nstarts] = i;
		f->nstarts += (uint32_t)any;
	}
	f->nroots = f->nstarts;
	f->trees.wants = wants;
	return 1;
}

int gt_forest_init(struct gt_forest *f, const struct gt_shape_args *args,
		   struct gt_err *err)
{
	unsigned int down, up;
	int rc;

	memset(f, 0, sizeof(*f));
	f->args = args;
	f->target = GT_RAT(0, 1);
	down = gt_coll_goes_down(args->coll) || gt_coll_only_moves(args->coll)
		       ? GT_TREE_DOWN
		       : 0;
	up = gt_coll_goes_up(args->coll) ? GT_TREE_UP : 0;
	rc = gt_tree_hops_init(&f->hops, args->fabric, down && up, args->arena,
			       err);
	if (rc)
		return rc;
	gt_tree_pool_init(&f->trees, &f->hops, down | up);
	if (!(gt_coll_only_moves(args->coll) ? gt_forest_senders(f)
					     : gt_forest_starts(f)) ||
	    !gt_forest_scratch(f))
		return gt_err_nomem(err);
	return gt_forest_begin(f) ? GT_OK : gt_err_nomem(err);
}

void gt_forest_release(struct gt_forest *f)
{
	gt_tree_pool_release(&f->trees);
	gt_lp_free(f->lp);
}

uint32_t gt_forest_root(const struct gt_forest *f, uint32_t tree)
{
	return f->nroots > 1 ? f->place[f->trees.trees[tree].root] : 0;
}

int gt_forest_weigh(struct gt_forest *f)
{
	size_t nn = (size_t)f->hops.n * f->hops.n;

	if (gt_tree_hops_price(&f->hops, f->prices))
		return GT_ESYS;
	gt_tree_pool_weights(&f->trees, f->weights);
	for (size_t i = 0; i < nn; i++) {
		f->mixed[i] = f->weights[i];
		if (f->weights[i] > GT_FOREST_DEAR)
			f->mixed[i] = GT_FOREST_DEAR;
		if (f->weights[i] >= GT_TREE_NO_HOP)
			f->mixed[i] = 4 * GT_FOREST_DEAR;
	}
	return GT_OK;
}

int64_t gt_forest_shortest(struct gt_forest *f, uint32_t root)
{
	uint32_t n = f->hops.n;
	__int128 sum = 0;

	gt_shortest_paths(n, f->mixed, root, f->far, f->parent);
	for (uint32_t v = 0; v < n; v++)
		sum += (__int128)f->trees.wants[root * n + v] * f->far[v];
	return sum < GT_FOREST_MOST ? (int64_t)sum : GT_FOREST_MOST;
}
