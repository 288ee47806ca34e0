/*
 * The optimal solutions of a packing program, which are a polytope, walked
 * from vertex to vertex in floating point.  A vertex is a dictionary (Chvatal,
 * "Linear Programming", 1983): it tells what is not 0 by what is.
 *
 *	basic(i) = value(i) - sum_j at(i, j) * other(j)
 *
 * A variable is a column of the program or, from ncolumns on, what is left of
 * a row's capacity.  Small and dense: a pivot of some thousand numbers takes
 * microseconds, where solving anew would take a hundred times that.  The
 * outcome is a choice of columns; nothing trusts its numbers otherwise.
 */
#ifndef GT_SEARCH_LP_DICTIONARY_H
#define GT_SEARCH_LP_DICTIONARY_H

#include <stdint.h>

struct gt_face {
	uint32_t ncolumns; /* of the program */
	uint32_t nrows, nothers;
	uint32_t stride; /* from row to row of `at` */
	uint32_t *basic; /* [row] -> variable */
	uint32_t *other; /* [place] -> variable */
	double *value;   /* [row], at least 0 */
	double *at;      /* [row * stride + place] */
	uint64_t work;   /* numbers changed so far */
};

/*
 * Room for this many rows and columns: nothing is packed, `at` and `value` are
 * 0 for the caller to fill in.  0 when memory ran out; release also then.
 */
int gt_dictionary_init(struct gt_face *face, uint32_t nrows, uint32_t ncolumns);
void gt_dictionary_release(struct gt_face *face);

/*
 * Make `to` the vertex that `from` is.  It has room for it, and its count of
 * work goes on.
 */
void gt_dictionary_copy(struct gt_face *to, const struct gt_face *from);

double *gt_dictionary_row(const struct gt_face *face, uint32_t row);

/* Exchange the row's variable for the one at this place. */
void gt_dictionary_pivot(struct gt_face *face, uint32_t row, uint32_t place);

/*
 * The variable at this place stays 0 from now on; another one takes its place.
 */
void gt_dictionary_fix_at_zero(struct gt_face *face, uint32_t place);

/* Forget the row; another one takes its number. */
void gt_dictionary_drop(struct gt_face *face, uint32_t row);

/*
 * Go to where the row's variable is largest, then to where it is largest and
 * cannot change any more: the row is dropped.  Returns its value.
 */
double gt_dictionary_fix_at_max(struct gt_face *face, uint32_t row);

/*
 * Go to where the sum of gain * column is largest.  Needs room for one row
 * more than there are.
 */
void gt_dictionary_maximize(struct gt_face *face, const double *gains);

#endif
