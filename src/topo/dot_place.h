/*
 * Where a picture has its boxes: one column for NUMA nodes, one for each depth
 * of PCI switches, one for devices, a row for each device, so that a link of
 * the PCI tree never crosses another.
 */
#ifndef GT_TOPO_DOT_PLACE_H
#define GT_TOPO_DOT_PLACE_H

#include <stdint.h>

struct gt_arena;
struct gt_topo;

/* In points; x to the right, y down, of the centre. */
struct gt_box {
	double x, y, w, h;
};

struct gt_places {
	struct gt_box *boxes;    /* of each node; w is 0 where it has none */
	struct gt_box *clusters; /* around each CPU and switch */
	double left, right;      /* of the column of devices */
	double bottom;
	struct gt_box sys; /* the bar that stands for links between CPUs */
};

enum {
	GT_DOT_FONT = 11,
	GT_DOT_SMALL = 8,
	GT_DOT_BEND = 34, /* a link's way from its column to its row */
};

/* 1, or 0 when memory ran out. */
int gt_dot_place(const struct gt_topo *topo, struct gt_arena *arena,
		 struct gt_places *places);

/* Text of a device's box, lines apart by '\n'. */
void gt_dot_text(const struct gt_topo *topo, uint32_t index, char *text,
		 unsigned size);

#endif
