/*
 * Cheap rings from several starts by moving short pieces and reversing
 * stretches.
 */
#include "search/ring/local_search.h"

#include <stdlib.h>
#include <string.h>

/*
 * How many rings are begun, how often each is gone over, and how many ranks are
 * moved together at most.
 */
enum { GT_LOCAL_STARTS = 8, GT_LOCAL_PASSES = 50, GT_LOCAL_PIECE = 3 };

struct gt_local_search {
	uint32_t n, nrings;
	const int64_t *weights; /* during a run */
	uint32_t *rings;        /* [i * n] */
	int64_t *costs;
	uint32_t *trial;
	unsigned char *seen;
};

struct gt_local_search *gt_local_search_new(uint32_t n)
{
	struct gt_local_search *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->n = n;
	l->nrings = n < GT_LOCAL_STARTS ? n : GT_LOCAL_STARTS;
	l->rings = calloc((size_t)l->nrings * n, sizeof(*l->rings));
	l->costs = calloc(l->nrings, sizeof(*l->costs));
	l->trial = malloc(n * sizeof(*l->trial));
	l->seen = malloc(n);
	if (!l->rings || !l->costs || !l->trial || !l->seen) {
		gt_local_search_free(l);
		return NULL;
	}
	return l;
}

void gt_local_search_free(struct gt_local_search *local)
{
	if (!local)
		return;
	free(local->rings);
	free(local->costs);
	free(local->trial);
	free(local->seen);
	free(local);
}

static int64_t gt_local_search_weight(const struct gt_local_search *l,
				      uint32_t from, uint32_t to)
{
	return l->weights[(size_t)from * l->n + to];
}

static int64_t gt_local_search_cost(const struct gt_local_search *l,
				    const uint32_t *ring)
{
	int64_t sum = gt_local_search_weight(l, ring[l->n - 1], ring[0]);

	for (uint32_t i = 0; i + 1 < l->n; i++)
		sum += gt_local_search_weight(l, ring[i], ring[i + 1]);
	return sum;
}

static void gt_local_search_nearest(struct gt_local_search *l, uint32_t start,
				    uint32_t *ring)
{
	memset(l->seen, 0, l->n);
	ring[0] = start;
	l->seen[start] = 1;
	for (uint32_t i = 1; i < l->n; i++) {
		uint32_t best = l->n;

		for (uint32_t v = 0; v < l->n; v++)
			if (!l->seen[v] &&
			    (best == l->n ||
			     gt_local_search_weight(l, ring[i - 1], v) <
				     gt_local_search_weight(l, ring[i - 1],
							    best)))
				best = v;
		ring[i] = best;
		l->seen[best] = 1;
	}
}

/* Begin the ring at its i-th rank: moves need not look across the end. */
static void gt_local_search_rotate(struct gt_local_search *l, uint32_t *ring,
				   uint32_t i)
{
	memcpy(l->trial, ring + i, (l->n - i) * sizeof(*ring));
	memcpy(l->trial + l->n - i, ring, i * sizeof(*ring));
	memcpy(ring, l->trial, l->n * sizeof(*ring));
}

/*
 * Move the first `len` ranks to the place where they cost least; 1 when that
 * is not where they were.
 */
static int gt_local_search_move(struct gt_local_search *l, uint32_t *ring,
				uint32_t len)
{
	uint32_t n = l->n, first = ring[0], last = ring[len - 1], to = 0;
	int64_t best, gain, gone;

	gone = gt_local_search_weight(l, ring[n - 1], first) +
	       gt_local_search_weight(l, last, ring[len]) -
	       gt_local_search_weight(l, ring[n - 1], ring[len]);
	best = 0;
	for (uint32_t i = len; i + 1 < n; i++) {
		gain = gone + gt_local_search_weight(l, ring[i], ring[i + 1]) -
		       gt_local_search_weight(l, ring[i], first) -
		       gt_local_search_weight(l, last, ring[i + 1]);
		if (gain > best) {
			best = gain;
			to = i;
		}
	}
	if (!best)
		return 0;
	memcpy(l->trial, ring, len * sizeof(*ring));
	memmove(ring, ring + len, (to + 1 - len) * sizeof(*ring));
	memcpy(ring + to + 1 - len, l->trial, len * sizeof(*ring));
	return 1;
}

/* Reverse the stretch from the second rank on that gains most. */
static int gt_local_search_turn(struct gt_local_search *l, uint32_t *ring)
{
	uint32_t n = l->n, to = 0;
	int64_t best = 0, gain, there = 0, back = 0;

	for (uint32_t i = 2; i < n; i++) {
		uint32_t next = ring[i + 1 < n ? i + 1 : 0];

		there += gt_local_search_weight(l, ring[i - 1], ring[i]);
		back += gt_local_search_weight(l, ring[i], ring[i - 1]);
		gain = gt_local_search_weight(l, ring[0], ring[1]) + there +
		       gt_local_search_weight(l, ring[i], next) -
		       gt_local_search_weight(l, ring[0], ring[i]) - back -
		       gt_local_search_weight(l, ring[1], next);
		if (gain > best) {
			best = gain;
			to = i;
		}
	}
	for (uint32_t i = 1; i < to; i++, to--) {
		uint32_t t = ring[i];

		ring[i] = ring[to];
		ring[to] = t;
	}
	return best > 0;
}

static void gt_local_search_improve(struct gt_local_search *l, uint32_t *ring)
{
	int better = 1;

	for (int pass = 0; better && pass < GT_LOCAL_PASSES; pass++) {
		better = 0;
		for (uint32_t i = 0; i < l->n; i++) {
			for (uint32_t len = 1;
			     len <= GT_LOCAL_PIECE && len + 2 < l->n; len++)
				better |= gt_local_search_move(l, ring, len);
			better |= gt_local_search_turn(l, ring);
			gt_local_search_rotate(l, ring, 1);
		}
	}
}

void gt_local_search_run(struct gt_local_search *local, const int64_t *weights)
{
	uint32_t n = local->n, first;

	local->weights = weights;
	for (uint32_t i = 0; i < local->nrings; i++) {
		uint32_t *ring = local->rings + (size_t)i * n;

		gt_local_search_nearest(local, i * n / local->nrings, ring);
		gt_local_search_improve(local, ring);
		for (first = 0; ring[first]; first++)
			;
		gt_local_search_rotate(local, ring, first);
		local->costs[i] = gt_local_search_cost(local, ring);
	}
	local->weights = NULL;
}

uint32_t gt_local_search_nrings(const struct gt_local_search *local)
{
	return local->nrings;
}

int64_t gt_local_search_ring(const struct gt_local_search *local, uint32_t i,
			     uint32_t *order)
{
	memcpy(order, local->rings + (size_t)i * local->n,
	       local->n * sizeof(*order));
	return local->costs[i];
}
