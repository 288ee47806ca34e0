/* Draws curves in logarithmic axes, a colour each, with a legend above. */
#include "cli/page/curve.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "cli/page/html.h"
#include "cli/page/table.h"

enum {
	GT_CURVE_WIDE = 860,
	GT_CURVE_HIGH = 340,
	GT_CURVE_LEFT = 56,
	GT_CURVE_TOP = 14,
	GT_CURVE_BOTTOM = 34,
	GT_CURVE_RIGHT = 16,
};

/* The range of the axes, as powers of two and of ten. */
struct axes {
	double x0, x1, y0, y1;
	int any;
};

static struct gt_curve *find_curve(struct gt_curves *curves, const char *what,
				   const char *coll)
{
	struct gt_curve *curve;

	for (uint32_t i = 0; i < curves->n; i++)
		if (!strcmp(curves->list[i].coll, coll) &&
		    !strcmp(curves->list[i].what, what))
			return &curves->list[i];
	if (curves->n == GT_CURVES)
		return NULL;
	curve = &curves->list[curves->n++];
	curve->what = what;
	curve->coll = coll;
	return curve;
}

void gt_curves_put(struct gt_curves *curves, const char *what, const char *coll,
		   struct gt_curve_point point)
{
	struct gt_curve *curve = find_curve(curves, what, coll);

	if (curve && curve->n < GT_CURVE_POINTS)
		curve->points[curve->n++] = point;
}

void gt_curves_add(struct gt_curves *curves, const struct gt_json *rows,
		   const char *what)
{
	struct gt_json row, value;
	const char *coll;
	double bytes, gbs;
	uint32_t n = 0;
	int inplace;

	if (gt_json_array(rows, &n, NULL))
		return;
	for (uint32_t i = 0; i < n; i++) {
		gt_json_item(rows, i, &row);
		inplace = gt_json_get(&row, "inplace", &value) &&
			  !gt_json_bool(&value, &inplace, NULL) && inplace;
		if (inplace || !gt_json_get(&row, "coll", &value) ||
		    gt_json_text(&value, &coll, NULL) ||
		    !gt_json_get(&row, "bytes", &value) ||
		    gt_json_double(&value, &bytes, NULL) ||
		    !gt_json_get(&row, "busbw_gbs", &value) ||
		    gt_json_double(&value, &gbs, NULL) || bytes <= 0 ||
		    gbs <= 0)
			continue;
		gt_curves_put(curves, what, coll,
			      (struct gt_curve_point){bytes, gbs});
	}
}

static void widen(struct axes *axes, double x, double y)
{
	axes->x0 = axes->any ? fmin(axes->x0, x) : x;
	axes->x1 = axes->any ? fmax(axes->x1, x) : x;
	axes->y0 = axes->any ? fmin(axes->y0, y) : y;
	axes->y1 = axes->any ? fmax(axes->y1, y) : y;
	axes->any = 1;
}

/* Returns the power of the next figure of 1, 2, 5, 10 ... above or below. */
static double next_figure(double power, int above)
{
	static const double figures[] = {1, 2, 5, 10};
	double decade = floor(power), found = above ? decade + 1 : decade;

	for (int i = 0; i < 4; i++) {
		double figure = decade + log10(figures[i]);

		if (above && figure >= power - 1e-9)
			return figure;
		if (!above && figure <= power + 1e-9)
			found = figure;
	}
	return found;
}

/* Finds the range, of twelve decades at most. */
static void find_axes(const struct gt_curves *curves, struct axes *axes)
{
	for (uint32_t i = 0; i < curves->n; i++)
		for (uint32_t k = 0; k < curves->list[i].n; k++)
			widen(axes, log2(curves->list[i].points[k].bytes),
			      log10(curves->list[i].points[k].gbs));
	if (!axes->any)
		return;
	if (curves->bound > 0)
		widen(axes, axes->x0, log10(curves->bound));
	axes->y1 = next_figure(axes->y1, 1);
	axes->y0 = next_figure(fmax(axes->y0, axes->y1 - 12), 0);
	axes->y1 = fmax(axes->y1, axes->y0 + 1);
	axes->x1 = fmax(axes->x1, axes->x0 + 1);
}

static double at_x(const struct axes *axes, double bytes)
{
	return GT_CURVE_LEFT +
	       (log2(bytes) - axes->x0) / (axes->x1 - axes->x0) *
		       (GT_CURVE_WIDE - GT_CURVE_LEFT - GT_CURVE_RIGHT);
}

static double at_y(const struct axes *axes, double gbs)
{
	double part = (log10(gbs) - axes->y0) / (axes->y1 - axes->y0);

	return GT_CURVE_HIGH - GT_CURVE_BOTTOM -
	       fmax(part, 0) * (GT_CURVE_HIGH - GT_CURVE_BOTTOM - GT_CURVE_TOP);
}

static void draw_grid(const struct axes *axes, struct gt_buf *out)
{
	double step = fmax(1, ceil((axes->x1 - axes->x0) / 10)), y;
	double gbs[] = {1, 2, 5};

	for (double x = ceil(axes->x0); x <= axes->x1; x += step) {
		gt_buf_printf(out,
			      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\""
			      ">",
			      at_x(axes, exp2(x)), GT_CURVE_HIGH - 14);
		gt_table_bytes(out, exp2(x));
		gt_buf_puts(out, "</text>\n");
	}
	for (double p = floor(axes->y0); p <= axes->y1 + 1e-9; p++)
		for (int i = 0; i < 3; i++) {
			if (p + log10(gbs[i]) < axes->y0 - 1e-9 ||
			    p + log10(gbs[i]) > axes->y1 + 1e-9)
				continue;
			y = at_y(axes, gbs[i] * pow(10, p));
			gt_buf_printf(out,
				      "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
				      "<text x=\"%d\" y=\"%.1f\" "
				      "text-anchor=\"end\">%.4g</text>\n",
				      GT_CURVE_LEFT, y,
				      GT_CURVE_WIDE - GT_CURVE_RIGHT,
				      GT_CURVE_LEFT - 6, y + 4,
				      gbs[i] * pow(10, p));
		}
}

static void draw_curve(const struct axes *axes, const struct gt_curves *curves,
		       uint32_t i, struct gt_buf *out)
{
	const struct gt_curve *curve = &curves->list[i];
	const struct gt_curve_point *point;

	gt_buf_printf(out, "<g class=\"curve k%u\"><path d=\"", i);
	for (uint32_t k = 0; k < curve->n; k++)
		gt_buf_printf(out, "%c%.1f %.1f", k ? 'L' : 'M',
			      at_x(axes, curve->points[k].bytes),
			      at_y(axes, curve->points[k].gbs));
	gt_buf_puts(out, "\"/>\n");
	for (uint32_t k = 0; k < curve->n; k++) {
		point = &curve->points[k];
		gt_buf_printf(out,
			      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\">"
			      "<title>",
			      at_x(axes, point->bytes), at_y(axes, point->gbs));
		gt_html_text(out, curve->what);
		gt_buf_puts(out, " ");
		gt_html_text(out, curve->coll);
		gt_buf_puts(out, ", ");
		gt_table_bytes(out, point->bytes);
		gt_buf_printf(out, ": %.4g GB/s</title></circle>\n",
			      point->gbs);
	}
	gt_buf_puts(out, "</g>\n");
}

static void draw_legend(const struct gt_curves *curves, struct gt_buf *out)
{
	gt_buf_puts(out, "<p class=\"legend\">");
	for (uint32_t i = 0; i < curves->n; i++) {
		gt_buf_printf(out, "<span><span class=\"key k%u\"></span> ", i);
		gt_html_text(out, curves->list[i].coll);
		gt_buf_puts(out, ", ");
		gt_html_text(out, curves->list[i].what);
		gt_buf_puts(out, "</span> ");
	}
	if (curves->bound > 0)
		gt_buf_printf(out,
			      "<span><span class=\"key bound\"></span> bound, "
			      "%.4g GB/s</span>",
			      curves->bound);
	gt_buf_puts(out, "</p>\n");
}

/* The colours of a page, as far as a picture alone needs them. */
static void put_style(struct gt_buf *out)
{
	static const char *const light[GT_CURVES] = {
		"#0969da", "#cf222e", "#1a7f37", "#8250df",
		"#bc4c00", "#bf3989", "#1b7c83", "#4d2d00"};

	gt_buf_puts(out, "<style>text{font:12px sans-serif;fill:#57606a}"
			 "rect{fill:#fff}.grid{stroke:#d0d7de;stroke-width:.7}"
			 ".curve path{fill:none;stroke-width:2}");
	for (int i = 0; i < GT_CURVES; i++)
		gt_buf_printf(out, ".k%d path{stroke:%s}.k%d circle{fill:%s}",
			      i, light[i], i, light[i]);
	gt_buf_puts(out, "</style>\n<rect width=\"100%\" height=\"100%\"/>\n");
}

/* A line above the picture for each curve, with a piece of it. */
static void put_names(const struct gt_curves *curves, struct gt_buf *out)
{
	for (uint32_t i = 0; i < curves->n; i++) {
		double y = -16.0 * (curves->n - i) + 6;

		gt_buf_printf(out,
			      "<g class=\"curve k%u\"><path d=\"M%d %.0fh24\"/>"
			      "</g><text x=\"%d\" y=\"%.0f\">",
			      i, GT_CURVE_LEFT, y, GT_CURVE_LEFT + 32, y + 4);
		gt_html_text(out, curves->list[i].what);
		gt_buf_puts(out, ": ");
		gt_html_text(out, curves->list[i].coll);
		gt_buf_puts(out, "</text>\n");
	}
}

void gt_curves_svg(const struct gt_curves *curves, struct gt_buf *out)
{
	struct axes axes = {.any = 0};
	int above = 16 * (int)curves->n + 12;

	find_axes(curves, &axes);
	gt_buf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		      "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
		      "aria-label=\"bus bandwidth by size\">\n",
		      GT_CURVE_WIDE, GT_CURVE_HIGH + above, GT_CURVE_WIDE,
		      GT_CURVE_HIGH + above);
	put_style(out);
	gt_buf_printf(out, "<g transform=\"translate(0 %d)\">\n", above);
	put_names(curves, out);
	if (axes.any)
		draw_grid(&axes, out);
	for (uint32_t i = 0; i < curves->n && axes.any; i++)
		draw_curve(&axes, curves, i, out);
	gt_buf_printf(
		out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">bus "
		"bandwidth, GB/s, by size in bytes</text>\n</g>\n</svg>\n",
		GT_CURVE_WIDE - GT_CURVE_RIGHT, -6);
}

void gt_curves_draw(const struct gt_curves *curves, struct gt_buf *out)
{
	struct axes axes = {.any = 0};

	find_axes(curves, &axes);
	if (!axes.any)
		return;
	draw_legend(curves, out);
	gt_buf_printf(out,
		      "<div class=\"wide\"><svg class=\"curves\" role=\"img\" "
		      "aria-label=\"bus bandwidth by size\" "
		      "viewBox=\"0 0 %d %d\" "
		      "xmlns=\"http://www.w3.org/2000/svg\">\n",
		      GT_CURVE_WIDE, GT_CURVE_HIGH);
	draw_grid(&axes, out);
	if (curves->bound > 0)
		gt_buf_printf(out,
			      "<path class=\"bound\" d=\"M%d %.1fH%d\"/>\n",
			      GT_CURVE_LEFT, at_y(&axes, curves->bound),
			      GT_CURVE_WIDE - GT_CURVE_RIGHT);
	for (uint32_t i = 0; i < curves->n; i++)
		draw_curve(&axes, curves, i, out);
	gt_buf_puts(out, "</svg></div>\n<p class=\"quiet\">Bus bandwidth in "
			 "GB/s (1e9 bytes/s) by the size of the message; both "
			 "axes are logarithmic.</p>\n");
}
