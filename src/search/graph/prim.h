/*
 * A spanning tree grown from its root: of all ranks not in it yet the one
 * that is cheapest to hang on (Prim 1957), nearer to the root if it costs the
 * same.  Without cheaper ways in through a detour it is the cheapest tree; it
 * is short where costs are equal.
 */
#ifndef GT_SEARCH_GRAPH_PRIM_H
#define GT_SEARCH_GRAPH_PRIM_H

#include <stdint.h>

/* The largest n. */
enum { GT_PRIM_MAX = 64 };

/*
 * weights[parent * n + child]; `step` is added for every hop between the root
 * and the parent.  Fills parent[] but for the root; its cost (without steps).
 */
int64_t gt_prim(uint32_t n, const int64_t *weights, uint32_t root, int64_t step,
		uint32_t *parent);

#endif
