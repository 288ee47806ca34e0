#include "topo/dot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "topo/dot_place.h"
#include "topo/graph.h"
#include "topo/pci.h"
#include "topo/show.h"

#define GT_DOT_RED "#cf222e"

/* Beside the machine, each group of arrows has its lane. */
enum {
	GT_LANES = 16,     /* at most */
	GT_LANE = 116,     /* width of one */
	GT_LANE_SIDE = 50, /* the longest arc's reach */
	GT_LANE_DOT = 14,
};

struct gt_drawing {
	const struct gt_topo *topo;
	const struct gt_dot_overlay *overlay;
	struct gt_places places;
	uint32_t cpu;      /* one of them */
	unsigned nlegends; /* lines of it so far */
	struct gt_buf *out;
};

static const char *const gt_dot_colours[GT_NLINKKINDS] = {
	[GT_LINK_LOC] = "#8c959f", [GT_LINK_NVL] = "#4c9a2a",
	[GT_LINK_C2C] = "#8250df", [GT_LINK_PCI] = "#57606a",
	[GT_LINK_SYS] = "#bc6c00", [GT_LINK_NET] = "#0969da",
};

/* As text inside a quoted string; "\n" in text is a line's end. */
static void gt_dot_puts(struct gt_buf *out, const char *text)
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

static double gt_dot_width(struct gt_rat gbs)
{
	double width = sqrt(gt_rat_double(gbs)) / 3;

	return width < 0.8 ? 0.8 : width > 8 ? 8 : width;
}

static double gt_right(const struct gt_box *box)
{
	return box->x + box->w / 2;
}

static double gt_left(const struct gt_box *box)
{
	return box->x - box->w / 2;
}

static void gt_dot_box(struct gt_buf *out, const struct gt_box *box)
{
	gt_buf_printf(out, "pos=\"%.1f,%.1f\", width=%.3f, height=%.3f", box->x,
		      -box->y, box->w / 72, box->h / 72);
}

static void gt_dot_node(const struct gt_drawing *drawing, uint32_t index)
{
	static const char *const fill[GT_NNODEKINDS] = {
		[GT_NODE_GPU] = "#dafbe1", [GT_NODE_PCI] = "#eaeef2",
		[GT_NODE_NVS] = "#aceebb", [GT_NODE_CPU] = "#fff8c5",
		[GT_NODE_NIC] = "#ddf4ff",
	};
	const struct gt_node *node = gt_topo_node(drawing->topo, index);
	char text[1024];

	gt_dot_text(drawing->topo, index, text, sizeof(text));
	gt_buf_printf(drawing->out, "n%u [label=\"", index);
	gt_dot_puts(drawing->out, text);
	gt_buf_printf(drawing->out, "\", fillcolor=\"%s\", ", fill[node->kind]);
	gt_dot_box(drawing->out, &drawing->places.boxes[index]);
	gt_buf_puts(drawing->out, "];\n");
}

/* "63.0": the legend has the unit. */
static void gt_dot_gbs(struct gt_rat gbs, char text[32])
{
	char *unit;

	gt_show_gbs(gbs, text, 32);
	unit = strchr(text, ' ');
	if (unit)
		*unit = '\0';
}

/* From a column bent into the row of a box further right, then straight. */
static void gt_dot_branch(const struct gt_drawing *drawing,
			  const uint32_t ends[2], double shift)
{
	const struct gt_box *from = &drawing->places.boxes[ends[0]];
	const struct gt_box *to = &drawing->places.boxes[ends[1]];
	double x = gt_right(from), y0 = shift - from->y, y1 = shift - to->y;
	double mid = x + GT_DOT_BEND;

	gt_buf_printf(
		drawing->out,
		"n%u -> n%u [pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f "
		"%.1f,%.1f %.1f,%.1f %.1f,%.1f\", ",
		ends[0], ends[1], x, y0, x + GT_DOT_BEND / 2.0, y0,
		mid - GT_DOT_BEND / 2.0, y1, mid, y1, mid + 1, y1,
		gt_left(to) - 1, y1, gt_left(to), y1);
}

static void gt_dot_uplink(const struct gt_drawing *drawing, uint32_t index)
{
	const struct gt_node *node = gt_topo_node(drawing->topo, index);
	const struct gt_link *link = gt_show_uplink(drawing->topo, index);
	const struct gt_box *box = &drawing->places.boxes[index];
	char text[128], rate[48] = "", gbs[32];
	struct gt_pci_rate now;
	enum gt_pci_state state = gt_pci_state(node, &now);
	int problem = state == GT_PCI_DEGRADED;

	if (!link)
		return;
	gt_dot_gbs(link->gbs, gbs);
	if (node->pci)
		gt_show_rate(problem ? now : node->pci->link, rate,
			     sizeof(rate));
	if (problem)
		snprintf(text, sizeof(text), "runs at %s", rate);
	else
		snprintf(text, sizeof(text), "%s %s%s", rate, gbs,
			 state == GT_PCI_ASSUMED ? "?" : "");
	gt_dot_branch(drawing, (uint32_t[]){node->up, index}, 0);
	gt_buf_printf(drawing->out, "penwidth=%.2f, ", gt_dot_width(link->gbs));
	if (problem)
		gt_buf_puts(drawing->out,
			    "style=dashed, fontcolor=\"" GT_DOT_RED "\", ");
	if (*gbs)
		gt_buf_printf(drawing->out, "label=\"%s\", lp=\"%.1f,%.1f\", ",
			      text, gt_left(box) - 33, 7 - box->y);
	gt_buf_printf(drawing->out, "color=\"%s\"];\n",
		      problem ? GT_DOT_RED : gt_dot_colours[GT_LINK_PCI]);
}

static void gt_dot_cluster(const struct gt_drawing *drawing, uint32_t index)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_box *box = &drawing->places.clusters[index];
	int cpu = gt_topo_node(topo, index)->kind == GT_NODE_CPU;

	gt_buf_printf(drawing->out,
		      "subgraph cluster_%u {\n"
		      "style=\"rounded,filled\"; color=\"%s\"; "
		      "fillcolor=\"%s\"; bb=\"%.1f,%.1f,%.1f,%.1f\";\n",
		      index, cpu ? "#afb8c1" : "#d0d7de",
		      cpu ? "#ffffff" : "#f6f8fa", gt_left(box),
		      -box->y - box->h / 2, gt_right(box),
		      -box->y + box->h / 2);
	gt_dot_node(drawing, index);
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);

		if (node->up != index)
			continue;
		if (node->kind == GT_NODE_PCI)
			gt_dot_cluster(drawing, i);
		else
			gt_dot_node(drawing, i);
	}
	gt_buf_puts(drawing->out, "}\n");
}

/* A straight link from a box to a bar beside it. */
static void gt_dot_to_bar(const struct gt_drawing *drawing,
			  const struct gt_link *link, const char *bar,
			  const struct gt_box *at)
{
	const struct gt_box *box = &drawing->places.boxes[link->from];
	double from = at->x > box->x ? gt_right(box) : gt_left(box);
	double to = at->x > box->x ? gt_left(at) : gt_right(at);
	char gbs[32];

	gt_dot_gbs(link->gbs, gbs);
	gt_buf_printf(drawing->out,
		      "n%u -> %s [penwidth=%.2f, color=\"%s\", pos=\"%.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f %.1f,%.1f\", label=\"%s\", "
		      "lp=\"%.1f,%.1f\"];\n",
		      link->from, bar, gt_dot_width(link->gbs),
		      gt_dot_colours[link->kind], from, -box->y,
		      (2 * from + to) / 3, -box->y, (from + 2 * to) / 3,
		      -box->y, to, -box->y, gbs, (from + to) / 2,
		      -box->y + 7 + gt_dot_width(link->gbs) / 2);
}

static enum gt_node_kind gt_dot_kind(const struct gt_drawing *drawing,
				     uint32_t node)
{
	return gt_topo_node(drawing->topo, node)->kind;
}

static int gt_dot_is_arc(const struct gt_drawing *drawing,
			 const struct gt_link *link)
{
	return link->kind == GT_LINK_NVL &&
	       gt_dot_kind(drawing, link->from) == GT_NODE_GPU &&
	       gt_dot_kind(drawing, link->to) == GT_NODE_GPU;
}

/*
 * Where a node's arc begins: they are spread over the height of its box so
 * that none crosses another there.  From the top: those that go up, the
 * shortest first, then those that go down, the longest first.
 */
static double gt_dot_slot(const struct gt_drawing *drawing, uint32_t node,
			  uint32_t other)
{
	const struct gt_box *boxes = drawing->places.boxes;
	double key = -1 / (boxes[other].y - boxes[node].y), rival;
	uint32_t before = 0, all = 0;

	for (uint32_t i = drawing->topo->first[node]; i != GT_NONE;
	     i = drawing->topo->next[i]) {
		const struct gt_link *link = &drawing->topo->links[i];

		if (!gt_dot_is_arc(drawing, link))
			continue;
		rival = -1 / (boxes[link->to].y - boxes[node].y);
		before += rival > key;
		all++;
	}
	return boxes[node].y +
	       boxes[node].h * ((before + 0.5) / all - 0.5) * 0.8;
}

/* From one height to another around the right of a column. */
static void gt_dot_arc(const struct gt_drawing *drawing, double x, double from,
		       double to)
{
	double bulge = x + 22 + fabs(to - from) * 0.42;

	gt_buf_printf(drawing->out,
		      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"", x,
		      -from, bulge, -from, bulge, -to, x, -to);
}

static void gt_dot_style(const struct gt_drawing *drawing,
			 const struct gt_link *link)
{
	gt_buf_printf(drawing->out, ", penwidth=%.2f, color=\"%s\"];\n",
		      gt_dot_width(link->gbs), gt_dot_colours[link->kind]);
}

/* A link beside the PCI tree, once for both directions. */
static void gt_dot_link(const struct gt_drawing *drawing,
			const struct gt_link *link)
{
	enum gt_node_kind from = gt_dot_kind(drawing, link->from);
	enum gt_node_kind to = gt_dot_kind(drawing, link->to);
	char name[24];

	snprintf(name, sizeof(name), "n%u", link->to);
	if (from == GT_NODE_GPU && to == GT_NODE_NVS) {
		gt_dot_to_bar(drawing, link, name,
			      &drawing->places.boxes[link->to]);
	} else if (from == GT_NODE_CPU && to == GT_NODE_GPU &&
		   link->kind != GT_LINK_PCI) {
		gt_dot_branch(drawing, (uint32_t[]){link->from, link->to}, -8);
		gt_buf_puts(drawing->out, "label=\"\"");
		gt_dot_style(drawing, link);
	} else if (gt_dot_is_arc(drawing, link) && link->from < link->to) {
		gt_buf_printf(drawing->out, "n%u -> n%u [", link->from,
			      link->to);
		gt_dot_arc(drawing, drawing->places.right,
			   gt_dot_slot(drawing, link->from, link->to),
			   gt_dot_slot(drawing, link->to, link->from));
		gt_dot_style(drawing, link);
	}
}

/* What one CPU has to others, as one bar that all are tied to. */
static void gt_dot_cpus(const struct gt_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_link *link;

	if (drawing->places.sys.w <= 0)
		return;
	gt_buf_puts(drawing->out, "sys [label=\"between\\nNUMA\\nnodes\", "
				  "fillcolor=\"#ffe8c7\", ");
	gt_dot_box(drawing->out, &drawing->places.sys);
	gt_buf_puts(drawing->out, "];\n");
	for (uint32_t i = 0; i < topo->nnodes; i++)
		for (uint32_t at = topo->first[i]; at != GT_NONE;
		     at = topo->next[at]) {
			link = &topo->links[at];
			if (link->kind != GT_LINK_SYS)
				continue;
			gt_dot_to_bar(drawing, link, "sys",
				      &drawing->places.sys);
			break;
		}
}

/* One line of the legend: a sample, if any, and what it stands for. */
static void gt_dot_legend(struct gt_drawing *drawing, const char *text,
			  const char *colour, double width)
{
	struct gt_buf *out = drawing->out;
	double x = drawing->places.boxes[drawing->cpu].x -
		   drawing->places.boxes[drawing->cpu].w / 2;
	double y = -drawing->places.bottom - 18 - 16.0 * drawing->nlegends;
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

/* Samples of what carries no figure in the picture: arcs and C2C. */
static void gt_dot_samples(struct gt_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_link *link, *before;
	char text[96], gbs[32];
	uint32_t j;

	for (uint32_t i = 0; i < topo->nlinks && drawing->nlegends < 9; i++) {
		link = &topo->links[i];
		if (!gt_dot_is_arc(drawing, link) && link->kind != GT_LINK_C2C)
			continue;
		for (j = 0; j < i; j++) {
			before = &topo->links[j];
			if (before->kind == link->kind &&
			    before->count == link->count &&
			    !gt_rat_cmp(before->gbs, link->gbs) &&
			    (gt_dot_is_arc(drawing, before) ||
			     link->kind == GT_LINK_C2C))
				break;
		}
		if (j < i)
			continue;
		gt_show_gbs(link->gbs, gbs, sizeof(gbs));
		snprintf(text, sizeof(text), "%u %s%s, %s", link->count,
			 link->kind == GT_LINK_C2C
				 ? "C2C link"
				 : gt_show_nvlink(&topo->nodes[link->from]),
			 link->count > 1 ? "s" : "", gbs);
		gt_dot_legend(drawing, text, gt_dot_colours[link->kind],
			      gt_dot_width(link->gbs));
	}
}

static const char *gt_dot_group(uint32_t group)
{
	static const char *const colours[] = {"#cf222e", "#0969da", "#bf5700",
					      "#8250df", "#0a8f8f", "#bf3989",
					      "#7d6200", "#24292f"};

	return colours[group % (sizeof(colours) / sizeof(colours[0]))];
}

/* What is drawn beside the machine begins right of this. */
static double gt_dot_edge(const struct gt_drawing *drawing)
{
	const struct gt_box *boxes = drawing->places.boxes;
	double x = drawing->places.right + 20, reach;

	for (uint32_t i = 0; i < drawing->topo->nlinks; i++) {
		const struct gt_link *link = &drawing->topo->links[i];

		if (gt_dot_kind(drawing, link->to) == GT_NODE_NVS)
			reach = gt_right(&boxes[link->to]);
		else if (gt_dot_is_arc(drawing, link))
			reach = drawing->places.right + 22 +
				0.34 * fabs(boxes[link->from].y -
					    boxes[link->to].y);
		else
			continue;
		x = fmax(x, reach);
	}
	return x;
}

/* Down on the right, up on the left, as far out as it is long. */
static void gt_dot_arrow(const struct gt_drawing *drawing,
			 const struct gt_dot_arrow *arrow, double x)
{
	const struct gt_box *boxes = drawing->places.boxes;
	double from = boxes[arrow->from].y, to = boxes[arrow->to].y;
	double side = to > from ? 1 : -1, head = x + side * GT_LANE_DOT / 2;
	double out =
		GT_LANE_SIDE * (0.3 + fabs(to - from) / drawing->places.bottom);

	gt_buf_printf(drawing->out,
		      "c%u_%u -> c%u_%u [dir=forward, arrowsize=0.5, "
		      "penwidth=1.4, color=\"%s\", pos=\"e,%.1f,%.1f %.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
		      arrow->group, arrow->from, arrow->group, arrow->to,
		      gt_dot_group(arrow->group), head, -to, head, -from,
		      head + side * out, -from, head + side * out, -to,
		      head + side * 6, -to);
}

/* One group of arrows: a dot in each device's row, and arcs between dots. */
static void gt_dot_lane(const struct gt_drawing *drawing, uint32_t group,
			double x)
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
			      -drawing->places.boxes[topo->gpus[i]].y,
			      GT_LANE_DOT / 72.0);
	for (uint32_t i = 0; i < overlay->narrows; i++)
		if (overlay->arrows[i].group == group)
			gt_dot_arrow(drawing, &overlay->arrows[i], x);
}

static void gt_dot_lanes(struct gt_drawing *drawing)
{
	uint32_t n = drawing->overlay->ngroups;
	double x = gt_dot_edge(drawing) + GT_LANE / 2.0;
	char text[64];

	for (uint32_t i = 0; i < n && i < GT_LANES; i++)
		gt_dot_lane(drawing, i, x + (double)GT_LANE * i);
	if (n <= GT_LANES)
		return;
	snprintf(text, sizeof(text), "%u more channels are not drawn.",
		 n - GT_LANES);
	gt_dot_legend(drawing, text, NULL, 0);
}

static void gt_dot_all(struct gt_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (topo->nodes[i].kind == GT_NODE_CPU) {
			drawing->cpu = i;
			gt_dot_cluster(drawing, i);
		} else if (topo->nodes[i].kind == GT_NODE_NVS) {
			gt_dot_node(drawing, i);
		}
	}
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind != GT_NODE_NET)
			gt_dot_uplink(drawing, i);
	gt_dot_cpus(drawing);
	for (uint32_t i = 0; i < topo->nlinks; i++)
		gt_dot_link(drawing, &topo->links[i]);
	gt_dot_legend(drawing, topo->source, NULL, 0);
	gt_dot_legend(drawing,
		      "Numbers at links are GB/s (1e9 bytes/s) one way, with "
		      "a ? where they are assumed.",
		      NULL, 0);
	gt_dot_samples(drawing);
	if (drawing->overlay)
		gt_dot_lanes(drawing);
}

void gt_dot(const struct gt_topo *topo, const struct gt_dot_overlay *overlay,
	    struct gt_buf *out)
{
	struct gt_drawing drawing = {
		.topo = topo, .overlay = overlay, .out = out};
	struct gt_arena *arena = gt_arena_new();

	if (!arena || !gt_dot_place(topo, arena, &drawing.places)) {
		out->failed = 1;
		goto arena;
	}
	gt_buf_puts(out, "digraph topology {\n"
			 "layout=nop2; bgcolor=white;\n"
			 "node [shape=box, style=\"rounded,filled\", "
			 "fixedsize=true, fontsize=11, "
			 "fontname=\"Helvetica\", color=\"#8c959f\"];\n"
			 "edge [dir=none, fontsize=8, "
			 "fontname=\"Helvetica\"];\n");
	gt_dot_all(&drawing);
	gt_buf_puts(out, "}\n");
arena:
	gt_arena_free(arena);
}
