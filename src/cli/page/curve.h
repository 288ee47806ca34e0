/*
 * Curves of bus bandwidth by message size, as a picture in a page or a picture
 * of its own.
 */
#ifndef GT_CLI_PAGE_CURVE_H
#define GT_CLI_PAGE_CURVE_H

#include <stdint.h>

struct gt_buf;
struct gt_json;

enum { GT_CURVES = 8, GT_CURVE_POINTS = 256 };

struct gt_curve {
	const char *what, *coll; /* borrowed from whoever adds them */
	uint32_t n;
	struct gt_curve_point {
		double bytes, gbs; /* above 0 */
	} points[GT_CURVE_POINTS];
};

struct gt_curves {
	uint32_t n;
	struct gt_curve list[GT_CURVES];
	double bound; /* what nothing exceeds, as busbw; 0: not known */
};

/*
 * Add the rows of a prediction or report, one curve for each collective;
 * `what` says which of the two they are.  Rows in place are left out, and more
 * curves or points than there is room for.
 */
void gt_curves_add(struct gt_curves *curves, const struct gt_json *rows,
		   const char *what);

/* Add one point, in order of size, to the curve of that name. */
void gt_curves_put(struct gt_curves *curves, const char *what, const char *coll,
		   struct gt_curve_point point);

/* Append the picture; nothing if there is no point. */
void gt_curves_draw(const struct gt_curves *curves, struct gt_buf *out);

/*
 * Append the picture as a whole SVG, with its colours and legend in it; axes
 * alone if there is no point.
 */
void gt_curves_svg(const struct gt_curves *curves, struct gt_buf *out);

#endif
