/*
 * The cheapest Hamiltonian rings for given hop weights: the pricing step of
 * the column generation and, in exact weights, the proof that no ring is
 * cheaper than a bound.
 *
 * Up to GT_PRICE_EXACT ranks by dynamic programming over subsets (Held and
 * Karp, "A dynamic programming approach to sequencing problems", 1962; Bellman
 * 1962): 2^(n-1) (n-1) states.
 */
#ifndef GT_SEARCH_RING_PRICE_H
#define GT_SEARCH_RING_PRICE_H

#include <stdint.h>

enum { GT_PRICE_EXACT = 16 };

/* The weight of a hop that does not exist; n of them do not overflow. */
#define GT_PRICE_NONE (INT64_MAX / 4096)

struct gt_pricer;

/* For n ranks, 2 <= n <= GT_PRICE_EXACT; NULL when memory ran out. */
struct gt_pricer *gt_pricer_new(uint32_t n);
void gt_pricer_free(struct gt_pricer *pricer);

/*
 * No ring costs less than what is returned; up to GT_PRICE_EXACT ranks the
 * cheapest costs exactly that.  weights[from * n + to] >= 0 and at most
 * GT_PRICE_NONE.  GT_PRICE_NONE or more: there is no ring.
 */
int64_t gt_pricer_run(struct gt_pricer *pricer, const int64_t *weights);

/* How many rings the last run offers: cheap ones, not all different. */
uint32_t gt_pricer_nrings(const struct gt_pricer *pricer);

/* The i-th of them: its cost, its order (rank 0 first) into order[0..n). */
int64_t gt_pricer_ring(const struct gt_pricer *pricer, uint32_t i,
		       uint32_t *order);

#endif
