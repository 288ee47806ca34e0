/*
 * Detours: the part of a message that GPUs of one host send through the host's
 * memory, beside the channels.  A row of select names it in `detour_permille`;
 * everything else a plan's code knows about detours is here.
 */
#ifndef GT_PLAN_IR_DETOUR_H
#define GT_PLAN_IR_DETOUR_H

#include "plan/ir/plan.h"

/* The largest detour_permille: more than half is no detour. */
enum { GT_DETOUR_MAX_PERMILLE = 500 };

/*
 * Can engines on GPUs run a detour beside this algorithm and protocol?  Only
 * beside copy engines, and beside a root that pulls: all other kernels wait for
 * other ranks all the time.
 */
int gt_detour_is_possible(enum gt_algo algo, enum gt_protocol protocol,
			  enum gt_coll coll);

/*
 * The first rank that is on another node than rank 0, so that the plan can have
 * no detour; nranks when all ranks are on one.
 */
uint32_t gt_detour_outsider(const struct gt_plan *plan);

#endif
