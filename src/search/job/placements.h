/*
 * All ways to put a job's ranks on the GPUs of one machine, but for those that
 * differ by a renumbering of the ranks which leaves the job as it was.
 *
 * Coordinates on an axis may be swapped unless a rank sends to the next one
 * along it; then they may be shifted, if that goes along no other axis as well.
 * So rank 0 has the first GPU of all ranks that it may be renumbered to, and
 * the ranks behind it ascend along each axis whose coordinates may be swapped.
 */
#ifndef GT_SEARCH_JOB_PLACEMENTS_H
#define GT_SEARCH_JOB_PLACEMENTS_H

#include <stdint.h>

struct gt_workload;

/* Called with the place of each rank; not 0: no more are wanted. */
typedef int gt_placement_take(void *context, const uint32_t *place);

/* For at most GT_CUTS_MAX_GPUS GPUs, and no more ranks than GPUs. */
void gt_placements_each(const struct gt_workload *workload, uint32_t ngpus,
			gt_placement_take *take, void *context);

#endif
