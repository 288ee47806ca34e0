/*
 * What a node of a cluster has to offer: for each number of its free GPUs the
 * sets of so many that no other set beats.
 *
 * A set beats another of as many GPUs if what an all-reduce within it is
 * bounded by and what it sends to its ports are both no less, it is on no more
 * NUMA nodes, and it comes first.  Sets are compared so on up to
 * GT_STOCK_MAX_FREE free GPUs; of more, each number has the set that gtopo pick
 * takes of the node alone.
 */
#ifndef GT_SEARCH_PICK_STOCK_H
#define GT_SEARCH_PICK_STOCK_H

#include <stdint.h>

#include "base/rat.h"
#include "search/pick/pick.h"

struct gt_arena;
struct gt_cluster_kind;
struct gt_err;
struct gt_fabric_link;

enum { GT_STOCK_MAX_FREE = 10 };

struct gt_stock_set {
	uint64_t gpus; /* bits of the kind's GPUs, in order of dev */
	uint32_t n, nnuma;
	struct gt_rat gbs;      /* an all-reduce within it; 0 of one GPU */
	struct gt_rat net_gbs;  /* to all ports of the node together */
	struct gt_rat gpus_gbs; /* what leaves its GPUs, one by one */
	/* Of the node's graph: within the set, to its ports and back. */
	uint32_t nlinks;
	struct gt_fabric_link *links;
};

struct gt_stock {
	const struct gt_cluster_kind *kind;
	int nvlink;    /* GPUs leave the node by NVLink, not by its ports */
	uint64_t free; /* bits, as above */
	uint32_t nsets;
	struct gt_stock_set *sets; /* those of most GPUs first */
};

/* The sets of a kind's free GPUs; memory is the arena's. */
int gt_stock_init(struct gt_stock *stock, const struct gt_cluster_kind *kind,
		  uint64_t free_gpus, int nvlink, struct gt_arena *arena,
		  struct gt_err *err);

/* One set of a stock by its bits, whether another beats it or not. */
int gt_stock_measure(const struct gt_stock *stock, uint64_t gpus,
		     struct gt_arena *arena, struct gt_stock_set *set,
		     struct gt_err *err);

#endif
