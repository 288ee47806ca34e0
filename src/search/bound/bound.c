/*
 * The bounds of rooted collectives and of those with blocks by minimum cuts,
 * and that of all-reduce by the best partition of the ranks.
 */
#include "search/bound/bound.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/bound/cut.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

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

/* Newton starts at the best set of everything but one rank. */
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

/* `inside` holds the best set, with `ranks` of its ranks to a result of n. */
static int gt_bound_emit(const struct gt_cut *cut, int64_t n, int64_t ranks,
			 struct gt_arena *arena, struct gt_bound *bound)
{
	struct gt_rat total = GT_RAT(0, 1);
	int fits = 1;

	bound->nparts = 1;
	bound->parts = gt_arena_alloc(arena, sizeof(*bound->parts));
	if (!bound->parts ||
	    gt_cut_part(cut, arena, bound->parts, &total, &fits))
		return GT_ESYS;
	bound->found =
		fits && gt_rat_mul(total, GT_RAT(n, ranks), &bound->value);
	return GT_OK;
}

static int gt_bound_spread(struct gt_cut *cut, struct gt_arena *arena,
			   struct gt_bound *bound)
{
	const struct gt_fabric *f = cut->fabric;
	struct gt_bound_ratio best = {INT64_MAX, 1, NULL};

	best.inside = gt_arena_alloc(arena, f->nnodes);
	if (!best.inside)
		return GT_ESYS;
	gt_bound_begin(cut, &best);
	gt_bound_newton(cut, &best);
	memcpy(cut->inside, best.inside, f->nnodes);
	return gt_bound_emit(cut, f->nranks - 1, gt_cut_ranks(cut), arena,
			     bound);
}

/* The least of all minimum cuts between the root and another rank. */
static int gt_bound_rooted(struct gt_cut *cut, uint32_t root,
			   struct gt_arena *arena, struct gt_bound *bound)
{
	const struct gt_fabric *f = cut->fabric;
	unsigned char *inside = gt_arena_alloc(arena, f->nnodes);
	int64_t least = INT64_MAX, one;

	if (!inside)
		return GT_ESYS;
	gt_cut_scale(cut, 1);
	gt_cut_feed(cut, root, GT_MAXFLOW_INF);
	for (uint32_t v = 0; v < f->nranks; v++) {
		if (v == root)
			continue;
		one = gt_cut_run(cut, f->ranks[v]);
		if (one >= least)
			continue;
		least = one;
		memcpy(inside, cut->inside, f->nnodes);
	}
	memcpy(cut->inside, inside, f->nnodes);
	return gt_bound_emit(cut, 1, 1, arena, bound);
}

/* ---- all-reduce: the best partition of the ranks ----------------------- */

/* A partition: part[rank] is the smallest rank of its part. */
struct gt_parts {
	struct gt_cut *cut;
	uint32_t n;
	uint32_t *part;
	uint32_t *trial;
	int64_t *x; /* rank -> its share of the truncation */
};

static uint32_t gt_parts_count(const uint32_t *part, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += part[i] == i;
	return count;
}

/* `inside` becomes the smallest set with these ranks and no others. */
static int64_t gt_parts_cut(const struct gt_parts *parts, uint32_t which)
{
	gt_cut_scale(parts->cut, 1);
	for (uint32_t i = 0; i < parts->n; i++)
		if (parts->part[i] == which)
			gt_cut_feed(parts->cut, i, GT_MAXFLOW_INF);
		else
			gt_cut_drain(parts->cut, i, GT_MAXFLOW_INF);
	return gt_cut_run(parts->cut, parts->cut->sink);
}

static int64_t gt_parts_sum(const struct gt_parts *parts)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < parts->n; i++)
		if (parts->part[i] == i)
			sum += gt_parts_cut(parts, i);
	return sum;
}

/* Join the parts of all ranks that are inside with that of rank v. */
static void gt_parts_join(struct gt_parts *parts, uint32_t v)
{
	const struct gt_cut *cut = parts->cut;
	uint32_t *part = parts->trial;

	for (uint32_t i = 0; i < v; i++) {
		uint32_t old = part[i], now = part[v];

		if (!cut->inside[cut->fabric->ranks[i]] || old == now)
			continue;
		for (uint32_t j = 0; j <= v; j++)
			if (part[j] == old || part[j] == now)
				part[j] = old < now ? old : now;
	}
}

/*
 * With g(S) = q f(S) - p, f the cut function, the greedy algorithm makes
 * x(v) = min g(S) - x(S - v) over sets S of v and ranks before it, and the
 * sum of all x is the least sum of g over the parts of any partition.  Sets
 * that attain their minimum may be joined where they meet.
 */
static int64_t gt_parts_truncate(struct gt_parts *parts, int64_t p, int64_t q)
{
	struct gt_cut *cut = parts->cut;
	int64_t sum = 0, gain;

	for (uint32_t v = 0; v < parts->n; v++) {
		gt_cut_scale(cut, q);
		gt_cut_feed(cut, v, GT_MAXFLOW_INF);
		gain = 0;
		for (uint32_t i = 0; i < v; i++) {
			if (parts->x[i] > 0) {
				gt_cut_feed(cut, i, parts->x[i]);
				gain += parts->x[i];
			} else {
				gt_cut_drain(cut, i, -parts->x[i]);
			}
		}
		for (uint32_t i = v + 1; i < parts->n; i++)
			gt_cut_drain(cut, i, GT_MAXFLOW_INF);
		parts->x[v] = gt_cut_run(cut, cut->sink) - gain - p;
		sum += parts->x[v];
		parts->trial[v] = v;
		gt_parts_join(parts, v);
	}
	return sum;
}

/* From single ranks on, while some partition has a smaller ratio. */
static void gt_parts_newton(struct gt_parts *parts)
{
	uint32_t n = parts->n;

	for (uint32_t i = 0; i < n; i++)
		parts->part[i] = i;
	for (;;) {
		int64_t p = gt_parts_sum(parts);
		int64_t q = gt_parts_count(parts->part, n) - 1;

		/* -p is what the whole in one part makes */
		if (gt_parts_truncate(parts, p, q) >= -p)
			return;
		memcpy(parts->part, parts->trial, n * sizeof(*parts->part));
	}
}

static int gt_parts_emit(struct gt_parts *parts, struct gt_arena *arena,
			 struct gt_bound *bound, struct gt_err *err)
{
	struct gt_rat total = GT_RAT(0, 1);
	int64_t n = parts->n, others;
	int fits = 1;

	bound->parts = gt_arena_array(arena, parts->n, sizeof(*bound->parts));
	if (!bound->parts)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < parts->n; i++) {
		if (parts->part[i] != i)
			continue;
		gt_parts_cut(parts, i);
		if (gt_cut_part(parts->cut, arena,
				&bound->parts[bound->nparts++], &total, &fits))
			return gt_err_nomem(err);
	}
	others = bound->nparts - 1;
	bound->found = fits && gt_rat_mul(total, GT_RAT(n - 1, n), &total) &&
		       gt_rat_div(total, GT_RAT(others, 1), &bound->value);
	return GT_OK;
}

static int gt_bound_partition(struct gt_cut *cut, struct gt_arena *arena,
			      struct gt_bound *bound, struct gt_err *err)
{
	struct gt_parts parts = {.cut = cut, .n = cut->fabric->nranks};

	parts.part = gt_arena_array(arena, parts.n, sizeof(*parts.part));
	parts.trial = gt_arena_array(arena, parts.n, sizeof(*parts.trial));
	parts.x = gt_arena_array(arena, parts.n, sizeof(*parts.x));
	if (!parts.part || !parts.trial || !parts.x)
		return gt_err_nomem(err);
	gt_parts_newton(&parts);
	return gt_parts_emit(&parts, arena, bound, err);
}

int gt_bound_find(const struct gt_bound_query *ask, struct gt_arena *arena,
		  struct gt_bound *bound, struct gt_err *err)
{
	int up = gt_coll_goes_up(ask->coll),
	    down = gt_coll_goes_down(ask->coll);
	struct gt_cut cut;
	int rc;

	memset(bound, 0, sizeof(*bound));
	if (ask->fabric->nranks < 2 || (!up && !down))
		return GT_OK;
	rc = gt_cut_init(&cut, ask->fabric, up && !down, err);
	if (!rc && up && down)
		rc = gt_bound_partition(&cut, arena, bound, err);
	else if (!rc && gt_coll_has_blocks(ask->coll))
		rc = gt_bound_spread(&cut, arena, bound);
	else if (!rc)
		rc = gt_bound_rooted(&cut, ask->root, arena, bound);
	gt_cut_release(&cut);
	return rc == GT_ESYS ? gt_err_nomem(err) : rc;
}

/* The fabric with links that no route uses leading nowhere. */
static int gt_bound_usable(const struct gt_fabric *f, struct gt_arena *arena,
			   struct gt_fabric *usable)
{
	uint32_t nn = f->nranks * f->nranks;
	unsigned char *used = gt_arena_alloc(arena, f->nlinks);

	*usable = *f;
	usable->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	if (!used || !usable->links)
		return GT_ESYS;
	for (uint32_t i = 0; i < nn; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++)
			used[f->routes[i].links[k]] = 1;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		usable->links[i] = f->links[i];
		if (!used[i])
			usable->links[i].to = usable->links[i].from;
	}
	return GT_OK;
}

int gt_bound_find_routed(const struct gt_bound_query *ask,
			 struct gt_arena *arena, struct gt_bound *bound,
			 struct gt_err *err)
{
	struct gt_bound_query routed = *ask;
	struct gt_fabric usable;

	if (!gt_fabric_is_routed(ask->fabric))
		return gt_bound_find(ask, arena, bound, err);
	if (gt_bound_usable(ask->fabric, arena, &usable))
		return gt_err_nomem(err);
	routed.fabric = &usable;
	return gt_bound_find(&routed, arena, bound, err);
}
