/*
 * The cheapest spanning tree directed away from a root (Chu and Liu 1965;
 * Edmonds, "Optimum branchings", 1967), in O(n^3) at worst.
 */
#ifndef GT_SEARCH_GRAPH_ARBORESCENCE_H
#define GT_SEARCH_GRAPH_ARBORESCENCE_H

#include <stdint.h>

/*
 * weights[from * n + to] >= 0, n >= 2; n of them do not overflow.  The cost
 * of the tree, or -1 when memory ran out.  parent[] (NULL: not wanted) is
 * what each rank but the root hangs from.
 */
int64_t gt_arborescence(uint32_t n, const int64_t *weights, uint32_t root,
			uint32_t *parent);

#endif
