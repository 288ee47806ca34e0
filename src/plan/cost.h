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
 * Nothing is shared between models; one may be used by one thread at a time.
 */
#ifndef GT_PLAN_COST_H
#define GT_PLAN_COST_H

#include <stdint.h>

#include "plan/plan.h"

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
 * run with rings alone (bench/results/rings/h200x4-d9c4d09.json: 6.1, 3.8 us,
 * 0.99, 33 and 3253 GB/s, mean deviation 3.2%; h200x2-d9c4d09.json: 6.5, 3.9,
 * 0.99, 34, 4545, 2.1%).
 * local_gbs: HBM3e of the H200, 3912 GB/s of copies, read and written.
 * direct and ce: prototypes on that machine, before there were kernels: two
 * shots of 256 KiB and 64 MiB in 10.7 and 300 us; copy engines, 256 MiB and 1
 * GiB in 1135 and 4208 us.
 * Hops other than NVL, ll and ll128: the latencies of NCCL's tuner for rings
 * (src/graph/tuning.cc), LL, LL128 and Simple: NVLink 0.6, 1.9; PCI 1.0, 2.5,
 * 5.7; network 2.7, 4.0, 14 us.  base_us of ll and ll128: one-shot prototypes,
 * 1 KiB in 3.8 us.  rate: ll sends 4 bytes of flag with 4 of data, ll128 8
 * with 120.
 */
struct gt_cost_params gt_cost_default(enum gt_protocol protocol);

/* "NVL", "PCI", "SYS", "NET" */
const char *gt_cost_hop_name(enum gt_cost_hop hop);

struct gt_cost {
	double time_us;
	uint32_t row;  /* of the plan's select table */
	double loops;  /* passes of the programs */
	uint32_t link; /* the busiest one, or UINT32_MAX for none */
	double busy;   /* the part of the time that it is */
};

/*
 * A model of `plan`, which must outlive it and have passed gt_plan_check(),
 * for one collective.  The plan's own parameters, where it has some, stand in
 * for the defaults.  GT_EINPUT when no row can do the collective.
 */
int gt_cost_new(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_cost_model **model, struct gt_err *err);

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

#endif
