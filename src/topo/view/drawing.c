/*
 * Helpers that all pictures use: text in quotes, places of boxes, the legend.
 */
#include "topo/view/drawing.h"

#include <string.h>

#include "base/buf.h"

void gt_dot_begin(struct gt_buf *out, const char *name)
{
	gt_buf_printf(out, "digraph %s {\n", name);
	gt_buf_puts(out, "layout=nop2; bgcolor=white; tooltip=\" \";\n"
			 "node [shape=box, style=\"rounded,filled\", "
			 "fixedsize=true, fontsize=11, tooltip=\" \", "
			 "fontname=\"Helvetica\", color=\"#8c959f\"];\n"
			 "edge [dir=none, fontsize=8, tooltip=\" \", "
			 "fontname=\"Helvetica\"];\n");
}

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

void gt_dot_tip(const struct gt_dot_drawing *drawing, uint32_t from,
		uint32_t to, const char *text)
{
	char name[GT_DOT_NAME];

	gt_buf_puts(drawing->out, "tooltip=\"");
	gt_dot_name(drawing->topo, from, name);
	gt_dot_puts(drawing->out, name);
	if (to != GT_NONE) {
		gt_dot_name(drawing->topo, to, name);
		gt_buf_puts(drawing->out, " to ");
		gt_dot_puts(drawing->out, name);
	}
	gt_buf_puts(drawing->out, *text ? ": " : "");
	gt_dot_puts(drawing->out, text);
	gt_buf_puts(drawing->out, "\", ");
}

/* Draws a sample of a line of the legend. */
static void draw_sample(struct gt_buf *out, unsigned n, double x, double y)
{
	gt_buf_printf(out,
		      "la%u [shape=point, style=invis, width=0.01, "
		      "height=0.01, pos=\"%.1f,%.1f\"];\n"
		      "lb%u [shape=point, style=invis, width=0.01, "
		      "height=0.01, pos=\"%.1f,%.1f\"];\n"
		      "la%u -> lb%u [pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f "
		      "%.1f,%.1f\", ",
		      n, x, y, n, x + 30, y, n, n, x, y, x + 10, y, x + 20, y,
		      x + 30, y);
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

	if (width > 0) {
		draw_sample(out, n, x, y);
		gt_buf_printf(out, "penwidth=%.2f, color=\"%s\"];\n", width,
			      colour);
		x += 36;
	}
	gt_buf_printf(out, "l%u [shape=plaintext, margin=0, style=\"\", ", n);
	if (colour && width <= 0)
		gt_buf_printf(out, "fontcolor=\"%s\", ", colour);
	gt_buf_puts(out, "label=\"");
	gt_dot_puts(out, text);
	gt_buf_printf(out,
		      "\\l\", pos=\"%.1f,%.1f\", width=%.3f, height=0.2];\n",
		      x + wide / 2, y, wide / 72);
}
