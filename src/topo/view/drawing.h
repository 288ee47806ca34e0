/*
 * The inside of a picture, for the files that draw it: dot.c (boxes, the
 * whole), dot_cluster.c (a cluster), dot_link.c (links), dot_findings.c (what
 * is wrong) and dot_overlay.c (what is drawn beside the machine); drawing.c has
 * the helpers that all use.
 */
#ifndef GT_TOPO_VIEW_DRAWING_H
#define GT_TOPO_VIEW_DRAWING_H

#include <stddef.h>

#include "topo/view/dot_layout.h"
#include "topo/graph/topo.h"

struct gt_buf;
struct gt_dot_overlay;
struct gt_lint;

#define GT_DOT_RED "#cf222e"

struct gt_dot_drawing {
	const struct gt_topo *topo;
	const struct gt_lint *lint; /* or NULL */
	const struct gt_dot_overlay *overlay;
	struct gt_dot_layout layout;
	uint32_t cpu;      /* one of the CPUs, below which the legend begins */
	unsigned nlegends; /* lines of the legend so far */
	struct gt_buf *out;
};

/* Write the head of a picture, with what all its boxes and lines are like. */
void gt_dot_begin(struct gt_buf *out, const char *name);

/* Write text inside a quoted string; "\n" in text is a line's end. */
void gt_dot_puts(struct gt_buf *out, const char *text);

/* Write a node's place and size. */
void gt_dot_box(struct gt_buf *out, const struct gt_dot_rect *box);

/*
 * Write what is said of a node or link, "A to B: text", when the mouse is over
 * it; `to` is GT_NONE for a node.
 */
void gt_dot_tip(const struct gt_dot_drawing *drawing, uint32_t from,
		uint32_t to, const char *text);

/*
 * Write one line of the legend: a sample of a line, if it has a width, and what
 * it stands for; text without a sample is in the colour itself.
 */
void gt_dot_legend(struct gt_dot_drawing *drawing, const char *text,
		   const char *colour, double width);

/*
 * dot_findings.c: writes what is wrong with a node, or with one of the cards
 * that it stands for; 0 if nothing is.
 */
int gt_dot_problem(const struct gt_dot_drawing *drawing, uint32_t index,
		   char *text, size_t size);

/* Write all that is wrong into the legend, a line for each device. */
void gt_dot_list_problems(struct gt_dot_drawing *drawing);

/* Draw all links, and samples in the legend of those without figures. */
void gt_dot_links(struct gt_dot_drawing *drawing);

/* Returns whether a link is drawn as an arc on the right of the devices. */
int gt_dot_is_arc(const struct gt_topo *topo, const struct gt_link *link);

/* Draw the overlay, if there is one. */
void gt_dot_draw_overlay(struct gt_dot_drawing *drawing);

static inline double gt_dot_rect_right(const struct gt_dot_rect *box)
{
	return box->x + box->w / 2;
}

static inline double gt_dot_rect_left(const struct gt_dot_rect *box)
{
	return box->x - box->w / 2;
}

#endif
