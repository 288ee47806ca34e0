#include "exec/cuda_engine.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower.h"
#include "plan/plan.h"

enum { GT_CUDA_SHARED_MAX = 200 * 1024 };

/* Number a connection's slices in program order; refuse what is not built. */
static int gt_program_number(const struct gt_program *program, uint32_t *uses,
			     struct gt_err *err)
{
	memset(uses, 0, program->nconns * sizeof(*uses));
	for (uint32_t s = 0; s < program->nsteps; s++) {
		struct gt_step *step = &program->steps[s];

		if (step->flags & GT_STEP_MORE)
			goto unable;
		for (int i = 0; i < step->nsrc + step->ndst; i++) {
			struct gt_operand *operand = &step->operand[i];

			if (operand->buf > GT_BUF_FIFO)
				goto unable;
			if (operand->buf != GT_BUF_FIFO)
				continue;
			operand->chunk = uses[operand->conn];
			if (operand->flags & GT_OPERAND_POST)
				uses[operand->conn]++;
		}
		continue;
	unable:
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u channel %u step %u: GPUs cannot do "
				  "this step yet",
				  program->rank, program->channel, step->id);
	}
	return GT_OK;
}

/* The peer's end of connection i: its index in the peer's program, or -1. */
static int64_t gt_conn_other(const struct gt_program *mine, uint32_t i,
			     const struct gt_program *theirs)
{
	const struct gt_conn *conn = &mine->conns[i];

	for (uint32_t j = 0; j < theirs->nconns; j++)
		if (theirs->conns[j].peer == mine->rank &&
		    theirs->conns[j].tag == conn->tag &&
		    theirs->conns[j].sends != conn->sends)
			return j;
	return -1;
}

/* How many of the first n connections receive: only those have a FIFO. */
static uint32_t gt_conns_receiving(const struct gt_program *program, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += !program->conns[i].sends;
	return count;
}

/* The slots of worker w's connection i of a channel, which receives. */
static char *gt_conn_slots(const struct gt_engine *engine,
			   const struct gt_cuda_task *task, uint32_t c,
			   uint32_t w, uint32_t i)
{
	const struct gt_program *program = &task->programs[c];
	size_t at = task->fifo_at[c] +
		    (size_t)w * gt_conns_receiving(program, program->nconns) +
		    gt_conns_receiving(program, i);

	return task->slots + at * engine->nslots * engine->slot_pitch;
}

/* The first row for the collective that uses channel c; NULL for none. */
static const struct gt_plan_select *gt_task_row(const struct gt_plan *plan,
						enum gt_coll coll, uint32_t c)
{
	for (uint32_t i = 0; i < plan->nselect; i++) {
		const struct gt_plan_select *row = &plan->select[i];

		if (!gt_plan_serves(plan, row, coll))
			continue;
		for (uint32_t k = 0; k < row->nchannels; k++)
			if (row->channels[k] == c)
				return row;
	}
	return NULL;
}

/* Programs of one lane and rings' or trees' steps are what GPUs run. */
static int gt_task_can(const struct gt_plan *plan,
		       const struct gt_plan_select *row, enum gt_coll coll)
{
	const struct gt_use use = {coll, row->algo, plan->root};

	return (row->algo == GT_ALGO_RING || row->algo == GT_ALGO_TREE) &&
	       gt_lower_lanes(plan, &use) == 1;
}

/* A channel that is not used for the collective gets an empty program. */
static int gt_task_program(struct gt_engine *engine, enum gt_coll coll,
			   uint32_t rank, uint32_t c,
			   struct gt_program *program, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	const struct gt_plan_select *row = gt_task_row(plan, coll, c);
	struct gt_lower_want want = {.rank = rank, .channel = c};

	*program = (struct gt_program){.rank = rank, .channel = c};
	if (!row || !gt_task_can(plan, row, coll))
		return GT_OK;
	want.use = (struct gt_use){coll, row->algo, plan->root};
	return gt_lower(plan, &want, engine->arena, program, err);
}

static int gt_task_lower(struct gt_engine *engine, enum gt_coll coll,
			 uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_task *task = &engine->ranks[rank].tasks[coll];
	uint32_t n = engine->plan->nchannels, need;
	int rc;

	task->programs =
		gt_arena_array(engine->arena, n, sizeof(*task->programs));
	task->image = gt_arena_array(engine->arena, n, sizeof(*task->image));
	task->conn_at =
		gt_arena_array(engine->arena, n + 1, sizeof(*task->conn_at));
	task->fifo_at =
		gt_arena_array(engine->arena, n + 1, sizeof(*task->fifo_at));
	if (!task->programs || !task->image || !task->conn_at || !task->fifo_at)
		return gt_err_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		struct gt_program *program = &task->programs[c];

		rc = gt_task_program(engine, coll, rank, c, program, err);
		if (rc)
			return rc;
		task->conn_at[c + 1] = task->conn_at[c] +
				       program->nconns * engine->most.workers;
		task->fifo_at[c + 1] =
			task->fifo_at[c] +
			gt_conns_receiving(program, program->nconns) *
				engine->most.workers;
		need = gt_kernel_shared_bytes(program->nsteps, program->nconns,
					      program->nchunks);
		if (need > GT_CUDA_SHARED_MAX)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "channel %u: a program of %u steps "
					  "is too long for a GPU",
					  engine->plan->channels[c].id,
					  program->nsteps);
		if (need > engine->shared_bytes)
			engine->shared_bytes = need;
	}
	return GT_OK;
}

static int gt_task_alloc(struct gt_engine *engine, enum gt_coll coll,
			 uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_task *task = &me->tasks[coll];
	uint32_t n = engine->plan->nchannels, nsteps = 0;
	size_t ends = task->conn_at[n];
	size_t flag_bytes = ends * GT_CUDA_FLAG_WORDS * sizeof(uint64_t);
	size_t fifo_bytes =
		(size_t)task->fifo_at[n] * engine->nslots * engine->slot_pitch;
	cudaError_t rc;

	for (uint32_t c = 0; c < n; c++)
		nsteps += task->programs[c].nsteps;
	rc = cudaSetDevice(me->device);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&task->channels,
				n * sizeof(*task->channels));
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&task->conns,
				ends * sizeof(*task->conns) + 8);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&task->steps,
				nsteps * sizeof(*task->steps));
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&task->flags, flag_bytes + 8);
	if (rc == cudaSuccess)
		rc = cudaMemset(task->flags, 0, flag_bytes + 8);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&task->slots, fifo_bytes + 8);
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "allocate FIFOs",
				    err);
	return GT_OK;
}

/* Both ends of a channel's connections, for all workers. */
static int gt_channel_connect(struct gt_engine *engine, enum gt_coll coll,
			      uint32_t rank, uint32_t c,
			      struct gt_kernel_conn *out, struct gt_err *err)
{
	const struct gt_cuda_task *task = &engine->ranks[rank].tasks[coll];
	const struct gt_program *mine = &task->programs[c], *theirs;

	for (uint32_t i = 0; i < mine->nconns; i++) {
		const struct gt_conn *conn = &mine->conns[i];
		const struct gt_cuda_task *peer =
			&engine->ranks[conn->peer].tasks[coll];
		int64_t j;

		theirs = &peer->programs[c];
		j = gt_conn_other(mine, i, theirs);
		if (j < 0)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "channel %u: ranks %u and %u do not "
					  "agree on their connection",
					  engine->plan->channels[c].id, rank,
					  conn->peer);
		for (uint32_t w = 0; w < engine->most.workers; w++) {
			size_t at = task->conn_at[c] + w * mine->nconns + i;
			size_t to = peer->conn_at[c] + w * theirs->nconns +
				    (size_t)j;
			struct gt_kernel_conn *end = &out[w * mine->nconns + i];

			end->wait = task->flags + at * GT_CUDA_FLAG_WORDS;
			end->post = peer->flags + to * GT_CUDA_FLAG_WORDS;
			end->slots =
				conn->sends
					? gt_conn_slots(engine, peer, c, w,
							(uint32_t)j)
					: gt_conn_slots(engine, task, c, w, i);
			end->peer = conn->peer;
			end->sends = conn->sends;
		}
	}
	return GT_OK;
}

static int gt_channel_upload(struct gt_engine *engine, enum gt_coll coll,
			     uint32_t rank, uint32_t c, struct gt_step *steps,
			     struct gt_err *err)
{
	struct gt_cuda_task *task = &engine->ranks[rank].tasks[coll];
	const struct gt_program *program = &task->programs[c];
	uint32_t nconns = program->nconns, workers = engine->most.workers;
	size_t ends = (size_t)nconns * workers;
	struct gt_kernel_channel *image = &task->image[c];
	struct gt_kernel_conn *conns =
		gt_arena_array(engine->arena, ends, sizeof(*conns));
	uint32_t *uses = gt_arena_array(engine->arena, nconns, sizeof(*uses));
	cudaError_t done;
	int rc;

	if (!conns || !uses)
		return gt_err_nomem(err);
	rc = gt_program_number(program, uses, err);
	if (!rc)
		rc = gt_channel_connect(engine, coll, rank, c, conns, err);
	if (rc)
		return rc;
	for (size_t e = 0; e < ends; e++)
		conns[e].uses = uses[e % nconns];
	image->steps = steps;
	image->conns = task->conns + task->conn_at[c];
	image->nsteps = program->nsteps;
	image->nconns = nconns;
	done = cudaMemcpy(steps, program->steps,
			  program->nsteps * sizeof(*steps),
			  cudaMemcpyHostToDevice);
	if (done == cudaSuccess)
		done = cudaMemcpy(image->conns, conns, ends * sizeof(*conns),
				  cudaMemcpyHostToDevice);
	if (done != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)done, "copy the program",
				    err);
	return GT_OK;
}

static int gt_task_upload(struct gt_engine *engine, enum gt_coll coll,
			  uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_task *task = &me->tasks[coll];
	struct gt_step *steps = task->steps;
	int rc = GT_OK;

	cudaSetDevice(me->device);
	for (uint32_t c = 0; !rc && c < engine->plan->nchannels; c++) {
		rc = gt_channel_upload(engine, coll, rank, c, steps, err);
		steps += task->programs[c].nsteps;
	}
	return rc;
}

int gt_cuda_task_need(struct gt_engine *engine, enum gt_coll coll,
		      struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks;
	int rc = GT_OK;

	if (engine->ready & 1u << coll)
		return GT_OK;
	for (uint32_t r = 0; !rc && r < nranks; r++)
		rc = gt_task_lower(engine, coll, r, err);
	for (uint32_t r = 0; !rc && r < nranks; r++)
		rc = gt_task_alloc(engine, coll, r, err);
	for (uint32_t r = 0; !rc && r < nranks; r++)
		rc = gt_task_upload(engine, coll, r, err);
	if (rc)
		return rc;
	engine->ready |= 1u << coll;
	engine->loaded = 0; /* shared_bytes may have grown */
	return GT_OK;
}

void gt_cuda_task_release(struct gt_engine *engine)
{
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		cudaSetDevice(engine->ranks[r].device);
		for (int coll = 0; coll < GT_NCOLLS; coll++) {
			struct gt_cuda_task *task =
				&engine->ranks[r].tasks[coll];

			cudaFree(task->channels);
			cudaFree(task->conns);
			cudaFree(task->steps);
			cudaFree(task->flags);
			cudaFree(task->slots);
		}
	}
}

static int gt_task_load(struct gt_engine *engine, enum gt_dtype dtype,
			struct gt_err *err)
{
	cudaError_t rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		cudaSetDevice(engine->ranks[r].device);
		rc = (cudaError_t)gt_kernel_prepare(dtype,
						    engine->shared_bytes);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "load the kernels", err);
	}
	engine->loaded |= 1u << dtype;
	return GT_OK;
}

/* Layouts of the selected channels; the others have no loops, do nothing. */
static int gt_task_cut(struct gt_engine *engine, struct gt_cuda_task *task,
		       const struct gt_layout_args *args, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t c = 0; c < engine->plan->nchannels; c++)
		memset(&task->image[c].layout, 0,
		       sizeof(task->image[c].layout));
	for (uint32_t i = 0; !rc && i < engine->nsel; i++)
		rc = gt_layout_init(engine->plan, engine->sel[i], args,
				    &task->image[engine->sel[i]].layout, err);
	return rc;
}

const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_request *req)
{
	const struct gt_plan *plan = engine->plan;
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? plan->nranks : 1;

	return gt_plan_row(plan, req->coll,
			   req->count * blocks * gt_dtype_bytes(req->dtype));
}

int gt_cuda_task_can(const struct gt_engine *engine,
		     const struct gt_request *req)
{
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);

	return row && gt_task_can(engine->plan, row, req->coll) &&
	       (!gt_coll_is_rooted(req->coll) ||
		req->root == engine->plan->root);
}

/* The row for the request, and its channels. */
static const struct gt_plan_select *gt_task_select(struct gt_engine *engine,
						   const struct gt_request *req,
						   struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);

	if (!row || !gt_task_can(plan, row, req->coll)) {
		gt_err_set(err, GT_EINPUT, NULL,
			   "GPUs cannot do '%s' by '%s' yet",
			   gt_coll_name(req->coll),
			   row ? gt_algo_name(row->algo) : "nothing");
		return NULL;
	}
	if (gt_coll_is_rooted(req->coll) && req->root != plan->root) {
		gt_err_set(err, GT_EINPUT, NULL,
			   "the root is rank %u, but the plan's is %u",
			   req->root, plan->root);
		return NULL;
	}
	engine->nsel = row->nchannels;
	memcpy(engine->sel, row->channels,
	       row->nchannels * sizeof(*engine->sel));
	return row;
}

int gt_cuda_task_layout(struct gt_engine *engine, const struct gt_request *req,
			struct gt_err *err)
{
	const struct gt_plan_select *row = gt_task_select(engine, req, err);
	struct gt_layout_args args = {
		.use = {req->coll, row ? row->algo : 0, req->root},
		.count = req->count,
		.elem_bytes = (uint32_t)gt_dtype_bytes(req->dtype),
	};
	uint32_t nranks = engine->plan->nranks;
	cudaError_t done;
	int rc;

	if (!row)
		return GT_EINPUT;
	rc = gt_cuda_task_need(engine, req->coll, err);
	engine->cut = gt_cuda_cut_of(engine, req);
	args.slice_bytes = engine->cut.slice_bytes;
	args.nworkers = engine->cut.workers;
	args.nsel = engine->nsel;
	args.sel = engine->sel;
	if (!rc && !(engine->loaded & 1u << req->dtype))
		rc = gt_task_load(engine, req->dtype, err);
	for (uint32_t r = 0; !rc && r < nranks; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		struct gt_cuda_task *task = &me->tasks[req->coll];

		rc = gt_task_cut(engine, task, &args, err);
		if (rc)
			return rc;
		cudaSetDevice(me->device);
		done = cudaMemcpyAsync(task->channels, task->image,
				       engine->plan->nchannels *
					       sizeof(*task->image),
				       cudaMemcpyHostToDevice, me->stream);
		if (done != cudaSuccess)
			rc = gt_cuda_fail(engine, r, (int)done,
					  "copy the layout", err);
	}
	return rc;
}
