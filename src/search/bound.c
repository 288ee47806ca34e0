#include "search/bound.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/bound_parts.h"
#include "search/cut.h"
#include "search/fabric.h"

/* The smallest ratio so far: what leaves a set, over its ranks. */
struct gt_bound_ratio {
	int64_t p, q;
	unsigned char *inside; /* node -> is it in that set? */
};

static void gt_bound_keep(const struct gt_cut *cut, struct gt_bound_ratio *best)
{
	best->p = gt_cut_value(cut);
	best->q = gt_cut_ranks(cut);
	memcpy(best->inside, cut->inside, cut->fabric->nnodes);
}

/* Everything but one rank: where Newton starts. */
static void gt_bound_begin(struct gt_cut *cut, struct gt_bound_ratio *best)
{
	const struct gt_fabric *f = cut->fabric;

	memset(cut->inside, 1, f->nnodes);
	for (uint32_t i = 0; i < f->nranks; i++) {
		cut->inside[f->ranks[i]] = 0;
		if (gt_cut_value(cut) < best->p)
			gt_bound_keep(cut, best);
		cut->inside[f->ranks[i]] = 1;
	}
}

/*
 * If every rank could send p / q to all others at once, a flow of that from
 * each rank would reach any one of them; where it does not, the minimum cut
 * has a smaller ratio.  Ends when no rank is short any more.
 */
static void gt_bound_newton(struct gt_cut *cut, struct gt_bound_ratio *best)
{
	const struct gt_fabric *f = cut->fabric;
	uint32_t n = f->nranks, fine = 0;

	for (uint32_t v = 0; fine < n; v = (v + 1) % n) {
		gt_cut_scale(cut, best->q);
		for (uint32_t i = 0; i < n; i++)
			gt_cut_feed(cut, i, best->p);
		fine++;
		if (gt_cut_run(cut, f->ranks[v]) < best->p * n) {
			gt_bound_keep(cut, best);
			fine = 0;
		}
	}
}

static int gt_bound_spread(struct gt_cut *cut, struct gt_arena *arena,
			   struct gt_bound *bound, struct gt_err *err)
{
	const struct gt_fabric *f = cut->fabric;
	struct gt_bound_ratio best = {INT64_MAX, 1, NULL};
	struct gt_rat total = GT_RAT(0, 1);
	int fits = 1;

	best.inside = gt_arena_alloc(arena, f->nnodes);
	bound->nparts = 1;
	bound->parts = gt_arena_alloc(arena, sizeof(*bound->parts));
	if (!best.inside || !bound->parts)
		return gt_err_nomem(err);
	gt_bound_begin(cut, &best);
	gt_bound_newton(cut, &best);
	memcpy(cut->inside, best.inside, f->nnodes);
	if (gt_cut_part(cut, arena, bound->parts, &total, &fits))
		return gt_err_nomem(err);
	bound->found =
		fits &&
		gt_rat_mul(total, GT_RAT(f->nranks - 1, bound->parts->nranks),
			   &bound->value);
	return GT_OK;
}

int gt_bound_find(const struct gt_fabric *fabric, enum gt_coll coll,
		  struct gt_arena *arena, struct gt_bound *bound,
		  struct gt_err *err)
{
	struct gt_cut cut;
	int rc;

	memset(bound, 0, sizeof(*bound));
	if (fabric->nranks < 2)
		return GT_OK;
	rc = gt_cut_init(&cut, fabric, coll == GT_COLL_REDUCESCATTER, err);
	if (!rc)
		rc = coll == GT_COLL_ALLREDUCE
			     ? gt_bound_parts(&cut, arena, bound, err)
			     : gt_bound_spread(&cut, arena, bound, err);
	gt_cut_release(&cut);
	return rc;
}
