/*
 * gtopo search over nodes that are not alike: the cluster as one machine, with
 * what belongs to it.
 */
#ifndef GT_CLI_SEARCH_UNEVEN_H
#define GT_CLI_SEARCH_UNEVEN_H

#include <stdint.h>

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_paths;
struct gt_flat_cluster;

struct gt_uneven {
	struct gt_arena *arena;
	uint32_t nkinds;
	struct gt_paths **paths; /* by kind */
	struct gt_flat_cluster *whole;
};

/* All GPUs, or of each node those of the list; close it also after failure. */
int gt_uneven_open(struct gt_uneven *uneven, const struct gt_cluster *cluster,
		   const char *gpus, struct gt_err *err);
void gt_uneven_close(struct gt_uneven *uneven);

#endif
