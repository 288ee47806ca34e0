/* Lowers the plan's channels to the programs that GPUs run for a collective. */
#include "exec/cuda/fifos.h"

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "plan/ir/plan.h"
#include "plan/lower/lower.h"

enum { GT_CUDA_SHARED_MAX = 200 * 1024 };

uint32_t gt_cuda_conns_receiving(const struct gt_program *program, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += !program->conns[i].sends;
	return count;
}

static int gt_row_uses(const struct gt_engine *engine,
		       const struct gt_plan_select *row, enum gt_coll coll,
		       uint32_t c)
{
	uint32_t n = gt_cuda_row_channels(engine, row, coll,
					  gt_cuda_row_blocks(engine, row));

	for (uint32_t k = 0; k < n; k++)
		if (row->channels[k] == c)
			return 1;
	return 0;
}

/*
 * Find the first row for the collective that uses channel c and that GPUs can
 * do; NULL if there is none.  *workers is as many as any such row may ask for.
 */
static const struct gt_plan_select *gt_program_row(
	const struct gt_engine *engine, enum gt_coll coll, uint32_t c,
	uint32_t *workers)
{
	const struct gt_plan_select *first = NULL;

	*workers = 0;
	for (uint32_t i = 0; i < gt_cuda_nrows(engine); i++) {
		const struct gt_plan_select *row = gt_cuda_row(engine, i);
		uint32_t n;

		if (!gt_cuda_row_serves(engine, row, coll) ||
		    !gt_row_uses(engine, row, coll, c) ||
		    !gt_cuda_row_supported(engine, row, coll, NULL))
			continue;
		n = gt_cuda_row_workers(engine, row, coll,
					gt_cuda_row_blocks(engine, row));
		if (!first)
			first = row;
		if (n > *workers)
			*workers = n;
	}
	return first;
}

int gt_cuda_programs_exist(const struct gt_engine *engine, enum gt_coll coll)
{
	uint32_t workers;

	for (uint32_t c = 0; c < engine->plan->nchannels; c++)
		if (gt_program_row(engine, coll, c, &workers))
			return 1;
	return 0;
}

static uint32_t gt_programs_lanes(const struct gt_engine *engine,
				  enum gt_coll coll)
{
	uint32_t most = 1, workers;

	for (uint32_t c = 0; c < engine->plan->nchannels; c++) {
		const struct gt_plan_select *row =
			gt_program_row(engine, coll, c, &workers);
		uint32_t n = row ? gt_cuda_row_lanes(engine, row, coll) : 1;

		if (n > most)
			most = n;
	}
	return most;
}

/* A channel that is not used for the collective gets an empty program. */
static int gt_program_lower(struct gt_engine *engine, enum gt_coll coll,
			    uint32_t rank, uint32_t p, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	struct gt_cuda_programs *set = &engine->ranks[rank].programs[coll];
	struct gt_program *program = &set->programs[p];
	uint32_t c = p / set->nlanes, lane = p % set->nlanes;
	const struct gt_plan_select *row =
		gt_program_row(engine, coll, c, &set->workers[p]);
	struct gt_lower_query want = {.rank = rank, .channel = c, .lane = lane};

	*program = (struct gt_program){.rank = rank, .channel = c};
	if (!row || lane >= gt_cuda_row_lanes(engine, row, coll))
		return GT_OK;
	want.use = (struct gt_channel_use){coll, row->algo, plan->root};
	return gt_lower(plan, &want, engine->program_arenas[coll], program,
			err);
}

/* Note how much shared memory a channel's program takes. */
static int gt_program_shared(struct gt_engine *engine, enum gt_coll coll,
			     const struct gt_program *program,
			     struct gt_err *err)
{
	uint32_t nparts = gt_plan_blocks_differ(engine->plan, coll)
				  ? program->nsteps
				  : program->nchunks;
	uint32_t need = gt_kernel_shared_bytes(program->nsteps, program->nconns,
					       nparts);

	if (need > GT_CUDA_SHARED_MAX)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: a program of %u steps is too "
				  "long for a GPU",
				  engine->plan->channels[program->channel].id,
				  program->nsteps);
	if (need > engine->shared_bytes)
		engine->shared_bytes = need;
	return GT_OK;
}

int gt_cuda_programs_lower(struct gt_engine *engine, enum gt_coll coll,
			   uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_programs *set = &engine->ranks[rank].programs[coll];
	struct gt_arena *arena = engine->program_arenas[coll];
	uint32_t lanes = gt_programs_lanes(engine, coll);
	uint32_t n = engine->plan->nchannels * lanes;
	int rc = GT_OK;

	set->nlanes = lanes;
	set->nprograms = n;
	set->programs = gt_arena_array(arena, n, sizeof(*set->programs));
	set->workers = gt_arena_array(arena, n, sizeof(*set->workers));
	set->conn_at = gt_arena_array(arena, n + 1, sizeof(*set->conn_at));
	set->fifo_at = gt_arena_array(arena, n + 1, sizeof(*set->fifo_at));
	if (!set->programs || !set->workers || !set->conn_at || !set->fifo_at)
		return gt_err_nomem(err);
	for (uint32_t p = 0; !rc && p < n; p++) {
		struct gt_program *program = &set->programs[p];
		uint32_t receiving;

		rc = gt_program_lower(engine, coll, rank, p, err);
		if (rc)
			return rc;
		receiving = gt_cuda_conns_receiving(program, program->nconns);
		set->conn_at[p + 1] =
			set->conn_at[p] + program->nconns * set->workers[p];
		set->fifo_at[p + 1] =
			set->fifo_at[p] + receiving * set->workers[p];
		rc = gt_program_shared(engine, coll, program, err);
	}
	return rc;
}
