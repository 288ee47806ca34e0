/*
 * A kind of a cluster's nodes as a picture has it: a frame with the ports in
 * use in its upper row, the GPUs in its lower one, and between them what they
 * hang on.
 */
#ifndef GT_TOPO_VIEW_DOT_KIND_H
#define GT_TOPO_VIEW_DOT_KIND_H

#include <stdint.h>

#include "topo/cluster/cluster.h"
#include "topo/view/dot_layout.h"

struct gt_arena;
struct gt_buf;

struct gt_dot_kind {
	const struct gt_cluster_kind *kind;
	unsigned number;       /* of the kind in its cluster */
	int has_nvlink_fabric; /* NVLinks leave the node */
	struct gt_dot_rect frame;
	/* whether it is a box without devices, of which it has too many */
	int is_plain;
	uint32_t *hubs; /* the switches and CPUs that are drawn */
	uint32_t nhubs;
	/* the places of hubs, GPUs and ports in use, by node of the topology */
	struct gt_dot_rect *boxes;
};

/*
 * Place a kind's devices in a frame that begins at `left`; the members
 * before `frame` are set.  Returns 0 when memory ran out.
 */
int gt_dot_kind_place(struct gt_dot_kind *kind, double left,
		      struct gt_arena *arena);

/* Write the frame and all that is in it. */
void gt_dot_kind_draw(const struct gt_dot_kind *kind, struct gt_buf *out);

/*
 * Returns where a line to the k-th port of a fabric ends: at the top of a port,
 * at the bottom of a GPU, or at the frame's if that is plain.
 */
struct gt_dot_rect gt_dot_kind_end(const struct gt_dot_kind *kind,
				   enum gt_fabric_kind over, uint32_t k);

/* Write the name of the box that such a line begins at. */
void gt_dot_kind_name(const struct gt_dot_kind *kind, enum gt_fabric_kind over,
		      uint32_t k, char name[32]);

#endif
