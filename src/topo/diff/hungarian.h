/*
 * Finds the cheapest assignment of n rows to n columns: Kuhn's Hungarian method
 * by shortest augmenting paths (Jonker and Volgenant, "A shortest augmenting
 * path algorithm for dense and sparse linear assignment problems", 1987),
 * O(n^3).
 */
#ifndef GT_TOPO_DIFF_HUNGARIAN_H
#define GT_TOPO_DIFF_HUNGARIAN_H

#include <stdint.h>

/* a price above that of any pair that may be assigned */
enum { GT_HUNGARIAN_FORBIDDEN = 1 << 29 };

/*
 * Given price[row * n + column] >= 0, sets pick[row] to the row's column and
 * returns the price of all; *failed becomes 1 when memory ran out.
 */
int gt_hungarian(uint32_t n, const int *price, uint32_t *pick, int *failed);

#endif
