/*
 * Whole numbers: from a packing with fractions, found by column generation, to
 * one in which every column counts a whole number of times.  Diving: columns
 * are fixed one after the other to the next whole number, the largest fraction
 * upwards first, and the program is solved again, with new columns where it
 * needs some (Barnhart et al., "Branch-and-price: column generation for
 * solving huge integer programs", 1998).  A step that leads nowhere is taken
 * back once; so it may fail where there is a solution.
 */
#ifndef GT_SEARCH_LP_DIVING_H
#define GT_SEARCH_LP_DIVING_H

#include <stdint.h>

struct gt_err;
struct gt_lp;

struct gt_diving {
	struct gt_lp *lp;
	uint32_t first; /* columns from this one on shall be whole */
	/*
	 * Solve the program as its columns' ranges are, with more columns if
	 * need be.  GT_ENO when it does not reach what is wanted.
	 */
	int (*solve)(void *arg, struct gt_err *err);
	void *arg;
};

/*
 * Afterwards the program is solved and its columns are whole.  GT_ENO when
 * nothing was found, else as solve().
 */
int gt_diving(const struct gt_diving *dive, struct gt_err *err);

/* The column's value as a whole number. */
int64_t gt_diving_count(const struct gt_diving *dive, uint32_t column);

#endif
