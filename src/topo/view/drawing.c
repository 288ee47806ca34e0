/*
 * Helpers that all pictures use: text in quotes, places of boxes, the legend.
 */
#include "topo/view/drawing.h"

#include <string.h>

#include "base/buf.h"

void gt_dot_puts(struct gt_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			gt_buf_puts(out, "\\");
		if (*text == '\n')
			gt_buf_puts(out, "\\n");
		else if ((unsigned char)*text < 0x20)
			gt_buf_puts(out, "?");
		else
			gt_buf_add(out, text, 1);
	}
}

void gt_dot_box(struct gt_buf *out, const struct gt_dot_rect *box)
{
	gt_buf_printf(out, "pos=\"%.1f,%.1f\", width=%.3f, height=%.3f", box->x,
		      -box->y, box->w / 72, box->h / 72);
}

void gt_dot_legend(struct gt_dot_drawing *drawing, const char *text,
		   const char *colour, double width)
{
	struct gt_buf *out = drawing->out;
	double x = drawing->layout.boxes[drawing->cpu].x -
		   drawing->layout.boxes[drawing->cpu].w / 2;
	double y = -drawing->layout.bottom - 18 - 16.0 * drawing->nlegends;
	double wide = (double)strlen(text) * GT_DOT_FONT * 0.56 + 8;
	unsigned n = drawing->nlegends++;

	if (colour) {
		gt_buf_printf(
			out,
			"la%u [shape=point, style=invis, width=0.01, "
			"height=0.01, pos=\"%.1f,%.1f\"];\n"
			"lb%u [shape=point, style=invis, width=0.01, "
			"height=0.01, pos=\"%.1f,%.1f\"];\n"
			"la%u -> lb%u [penwidth=%.2f, color=\"%s\", "
			"pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
			n, x, y, n, x + 30, y, n, n, width, colour, x, y,
			x + 10, y, x + 20, y, x + 30, y);
		x += 36;
	}
	gt_buf_printf(
		out, "l%u [shape=plaintext, margin=0, style=\"\", label=\"", n);
	gt_dot_puts(out, text);
	gt_buf_printf(out,
		      "\\l\", pos=\"%.1f,%.1f\", width=%.3f, height=0.2];\n",
		      x + wide / 2, y, wide / 72);
}
