/*
 * The row that counts channels, where their number is limited: its scale, and
 * what rings of each width load it with.
 */
#include "search/problem/link_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

/* Common multiples of the hops' widths above this are not used. */
#define GT_LIMIT_SCALE (INT64_C(1) << 24)

static int gt_limit_cmp(const void *a, const void *b)
{
	const struct gt_rat *x = a, *y = b;

	return gt_rat_cmp(*x, *y);
}

/*
 * The most that goes over a hop; 0 when no row limits it, or there is no such
 * hop.
 */
static int gt_limit_width(const struct gt_link_rows *rows, size_t hop,
			  struct gt_rat *width)
{
	struct gt_rat one;
	int known = 0;

	for (uint32_t r = 0; rows->joined[hop] && r < rows->nrows; r++) {
		const struct gt_link_row *row = &rows->rows[r];

		if (!row->load[hop] ||
		    !gt_rat_make(rows->unit, row->load[hop], &one) ||
		    !gt_rat_mul(one, row->gbs, &one))
			continue;
		if (!known || gt_rat_cmp(one, *width) < 0)
			*width = one;
		known = 1;
	}
	return known;
}

/* List the widths that hops have, in order; returns how many. */
static uint32_t gt_limit_widths(const struct gt_link_rows *rows,
				struct gt_rat *widths)
{
	size_t nn = (size_t)rows->stride * rows->stride;
	uint32_t n = 0, kept = 0;

	for (size_t i = 0; i < nn; i++)
		n += (uint32_t)gt_limit_width(rows, i, &widths[n]);
	qsort(widths, n, sizeof(*widths), gt_limit_cmp);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || gt_rat_cmp(widths[i], widths[kept - 1]))
			widths[kept++] = widths[i];
	return kept;
}

/* The least number that is a multiple of all widths; 0 when it is too large. */
static int64_t gt_limit_scale(const struct gt_rat *widths, uint32_t n)
{
	struct gt_rat step;
	int64_t scale = 1;

	for (uint32_t i = 0; i < n; i++) {
		if (!gt_rat_make(widths[i].num, scale, &step) ||
		    step.num > GT_LIMIT_SCALE / scale)
			return 0;
		scale *= step.num;
	}
	return scale;
}

/*
 * Fill in which width every hop has, and what rings of each width load the row
 * of channels with.
 */
static void gt_limit_fill(struct gt_link_rows *rows,
			  const struct gt_rat *widths)
{
	size_t nn = (size_t)rows->stride * rows->stride;
	struct gt_rat width;

	for (uint32_t i = 0; i < rows->nwidths; i++)
		rows->count[i] =
			(uint32_t)(rows->scale / widths[i].num * widths[i].den);
	for (size_t i = 0; i < nn; i++) {
		rows->width[i] = rows->nwidths;
		if (!gt_limit_width(rows, i, &width))
			continue;
		for (uint32_t k = 0; k < rows->nwidths; k++)
			if (!gt_rat_cmp(widths[k], width))
				rows->width[i] = k;
	}
}

/* Make the row of channels, which stands behind those of links. */
static int gt_limit_row(struct gt_link_rows *rows, struct gt_link_row *row)
{
	row->link = UINT32_MAX;
	row->load = NULL;
	return gt_rat_make((int64_t)rows->max_channels * rows->scale,
			   rows->unit, &row->gbs);
}

int gt_link_rows_limit(const struct gt_link_rows *rows, uint32_t max_channels,
		       struct gt_arena *arena, struct gt_link_rows **out,
		       struct gt_err *err)
{
	size_t nn = (size_t)rows->stride * rows->stride;
	struct gt_link_rows *made = gt_arena_alloc(arena, sizeof(*made));
	struct gt_rat *widths = gt_arena_array(arena, nn, sizeof(*widths));
	struct gt_link_row *all =
		gt_arena_array(arena, rows->nrows + 1, sizeof(*all));

	if (!made || !widths || !all)
		return gt_err_nomem(err);
	*made = *rows;
	memcpy(all, rows->rows, rows->nrows * sizeof(*all));
	made->max_channels = max_channels;
	made->nwidths = gt_limit_widths(rows, widths);
	made->scale = gt_limit_scale(widths, made->nwidths);
	made->width = gt_arena_array(arena, nn, sizeof(*made->width));
	made->count =
		gt_arena_array(arena, made->nwidths + 1, sizeof(*made->count));
	if (!made->width || !made->count)
		return gt_err_nomem(err);
	if (!made->nwidths || !made->scale ||
	    !gt_limit_row(made, &all[rows->nrows]))
		return GT_ENO;
	gt_limit_fill(made, widths);
	made->rows = all;
	made->nrows++;
	*out = made;
	return GT_OK;
}
