/*
 * Draws the links of a picture: those of the PCI tree bend into the row of a
 * box, NVLinks between GPUs are arcs, links to NVSwitches and between CPUs lead
 * to a bar.
 */
#include "topo/view/drawing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "topo/graph/inside.h"
#include "topo/probe/pci_ids.h"
#include "topo/view/show_text.h"

enum { GT_DOT_SAMPLES = 7 }; /* the most samples in the legend */

static const char *const gt_dot_colours[GT_NLINKKINDS] = {
	[GT_LINK_LOC] = "#8c959f", [GT_LINK_NVL] = "#4c9a2a",
	[GT_LINK_C2C] = "#8250df", [GT_LINK_PCI] = "#57606a",
	[GT_LINK_SYS] = "#bc6c00", [GT_LINK_NET] = "#0969da",
	[GT_LINK_MEM] = "#8c959f",
};

static double gt_dot_width(struct gt_rat gbs)
{
	double width = sqrt(gt_rat_double(gbs)) / 3;

	return width < 0.8 ? 0.8 : width > 8 ? 8 : width;
}

/* Writes a bandwidth without its unit, "63.0"; the legend has the unit. */
static void gt_dot_gbs(struct gt_rat gbs, char text[32])
{
	char *unit;

	gt_show_gbs(gbs, text, 32);
	unit = strchr(text, ' ');
	if (unit)
		*unit = '\0';
}

/*
 * Writes a line that goes from a box, bent into the row of a box further right,
 * then straight.
 */
static void gt_dot_branch(const struct gt_dot_drawing *drawing,
			  const uint32_t ends[2], double shift)
{
	const struct gt_dot_rect *from = &drawing->layout.boxes[ends[0]];
	const struct gt_dot_rect *to = &drawing->layout.boxes[ends[1]];
	double x = gt_dot_rect_right(from), y0 = shift - from->y,
	       y1 = shift - to->y;
	double mid = x + GT_DOT_BEND;

	gt_buf_printf(
		drawing->out,
		"n%u -> n%u [pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f "
		"%.1f,%.1f %.1f,%.1f %.1f,%.1f\", ",
		ends[0], ends[1], x, y0, x + GT_DOT_BEND / 2.0, y0,
		mid - GT_DOT_BEND / 2.0, y1, mid, y1, mid + 1, y1,
		gt_dot_rect_left(to) - 1, y1, gt_dot_rect_left(to), y1);
}

/*
 * Writes a figure above the straight end of a link, before the box that it
 * leads to, or what is around that; letters are about 0.58 of their size wide.
 */
static void gt_dot_figure(const struct gt_dot_drawing *drawing, uint32_t index,
			  const char *text)
{
	const struct gt_dot_rect *box = &drawing->layout.boxes[index];
	const struct gt_dot_rect *around = &drawing->layout.clusters[index];
	double wide = (double)strlen(text) * GT_DOT_SMALL * 0.58;
	double end = gt_dot_rect_left(around->w > 0 ? around : box);

	gt_buf_printf(drawing->out, "label=\"%s\", lp=\"%.1f,%.1f\", ", text,
		      end - 4 - wide / 2, 7 - box->y);
}

static void gt_dot_uplink(const struct gt_dot_drawing *drawing, uint32_t index)
{
	const struct gt_node *node = gt_topo_node(drawing->topo, index);
	const struct gt_link *link = gt_show_uplink(drawing->topo, index);
	char text[128], rate[48] = "", gbs[32], tip[512];
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
	gt_show_finding(node, tip, sizeof(tip));
	if (!*tip)
		snprintf(tip, sizeof(tip), "%s%s%s GB/s", rate,
			 *rate ? ", " : "", gbs);
	gt_dot_tip(drawing, node->up, index, tip);
	gt_buf_printf(drawing->out, "penwidth=%.2f, ", gt_dot_width(link->gbs));
	if (problem)
		gt_buf_puts(drawing->out,
			    "style=dashed, fontcolor=\"" GT_DOT_RED "\", ");
	if (*gbs)
		gt_dot_figure(drawing, index, text);
	gt_buf_printf(drawing->out, "color=\"%s\"];\n",
		      problem ? GT_DOT_RED : gt_dot_colours[GT_LINK_PCI]);
}

/* Writes what is said of a link beside the PCI tree: "2 NVLinks, 50.0 GB/s". */
static void gt_dot_say(const struct gt_dot_drawing *drawing,
		       const struct gt_link *link, char *text, size_t size)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_node *from = gt_topo_node(topo, link->from);
	const struct gt_node *to = gt_topo_node(topo, link->to);
	char gbs[32];

	gt_show_gbs(link->gbs, gbs, sizeof(gbs));
	if (link->kind == GT_LINK_SYS)
		snprintf(text, size, "%s, NCCL's figure for these processors",
			 gbs);
	else
		snprintf(text, size, "%u %s%s, %s", link->count,
			 link->kind == GT_LINK_C2C   ? "C2C link"
			 : from->kind == GT_NODE_GPU ? gt_show_nvlink(from)
						     : gt_show_nvlink(to),
			 gt_plural(link->count), gbs);
}

/* Draws a straight link from a box to a bar beside it. */
static void gt_dot_to_bar(const struct gt_dot_drawing *drawing,
			  const struct gt_link *link, const char *bar,
			  const struct gt_dot_rect *at)
{
	const struct gt_dot_rect *box = &drawing->layout.boxes[link->from];
	double from =
		at->x > box->x ? gt_dot_rect_right(box) : gt_dot_rect_left(box);
	double to =
		at->x > box->x ? gt_dot_rect_left(at) : gt_dot_rect_right(at);
	char gbs[32], tip[128];

	gt_dot_gbs(link->gbs, gbs);
	gt_dot_say(drawing, link, tip, sizeof(tip));
	gt_buf_printf(drawing->out, "n%u -> %s [", link->from, bar);
	gt_dot_tip(drawing, link->from, link->to, tip);
	gt_buf_printf(drawing->out,
		      "penwidth=%.2f, color=\"%s\", pos=\"%.1f,%.1f "
		      "%.1f,%.1f %.1f,%.1f %.1f,%.1f\", label=\"%s%s\", "
		      "lp=\"%.1f,%.1f\"];\n",
		      gt_dot_width(link->gbs), gt_dot_colours[link->kind], from,
		      -box->y, (2 * from + to) / 3, -box->y,
		      (from + 2 * to) / 3, -box->y, to, -box->y, gbs,
		      link->kind == GT_LINK_SYS && *gbs ? "?" : "",
		      (from + to) / 2,
		      -box->y + 7 + gt_dot_width(link->gbs) / 2);
}

static enum gt_node_kind gt_dot_kind(const struct gt_dot_drawing *drawing,
				     uint32_t node)
{
	return gt_topo_node(drawing->topo, node)->kind;
}

int gt_dot_is_arc(const struct gt_topo *topo, const struct gt_link *link)
{
	return link->kind == GT_LINK_NVL &&
	       gt_topo_node(topo, link->from)->kind == GT_NODE_GPU &&
	       gt_topo_node(topo, link->to)->kind == GT_NODE_GPU;
}

/*
 * Returns where a node's arc begins.  Arcs are spread over the height of its
 * box so that none crosses another there.  From the top they are: those that go
 * up, the shortest first, then those that go down, the longest first.
 */
static double gt_dot_slot(const struct gt_dot_drawing *drawing, uint32_t node,
			  uint32_t other)
{
	const struct gt_dot_rect *boxes = drawing->layout.boxes;
	double key = -1 / (boxes[other].y - boxes[node].y), rival;
	uint32_t before = 0, all = 0;

	for (uint32_t i = drawing->topo->first[node]; i != GT_NONE;
	     i = drawing->topo->next[i]) {
		const struct gt_link *link = &drawing->topo->links[i];

		if (!gt_dot_is_arc(drawing->topo, link))
			continue;
		rival = -1 / (boxes[link->to].y - boxes[node].y);
		before += rival > key;
		all++;
	}
	return boxes[node].y +
	       boxes[node].h * ((before + 0.5) / all - 0.5) * 0.8;
}

/*
 * Writes the points of an arc from one height to another around the right of a
 * column.
 */
static void gt_dot_arc(const struct gt_dot_drawing *drawing, double x,
		       double from, double to)
{
	double bulge = x + 22 + fabs(to - from) * 0.42;

	gt_buf_printf(drawing->out,
		      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\", ", x,
		      -from, bulge, -from, bulge, -to, x, -to);
}

/*
 * Draws a link between two switches of one maker: from the lower corner of one
 * around to the upper corner of the other.
 */
static void gt_dot_peers(const struct gt_dot_drawing *drawing,
			 const struct gt_link *link)
{
	const struct gt_dot_rect *boxes = drawing->layout.boxes;
	int down = boxes[link->from].y < boxes[link->to].y;
	const struct gt_dot_rect *upper = &boxes[down ? link->from : link->to];
	const struct gt_dot_rect *lower = &boxes[down ? link->to : link->from];
	double top = upper->y + upper->h / 2, bottom = lower->y - lower->h / 2;
	double x = gt_dot_rect_left(upper) < gt_dot_rect_left(lower)
			   ? gt_dot_rect_left(upper)
			   : gt_dot_rect_left(lower);

	x -= 10 + (bottom - top < 400 ? (bottom - top) / 10 : 40);
	gt_buf_printf(drawing->out,
		      "n%u -> n%u [tooltip=\"joined by a link of their own\", "
		      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\", "
		      "style=dotted, penwidth=2, color=\"%s\"];\n",
		      link->from, link->to, gt_dot_rect_left(upper) + 6, -top,
		      x, -top - 12, x, 12 - bottom, gt_dot_rect_left(lower) + 6,
		      -bottom, gt_dot_colours[link->kind]);
}

/*
 * Returns whether this is a link between two switches, to be drawn here: files
 * may list it at one end only, and a link listed at both is drawn once.
 */
static int gt_dot_is_peers(const struct gt_topo *topo,
			   const struct gt_link *link)
{
	if (link->kind != GT_LINK_LOC ||
	    topo->nodes[link->from].kind != GT_NODE_PCI ||
	    topo->nodes[link->to].kind != GT_NODE_PCI)
		return 0;
	for (uint32_t i = topo->first[link->to]; i != GT_NONE;
	     i = topo->next[i])
		if (topo->links[i].to == link->from &&
		    topo->links[i].kind == GT_LINK_LOC)
			return link->from < link->to;
	return 1;
}

static void gt_dot_style(const struct gt_dot_drawing *drawing,
			 const struct gt_link *link)
{
	gt_buf_printf(drawing->out, "penwidth=%.2f, color=\"%s\"];\n",
		      gt_dot_width(link->gbs), gt_dot_colours[link->kind]);
}

/* Draws a link beside the PCI tree, once for both directions. */
static void gt_dot_link(const struct gt_dot_drawing *drawing,
			const struct gt_link *link)
{
	enum gt_node_kind from = gt_dot_kind(drawing, link->from);
	enum gt_node_kind to = gt_dot_kind(drawing, link->to);
	char name[24], tip[128];

	snprintf(name, sizeof(name), "n%u", link->to);
	gt_dot_say(drawing, link, tip, sizeof(tip));
	if (from == GT_NODE_GPU && to == GT_NODE_NVS) {
		gt_dot_to_bar(drawing, link, name,
			      &drawing->layout.boxes[link->to]);
	} else if (from == GT_NODE_CPU && to == GT_NODE_GPU &&
		   link->kind != GT_LINK_PCI) {
		gt_dot_branch(drawing, (uint32_t[]){link->from, link->to}, -8);
		gt_dot_tip(drawing, link->from, link->to, tip);
		gt_dot_style(drawing, link);
	} else if (gt_dot_is_peers(drawing->topo, link)) {
		gt_dot_peers(drawing, link);
	} else if (gt_dot_is_arc(drawing->topo, link) &&
		   link->from < link->to) {
		gt_buf_printf(drawing->out, "n%u -> n%u [", link->from,
			      link->to);
		gt_dot_tip(drawing, link->from, link->to, tip);
		gt_dot_arc(drawing, drawing->layout.right,
			   gt_dot_slot(drawing, link->from, link->to),
			   gt_dot_slot(drawing, link->to, link->from));
		gt_dot_style(drawing, link);
	}
}

/* Draws the links between CPUs as one bar that all are tied to. */
static void gt_dot_cpus(const struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_link *link;

	if (drawing->layout.sys.w <= 0)
		return;
	gt_buf_puts(drawing->out, "sys [label=\"between\\nNUMA\\nnodes\", "
				  "tooltip=\"between NUMA nodes\", "
				  "fillcolor=\"#ffe8c7\", ");
	gt_dot_box(drawing->out, &drawing->layout.sys);
	gt_buf_puts(drawing->out, "];\n");
	for (uint32_t i = 0; i < topo->nnodes; i++)
		for (uint32_t at = topo->first[i]; at != GT_NONE;
		     at = topo->next[at]) {
			link = &topo->links[at];
			if (link->kind != GT_LINK_SYS)
				continue;
			gt_dot_to_bar(drawing, link, "sys",
				      &drawing->layout.sys);
			break;
		}
}

/*
 * Writes samples into the legend of links that carry no figure in the picture:
 * arcs and C2C.
 */
static void gt_dot_samples(struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_link *link, *before;
	char text[128];
	unsigned end = drawing->nlegends + GT_DOT_SAMPLES;
	uint32_t j;

	for (uint32_t i = 0; i < topo->nlinks && drawing->nlegends < end; i++) {
		link = &topo->links[i];
		if (!gt_dot_is_arc(drawing->topo, link) &&
		    link->kind != GT_LINK_C2C)
			continue;
		for (j = 0; j < i; j++) {
			before = &topo->links[j];
			if (before->kind == link->kind &&
			    before->count == link->count &&
			    !gt_rat_cmp(before->gbs, link->gbs) &&
			    (gt_dot_is_arc(drawing->topo, before) ||
			     link->kind == GT_LINK_C2C))
				break;
		}
		if (j < i)
			continue;
		gt_dot_say(drawing, link, text, sizeof(text));
		gt_dot_legend(drawing, text, gt_dot_colours[link->kind],
			      gt_dot_width(link->gbs));
	}
}

/* The PCI tree comes first, then what is beside it. */
void gt_dot_links(struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind != GT_NODE_NET &&
		    drawing->layout.drawn_as[i] == i)
			gt_dot_uplink(drawing, i);
	gt_dot_cpus(drawing);
	for (uint32_t i = 0; i < topo->nlinks; i++)
		gt_dot_link(drawing, &topo->links[i]);
	gt_dot_samples(drawing);
}
