/*
 * Cheap Hamiltonian rings for given hop weights: the pricing step of the
 * column generation and, in exact weights, the proof that no ring is cheaper
 * than a bound.
 *
 * Exact by dynamic programming over subsets (Held and Karp, "A dynamic
 * programming approach to sequencing problems", 1962; Bellman 1962), which
 * takes 2^(n-1) (n-1) numbers, or quick by local search, where the bound is
 * that of a relaxation.
 */
#ifndef GT_SEARCH_RING_PRICING_H
#define GT_SEARCH_RING_PRICING_H

#include <stdint.h>

#include "search/ring/pricing_closed.h"

struct gt_external_ports;
struct gt_pricer;

/*
 * For n >= 2 ranks, or with external ports (search/problem/fabric.h; else NULL)
 * any number; NULL when memory ran out.  A quick one never promises the
 * cheapest ring; an exact one does, up to GT_PRICER_EXACT_MAX ranks (the world
 * behind the ports is one more), and is a quick one beyond.
 */
struct gt_pricer *gt_pricer_new(uint32_t n,
				const struct gt_external_ports *external,
				int quick);
void gt_pricer_free(struct gt_pricer *pricer);

/*
 * Look for rings; weights[from * n + to] >= 0 and at most GT_PRICER_NO_HOP;
 * with external ports by the stride of search/problem/link_rows.h. Rings of
 * GT_PRICER_NO_HOP or more use a hop that does not exist.
 */
void gt_pricer_run(struct gt_pricer *pricer, const int64_t *weights);

/* How many rings the last run offers: cheap ones, not all different. */
uint32_t gt_pricer_nrings(const struct gt_pricer *pricer);

/* The i-th of them: its cost, its order (rank 0 first, or as in
 * search/problem/link_rows.h) into order. */
int64_t gt_pricer_ring(const struct gt_pricer *pricer, uint32_t i,
		       uint32_t *order);

/*
 * After a run with the same weights: no ring costs less.  Of an exact pricer
 * what the cheapest costs; of a quick one, what every rank's cheapest hop out
 * (or in) or a cheapest spanning tree and the way back to its root add up to.
 * -1 when memory ran out.
 */
int64_t gt_pricer_bound(const struct gt_pricer *pricer, const int64_t *weights);

#endif
