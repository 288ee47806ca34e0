/*
 * From a row of the plan to FIFOs, and to slices that go through them: for
 * requests that go as the plan says, not between GPUs that all reach each
 * other.
 */
#ifndef GT_EXEC_CUDA_FIFOS_H
#define GT_EXEC_CUDA_FIFOS_H

#include "exec/cuda/device/state.h"

/*
 * mesh.c: where GPUs do not reach each other, give the engine's copy of the
 * plan one more channel, and the row that uses it.
 */
int gt_cuda_mesh_open(struct gt_engine *engine, struct gt_err *err);

/*
 * row.c: which row of the plan serves a request, and whether GPUs can run it.
 */

/*
 * The rows that there are: the plan's, and perhaps behind them that of the
 * engine's own mesh, which serves what no other one does.
 */
uint32_t gt_cuda_nrows(const struct gt_engine *engine);
const struct gt_plan_select *gt_cuda_row(const struct gt_engine *engine,
					 uint32_t i);
int gt_cuda_row_serves(const struct gt_engine *engine,
		       const struct gt_plan_select *row, enum gt_coll coll);

/* How many blocks may a row have at a time? */
uint32_t gt_cuda_row_blocks(const struct gt_engine *engine,
			    const struct gt_plan_select *row);

/*
 * How many of a row's channels, the first, carry a collective with so many
 * blocks?  Each needs a block for each of its lanes; the others' bytes go over
 * them.  0: they do not fit, and none can be left out, which
 * gt_cuda_row_fits() says as GT_EINPUT.
 */
uint32_t gt_cuda_row_channels(const struct gt_engine *engine,
			      const struct gt_plan_select *row,
			      enum gt_coll coll, uint32_t most);
int gt_cuda_row_fits(const struct gt_engine *engine,
		     const struct gt_plan_select *row, enum gt_coll coll,
		     uint32_t most, struct gt_err *err);

/*
 * How many workers has each of these channels and lanes?  As many as the row
 * asks for or as fit; _most() is for whatever collective the row serves.
 */
uint32_t gt_cuda_row_workers(const struct gt_engine *engine,
			     const struct gt_plan_select *row,
			     enum gt_coll coll, uint32_t most);
uint32_t gt_cuda_row_workers_most(const struct gt_engine *engine,
				  const struct gt_plan_select *row);

uint32_t gt_cuda_row_lanes(const struct gt_engine *engine,
			   const struct gt_plan_select *row, enum gt_coll coll);

/* Can kernels do a row's steps?  If not, *err says why. */
int gt_cuda_row_supported(const struct gt_engine *engine,
			  const struct gt_plan_select *row, enum gt_coll coll,
			  struct gt_err *err);

/*
 * Find the plan's row for a request, or NULL; gt_cuda_row_check() says whether
 * GPUs can run its channels.
 */
const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_exec_request *req);
int gt_cuda_row_check(const struct gt_engine *engine,
		      const struct gt_exec_request *req, struct gt_err *err);

/*
 * tuning.c: may requests of the collective, that name no choice, go through
 * FIFOs?
 */
int gt_cuda_may_use_fifos(const struct gt_engine *engine, enum gt_coll coll);

/* program.c: a collective's programs, lowered from the plan. */

/* How many of the first n connections receive?  Only those have a FIFO. */
uint32_t gt_cuda_conns_receiving(const struct gt_program *program, uint32_t n);

/*
 * Lower the programs of a rank, of any process: where a peer's FIFOs lie
 * follows from its programs.
 */
int gt_cuda_programs_lower(struct gt_engine *engine, enum gt_coll coll,
			   uint32_t rank, struct gt_err *err);

/* Does the plan have programs for it that GPUs can run? */
int gt_cuda_programs_exist(const struct gt_engine *engine, enum gt_coll coll);

/*
 * connect.c: programs on the GPUs and the FIFOs that connect them, in GPUs'
 * memory or over links.
 */

/*
 * Build the collective's programs and FIFOs unless they are there: a meeting.
 * gt_cuda_connect_all() does so for all that requests of several processes may
 * ever go through.  Links hold either one collective's FIFOs or, for callers'
 * streams, all of them for ever.
 */
int gt_cuda_connect(struct gt_engine *engine, enum gt_coll coll,
		    struct gt_err *err);
int gt_cuda_connect_all(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_disconnect(struct gt_engine *engine);

/*
 * Set *moved to a number that changes when a local rank has used a FIFO over a
 * link; returns 0 if it has none.
 */
int gt_cuda_link_progress(const struct gt_engine *engine, enum gt_coll coll,
			  uint32_t rank, uint64_t *moved);

/*
 * demand.c: requests whose blocks differ, as the plan's demand says; nothing is
 * done for a plan without one.
 */

struct gt_layout_args;

/* Make room for what is said below; the release takes what was made. */
int gt_cuda_demand_open(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_demand_release(struct gt_engine *engine);

/*
 * Set the layouts of the selected channels, and put what they have of each
 * pair's block on the local ranks' GPUs.
 */
int gt_cuda_demand_layouts(struct gt_engine *engine,
			   const struct gt_layout_args *args,
			   struct gt_err *err);

/*
 * Say on a local rank's GPU how many elements of each block come to it; NULL:
 * all that a block has.  A cudaError_t; before the next rank's is asked for,
 * the stream must have come to it.
 */
int gt_cuda_demand_coming(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank,
			  const uint64_t **coming);

/* slicing.c: how requests are cut. */

/*
 * Load the interpreter for all types, when everything is connected that ever
 * will be: a kernel that is loaded late waits for those that run.
 */
int gt_cuda_kernels_load_all(struct gt_engine *engine, struct gt_err *err);

/* Make all choices that the caller left open; GT_EINPUT for wrong ones. */
int gt_cuda_sizes_choose(struct gt_engine *engine, struct gt_err *err);

/*
 * Connect the request's collective, choose the best slicing for it within what
 * FIFOs have room for, set its layouts and load its kernels.
 */
int gt_cuda_layout_set(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);

/*
 * proxy.c: threads that carry slices of links while kernels run.  GPUs ring no
 * bells, so these look; on callers' streams for as long as the engine lives,
 * and more and more rarely until gt_cuda_proxy_wake().
 */

int gt_cuda_proxy_start(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_proxy_wake(struct gt_engine *engine);
void gt_cuda_proxy_stop(struct gt_engine *engine);

#endif
