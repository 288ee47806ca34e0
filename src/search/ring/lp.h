/*
 * The restricted master of the ring packing: the best shares of the rings in
 * a pool, as a linear program (search/lp/lp.h) with a column for each ring.
 */
#ifndef GT_SEARCH_RING_LP_H
#define GT_SEARCH_RING_LP_H

struct gt_lp;
struct gt_ring_pool;
struct gt_link_rows;

/* A problem without rings; NULL when memory ran out. */
struct gt_lp *gt_ring_lp_new(const struct gt_link_rows *rows);

/*
 * Add the rings of the pool that are new since the last call, and solve.
 * GT_ENO: the columns' ranges leave no solution; GT_ESYS: CLP gave up.
 */
int gt_ring_lp_solve(struct gt_lp *lp, const struct gt_ring_pool *pool);

#endif
