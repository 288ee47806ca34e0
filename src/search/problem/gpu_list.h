/*
 * The GPUs that a user names, as nodes of a topology.
 */
#ifndef GT_SEARCH_PROBLEM_GPU_LIST_H
#define GT_SEARCH_PROBLEM_GPU_LIST_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_topo;

/*
 * The GPUs of a list such as "0-2,GPU5,0000:87:00.0" (topo/graph/name.h) in
 * its order, or of NULL: all in order of dev.  GT_EINPUT, naming the entry,
 * when one is not there or there twice, or when the machine has no GPUs.  The
 * arena owns *gpus.
 */
int gt_gpu_list_read(const struct gt_topo *topo, const char *list,
		     struct gt_arena *arena, const uint32_t **gpus,
		     uint32_t *ngpus, struct gt_err *err);

#endif
