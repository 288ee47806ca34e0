#include "plan/import_msccl.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "plan/plan.h"

/* Room for the ends of FIFOs of one thread block. */
static uint16_t gt_lane_conn(struct gt_program *program, struct gt_conn conn)
{
	program->conns[program->nconns] = conn;
	return (uint16_t)program->nconns++;
}

/* The steps of others that have to be waited for, without those implied. */
static int gt_lane_deps(struct gt_algo_file *algo, uint32_t rank, uint32_t t,
			struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	struct gt_algo_tb *tb = &gpu->tbs[t];
	int *last = gt_arena_array(algo->arena, gpu->ntbs, sizeof(*last));

	if (!last)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < gpu->ntbs; i++)
		last[i] = -1;
	last[t] = (int)tb->nsteps;
	for (uint32_t i = 0; i < tb->nsteps; i++) {
		struct gt_algo_step *step = &tb->steps[i];

		if (step->dep_tb < 0 || step->dep_step < 0) {
			step->dep_tb = -1;
			continue;
		}
		if ((uint32_t)step->dep_tb >= gpu->ntbs ||
		    (uint32_t)step->dep_step >= gpu->tbs[step->dep_tb].nsteps)
			return gt_xml_fail(step->elem, "depid", err,
					   "it waits for a step that is not "
					   "there");
		if (step->dep_step <= last[step->dep_tb])
			step->dep_tb = -1;
		else
			last[step->dep_tb] = step->dep_step;
	}
	return GT_OK;
}

/* A connection of the rank with itself for each two that wait. */
static int gt_lane_waits(struct gt_algo_file *algo, uint32_t rank, uint32_t t,
			 struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	struct gt_algo_tb *tb = &gpu->tbs[t];
	uint16_t *posts =
		gt_arena_array(algo->arena, gpu->ntbs, sizeof(*posts));

	if (!posts)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < tb->nsteps; i++) {
		struct gt_algo_step *step = &tb->steps[i], *other;
		struct gt_algo_tb *from;
		struct gt_algo_wait *wait;
		struct gt_conn conn = {.peer = rank};

		if (step->dep_tb < 0)
			continue;
		from = &gpu->tbs[step->dep_tb];
		conn.tag = (uint16_t)((uint32_t)step->dep_tb * gpu->ntbs + t);
		if (tb->dep_conn[step->dep_tb] < 0) {
			tb->dep_conn[step->dep_tb] =
				gt_lane_conn(tb->program, conn);
			conn.sends = 1;
			posts[step->dep_tb] = gt_lane_conn(from->program, conn);
		}
		wait = gt_arena_alloc(algo->arena, sizeof(*wait));
		if (!wait)
			return gt_err_nomem(err);
		other = &from->steps[step->dep_step];
		wait->conn = posts[step->dep_tb];
		wait->next = other->waits;
		other->waits = wait;
		other->nwaits++;
	}
	return GT_OK;
}

/* Steps of several records, a copy of each chunk at the end. */
static int gt_lane_room(const struct gt_algo_file *algo, struct gt_plan *plan,
			struct gt_algo_tb *tb, struct gt_err *err)
{
	size_t nrecords = algo->nchunks, nsent = 0;

	for (uint32_t i = 0; i < tb->nsteps; i++) {
		const struct gt_algo_step *step = &tb->steps[i];
		size_t n = (size_t)step->count / algo->unit + 1;

		nrecords += n + n * (6 + step->nwaits) / GT_STEP_OPERANDS;
		nsent += n;
	}
	tb->program->steps = gt_arena_array(plan->arena, nrecords,
					    sizeof(*tb->program->steps));
	tb->sent = gt_arena_array(algo->arena, nsent, sizeof(*tb->sent));
	return tb->program->steps && tb->sent ? GT_OK : gt_err_nomem(err);
}

static int gt_lane_begin(struct gt_algo_file *algo, struct gt_plan *plan,
			 uint32_t rank, uint32_t t, struct gt_program *program,
			 struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	struct gt_algo_tb *tb = &gpu->tbs[t];
	struct gt_conn conn = {.tag = (uint16_t)tb->chan};

	*program = (struct gt_program){.rank = rank, .lane = t};
	program->conns = gt_arena_array(plan->arena, 2 + 2 * gpu->ntbs,
					sizeof(*program->conns));
	tb->dep_conn =
		gt_arena_array(algo->arena, gpu->ntbs, sizeof(*tb->dep_conn));
	if (!program->conns || !tb->dep_conn)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < gpu->ntbs; i++)
		tb->dep_conn[i] = -1;
	tb->program = program;
	if (tb->recv >= 0) {
		conn.peer = (uint32_t)tb->recv;
		tb->recv_conn = gt_lane_conn(program, conn);
	}
	if (tb->send >= 0) {
		conn.peer = (uint32_t)tb->send;
		conn.sends = 1;
		tb->send_conn = gt_lane_conn(program, conn);
	}
	return GT_OK;
}

static int gt_lane_gpu(struct gt_algo_file *algo, struct gt_plan *plan,
		       uint32_t rank, struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	int rc = GT_OK;

	for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
		rc = gt_lane_begin(algo, plan, rank, t,
				   &plan->programs[plan->nprograms++], err);
	for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
		rc = gt_lane_deps(algo, rank, t, err);
	for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
		rc = gt_lane_waits(algo, rank, t, err);
	for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
		rc = gt_lane_room(algo, plan, &gpu->tbs[t], err);
	return rc;
}

int gt_import_lanes(struct gt_algo_file *algo, struct gt_plan *plan,
		    struct gt_err *err)
{
	size_t n = 0;
	int rc = GT_OK;

	for (uint32_t r = 0; r < algo->ngpus; r++)
		n += algo->gpus[r].ntbs;
	plan->nprograms = 0;
	plan->programs =
		gt_arena_array(plan->arena, n, sizeof(*plan->programs));
	if (!plan->programs)
		return gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
		rc = gt_lane_gpu(algo, plan, r, err);
	return rc;
}
