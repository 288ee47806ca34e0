/*
 * What NCCL chooses on a machine: the rings and trees of a job that runs on all
 * its GPUs and on no other machine.
 *
 * It goes down a grid of speeds; at each it tries kinds of routes from the best
 * to the worst, with all channels alike and then with different ones; it stops
 * at what fills a GPU's links, or when what is left cannot double what it has.
 * Then it may double slow channels or raise their speed.
 */
#ifndef GT_TOPO_NCCL_CHOOSE_H
#define GT_TOPO_NCCL_CHOOSE_H

#include "topo/nccl/fill.h"
#include "topo/nccl/rules.h"

struct gt_arena;

/*
 * Choose rings (`rings` NULL), or trees, which have as many channels as the
 * rings.  The set is made in the arena.  Where NCCL finds nothing, it is one
 * channel in the order of the file at 0.1 GB/s, as NCCL falls back to.  Of a
 * system with a GPU apart it is what NCCL would choose if it kept all GPUs,
 * which it does not.
 */
int gt_nccl_choose(const struct gt_nccl_system *system,
		   const struct gt_nccl_rules *rules,
		   const struct gt_nccl_set *rings, struct gt_arena *arena,
		   struct gt_nccl_set *set, struct gt_err *err);

#endif
