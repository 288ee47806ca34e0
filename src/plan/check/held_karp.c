/*
 * The cheapest ring by dynamic programming over subsets of ranks (Held and
 * Karp).
 */
#include "plan/check/bounds.h"

#include <stdlib.h>

/*
 * Fill best[set * m + j] with the cost of the cheapest way from rank 0 through
 * all ranks of `set` that ends in rank j + 1, for all sets of the other m = n -
 * 1 ranks.
 */
static void gt_ring_fill(uint32_t n, const int64_t *cost, int64_t *best)
{
	uint32_t m = n - 1;

	for (uint32_t j = 0; j < m; j++)
		best[(1u << j) * m + j] = cost[j + 1];
	for (uint32_t set = 1; set < 1u << m; set++)
		for (uint32_t j = 0; j < m; j++) {
			uint32_t rest = set & ~(1u << j);
			int64_t least = INT64_MAX, at;

			if (rest == set || !rest)
				continue;
			for (uint32_t i = 0; i < m; i++) {
				if (!(rest >> i & 1))
					continue;
				at = best[rest * m + i] +
				     cost[(i + 1) * n + j + 1];
				if (at < least)
					least = at;
			}
			best[set * m + j] = least;
		}
}

/* The rank that comes before rank `last` on the cheapest way through `set`. */
static uint32_t gt_ring_back(uint32_t n, const int64_t *cost,
			     const int64_t *best, uint32_t set, uint32_t last)
{
	uint32_t m = n - 1, from = 0;
	int64_t least = INT64_MAX, at;

	for (uint32_t i = 0; i < m; i++) {
		if (!(set >> i & 1))
			continue;
		at = best[set * m + i] + cost[(i + 1) * n + last];
		if (at < least) {
			least = at;
			from = i + 1;
		}
	}
	return from;
}

int64_t gt_ring_cheapest(uint32_t n, const int64_t *cost, uint32_t *order)
{
	uint32_t m = n - 1, set = (1u << m) - 1, at;
	int64_t *best = calloc(((size_t)1 << m) * m, sizeof(*best));
	int64_t total = 0;

	if (!best)
		return -1;
	gt_ring_fill(n, cost, best);
	order[0] = 0;
	for (uint32_t i = m, next = 0; i; i--, next = at) {
		at = gt_ring_back(n, cost, best, set, next);
		order[i] = at;
		total += cost[at * n + next];
		set &= ~(1u << (at - 1));
		if (!set)
			total += cost[at];
	}
	free(best);
	return total;
}
