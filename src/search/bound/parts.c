#include "search/bound/parts.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/bound/cut.h"
#include "search/problem/fabric.h"
#include "search/graph/maxflow.h"

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

int gt_bound_partition(struct gt_cut *cut, struct gt_arena *arena,
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
