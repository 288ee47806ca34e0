/*
 * Linear programs in floating point: maximise gain over columns >= 0 under
 * rows "sum of entry * column <= upper".  Used to find prices for the next
 * column and, at the end, a basis for search/lp/exact_basis.h; nothing trusts
 * its numbers otherwise.
 *
 * COIN-OR CLP, primal simplex from the last basis, without perturbation, so
 * that the same input takes the same pivots.
 */
#ifndef GT_SEARCH_LP_LP_H
#define GT_SEARCH_LP_LP_H

#include <stdint.h>

struct gt_lp;

/* A program without columns; NULL when memory ran out. */
struct gt_lp *gt_lp_new(uint32_t nrows, const double *upper);
void gt_lp_free(struct gt_lp *lp);

/* Add a column with these entries, one a row. */
void gt_lp_add(struct gt_lp *lp, double gain, const int32_t *entries);
uint32_t gt_lp_ncolumns(const struct gt_lp *lp);

/* Set what columns gain from now on; NULL stands for 0 each. */
void gt_lp_set_gains(struct gt_lp *lp, const double *gains);

/* The column's range; HUGE_VAL: no limit. */
void gt_lp_set_bounds(struct gt_lp *lp, uint32_t column, double lower,
		      double upper);

/* Raise the lower end of the column's range; a lower number changes nothing. */
void gt_lp_raise_lower(struct gt_lp *lp, uint32_t column, double lower);

/* GT_ENO: the columns' ranges leave no solution; GT_ESYS: CLP gave up. */
int gt_lp_solve(struct gt_lp *lp);

/* After solving; valid until the next call. */
const double *gt_lp_values(const struct gt_lp *lp);
const double *gt_lp_prices(const struct gt_lp *lp);
int gt_lp_basic(const struct gt_lp *lp, uint32_t column);
uint32_t gt_lp_nbasic(const struct gt_lp *lp); /* columns */
int gt_lp_binds(const struct gt_lp *lp, uint32_t row);

#endif
