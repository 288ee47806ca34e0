/*
 * Draws the overlay of a picture: one column beside the machine for each group
 * of arrows, such as the channels of a plan.
 */
#include "topo/view/drawing.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "topo/view/dot.h"
#include "topo/graph/inside.h"

enum {
	GT_OVERLAY_COLUMNS = 16, /* the most columns */
	GT_OVERLAY_COLUMN = 116, /* the width of a column */
	GT_OVERLAY_SIDE = 50,    /* how far the longest arc reaches out */
	GT_OVERLAY_DOT = 14,
};

static const char *gt_dot_group(uint32_t group)
{
	static const char *const colours[] = {"#cf222e", "#0969da", "#bf5700",
					      "#8250df", "#0a8f8f", "#bf3989",
					      "#7d6200", "#24292f"};

	return colours[group % (sizeof(colours) / sizeof(colours[0]))];
}

/*
 * Returns where the machine ends at the right; what is drawn beside it begins
 * there.
 */
static double gt_dot_edge(const struct gt_dot_drawing *drawing)
{
	const struct gt_dot_rect *boxes = drawing->layout.boxes;
	double x = drawing->layout.right + 20, reach;

	for (uint32_t i = 0; i < drawing->topo->nlinks; i++) {
		const struct gt_link *link = &drawing->topo->links[i];

		if (drawing->topo->nodes[link->to].kind == GT_NODE_NVS)
			reach = gt_dot_rect_right(&boxes[link->to]);
		else if (gt_dot_is_arc(drawing->topo, link))
			reach = drawing->layout.right + 22 +
				0.34 * fabs(boxes[link->from].y -
					    boxes[link->to].y);
		else
			continue;
		x = fmax(x, reach);
	}
	return x;
}

/*
 * Draws an arrow: arrows down are on the right, arrows up on the left, as far
 * out as they are long.
 */
static void gt_dot_arrow(const struct gt_dot_drawing *drawing,
			 const struct gt_dot_arrow *arrow, double x)
{
	const struct gt_dot_rect *boxes = drawing->layout.boxes;
	double from = boxes[arrow->from].y, to = boxes[arrow->to].y;
	double side = to > from ? 1 : -1, head = x + side * GT_OVERLAY_DOT / 2;
	double out = GT_OVERLAY_SIDE *
		     (0.3 + fabs(to - from) / drawing->layout.bottom);

	gt_buf_printf(drawing->out,
		      "c%u_%u -> c%u_%u [dir=forward, arrowsize=0.5, "
		      "penwidth=1.4, color=\"%s\", pos=\"e,%.1f,%.1f %.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
		      arrow->group, arrow->from, arrow->group, arrow->to,
		      gt_dot_group(arrow->group), head, -to, head, -from,
		      head + side * out, -from, head + side * out, -to,
		      head + side * 6, -to);
}

/* Draws a group of arrows: a dot in each GPU's row, and arcs between dots. */
static void gt_dot_draw_arrow(const struct gt_dot_drawing *drawing,
			      uint32_t group, double x)
{
	const struct gt_dot_overlay *overlay = drawing->overlay;
	struct gt_buf *out = drawing->out;
	const struct gt_topo *topo = drawing->topo;

	gt_buf_printf(out,
		      "g%u [shape=plaintext, style=\"\", fontcolor=\"%s\", "
		      "pos=\"%.1f,16\", width=1, height=0.4, label=\"",
		      group, gt_dot_group(group), x);
	gt_dot_puts(out, overlay->groups[group]);
	gt_buf_puts(out, "\"];\n");
	for (uint32_t i = 0; i < topo->ngpus; i++)
		gt_buf_printf(out,
			      "c%u_%u [shape=circle, style=filled, "
			      "fillcolor=white, color=\"%s\", fontsize=8, "
			      "label=\"%d\", pos=\"%.1f,%.1f\", "
			      "width=%.3f];\n",
			      group, topo->gpus[i], gt_dot_group(group),
			      topo->nodes[topo->gpus[i]].dev, x,
			      -drawing->layout.boxes[topo->gpus[i]].y,
			      GT_OVERLAY_DOT / 72.0);
	for (uint32_t i = 0; i < overlay->narrows; i++)
		if (overlay->arrows[i].group == group)
			gt_dot_arrow(drawing, &overlay->arrows[i], x);
}

void gt_dot_draw_overlay(struct gt_dot_drawing *drawing)
{
	uint32_t n = drawing->overlay ? drawing->overlay->ngroups : 0;
	double x = gt_dot_edge(drawing) + GT_OVERLAY_COLUMN / 2.0;
	char text[64];

	for (uint32_t i = 0; i < n && i < GT_OVERLAY_COLUMNS; i++)
		gt_dot_draw_arrow(drawing, i,
				  x + (double)GT_OVERLAY_COLUMN * i);
	if (n <= GT_OVERLAY_COLUMNS)
		return;
	snprintf(text, sizeof(text), "%u more channels are not drawn.",
		 n - GT_OVERLAY_COLUMNS);
	gt_dot_legend(drawing, text, NULL, 0);
}
