/*
 * The proof that a plan computes its collective: all ranks' lowered programs
 * are executed on symbols.  A value is the set of ranks whose contribution it
 * holds, per chunk; FIFOs have the plan's slots and the counters of
 * plan/program.h.  Found are: a contribution missing or counted twice, a
 * result in the wrong place, sends and receives that do not match, deadlock
 * with the slots given, and unordered accesses to overlapping ranges.
 *
 * Loops are unrolled far enough for every FIFO to fill and wrap, which is
 * enough: the programs are Kahn networks with bounded buffers, so whether
 * they block does not depend on timing.
 */
#ifndef GT_PLAN_SIMULATE_H
#define GT_PLAN_SIMULATE_H

struct gt_err;
struct gt_plan;

#include "plan/program.h"

/*
 * In place and out of place, for the collective `coll`.  GT_ENO with rank,
 * channel and step when the plan is wrong.  Needs no device.
 */
int gt_simulate(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_err *err);

#endif
