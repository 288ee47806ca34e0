/*
 * The proof that a plan computes its collective: all ranks' lowered programs
 * are executed on symbols, each lane as a process of its own.  A value is the
 * set of ranks whose contribution it holds, per chunk; FIFOs have the plan's
 * slots and the counters of plan/ir/program.h.  What is found is a contribution
 * that is missing or counted twice, a result in the wrong place, sends and
 * receives that do not match, a deadlock with the slots given, and unordered
 * accesses to overlapping ranges.
 *
 * Two loops stand for any number: the k-th slice of every loop is sent and
 * received by the same steps once both ends count alike (which is checked), and
 * steps of one loop can only wait in a circle through credits given in that
 * same loop, which are the same in each.  The programs are Kahn networks with
 * bounded buffers, so whether they block does not depend on timing.
 */
#ifndef GT_PLAN_SIMULATE_SIMULATE_H
#define GT_PLAN_SIMULATE_SIMULATE_H

#include <stdint.h>

#include "plan/ir/program.h"

struct gt_err;
struct gt_plan;

/*
 * The most ranks that are simulated; a cluster of more than
 * GT_SIM_CLUSTER_RANKS is simulated on fewer nodes (at least 2).
 */
enum { GT_SIM_MAX_RANKS = 1024, GT_SIM_CLUSTER_RANKS = 64 };

/*
 * Simulate the collective `coll`, out of place and in place, or only the former
 * where the plan says that it is for that alone.  GT_ENO with rank, channel and
 * step when the plan is wrong.  No device is needed.  The plan must
 * have passed gt_plan_check().
 */
int gt_simulate(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_err *err);

/* The programs of all ranks on one channel. */
struct gt_sim_args {
	enum gt_coll coll;
	uint32_t root; /* of collectives that have one */
	uint32_t nranks;
	uint32_t nlanes; /* 0: one */
	uint32_t slots;
	int inplace;
	int in_order;  /* sums must be as gt_plan's `invariant` says */
	int one_block; /* only chunks of block `block` are moved */
	uint32_t block;
	/* all-to-all, [from * nranks + to]: 0 where nothing is moved; or NULL
	 */
	const uint32_t *units;
	uint32_t channel;                  /* id, for messages */
	const char *file;                  /* for messages, or NULL */
	const struct gt_program *programs; /* [rank][lane] */
};

/* Simulate programs that exist already, whoever made them. */
int gt_simulate_programs(const struct gt_sim_args *args, struct gt_err *err);

/*
 * Do the layouts of channels, workers and slices tile the buffers?  Tried are
 * counts from nothing to huge, for each row of `select`.
 */
int gt_simulate_layouts(const struct gt_plan *plan, enum gt_coll coll,
			struct gt_err *err);

#endif
