/*
 * Cheap Hamiltonian rings by local search, where trying all subsets takes too
 * long: from several starts the nearest rank next, then pieces of up to three
 * ranks moved elsewhere (Or, 1976) and stretches turned round (2-opt: Croes,
 * 1958) while that helps.  Deterministic; no promise how good.
 */
#ifndef GT_SEARCH_RING_LOCAL_SEARCH_H
#define GT_SEARCH_RING_LOCAL_SEARCH_H

#include <stdint.h>

struct gt_local_search;

/* For n >= 2 ranks; NULL when memory ran out. */
struct gt_local_search *gt_local_search_new(uint32_t n);
void gt_local_search_free(struct gt_local_search *local);

/* weights[from * n + to] as for gt_pricer_run(). */
void gt_local_search_run(struct gt_local_search *local, const int64_t *weights);

/* The rings of the last run, as those of a pricer. */
uint32_t gt_local_search_nrings(const struct gt_local_search *local);
int64_t gt_local_search_ring(const struct gt_local_search *local, uint32_t i,
			     uint32_t *order);

#endif
