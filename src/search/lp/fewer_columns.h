/*
 * Fewer columns of a packing's program at the same sum: used columns are left
 * out one after the other, the smallest first, as long as the others make up
 * for it.
 *
 * A basis has as many columns as rows that bind, though where much is alike a
 * few often do.  Not the fewest there are, but what is left can do without none
 * of its columns.
 */
#ifndef GT_SEARCH_LP_FEWER_COLUMNS_H
#define GT_SEARCH_LP_FEWER_COLUMNS_H

#include <stdint.h>

struct gt_lp;

/*
 * Leave out columns first to last, all together; 0 if the others do not reach
 * the value: then these are as free as columns are at first.
 */
int gt_lp_do_without(struct gt_lp *lp, uint32_t first, uint32_t last,
		     double value);

/* Leave out what can be; the program is then solved with what is left. */
int gt_lp_fewer_columns(struct gt_lp *lp, double value);

#endif
