/*
 * What a plan costs: the time of a collective by message size, from the plan
 * alone.  The one formula of gtopo: `predict` prints it, the search chooses by
 * it, bench/fit adjusts its parameters to what was measured.
 *
 * The model (alpha-beta-gamma; Hockney, "The communication challenge for MPP",
 * 1994; Rabenseifner, "Optimization of collective reduction operations",
 * 2004).  The programs that would run are executed in time, slice by slice:
 *
 *     alpha   a slice is seen by its receiver hop_us after it was written;
 *             a slot is free for its sender hop_us after it was read
 *     beta    every link serves bytes at rate * its capacity, one after the
 *             other; what several hops need of it therefore waits: contention
 *     gamma   a rank's own memory serves what steps read and write of it at
 *             local_gbs, and one worker moves worker_gbs at most
 *
 * A program's loops all take the same time once the pipeline is full, so a
 * few are executed and the rest is extrapolated, never below what the busiest
 * link needs.  The collective begins and ends with base_us.
 *
 * Of a cluster of more than 64 ranks a few nodes are executed and the rest is
 * extrapolated (plan/cost/extrapolate.h).
 *
 * Nothing is shared between models; one may be used by one thread at a time.
 */
#ifndef GT_PLAN_COST_COST_H
#define GT_PLAN_COST_COST_H

#include <stdint.h>

#include "plan/ir/plan.h"

struct gt_cost_model;
struct gt_err;

/* The slowest kind of link on a hop's route decides its latency. */
enum gt_cost_hop {
	GT_COST_HOP_NVL, /* and C2C */
	GT_COST_HOP_PCI,
	GT_COST_HOP_SYS,
	GT_COST_HOP_NET,
	GT_NCOSTHOPS
};

/* Of one protocol. */
struct gt_cost_params {
	double base_us;
	double hop_us[GT_NCOSTHOPS];
	double rate;       /* the part of a link's bytes that is data */
	double worker_gbs; /* what one worker moves */
	double local_gbs;  /* what a rank's memory serves */
};

/*
 * Defaults.
 *
 * simple: bench/fit on the races of 4 and of 2 H200 behind NVSwitch that were
 * run with rings alone (bench/results/fitted/h200x4-d9c4d09.json: 6.1, 3.8 us,
 * 0.99, 33 and 3253 GB/s, mean deviation 3.2%; h200x2-d9c4d09.json: 6.5, 3.9,
 * 0.99, 34, 4545, 2.1%).
 * local_gbs: HBM3e of the H200, 3912 GB/s of copies, read and written.
 * ll, ll128, direct, ce: bench/ways.sh fit on the races of all ways, with 4
 * and with 2 H200 (bench/results/fitted/h200x4-2e4df23.json and
 * fitted/h200x2-87185c4.json), mean deviations 3.3 and 2.2, 5.9 and 5.3, 2.5
 * and 3.4, 1.1 and 1.8%.  A race has only the ways that won, so what those
 * cannot tell is set beforehand:
 * ll: half of the bytes are flags; ll128: 15/16 are data, of 0.95 as for
 * simple.  Their hops: a trip more costs what 576 KiB cost (exec/cuda/tuning.c).
 * base_us 2.1 and 1.8, 1.8 and 1.5: taken alike, as the same launch.  Workers
 * of ll and direct, and the memory for direct, which stores in place, do not
 * limit.  local_gbs of ll128, whose packets are unpacked from mailboxes: from
 * the sizes at which it lost, 8 MiB a block and more
 * (bench/results/fitted/h200x2-64b62b1.tuned.json).  hop_us of ce: a stage of
 * copies.
 * rate above 1: of what NCCL counts on, 20.6 GB/s a link, as the plan does.
 * Hops other than NVL: the latencies of NCCL's tuner for rings
 * (src/graph/tuning.cc), LL, LL128 and Simple: PCI 1.0, 2.5, 5.7; network 2.7,
 * 4.0, 14 us, but never below NVL's.
 */
struct gt_cost_params gt_cost_default(enum gt_protocol protocol);

/* "NVL", "PCI", "SYS", "NET" */
const char *gt_cost_hop_name(enum gt_cost_hop hop);

struct gt_cost {
	double time_us;
	uint32_t row; /* of the plan's select table */
	double loops; /* passes of the programs */
	/*
	 * The busiest one, or UINT32_MAX for none; from plan->nlinks on the
	 * uplinks of a cluster's switches, by level and rail.
	 */
	uint32_t link;
	double busy;  /* the part of the time that it is */
	int measured; /* gt_cost_expect(): time_us is from a measurement */
};

/* What a cost's link is called, in the plan or in `text`. */
enum { GT_COST_LINK_MAX = 64 };
const char *gt_cost_link_name(const struct gt_plan *plan, uint32_t link,
			      char text[GT_COST_LINK_MAX]);

/*
 * A model of `plan`, which must outlive it and have passed gt_plan_check(),
 * for one collective.  The plan's own parameters, where it has some, stand in
 * for the defaults.  GT_EINPUT when no row can do the collective.
 */
int gt_cost_new(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_cost_model **model, struct gt_err *err);

/* Price clusters more quickly and less exactly from now on: to compare. */
int gt_cost_set_fast(struct gt_cost_model *model, struct gt_err *err);

/* NULL is allowed. */
void gt_cost_free(struct gt_cost_model *model);

/* Its parameters; use these instead. */
struct gt_cost_params gt_cost_get(const struct gt_cost_model *model,
				  enum gt_protocol protocol);
void gt_cost_set(struct gt_cost_model *model, enum gt_protocol protocol,
		 const struct gt_cost_params *params);

/*
 * The time for a buffer of `bytes` (the larger of input and output) by the row
 * that the plan selects for it, or by row `row`.
 */
int gt_cost_price(struct gt_cost_model *model, uint64_t bytes,
		  struct gt_cost *cost, struct gt_err *err);
int gt_cost_price_row(struct gt_cost_model *model, uint32_t row, uint64_t bytes,
		      struct gt_cost *cost, struct gt_err *err);

/*
 * What gt_cost_price_row() will not be below, at a fraction of its work.  Of a
 * cluster of more than 64 ranks that is not much.
 */
int gt_cost_lower_bound(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double *time_us, struct gt_err *err);

/*
 * The same as gt_cost_price(), but what was measured goes before the model: a
 * plan's measurements of the row's use, between their sizes as powers of the
 * size; beyond them the model, scaled to meet the nearest of them.
 */
int gt_cost_expect(struct gt_cost_model *model, uint64_t bytes,
		   struct gt_cost *cost, struct gt_err *err);

#endif
