/*
 * Where a choice of GPUs sits: what they together send to the network ports
 * that are nearest to each, and on how many NUMA nodes they are.
 */
#ifndef GT_SEARCH_PICK_NETWORK_H
#define GT_SEARCH_PICK_NETWORK_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_maxflow;
struct gt_pick_routes;
struct gt_topo;

struct gt_pick_network {
	struct gt_pick_routes *routes;
	struct gt_maxflow *flow;
	/* What each GPU sends by itself when it may use all GPUs' ports. */
	int64_t *alone;
};

/* Release also after failure. */
int gt_pick_network_init(struct gt_pick_network *network,
			 struct gt_pick_routes *routes, struct gt_arena *arena,
			 struct gt_err *err);
void gt_pick_network_release(struct gt_pick_network *network);

/*
 * What a choice sends over the links to its ports, not over those between its
 * GPUs, times the scale of the routes; changes their links.
 */
int64_t gt_pick_network_find(struct gt_pick_network *network, uint64_t choice);

/* A bound on that, which is quick. */
int64_t gt_pick_network_at_most(const struct gt_pick_network *network,
				uint64_t choice);

/* The CPU that a node hangs on, or GT_NONE. */
uint32_t gt_pick_numa(const struct gt_topo *topo, uint32_t node);

/* How many CPUs the GPUs of a choice hang on. */
uint32_t gt_pick_count_numa(const struct gt_pick_routes *routes,
			    uint64_t choice);

#endif
