#include "search/ring_price.h"

#include <stdlib.h>
#include <string.h>

/*
 * cost[set * m + v]: the cheapest path from rank 0 through all of `set`
 * ending in v, where m = n - 1 and bit and index i stand for rank i + 1.
 */
struct gt_pricer {
	uint32_t n, m;
	int64_t *cost;
	int64_t *into; /* into[v * m + u]: weight of u -> v among those */
	int64_t *first, *back; /* from and to rank 0 */
};

struct gt_pricer *gt_pricer_new(uint32_t n)
{
	struct gt_pricer *p = calloc(1, sizeof(*p));
	size_t m = n - 1;

	if (!p)
		return NULL;
	p->n = n;
	p->m = n - 1;
	p->cost = malloc((m << m) * sizeof(*p->cost));
	p->into = malloc(m * m * sizeof(*p->into));
	p->first = malloc(m * sizeof(*p->first));
	p->back = malloc(m * sizeof(*p->back));
	if (!p->cost || !p->into || !p->first || !p->back) {
		gt_pricer_free(p);
		return NULL;
	}
	return p;
}

void gt_pricer_free(struct gt_pricer *pricer)
{
	if (!pricer)
		return;
	free(pricer->cost);
	free(pricer->into);
	free(pricer->first);
	free(pricer->back);
	free(pricer);
}

static void gt_pricer_load(struct gt_pricer *p, const int64_t *weights)
{
	uint32_t n = p->n, m = p->m;

	for (uint32_t v = 0; v < m; v++) {
		p->first[v] = weights[v + 1];
		p->back[v] = weights[(v + 1) * n];
		for (uint32_t u = 0; u < m; u++)
			p->into[v * m + u] = weights[(u + 1) * n + v + 1];
	}
}

/* The cheapest way to have come to v over a non-empty set without it. */
static int64_t gt_pricer_arrive(const struct gt_pricer *p, uint32_t set,
				uint32_t v)
{
	const int64_t *cost = p->cost + (size_t)set * p->m;
	const int64_t *into = p->into + (size_t)v * p->m;
	int64_t best = INT64_MAX;

	for (uint32_t rest = set; rest; rest &= rest - 1) {
		uint32_t u = (uint32_t)__builtin_ctz(rest);
		int64_t c = cost[u] + into[u];

		if (c < best)
			best = c;
	}
	return best;
}

int64_t gt_pricer_run(struct gt_pricer *p, const int64_t *weights)
{
	uint32_t full = (1u << p->m) - 1;
	int64_t best = INT64_MAX, c;

	gt_pricer_load(p, weights);
	for (uint32_t set = 1; set <= full; set++) {
		int64_t *cost = p->cost + (size_t)set * p->m;

		for (uint32_t bits = set; bits; bits &= bits - 1) {
			uint32_t v = (uint32_t)__builtin_ctz(bits);
			uint32_t before = set & ~(1u << v);

			cost[v] = before ? gt_pricer_arrive(p, before, v)
					 : p->first[v];
		}
	}
	for (uint32_t v = 0; v < p->m; v++) {
		c = p->cost[(size_t)full * p->m + v] + p->back[v];
		if (c < best)
			best = c;
	}
	return best;
}

/* Which rank came before v, by looking again for what made the minimum. */
static uint32_t gt_pricer_before(const struct gt_pricer *p, uint32_t set,
				 uint32_t v)
{
	const int64_t *cost = p->cost + (size_t)set * p->m;
	const int64_t *into = p->into + (size_t)v * p->m;
	int64_t best = gt_pricer_arrive(p, set, v);
	uint32_t rest = set, u;

	do {
		u = (uint32_t)__builtin_ctz(rest);
		rest &= rest - 1;
	} while (cost[u] + into[u] != best);
	return u;
}

/* One ring a last rank. */
uint32_t gt_pricer_nrings(const struct gt_pricer *p)
{
	return p->m;
}

int64_t gt_pricer_ring(const struct gt_pricer *p, uint32_t last,
		       uint32_t *order)
{
	uint32_t set = (1u << p->m) - 1, v = last;
	int64_t cost = p->cost[(size_t)set * p->m + v] + p->back[v];

	order[0] = 0;
	for (uint32_t i = p->m; i > 0; i--) {
		order[i] = v + 1;
		set &= ~(1u << v);
		if (set)
			v = gt_pricer_before(p, set, v);
	}
	return cost;
}
