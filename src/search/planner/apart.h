/*
 * GPUs of one machine of which only some reach each other: engines send all
 * through the host's memory as soon as two do not (docs/design/
 * engine-gpu-staged.md).
 */
#ifndef GT_SEARCH_PLANNER_APART_H
#define GT_SEARCH_PLANNER_APART_H

#include <stdint.h>

struct gt_err;
struct gt_topo;

/*
 * If some pairs of these GPUs (nodes) lack peer access and others have it, take
 * it away from all GPUs of the machine, whose routes are void then.  Sets
 * *apart to the number of pairs that lacked it, 0 if nothing changed.
 */
int gt_apart_as_engines(struct gt_topo *topo, const uint32_t *gpus, uint32_t n,
			uint32_t *apart, struct gt_err *err);

#endif
