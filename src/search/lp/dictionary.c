/*
 * Pivots of a dictionary in floating point, and the two walks that use them: to
 * the largest value of one variable, and to that of a weighted sum.
 */
#include "search/lp/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers below this count as 0. */
#define GT_DICTIONARY_EPS 1e-9

/*
 * Pivots a row, after which the way up ends wherever it has come: vertices at
 * which many rows bind may be gone around for ever.  And numbers in a row are
 * a multiple of what fits a register.
 */
enum { GT_DICTIONARY_PIVOTS = 4, GT_DICTIONARY_LANES = 4 };

static uint32_t gt_dictionary_stride(uint32_t n)
{
	return (n + GT_DICTIONARY_LANES - 1) / GT_DICTIONARY_LANES *
	       GT_DICTIONARY_LANES;
}

int gt_dictionary_init(struct gt_face *face, uint32_t nrows, uint32_t ncolumns)
{
	size_t m = (size_t)nrows + 1;

	memset(face, 0, sizeof(*face));
	face->stride = gt_dictionary_stride(ncolumns);
	face->basic = calloc(m, sizeof(*face->basic));
	face->other = calloc(ncolumns + (size_t)1, sizeof(*face->other));
	face->value = calloc(m, sizeof(*face->value));
	face->at = calloc(m * face->stride, sizeof(*face->at));
	if (!face->basic || !face->other || !face->value || !face->at)
		return 0;
	face->nrows = nrows;
	face->ncolumns = face->nothers = ncolumns;
	for (uint32_t i = 0; i < nrows; i++)
		face->basic[i] = ncolumns + i;
	for (uint32_t j = 0; j < ncolumns; j++)
		face->other[j] = j;
	return 1;
}

void gt_dictionary_release(struct gt_face *face)
{
	free(face->basic);
	free(face->other);
	free(face->value);
	free(face->at);
}

double *gt_dictionary_row(const struct gt_face *face, uint32_t row)
{
	return face->at + (size_t)row * face->stride;
}

void gt_dictionary_copy(struct gt_face *to, const struct gt_face *from)
{
	uint32_t m = from->nrows, n = from->nothers;

	to->nrows = m;
	to->nothers = n;
	to->stride = gt_dictionary_stride(n);
	memcpy(to->basic, from->basic, m * sizeof(*to->basic));
	memcpy(to->other, from->other, n * sizeof(*to->other));
	memcpy(to->value, from->value, m * sizeof(*to->value));
	for (uint32_t i = 0; i < m; i++)
		memcpy(gt_dictionary_row(to, i), gt_dictionary_row(from, i),
		       to->stride * sizeof(*to->at));
}

/* to -= factor * from; numbers up to a multiple of the lanes are there. */
static void gt_dictionary_subtract(double *restrict to,
				   const double *restrict from, double factor,
				   uint32_t n)
{
	/* In this form compilers take one instruction for several lanes. */
	for (size_t j = 0; j < n; j += GT_DICTIONARY_LANES) {
		to[j] -= factor * from[j];
		to[j + 1] -= factor * from[j + 1];
		to[j + 2] -= factor * from[j + 2];
		to[j + 3] -= factor * from[j + 3];
	}
}

void gt_dictionary_pivot(struct gt_face *face, uint32_t row, uint32_t place)
{
	double *pivot = gt_dictionary_row(face, row), by = 1 / pivot[place];
	uint32_t n = face->nothers, variable = face->basic[row];

	pivot[place] = 1;
	for (uint32_t j = 0; j < n; j++)
		pivot[j] *= by;
	face->value[row] *= by;
	for (uint32_t i = 0; i < face->nrows; i++) {
		double *at = gt_dictionary_row(face, i), factor = at[place];

		if (i == row || factor == 0)
			continue;
		at[place] = 0;
		gt_dictionary_subtract(at, pivot, factor, n);
		face->value[i] -= factor * face->value[row];
		face->work += n;
	}
	face->basic[row] = face->other[place];
	face->other[place] = variable;
}

void gt_dictionary_fix_at_zero(struct gt_face *face, uint32_t place)
{
	uint32_t last = --face->nothers;

	face->other[place] = face->other[last];
	for (uint32_t i = 0; place != last && i < face->nrows; i++)
		gt_dictionary_row(face, i)[place] =
			gt_dictionary_row(face, i)[last];
}

void gt_dictionary_drop(struct gt_face *face, uint32_t row)
{
	uint32_t last = --face->nrows;

	if (row == last)
		return;
	face->basic[row] = face->basic[last];
	face->value[row] = face->value[last];
	memcpy(gt_dictionary_row(face, row), gt_dictionary_row(face, last),
	       face->nothers * sizeof(*face->at));
}

/*
 * The place of the variable that raises the row most; nothers when the row is
 * as large as it can be.
 */
static uint32_t gt_dictionary_enter(const struct gt_face *face, uint32_t row)
{
	const double *at = gt_dictionary_row(face, row);
	uint32_t best = face->nothers;
	double least = -GT_DICTIONARY_EPS;

	for (uint32_t j = 0; j < face->nothers; j++)
		if (at[j] < least) {
			least = at[j];
			best = j;
		}
	return best;
}

/*
 * The row whose variable becomes 0 first when the variable at this place grows;
 * nrows when none does.
 */
static uint32_t gt_dictionary_leave(const struct gt_face *face, uint32_t place)
{
	uint32_t best = face->nrows;
	double least = HUGE_VAL, most = 0, at, ratio;

	for (uint32_t i = 0; i < face->nrows; i++) {
		at = gt_dictionary_row(face, i)[place];
		if (at <= GT_DICTIONARY_EPS)
			continue;
		ratio = face->value[i] > 0 ? face->value[i] / at : 0;
		if (ratio < least || (ratio == least && at > most)) {
			least = ratio;
			most = at;
			best = i;
		}
	}
	return best;
}

static void gt_dictionary_raise(struct gt_face *face, uint32_t row)
{
	for (uint32_t i = GT_DICTIONARY_PIVOTS * face->nrows; i; i--) {
		uint32_t place = gt_dictionary_enter(face, row), leaves;

		if (place == face->nothers)
			return;
		leaves = gt_dictionary_leave(face, place);
		if (leaves == face->nrows)
			return;
		gt_dictionary_pivot(face, leaves, place);
	}
}

double gt_dictionary_fix_at_max(struct gt_face *face, uint32_t row)
{
	const double *at = gt_dictionary_row(face, row);
	double value;

	gt_dictionary_raise(face, row);
	value = face->value[row];
	for (uint32_t j = face->nothers; j-- > 0;)
		if (fabs(at[j]) > GT_DICTIONARY_EPS)
			gt_dictionary_fix_at_zero(face, j);
	gt_dictionary_drop(face, row);
	return value;
}

void gt_dictionary_maximize(struct gt_face *face, const double *gains)
{
	uint32_t m = face->nrows, n = face->nothers;
	double *sum = gt_dictionary_row(face, m);

	for (uint32_t j = 0; j < n; j++)
		sum[j] = face->other[j] < face->ncolumns
				 ? -gains[face->other[j]]
				 : 0;
	for (uint32_t i = 0; i < m; i++)
		if (face->basic[i] < face->ncolumns)
			gt_dictionary_subtract(sum, gt_dictionary_row(face, i),
					       -gains[face->basic[i]], n);
	/* The sum's own variable never leaves: what enters only raises it. */
	face->value[m] = 0;
	face->basic[m] = UINT32_MAX;
	face->nrows++;
	gt_dictionary_raise(face, m);
	gt_dictionary_drop(face, m);
}
