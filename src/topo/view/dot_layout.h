/*
 * Says where a picture has its boxes: one column for NUMA nodes, one for each
 * depth of PCI switches, one for devices, and a row for each device, so that no
 * link of the PCI tree crosses another.
 */
#ifndef GT_TOPO_VIEW_DOT_LAYOUT_H
#define GT_TOPO_VIEW_DOT_LAYOUT_H

#include <stdint.h>

struct gt_arena;
struct gt_topo;

/*
 * A rectangle in points; x grows to the right, y down; both are those of the
 * centre.
 */
struct gt_dot_rect {
	double x, y, w, h;
};

struct gt_dot_layout {
	/*
	 * one for each node; w is 0 where it has none, as cards that others
	 * stand for
	 */
	struct gt_dot_rect *boxes;
	struct gt_dot_rect *clusters; /* what is around each CPU and switch */
	double left, right;           /* the column of devices */
	double bottom;
	struct gt_dot_rect sys; /* the bar for links between CPUs */
	uint32_t *drawn_as;     /* for a card, the one that is drawn for it */
};

enum {
	GT_DOT_FONT = 11,
	GT_DOT_SMALL = 8,
	/* how far a link runs from its column before it is in its row */
	GT_DOT_BEND = 34,
	/* at least so many cards that are alike become one box */
	GT_DOT_FOLD = 3,
};

/* Compute the layout; 0 when memory ran out. */
int gt_dot_layout_make(const struct gt_topo *topo, struct gt_arena *arena,
		       struct gt_dot_layout *layout);

/* Write what a node is called, with its bus id: "GPU0 0000:1b:00.0". */
enum { GT_DOT_NAME = 128 };
void gt_dot_name(const struct gt_topo *topo, uint32_t index,
		 char name[GT_DOT_NAME]);

/* Write the text of a device's box, lines separated by '\n'. */
void gt_dot_text(const struct gt_topo *topo, const struct gt_dot_layout *layout,
		 uint32_t index, char *text, unsigned size);

#endif
