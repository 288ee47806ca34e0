/*
 * The ways through a flat cluster: from GPU to GPU within a node, from a GPU to
 * a port of its node, through the network, and from a port to a GPU.  A hop of
 * a tree is one way within a node, or several in a row from a port on.  Where
 * several ports or switches lead to the same GPU, which to take is for the
 * search to choose.
 *
 * Vertices are the ranks, then for each port the place that leaves by it and
 * the place that it leads in by, then switches.  So nothing passes through a
 * node's ports without a GPU in between.
 */
#ifndef GT_SEARCH_UNEVEN_WAYS_H
#define GT_SEARCH_UNEVEN_WAYS_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_flat_cluster;

/* Ways are made in pairs: way w ^ 1 leads back. */
struct gt_way {
	uint32_t from, to; /* vertices */
	uint32_t nlinks;
	const uint32_t *links; /* of the fabric */
	struct gt_rat charge;
	int has_relay; /* could a GPU that is nearer to both ends take part? */
};

/* Lists of numbers: those of i are list[first[i]] to before first[i + 1]. */
struct gt_ways_lists {
	uint32_t *first, *list;
};

/*
 * What a tree's hop adds to a link, if its charge is that of the way.  The
 * charge of a hop is the largest of its ways, in each direction.
 */
struct gt_ways_use {
	float load;
	unsigned char charged; /* 1: there, 2: back; 0: the link is not */
};

struct gt_ways {
	const struct gt_flat_cluster *flat;
	uint32_t nranks, nvertices, nways, room;
	struct gt_way *ways;
	/* By link: does any path cross it, be it a way or a longer one? */
	unsigned char *used;
	/*
	 * Of a vertex, the ways that begin, and those that end there, less
	 * dear ones, on which bytes that a GPU could relay would be charged.
	 */
	struct gt_ways_lists out, in;
	uint32_t ndear; /* how many are left out */
	/*
	 * The links that a way loads in this collective, there, back or both;
	 * and by link the ways that load it.
	 */
	struct gt_ways_lists uses, users;
	struct gt_ways_use *loads; /* beside `uses.list` */
};

/*
 * All ways of a flat cluster whose kinds have direct paths
 * (gt_paths_new_direct()), by the same numbers whether trees may take the dear
 * ones or not.  Memory is the arena's.
 */
int gt_ways_new(const struct gt_flat_cluster *flat, enum gt_coll coll, int dear,
		struct gt_arena *arena, struct gt_ways **ways,
		struct gt_err *err);

#endif
