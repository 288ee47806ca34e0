/*
 * One search of NCCL's: channels of one speed, over routes of one kind or
 * better, put into a machine one after the other while its links have room.
 *
 * It is a depth-first search with a number of tries.  It keeps the best set of
 * channels that it meets, and a better one from an earlier search is not lost.
 */
#ifndef GT_TOPO_NCCL_FILL_H
#define GT_TOPO_NCCL_FILL_H

#include <stdint.h>

#include "topo/graph/path_kind.h"

struct gt_err;
struct gt_nccl_fill;
struct gt_nccl_system;

/* With the numbers that NCCL logs. */
enum gt_nccl_pattern {
	GT_NCCL_BALANCED_TREE = 1,
	GT_NCCL_SPLIT_TREE = 2,
	GT_NCCL_TREE = 3,
	GT_NCCL_RING = 4,
	GT_NCCL_NVLS = 5,
	GT_NCCL_COLLNET_DIRECT = 6,
};

/* A set of channels, or what is asked of one; NCCL calls it a graph. */
struct gt_nccl_set {
	enum gt_nccl_pattern pattern;
	uint32_t nchannels, min_channels, max_channels;
	int64_t kbs;            /* the speed of a channel, in kB/s */
	int64_t inter_kbs;      /* the same between machines */
	enum gt_path_kind kind; /* the worst kind of routes in it */
	int same;               /* Are all channels alike? */
	int cross_nic;
	uint32_t nhops;
	uint32_t ngpus;
	uint32_t *orders; /* max_channels * ngpus GPUs, as the system's */
};

/* The system must outlive it; `max_channels` is the most ever asked. */
int gt_nccl_fill_new(const struct gt_nccl_system *system, uint32_t max_channels,
		     struct gt_nccl_fill **fill, struct gt_err *err);
void gt_nccl_fill_free(struct gt_nccl_fill *fill); /* NULL is allowed */

/*
 * Searches sets as `ask` says, and puts the best into `best` if it is better
 * than what is there.  Returns the tries that are left: 0 when they were used
 * up, -1 when there is no room for more channels than were found.
 */
int64_t gt_nccl_fill(struct gt_nccl_fill *fill, const struct gt_nccl_set *ask,
		     int64_t tries, struct gt_nccl_set *best);

#endif
