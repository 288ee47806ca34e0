/*
 * Finds which of the plan's rows serves a request on GPUs, and how wide; what
 * kernels cannot do is refused here, in words.
 */
#include "exec/cuda/fifos.h"

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "plan/lower/layout.h"
#include "plan/lower/lower.h"

/*
 * Measured on 4 and 2 H200 behind NVSwitch, one ring: more workers are faster
 * up to nearly all multiprocessors (all-reduce of 1 GiB: 335 GB/s with 32, 362
 * with 96, 366 with 128).
 */
enum {
	GT_CUDA_WORKERS = 128, /* of all channels */
	/*
	 * FIFOs in the host's memory should stay in its caches; those over
	 * links are copied by CPUs, too.  Loads and stores of a few blocks are
	 * all that PCIe carries.
	 */
	GT_CUDA_FAR_WORKERS = 8,
	/*
	 * Beside a program that computes, whose products wait for processors
	 * that blocks hold: as many as NCCL takes.
	 */
	GT_CUDA_OVERLAP_WORKERS = 32,
};

uint32_t gt_cuda_row_blocks(const struct gt_engine *engine,
			    const struct gt_plan_select *row)
{
	uint32_t most = engine->config.best ? 0 : row->max_blocks;

	if (engine->config.overlap && !engine->config.best &&
	    engine->all_peers_reachable && !engine->stages_in_host &&
	    (!most || most > GT_CUDA_OVERLAP_WORKERS))
		most = GT_CUDA_OVERLAP_WORKERS;
	return gt_cuda_blocks_allowed(engine, most);
}

/* How many workers fit, if each takes so many blocks? */
static uint32_t gt_row_workers_of(const struct gt_engine *engine,
				  const struct gt_plan_select *row,
				  uint32_t each, uint32_t most)
{
	uint32_t n = gt_process_group_has_links(&engine->group) ||
				     engine->stages_in_host
			     ? GT_CUDA_FAR_WORKERS
			     : GT_CUDA_WORKERS;

	if (engine->config.workers)
		return engine->config.workers;
	if (n > most)
		n = most;
	n /= each;
	if (!n)
		n = 1;
	return row->workers && row->workers < n ? row->workers : n;
}

uint32_t gt_cuda_row_workers_most(const struct gt_engine *engine,
				  const struct gt_plan_select *row)
{
	return gt_row_workers_of(engine, row, row->nchannels,
				 gt_cuda_row_blocks(engine, row));
}

uint32_t gt_cuda_row_workers(const struct gt_engine *engine,
			     const struct gt_plan_select *row,
			     enum gt_coll coll, uint32_t most)
{
	uint32_t each = gt_cuda_row_channels(engine, row, coll, most) *
			gt_cuda_row_lanes(engine, row, coll);

	return gt_row_workers_of(engine, row, each ? each : 1, most);
}

/*
 * Can the row's other channels carry what one of them does?  Rings and trees of
 * all ranks can; trees of one rank's block cannot, nor flows, nor steps, which
 * say themselves which chunks go where.
 */
static int gt_row_can_leave_out(const struct gt_engine *engine,
				const struct gt_plan_select *row,
				enum gt_coll coll)
{
	uint32_t root;

	if (row->algo != GT_ALGO_RING && row->algo != GT_ALGO_TREE)
		return 0;
	for (uint32_t i = 0; i < row->nchannels; i++)
		if (gt_layout_only_block(
			    &engine->plan->channels[row->channels[i]], coll,
			    &root))
			return 0;
	return 1;
}

uint32_t gt_cuda_row_channels(const struct gt_engine *engine,
			      const struct gt_plan_select *row,
			      enum gt_coll coll, uint32_t most)
{
	uint32_t given = engine->config.workers ? engine->config.workers : 1;
	uint32_t n = most / (gt_cuda_row_lanes(engine, row, coll) * given);

	if (n >= row->nchannels)
		return row->nchannels;
	return gt_row_can_leave_out(engine, row, coll) ? n : 0;
}

uint32_t gt_cuda_row_lanes(const struct gt_engine *engine,
			   const struct gt_plan_select *row, enum gt_coll coll)
{
	const struct gt_channel_use use = {coll, row->algo, engine->plan->root};

	return gt_lower_lanes(engine->plan, &use);
}

/* Say which step of a program kernels cannot do. */
static int gt_program_refuse(const struct gt_program *program,
			     struct gt_err *err)
{
	for (uint32_t s = 0; s < program->nsteps;
	     s += gt_step_nrecords(&program->steps[s])) {
		const struct gt_step *step = &program->steps[s];
		uint32_t n = (uint32_t)step->nsrc + step->ndst;

		if (n > GT_KERNEL_OPERANDS)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "rank %u channel %u step %u has %u "
					  "operands, GPUs take %d",
					  program->rank, program->channel,
					  step->id, n, GT_KERNEL_OPERANDS);
		for (uint32_t i = 0; i < n; i++) {
			uint8_t buf = gt_step_operand(step, i)->buf;

			if (buf == GT_BUF_PEER_INPUT ||
			    buf == GT_BUF_PEER_OUTPUT)
				return gt_err_set(err, GT_EINPUT, NULL,
						  "rank %u channel %u step %u "
						  "reaches into a peer's "
						  "memory, GPUs use FIFOs",
						  program->rank,
						  program->channel, step->id);
		}
	}
	return GT_OK;
}

int gt_cuda_row_fits(const struct gt_engine *engine,
		     const struct gt_plan_select *row, enum gt_coll coll,
		     uint32_t most, struct gt_err *err)
{
	uint32_t given = engine->config.workers ? engine->config.workers : 1;
	uint32_t lanes = gt_cuda_row_lanes(engine, row, coll);

	if (gt_cuda_row_channels(engine, row, coll, most))
		return GT_OK;
	if (most == engine->processors)
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"%u channels of %u lanes and %u workers need "
			"as many multiprocessors at once, the GPU has "
			"%u",
			row->nchannels, lanes, given, engine->processors);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "max_blocks '%u' is too few for %u channels of %u "
			  "lanes and %u workers, whose blocks wait for one "
			  "another: allow more, or take a plan of fewer "
			  "channels",
			  most, row->nchannels, lanes, given);
}

/*
 * Say why GPUs cannot run a row through FIFOs.  A plan's meshes go without
 * FIFOs where everyone reaches everyone.
 */
static int gt_row_refuse(const struct gt_engine *engine,
			 const struct gt_plan_select *row, enum gt_coll coll,
			 struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	uint32_t lanes = gt_cuda_row_lanes(engine, row, coll);
	struct gt_lower_query want = {.use = {coll, row->algo, plan->root}};
	uint32_t n = row->nchannels * lanes * plan->nranks;
	struct gt_arena *arena;
	struct gt_program program;
	int rc;

	if (row != engine->mesh_row &&
	    (row->algo == GT_ALGO_ONE_SHOT || row->algo == GT_ALGO_TWO_SHOT))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "GPUs have no FIFOs for meshes");
	rc = gt_cuda_row_fits(engine, row, coll,
			      gt_cuda_row_blocks(engine, row), err);
	if (rc)
		return rc;
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		want.channel = row->channels[i / lanes % row->nchannels];
		want.lane = i % lanes;
		want.rank = i / lanes / row->nchannels;
		program = (struct gt_program){.rank = want.rank,
					      .channel = want.channel};
		rc = gt_lower(plan, &want, arena, &program, err);
		if (!rc)
			rc = gt_program_refuse(&program, err);
	}
	gt_arena_free(arena);
	return rc;
}

int gt_cuda_row_supported(const struct gt_engine *engine,
			  const struct gt_plan_select *row, enum gt_coll coll,
			  struct gt_err *err)
{
	enum { UNKNOWN, NO, YES };
	size_t i = row == engine->mesh_row
			   ? engine->plan->nselect
			   : (size_t)(row - engine->plan->select);
	uint8_t *can = &engine->row_support[i * GT_NCOLLS + coll];

	if (*can == UNKNOWN || (*can == NO && err))
		*can = gt_row_refuse(engine, row, coll, err) ? NO : YES;
	return *can == YES;
}

uint32_t gt_cuda_nrows(const struct gt_engine *engine)
{
	return engine->plan->nselect + (engine->mesh_row != NULL);
}

const struct gt_plan_select *gt_cuda_row(const struct gt_engine *engine,
					 uint32_t i)
{
	return i < engine->plan->nselect ? &engine->plan->select[i]
					 : engine->mesh_row;
}

/* Has the plan no row of its own that GPUs can run through FIFOs? */
static int gt_row_is_missing(const struct gt_engine *engine, enum gt_coll coll)
{
	const struct gt_plan *plan = engine->plan;

	for (uint32_t i = 0; i < plan->nselect; i++)
		if (gt_plan_row_serves(plan, &plan->select[i], coll) &&
		    gt_cuda_row_supported(engine, &plan->select[i], coll, NULL))
			return 0;
	return 1;
}

int gt_cuda_row_serves(const struct gt_engine *engine,
		       const struct gt_plan_select *row, enum gt_coll coll)
{
	if (row != engine->mesh_row)
		return gt_plan_row_serves(engine->plan, row, coll);
	return gt_coll_only_moves(coll) &&
	       !gt_plan_blocks_differ(engine->plan, coll) &&
	       gt_row_is_missing(engine, coll);
}

/*
 * Find the row for these bytes, of those that GPUs can run through FIFOs, or of
 * their rings alone, which move nothing that only moves.
 */
static const struct gt_plan_select *gt_row_through_fifos(
	const struct gt_engine *engine, enum gt_coll coll, uint64_t bytes,
	int rings)
{
	const struct gt_plan_select *last = NULL;

	if (engine->stages_in_host && gt_coll_only_moves(coll))
		rings = 0;
	for (uint32_t i = 0; i < gt_cuda_nrows(engine); i++) {
		const struct gt_plan_select *row = gt_cuda_row(engine, i);

		if ((rings && row->algo != GT_ALGO_RING) ||
		    !gt_cuda_row_serves(engine, row, coll) ||
		    !gt_cuda_row_supported(engine, row, coll, NULL))
			continue;
		last = row;
		if (bytes <= last->max_bytes)
			break;
	}
	return last;
}

/*
 * Is a ring sought, whatever the row for these bytes says?  Who asks for more
 * than rows takes one only for that.  And a row may say what cannot be done
 * with buffers that all pass one GPU: means that send them to each rank anew
 * would take its place.
 */
static int gt_row_is_for_a_ring(const struct gt_engine *engine,
				enum gt_coll coll,
				const struct gt_plan_select *row)
{
	if (engine->config.best || engine->config.overlap)
		return 1;
	return row && gt_choice_has_one_root(coll) &&
	       engine->plan->nranks > 2 && !engine->stages_in_host &&
	       row->algo == GT_ALGO_TWO_SHOT &&
	       (row->protocol == GT_PROTOCOL_DIRECT ||
		row->protocol == GT_PROTOCOL_CE);
}

const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_exec_request *req)
{
	const struct gt_plan *plan = engine->plan;
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? plan->nranks : 1;
	uint64_t bytes = req->count * blocks * gt_dtype_bytes(req->dtype);
	const struct gt_plan_select *row = gt_plan_row(plan, req->coll, bytes);
	const struct gt_plan_select *other = NULL;

	if (!engine->all_peers_reachable)
		other = gt_row_through_fifos(engine, req->coll, bytes, 0);
	else if (gt_row_is_for_a_ring(engine, req->coll, row))
		other = gt_row_through_fifos(engine, req->coll, bytes, 1);
	return other ? other : row;
}

int gt_cuda_row_check(const struct gt_engine *engine,
		      const struct gt_exec_request *req, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);

	if (!row)
		gt_err_set(err, GT_EINPUT, NULL,
			   "the plan has nothing for '%s'",
			   gt_coll_name(req->coll));
	else if (gt_coll_is_rooted(req->coll) &&
		 req->root != engine->plan->root)
		gt_err_set(err, GT_EINPUT, NULL,
			   "the root is rank %u, but the plan's is %u",
			   req->root, engine->plan->root);
	else
		return gt_cuda_row_supported(engine, row, req->coll, err);
	return 0;
}
