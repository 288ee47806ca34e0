/* What ranks have for each other's experts, drawn by Zipf's law. */
#ifndef GT_TESTS_UNIT_SEARCH_EXPERTS_H
#define GT_TESTS_UNIT_SEARCH_EXPERTS_H

#include <math.h>

#include "base/arena.h"
#include "unit/search/fabrics.h"
#include "unit/test.h"

enum { EXPERTS_EACH = 4, RANK_BYTES = 1 << 26 };

static inline void shuffle(struct gt_random *c, uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = gt_random(c, i), kept = order[k];

		order[k] = order[i - 1];
		order[i - 1] = kept;
	}
}

/*
 * Bytes by from * n + to: four experts a rank, of that exponent, asked for by
 * all ranks in one order or by each in its own.
 */
static inline uint64_t *draw_skewed(struct gt_random *c, uint32_t n,
				    double skew, uint32_t own,
				    struct gt_arena *arena)
{
	double sum = 0;
	uint32_t nexperts = n * EXPERTS_EACH;
	uint32_t *order = gt_arena_array(arena, nexperts, sizeof(*order));
	uint64_t *bytes = gt_arena_array(arena, (size_t)n * n, sizeof(*bytes));

	assert_non_null(order);
	assert_non_null(bytes);
	for (uint32_t e = 0; e < nexperts; e++)
		sum += pow(e + 1, -skew);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || own)
			shuffle(c, order, nexperts);
		for (uint32_t e = 0; e < nexperts; e++)
			bytes[i * n + order[e] / EXPERTS_EACH] +=
				(uint64_t)(RANK_BYTES * pow(e + 1, -skew) /
					   sum);
	}
	return bytes;
}

/* Of an exponent of 0.8 to 1.5, half of the time in one order. */
static inline uint64_t *draw_experts(struct gt_random *c, uint32_t n,
				     struct gt_arena *arena)
{
	double skew = 0.8 + 0.1 * gt_random(c, 8);
	uint32_t own = gt_random(c, 2);

	return draw_skewed(c, n, skew, own, arena);
}

#endif
