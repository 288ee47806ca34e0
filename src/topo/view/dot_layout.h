/*
 * Where a picture has its boxes: one column for NUMA nodes, one for each depth
 * of PCI switches, one for devices, a row for each device, so that a link of
 * the PCI tree never crosses another.
 */
#ifndef GT_TOPO_VIEW_DOT_LAYOUT_H
#define GT_TOPO_VIEW_DOT_LAYOUT_H

#include <stdint.h>

struct gt_arena;
struct gt_topo;

/* In points; x to the right, y down, of the centre. */
struct gt_dot_rect {
	double x, y, w, h;
};

struct gt_dot_layout {
	struct gt_dot_rect *boxes;    /* of each node; w is 0 where it has none,
				  * as cards that others stand for */
	struct gt_dot_rect *clusters; /* around each CPU and switch */
	double left, right;           /* of the column of devices */
	double bottom;
	struct gt_dot_rect sys; /* the bar that stands for links between CPUs */
	uint32_t *stands;       /* of a card: which one is drawn for it */
};

enum {
	GT_DOT_FONT = 11,
	GT_DOT_SMALL = 8,
	GT_DOT_BEND = 34, /* a link's way from its column to its row */
	GT_DOT_FOLD = 3,  /* so many cards that are alike are one box */
};

/* 1, or 0 when memory ran out. */
int gt_dot_layout_make(const struct gt_topo *topo, struct gt_arena *arena,
		       struct gt_dot_layout *layout);

/* Text of a device's box, lines apart by '\n'. */
void gt_dot_text(const struct gt_topo *topo, const struct gt_dot_layout *layout,
		 uint32_t index, char *text, unsigned size);

/*
 * Cards on one switch or CPU that are alike but for the numbers of their one
 * port: fill places->stands.
 */
void gt_dot_fold(const struct gt_topo *topo, struct gt_dot_layout *layout);

#endif
