/*
 * Cheap rings that stay inside the machine, for given hop weights.
 *
 * Exact by dynamic programming over subsets (Held and Karp, "A dynamic
 * programming approach to sequencing problems", 1962; Bellman 1962), which
 * takes 2^(n-1) (n-1) numbers, or quick by local search, where the bound is
 * that of a relaxation.
 */
#ifndef GT_SEARCH_RING_PRICING_CLOSED_H
#define GT_SEARCH_RING_PRICING_CLOSED_H

#include <stdint.h>

/* 16 ranks, and the world outside. */
enum { GT_PRICER_EXACT_MAX = 17 };

/* The weight of a hop that does not exist; n of them do not overflow. */
#define GT_PRICER_NO_HOP (INT64_MAX / 4096)

struct gt_closed_pricer;

/*
 * A pricer for n >= 2 ranks; NULL when memory ran out.  A quick one never
 * promises the cheapest ring; an exact one does, up to GT_PRICER_EXACT_MAX
 * ranks, and is a quick one beyond.
 */
struct gt_closed_pricer *gt_closed_pricer_new(uint32_t n, int quick);

/* These do what the functions of search/ring/pricing.h do. */
void gt_closed_pricer_free(struct gt_closed_pricer *pricer);
void gt_closed_pricer_run(struct gt_closed_pricer *pricer,
			  const int64_t *weights);
uint32_t gt_closed_pricer_nrings(const struct gt_closed_pricer *pricer);
int64_t gt_closed_pricer_ring(const struct gt_closed_pricer *pricer, uint32_t i,
			      uint32_t *order);
int64_t gt_closed_pricer_bound(const struct gt_closed_pricer *pricer,
			       const int64_t *weights);

#endif
