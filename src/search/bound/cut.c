/*
 * A fabric as a flow network with whole capacities, and what its minimum cuts
 * separate.
 */
#include "search/bound/cut.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

/* ceil(gbs * scale), or -1 when it is too large. */
static int64_t gt_cut_round(struct gt_rat gbs, int64_t scale, int64_t max)
{
	__int128 n = (__int128)gbs.num * scale;

	n = (n + gbs.den - 1) / gbs.den;
	return n > max ? -1 : (int64_t)n;
}

static int gt_cut_try(struct gt_cut *cut, int64_t scale)
{
	const struct gt_fabric *f = cut->fabric;
	/* a cut's value is multiplied by, and summed over, up to nranks */
	int64_t left = GT_MAXFLOW_INF / 4 / (f->nranks + 1) / (f->nranks + 1);

	for (uint32_t i = 0; i < f->nlinks; i++) {
		int64_t c = gt_cut_round(f->links[i].gbs, scale, left);

		if (c < 0)
			return 0;
		left -= c;
		cut->capacity[i] = c;
	}
	return 1;
}

/* The least common denominator of all rates; 0 when it is too large. */
static int64_t gt_cut_denominator(const struct gt_fabric *f)
{
	struct gt_rat step = GT_RAT(1, 1), ratio;

	for (uint32_t i = 0; i < f->nlinks; i++) {
		int64_t den = f->links[i].gbs.den;

		/* step.den grows by den / gcd(step.den, den) */
		if (!gt_rat_make(den, step.den, &ratio) ||
		    !gt_rat_div(step, GT_RAT(ratio.num, 1), &step))
			return 0;
	}
	return step.den;
}

static void gt_cut_capacities(struct gt_cut *cut)
{
	int64_t scale = gt_cut_denominator(cut->fabric);

	if (scale && gt_cut_try(cut, scale))
		return;
	for (scale = 1000000; scale; scale /= 10)
		if (gt_cut_try(cut, scale))
			return;
	/* Rates beyond 2^62: any cut will do. */
	for (uint32_t i = 0; i < cut->fabric->nlinks; i++)
		cut->capacity[i] = 1;
}

int gt_cut_init(struct gt_cut *cut, const struct gt_fabric *fabric, int reverse,
		struct gt_err *err)
{
	uint32_t nlinks = fabric->nlinks, n = fabric->nranks;

	cut->fabric = fabric;
	cut->source = fabric->nnodes;
	cut->sink = fabric->nnodes + 1;
	cut->reverse = reverse;
	cut->flow = gt_maxflow_new(fabric->nnodes + 2, nlinks + 2 * n);
	cut->capacity = calloc((size_t)nlinks + 1, sizeof(*cut->capacity));
	cut->inside = calloc((size_t)fabric->nnodes + 2, 1);
	if (!cut->flow || !cut->capacity || !cut->inside)
		return gt_err_nomem(err);
	gt_cut_capacities(cut);
	for (uint32_t i = 0; i < nlinks; i++) {
		const struct gt_fabric_link *l = &fabric->links[i];

		gt_maxflow_add(cut->flow, reverse ? l->to : l->from,
			       reverse ? l->from : l->to);
	}
	for (uint32_t i = 0; i < n; i++)
		gt_maxflow_add(cut->flow, cut->source, fabric->ranks[i]);
	for (uint32_t i = 0; i < n; i++)
		gt_maxflow_add(cut->flow, fabric->ranks[i], cut->sink);
	return GT_OK;
}

void gt_cut_release(struct gt_cut *cut)
{
	gt_maxflow_free(cut->flow);
	free(cut->capacity);
	free(cut->inside);
}

void gt_cut_scale(struct gt_cut *cut, int64_t factor)
{
	uint32_t nlinks = cut->fabric->nlinks, i;

	for (i = 0; i < nlinks; i++)
		gt_maxflow_set(cut->flow, i, cut->capacity[i] * factor);
	for (; i < nlinks + 2 * cut->fabric->nranks; i++)
		gt_maxflow_set(cut->flow, i, 0);
}

void gt_cut_feed(struct gt_cut *cut, uint32_t rank, int64_t capacity)
{
	gt_maxflow_set(cut->flow, cut->fabric->nlinks + rank, capacity);
}

void gt_cut_drain(struct gt_cut *cut, uint32_t rank, int64_t capacity)
{
	gt_maxflow_set(cut->flow,
		       cut->fabric->nlinks + cut->fabric->nranks + rank,
		       capacity);
}

int64_t gt_cut_run(struct gt_cut *cut, uint32_t sink)
{
	int64_t value = gt_maxflow_run(cut->flow, cut->source, sink);

	for (uint32_t i = 0; i < cut->fabric->nnodes; i++)
		cut->inside[i] =
			(unsigned char)gt_maxflow_is_source_side(cut->flow, i);
	return value;
}

static int gt_cut_crosses(const struct gt_cut *cut, uint32_t link)
{
	const struct gt_fabric_link *l = &cut->fabric->links[link];
	int from = cut->inside[l->from], to = cut->inside[l->to];

	return cut->reverse ? to && !from : from && !to;
}

int64_t gt_cut_value(const struct gt_cut *cut)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < cut->fabric->nlinks; i++)
		if (gt_cut_crosses(cut, i))
			sum += cut->capacity[i];
	return sum;
}

uint32_t gt_cut_ranks(const struct gt_cut *cut)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cut->fabric->nranks; i++)
		n += cut->inside[cut->fabric->ranks[i]];
	return n;
}

int gt_cut_part(const struct gt_cut *cut, struct gt_arena *arena,
		struct gt_bound_part *part, struct gt_rat *total, int *fits)
{
	const struct gt_fabric *f = cut->fabric;

	part->nranks = part->nlinks = 0;
	part->ranks = gt_arena_array(arena, f->nranks, sizeof(*part->ranks));
	part->links = gt_arena_array(arena, f->nlinks, sizeof(*part->links));
	if (!part->ranks || !part->links)
		return GT_ESYS;
	for (uint32_t i = 0; i < f->nranks; i++)
		if (cut->inside[f->ranks[i]])
			part->ranks[part->nranks++] = i;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		if (!gt_cut_crosses(cut, i))
			continue;
		part->links[part->nlinks++] = i;
		*fits &= gt_rat_add(*total, f->links[i].gbs, total);
	}
	return GT_OK;
}
