/*
 * A few rings made better: one of them at a time gives its place to another,
 * known or priced for it, as long as the best shares of them all come to more
 * (local search).  For a limited number of channels.
 */
#ifndef GT_SEARCH_RING_EXCHANGE_H
#define GT_SEARCH_RING_EXCHANGE_H

struct gt_ring_pool;
struct gt_ring_search;

/*
 * Change the rings of `few`, up to `max` of them.  New rings join the pool of
 * `s`.  GT_ESYS: memory ran out.
 */
int gt_ring_exchange(struct gt_ring_search *s, struct gt_ring_pool *few,
		     unsigned int max);

#endif
