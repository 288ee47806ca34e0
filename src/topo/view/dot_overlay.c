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
	GT_OVERLAY_LANES = 64,   /* the most lanes */
	GT_OVERLAY_WIDE = 1500,  /* how wide a picture gets before rows wrap */
	GT_OVERLAY_FEWEST = 4,   /* lanes beside the machine at least */
	GT_OVERLAY_COLUMN = 116, /* the width of a lane */
	GT_OVERLAY_NETWORK = 56, /* how much wider it is with a network */
	GT_OVERLAY_PITCH = 34,   /* between GPUs where no machine is beside */
	GT_OVERLAY_TITLE = 44,
	GT_OVERLAY_SIDE = 50, /* how far the longest arc reaches out */
	GT_OVERLAY_DOT = 14,
};

/* A lane of the picture: where it is, and how high. */
struct gt_dot_lane {
	uint32_t group;
	double x, top, height;
	int is_beside; /* its GPUs are in the rows of the machine's */
};

static const char *group_colour(uint32_t group)
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

/* Returns how far below the top of the picture a lane has a GPU. */
static double lane_y(const struct gt_dot_drawing *drawing,
		     const struct gt_dot_lane *lane, uint32_t gpu)
{
	uint32_t i = 0;

	if (lane->is_beside)
		return drawing->layout.boxes[gpu].y;
	while (drawing->topo->gpus[i] != gpu)
		i++;
	return lane->top + GT_OVERLAY_TITLE + GT_OVERLAY_PITCH * (double)i;
}

/*
 * Draws an arrow: arrows down are on the right, arrows up on the left, as far
 * out as they are long.
 */
static void draw_arrow(const struct gt_dot_drawing *drawing,
		       const struct gt_dot_lane *lane,
		       const struct gt_dot_arrow *arrow)
{
	double from = lane_y(drawing, lane, arrow->from);
	double to = lane_y(drawing, lane, arrow->to);
	double side = to > from ? 1 : -1;
	double head = lane->x + side * GT_OVERLAY_DOT / 2;
	double out = GT_OVERLAY_SIDE * (0.3 + fabs(to - from) / lane->height);

	gt_buf_printf(drawing->out, "c%u_%u -> c%u_%u [", arrow->group,
		      arrow->from, arrow->group, arrow->to);
	gt_dot_tip(drawing, arrow->from, arrow->to, "");
	gt_buf_printf(drawing->out,
		      "dir=forward, arrowsize=0.5, penwidth=1.4, "
		      "color=\"%s\", pos=\"e,%.1f,%.1f %.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
		      group_colour(arrow->group), head, -to, head, -from,
		      head + side * out, -from, head + side * out, -to,
		      head + side * 6, -to);
}

/*
 * Draws how a GPU sends to the network (`is_in` 0) or gets from it: an arrow to
 * or from the bar at the right of its lane.
 */
static void draw_network(const struct gt_dot_drawing *drawing,
			 const struct gt_dot_lane *lane, uint32_t gpu,
			 int is_in)
{
	double y = lane_y(drawing, lane, gpu) + (is_in ? 3 : -3);
	double dot = lane->x + GT_OVERLAY_DOT / 2.0;
	double bar = lane->x + GT_OVERLAY_COLUMN / 2.0 + 8;
	double from = is_in ? bar : dot, to = is_in ? dot : bar;
	double neck = is_in ? to + 6 : to - 6;

	gt_buf_printf(drawing->out,
		      "c%u_%u -> w%u [dir=forward, arrowsize=0.5, "
		      "penwidth=1.4, color=\"#0969da\", tooltip=\"%s the "
		      "network\", pos=\"e,%.1f,%.1f %.1f,%.1f %.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f\"];\n",
		      lane->group, gpu, lane->group, is_in ? "from" : "to", to,
		      -y, from, -y, from, -y, neck, -y, neck, -y);
}

/* Draws the network as a bar, if any arrow of the lane leads there. */
static void draw_networks(const struct gt_dot_drawing *drawing,
			  const struct gt_dot_lane *lane)
{
	const struct gt_topo *topo = drawing->topo;
	double first = lane_y(drawing, lane, topo->gpus[0]);
	double last = lane_y(drawing, lane, topo->gpus[topo->ngpus - 1]);
	int any = 0;

	for (uint32_t i = 0; i < drawing->overlay->narrows; i++) {
		const struct gt_dot_arrow *arrow = &drawing->overlay->arrows[i];

		if (arrow->group != lane->group || !arrow->network)
			continue;
		draw_network(drawing, lane, arrow->from, 0);
		draw_network(drawing, lane, arrow->to, 1);
		any = 1;
	}
	if (any)
		gt_buf_printf(
			drawing->out,
			"w%u [label=\"n\\ne\\nt\\nw\\no\\nr\\nk\", "
			"tooltip=\"the network between machines\", "
			"fillcolor=\"#ddf4ff\", pos=\"%.1f,%.1f\", "
			"width=0.22, height=%.3f];\n",
			lane->group, lane->x + GT_OVERLAY_COLUMN / 2.0 + 16,
			-(first + last) / 2, (fabs(last - first) + 30) / 72);
}

/* Draws a dot for each GPU; the root, where all begins, is filled. */
static void draw_dots(const struct gt_dot_drawing *drawing,
		      const struct gt_dot_lane *lane)
{
	const struct gt_topo *topo = drawing->topo;
	const char *colour = group_colour(lane->group);
	uint32_t root = drawing->overlay->groups[lane->group].root;

	for (uint32_t i = 0; i < topo->ngpus; i++) {
		uint32_t gpu = topo->gpus[i];

		gt_buf_printf(drawing->out, "c%u_%u [", lane->group, gpu);
		gt_dot_tip(drawing, gpu, GT_NONE, gpu == root ? "root" : "");
		gt_buf_printf(drawing->out,
			      "shape=circle, style=filled, fillcolor=\"%s\", "
			      "fontcolor=\"%s\", color=\"%s\", fontsize=8, "
			      "label=\"%d\", pos=\"%.1f,%.1f\", "
			      "width=%.3f];\n",
			      gpu == root ? colour : "white",
			      gpu == root ? "white" : "black", colour,
			      topo->nodes[gpu].dev, lane->x,
			      -lane_y(drawing, lane, gpu),
			      (GT_OVERLAY_DOT + (gpu == root) * 4) / 72.0);
	}
}

static void draw_lane(const struct gt_dot_drawing *drawing,
		      const struct gt_dot_lane *lane)
{
	const struct gt_dot_overlay *overlay = drawing->overlay;
	struct gt_buf *out = drawing->out;

	gt_buf_printf(out,
		      "g%u [shape=plaintext, style=\"\", fontcolor=\"%s\", "
		      "pos=\"%.1f,%.1f\", width=1, height=0.6, label=\"",
		      lane->group, group_colour(lane->group), lane->x,
		      lane->is_beside ? 24 : -lane->top);
	gt_dot_puts(out, overlay->groups[lane->group].name);
	gt_buf_puts(out, "\"];\n");
	draw_dots(drawing, lane);
	for (uint32_t i = 0; i < overlay->narrows; i++)
		if (overlay->arrows[i].group == lane->group &&
		    !overlay->arrows[i].network)
			draw_arrow(drawing, lane, &overlay->arrows[i]);
	draw_networks(drawing, lane);
}

static int has_network(const struct gt_dot_overlay *overlay)
{
	for (uint32_t i = 0; i < overlay->narrows; i++)
		if (overlay->arrows[i].network)
			return 1;
	return 0;
}

/* Says in the legend what the overlay shows, and what of it is left out. */
static void explain_overlay(struct gt_dot_drawing *drawing)
{
	const struct gt_dot_overlay *overlay = drawing->overlay;
	int rooted = 0;
	char text[160];

	for (uint32_t i = 0; i < overlay->ngroups; i++)
		rooted |= overlay->groups[i].root != GT_NONE;
	snprintf(text, sizeof(text),
		 "Circles are GPUs%s; arrows down are on the right, up on the "
		 "left; GB/s of channels are bus bandwidth.",
		 rooted ? ", filled ones roots" : "");
	gt_dot_legend(drawing, text, NULL, 0);
	if (overlay->ngroups <= GT_OVERLAY_LANES)
		return;
	snprintf(text, sizeof(text), "%u more lanes are not drawn.",
		 overlay->ngroups - GT_OVERLAY_LANES);
	gt_dot_legend(drawing, text, NULL, 0);
}

/* Lanes are beside the machine, then in rows below it, each as wide as it. */
void gt_dot_draw_overlay(struct gt_dot_drawing *drawing)
{
	const struct gt_dot_overlay *overlay = drawing->overlay;
	double edge, left, right, step = GT_OVERLAY_COLUMN;
	struct gt_dot_lane lane = {.is_beside = 1,
				   .height = drawing->layout.bottom};

	if (!overlay || !drawing->topo->ngpus)
		return;
	explain_overlay(drawing);
	if (has_network(overlay))
		step += GT_OVERLAY_NETWORK;
	edge = gt_dot_edge(drawing) + GT_OVERLAY_COLUMN / 2.0;
	right = fmax(GT_OVERLAY_WIDE, edge + GT_OVERLAY_FEWEST * step);
	left = GT_OVERLAY_COLUMN / 2.0;
	lane.x = edge;
	lane.top = drawing->layout.bottom + 60 + 16.0 * drawing->nlegends;
	for (uint32_t i = 0; i < overlay->ngroups && i < GT_OVERLAY_LANES;
	     i++) {
		if (lane.x + step / 2 > right) {
			if (!lane.is_beside)
				lane.top += lane.height + 2 * GT_OVERLAY_TITLE;
			lane.height = GT_OVERLAY_PITCH * drawing->topo->ngpus;
			lane.is_beside = 0;
			lane.x = left;
		}
		lane.group = i;
		draw_lane(drawing, &lane);
		lane.x += step;
	}
}
