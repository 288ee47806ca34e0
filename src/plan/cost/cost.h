/*
 * The cost of a plan is the time of a collective by message size, from the
 * plan alone.  It is the one formula of gtopo: `predict` prints it, the search
 * chooses by it, bench/fit adjusts its parameters to what was measured.
 *
 * The model is alpha-beta-gamma (Hockney, "The communication challenge for
 * MPP", 1994; Rabenseifner, "Optimization of collective reduction operations",
 * 2004).  The programs that would run are executed in time, slice by slice:
 *
 *     alpha   a slice is seen by its receiver hop_us after it was written;
 *             a slot is free for its sender hop_us after it was read
 *     beta    every link serves bytes at rate * its capacity, one after the
 *             other; what several hops need of it therefore waits: contention.
 *             Where a hop goes through the host's memory, one direction of
 *             PCIe serves host_one_way_rate, and both together twice host_rate
 *     gamma   a rank's own memory serves what steps read and write of it at
 *             local_gbs, and one worker moves worker_gbs at most
 *
 * A program's loops all take the same time once the pipeline is full, so a
 * few are executed and the rest is extrapolated, never below what the busiest
 * link needs.  The collective begins and ends with base_us.
 *
 * In a cluster of more than 64 ranks a few nodes are executed and the rest is
 * extrapolated (plan/cost/extrapolate.h).
 *
 * Nothing is shared between models; one may be used by one thread at a time.
 */
#ifndef GT_PLAN_COST_COST_H
#define GT_PLAN_COST_COST_H

#include <stdint.h>

#include "plan/cost/params.h"
#include "plan/ir/plan.h"

struct gt_cost_model;
struct gt_err;

struct gt_cost {
	double time_us;
	uint32_t row; /* index into the plan's select table */
	double loops; /* loops that the programs run */
	/*
	 * The busiest link, or UINT32_MAX for none.  Numbers from plan->nlinks
	 * on are uplinks of a cluster's switches, by level and rail.
	 */
	uint32_t link;
	double busy;  /* the part of the time that the link is busy */
	int measured; /* gt_cost_expect(): time_us is from a measurement */
};

/* The name of a cost's link, which is in the plan or is written to `text`. */
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

/*
 * Price clusters more quickly and less exactly from now on, when many prices
 * are only compared.
 */
int gt_cost_set_fast(struct gt_cost_model *model, struct gt_err *err);

/* Release a model; NULL is allowed. */
void gt_cost_free(struct gt_cost_model *model);

/* The model's parameters for a protocol; and use these instead. */
struct gt_cost_params gt_cost_get(const struct gt_cost_model *model,
				  enum gt_protocol protocol);
void gt_cost_set(struct gt_cost_model *model, enum gt_protocol protocol,
		 const struct gt_cost_params *params);

/*
 * The time for a buffer of `bytes` (the larger of input and output) by the row
 * that the plan selects for it, or by row `row`.  GT_ENO when ranks wait for
 * each other in a circle.
 */
int gt_cost_price(struct gt_cost_model *model, uint64_t bytes,
		  struct gt_cost *cost, struct gt_err *err);
int gt_cost_price_row(struct gt_cost_model *model, uint32_t row, uint64_t bytes,
		      struct gt_cost *cost, struct gt_err *err);

/*
 * gt_cost_price_row(), but a time above limit_us may be told as infinity, for
 * less work.
 */
int gt_cost_price_below(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double limit_us, struct gt_cost *cost,
			struct gt_err *err);

/*
 * A time that gt_cost_price_row() will not be below, at a fraction of its work.
 * For a cluster of more than 64 ranks it leaves out latencies.
 */
int gt_cost_lower_bound(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double *time_us, struct gt_err *err);

/*
 * The time by what was measured where it was, else by the model: between the
 * sizes of a measurement of the row's use times are powers of the size, beyond
 * them the model is scaled to meet the nearest one.
 */
int gt_cost_expect(struct gt_cost_model *model, uint64_t bytes,
		   struct gt_cost *cost, struct gt_err *err);

/*
 * Parameters of the cost model as JSON, as bench/fit prints them:
 *
 *	{"schema": "gtopo.cost/1",
 *	 "protocols": {"simple": {"base_us": "4.1", "hop_us": {"NVL": "3.9"},
 *	                          "rate": "0.98", "host_rate": "0.7",
 *	                          "host_one_way_rate": "1.1",
 *	                          "worker_gbs": "12", "local_gbs": "3900"}}}
 *
 * Whatever is missing keeps its value.
 *
 * Read the file into the model.  GT_EINPUT, with file and JSON path, when it is
 * not of this form.
 */
int gt_cost_read(const char *path, struct gt_cost_model *model,
		 struct gt_err *err);

#endif
