/*
 * The routes of all nodes to one, as NCCL fixes them.
 *
 * They spread from the target in waves, one link at a time.  A node takes the
 * route that a neighbour offers if it is of a better kind, then if it is wider,
 * then if it has fewer links; among equals the first one stays.  So kind comes
 * before width, and where routes tie the order of links decides.  A GPU passes
 * on only a route of one link, and only by NVLink to another GPU (NVB).
 */
#ifndef GT_TOPO_NCCL_SPREAD_H
#define GT_TOPO_NCCL_SPREAD_H

#include <stdint.h>

#include "topo/graph/path_kind.h"

struct gt_arena;
struct gt_err;
struct gt_topo;

/* What NCCL counts for a route that is no bottleneck, in kB/s. */
#define GT_NCCL_LOCAL_KBS ((int64_t)5000 * 1000000)

/* One link of a route, and the route from where it ends; NULL is the end. */
struct gt_nccl_step {
	uint32_t link;
	const struct gt_nccl_step *rest;
};

/* A node's route to the target; of kind GT_PATH_DIS where there is none. */
struct gt_nccl_route {
	enum gt_path_kind kind;
	uint32_t nhops;
	int64_t kbs; /* of the narrowest link, in kB/s */
	const struct gt_nccl_step *steps;
};

/*
 * The links that leave each node, in NCCL's order: widest first, and upstream
 * last.
 */
struct gt_nccl_links {
	const struct gt_topo *topo;
	uint32_t *first; /* of a node in `links`; nnodes + 1 of them */
	uint32_t *links; /* of the topology */
	uint32_t *back;  /* by link: its reverse, or GT_NONE */
	int64_t *kbs;    /* by link: what it carries, in kB/s */
};

/* Makes the tables in the arena; `places` orders the nodes (order.h). */
int gt_nccl_links_new(const struct gt_topo *topo, const uint32_t *places,
		      struct gt_arena *arena, struct gt_nccl_links *links,
		      struct gt_err *err);

/*
 * Sets the route of every node to `target`; `routes` holds as many as the
 * topology has nodes.  GT_ENO, and where, when a link on the way has no
 * reverse: then NCCL gives up.
 */
int gt_nccl_spread(const struct gt_nccl_links *links, uint32_t target,
		   struct gt_arena *arena, struct gt_nccl_route *routes,
		   struct gt_err *err);

#endif
