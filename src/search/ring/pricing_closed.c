/*
 * Pricing of rings that stay inside: dynamic programming over subsets of ranks,
 * or local search with the bound of a relaxation.
 */
#include "search/ring/pricing_closed.h"

#include <stdlib.h>

#include "search/graph/graph.h"
#include "search/ring/local_search.h"

/*
 * cost[set * m + v]: the cheapest path from rank 0 through all of `set`
 * ending in v, where m = n - 1 and bit and index i stand for rank i + 1.
 */
struct gt_closed_pricer {
	uint32_t n, m;
	struct gt_local_search *local; /* a quick one has only this */
	int64_t *cost;
	int64_t *into; /* into[v * m + u]: weight of u -> v among those */
	int64_t *first, *back; /* from and to rank 0 */
};

static int gt_closed_pricer_init(struct gt_closed_pricer *p)
{
	size_t m = p->m;

	p->cost = malloc((m << m) * sizeof(*p->cost));
	p->into = malloc(m * m * sizeof(*p->into));
	p->first = malloc(m * sizeof(*p->first));
	p->back = malloc(m * sizeof(*p->back));
	return p->cost && p->into && p->first && p->back;
}

struct gt_closed_pricer *gt_closed_pricer_new(uint32_t n, int quick)
{
	struct gt_closed_pricer *p = calloc(1, sizeof(*p));
	int ok;

	if (!p)
		return NULL;
	p->n = n;
	p->m = n - 1;
	if (quick || n > GT_PRICER_EXACT_MAX)
		ok = (p->local = gt_local_search_new(n)) != NULL;
	else
		ok = gt_closed_pricer_init(p);
	if (ok)
		return p;
	gt_closed_pricer_free(p);
	return NULL;
}

void gt_closed_pricer_free(struct gt_closed_pricer *pricer)
{
	if (!pricer)
		return;
	gt_local_search_free(pricer->local);
	free(pricer->cost);
	free(pricer->into);
	free(pricer->first);
	free(pricer->back);
	free(pricer);
}

static void gt_closed_pricer_load(struct gt_closed_pricer *p,
				  const int64_t *weights)
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
static int64_t gt_closed_pricer_arrive(const struct gt_closed_pricer *p,
				       uint32_t set, uint32_t v)
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

void gt_closed_pricer_run(struct gt_closed_pricer *p, const int64_t *weights)
{
	uint32_t full = (1u << (p->local ? 0 : p->m)) - 1;

	if (p->local) {
		gt_local_search_run(p->local, weights);
		return;
	}
	gt_closed_pricer_load(p, weights);
	for (uint32_t set = 1; set <= full; set++) {
		int64_t *cost = p->cost + (size_t)set * p->m;

		for (uint32_t bits = set; bits; bits &= bits - 1) {
			uint32_t v = (uint32_t)__builtin_ctz(bits);
			uint32_t before = set & ~(1u << v);

			cost[v] = before ? gt_closed_pricer_arrive(p, before, v)
					 : p->first[v];
		}
	}
}

/* Which rank came before v, by looking again for what made the minimum. */
static uint32_t gt_closed_pricer_before(const struct gt_closed_pricer *p,
					uint32_t set, uint32_t v)
{
	const int64_t *cost = p->cost + (size_t)set * p->m;
	const int64_t *into = p->into + (size_t)v * p->m;
	int64_t best = gt_closed_pricer_arrive(p, set, v);
	uint32_t rest = set, u;

	do {
		u = (uint32_t)__builtin_ctz(rest);
		rest &= rest - 1;
	} while (cost[u] + into[u] != best);
	return u;
}

/* There is one ring for each rank that may come last. */
uint32_t gt_closed_pricer_nrings(const struct gt_closed_pricer *p)
{
	return p->local ? gt_local_search_nrings(p->local) : p->m;
}

static int64_t gt_closed_pricer_close(const struct gt_closed_pricer *p,
				      uint32_t last)
{
	size_t full = ((size_t)1 << p->m) - 1;

	return p->cost[full * p->m + last] + p->back[last];
}

int64_t gt_closed_pricer_ring(const struct gt_closed_pricer *p, uint32_t last,
			      uint32_t *order)
{
	uint32_t set, v = last;

	if (p->local)
		return gt_local_search_ring(p->local, last, order);
	set = (1u << p->m) - 1;
	order[0] = 0;
	for (uint32_t i = p->m; i > 0; i--) {
		order[i] = v + 1;
		set &= ~(1u << v);
		if (set)
			v = gt_closed_pricer_before(p, set, v);
	}
	return gt_closed_pricer_close(p, last);
}

/* The cost of the cheapest hop out of a rank, or into it. */
static int64_t gt_closed_pricer_hop(const struct gt_closed_pricer *p,
				    const int64_t *weights, uint32_t rank,
				    int into)
{
	int64_t least = INT64_MAX, w;
	size_t n = p->n;

	for (uint32_t i = 0; i < n; i++) {
		w = into ? weights[i * n + rank] : weights[rank * n + i];
		if (i != rank && w < least)
			least = w;
	}
	return least;
}

static int64_t gt_closed_pricer_relax(const struct gt_closed_pricer *p,
				      const int64_t *weights)
{
	int64_t out = 0, in = 0, best, tree;

	for (uint32_t i = 0; i < p->n; i++) {
		out += gt_closed_pricer_hop(p, weights, i, 0);
		in += gt_closed_pricer_hop(p, weights, i, 1);
	}
	best = out > in ? out : in;
	for (uint32_t i = 0; i < p->n; i++) {
		tree = gt_arborescence(p->n, weights, i, NULL);
		if (tree < 0)
			return -1;
		tree += gt_closed_pricer_hop(p, weights, i, 1);
		if (tree > best)
			best = tree;
	}
	return best;
}

int64_t gt_closed_pricer_bound(const struct gt_closed_pricer *p,
			       const int64_t *weights)
{
	int64_t best = INT64_MAX;

	if (p->local)
		return gt_closed_pricer_relax(p, weights);
	for (uint32_t v = 0; v < p->m; v++)
		if (gt_closed_pricer_close(p, v) < best)
			best = gt_closed_pricer_close(p, v);
	return best;
}
