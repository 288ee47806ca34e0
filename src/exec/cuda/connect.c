/*
 * Connects the programs of a collective: allocates their FIFOs, finds each
 * connection's other end, here or over a link, and copies all of it to the
 * GPUs.
 */
#include "exec/cuda/fifos.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/link/fifo.h"
#include "plan/ir/plan.h"
#include "plan/lower/lower.h"
#include "plan/lower/step.h"

/*
 * This is one worker's end of connection i of a program, and where the other
 * end is.
 */
struct gt_cuda_end {
	uint32_t rank, program, i;
	uint32_t peer, there, j; /* the other end */
	uint32_t worker;
};

/*
 * Copy the program's steps as kernels read them: a connection's slices are
 * numbered in program order, and uses[conn] is how many a pass has.
 */
static void gt_program_number(const struct gt_program *program,
			      struct gt_step *steps, uint32_t *uses)
{
	memcpy(steps, program->steps, program->nsteps * sizeof(*steps));
	for (uint32_t s = 0; s < program->nsteps;
	     s += gt_step_nrecords(&steps[s]))
		for (uint32_t i = 0;
		     i < steps[s].nsrc + (uint32_t)steps[s].ndst; i++) {
			struct gt_operand *operand =
				&steps[s + i / GT_STEP_OPERANDS]
					 .operand[i % GT_STEP_OPERANDS];

			if (!gt_operand_is_remote(operand))
				continue;
			operand->chunk = uses[operand->conn];
			if (operand->flags & GT_OPERAND_POST)
				uses[operand->conn]++;
		}
}

static uint32_t gt_program_nsteps(const struct gt_program *program)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < program->nsteps;
	     s += gt_step_nrecords(&program->steps[s]))
		n++;
	return n;
}

/*
 * Find the peer's end of connection i: its index in the peer's program, or -1.
 */
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

/* Say where the slots begin in a rank's region: behind its flags. */
static size_t gt_programs_slots_at(const struct gt_cuda_programs *set)
{
	size_t flags = set->conn_at[set->nprograms];

	return flags * GT_CUDA_FLAG_WORDS * sizeof(uint64_t);
}

/*
 * Say where the slots of worker w's connection i of program p begin; only
 * connections that receive have slots.
 */
static size_t gt_conn_slots(const struct gt_engine *engine,
			    const struct gt_cuda_programs *set, uint32_t p,
			    uint32_t w, uint32_t i)
{
	const struct gt_program *program = &set->programs[p];
	size_t at =
		set->fifo_at[p] +
		(size_t)w * gt_cuda_conns_receiving(program, program->nconns) +
		gt_cuda_conns_receiving(program, i);

	return gt_programs_slots_at(set) +
	       at * engine->nslots * engine->slot_pitch;
}

/* Allocate a local rank's programs, on the host and on the device. */
static int gt_programs_alloc(struct gt_engine *engine, enum gt_coll coll,
			     uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_programs *set = &me->programs[coll];
	struct gt_arena *arena = engine->program_arenas[coll];
	uint32_t n = set->nprograms, nsteps = 0;
	size_t ends = set->conn_at[n];
	cudaError_t rc;

	set->image = gt_arena_array(arena, n, sizeof(*set->image));
	set->ends = gt_arena_array(arena, ends + 1, sizeof(*set->ends));
	if (!set->image || !set->ends)
		return gt_err_nomem(err);
	for (uint32_t c = 0; c < n; c++)
		nsteps += set->programs[c].nsteps;
	rc = cudaSetDevice(me->device);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&set->channels,
				n * sizeof(*set->channels));
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&set->conns,
				ends * sizeof(*set->conns) + 8);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&set->steps,
				nsteps * sizeof(*set->steps) + 8);
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "allocate programs",
				    err);
	return GT_OK;
}

/* Make a region for the flags and slots of all ranks. */
static int gt_programs_alloc_fifos(struct gt_engine *engine, enum gt_coll coll,
				   struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks;
	uint64_t *bytes = calloc(nranks, sizeof(*bytes));
	int rc;

	if (!bytes)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < nranks; r++) {
		const struct gt_cuda_programs *set =
			&engine->ranks[r].programs[coll];

		bytes[r] = gt_programs_slots_at(set) +
			   (uint64_t)set->fifo_at[set->nprograms] *
				   engine->nslots * engine->slot_pitch;
	}
	rc = gt_cuda_region_new(engine, GT_CUDA_FIFOS + (int)coll, bytes, err);
	free(bytes);
	return rc;
}

static int gt_conn_is_over_link(const struct gt_engine *engine, uint32_t rank)
{
	return !gt_process_group_is_local(&engine->group, rank) &&
	       !engine->reachable[gt_process_group_of_rank(&engine->group,
							   rank)];
}

/* Note a rank's connections that go over links, for all workers. */
static int gt_program_add_links(struct gt_engine *engine, enum gt_coll coll,
				uint32_t rank, uint32_t p, struct gt_err *err)
{
	struct gt_cuda_programs *set = &engine->ranks[rank].programs[coll];
	const struct gt_program *mine = &set->programs[p];
	uint32_t first = (uint32_t)coll * engine->plan->nchannels *
			 engine->max_slicing.workers;
	int rc = GT_OK;

	for (uint32_t i = 0; i < mine->nconns; i++) {
		const struct gt_conn *conn = &mine->conns[i];
		struct gt_link_conn far = {
			.from = conn->sends ? rank : conn->peer,
			.to = conn->sends ? conn->peer : rank,
			.tag = conn->tag,
			.sends = conn->sends,
		};

		if (!gt_conn_is_over_link(engine, conn->peer))
			continue;
		for (uint32_t w = 0; !rc && w < set->workers[p]; w++) {
			/* Both ends say the same, whatever their programs'
			 * lanes, and no other connection does. */
			far.lane = first +
				   mine->channel * engine->max_slicing.workers +
				   w;
			far.end = &set->ends[set->conn_at[p] +
					     w * mine->nconns + i];
			rc = gt_process_group_add(&engine->group, &far,
						  conn->peer, err);
		}
	}
	return rc;
}

static int gt_programs_add_links(struct gt_engine *engine, enum gt_coll coll,
				 struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	int rc = GT_OK;

	if (!gt_process_group_has_links(group))
		return GT_OK;
	for (uint32_t r = group->first; !rc && r < group->end; r++)
		for (uint32_t p = 0;
		     !rc && p < engine->ranks[r].programs[coll].nprograms; p++)
			rc = gt_program_add_links(engine, coll, r, p, err);
	if (rc)
		gt_process_group_forget(group);
	return rc;
}

/* Connect over links what gt_programs_add_links() has noted. */
static int gt_programs_connect_links(struct gt_engine *engine,
				     struct gt_err *err)
{
	const struct gt_link_shape shape = {engine->nslots, engine->slot_pitch};

	return gt_process_group_has_links(&engine->group)
		       ? gt_process_group_connect(&engine->group, &shape, err)
		       : GT_OK;
}

/*
 * Fill in an end that goes over a link: its counters and slots are pinned in
 * the host's memory.
 */
static void gt_end_over_link(const struct gt_fifo_end *far, int sends,
			     struct gt_kernel_conn *end)
{
	uint64_t *data = (uint64_t *)(void *)&far->fifo->data;
	uint64_t *credit = (uint64_t *)(void *)&far->fifo->credit;

	end->slots = far->slots;
	end->wait = sends ? credit : data;
	end->post = sends ? data : credit;
	end->lengths = sends ? far->lengths : NULL;
}

/*
 * Fill in an end in GPUs' memory: connection i here is connection j over there.
 */
static void gt_end_in_memory(const struct gt_engine *engine, enum gt_coll coll,
			     const struct gt_cuda_end *at,
			     struct gt_kernel_conn *end)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[at->rank].programs[coll];
	const struct gt_cuda_programs *peer =
		&engine->ranks[at->peer].programs[coll];
	const struct gt_program *mine = &set->programs[at->program];
	const struct gt_program *theirs = &peer->programs[at->there];
	int region = GT_CUDA_FIFOS + (int)coll;
	char *here = gt_cuda_region_at(engine, region, at->rank, at->rank);
	char *there = gt_cuda_region_at(engine, region, at->rank, at->peer);
	size_t from =
		set->conn_at[at->program] + at->worker * mine->nconns + at->i;
	size_t to =
		peer->conn_at[at->there] + at->worker * theirs->nconns + at->j;

	end->wait = (uint64_t *)(void *)here + from * GT_CUDA_FLAG_WORDS;
	end->post = (uint64_t *)(void *)there + to * GT_CUDA_FLAG_WORDS;
	end->slots = mine->conns[at->i].sends
			     ? there + gt_conn_slots(engine, peer, at->there,
						     at->worker, at->j)
			     : here + gt_conn_slots(engine, set, at->program,
						    at->worker, at->i);
}

/*
 * Find the other end of a connection, which may be in any lane of the channel.
 */
static int gt_end_find(const struct gt_engine *engine, enum gt_coll coll,
		       struct gt_cuda_end *at, struct gt_err *err)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[at->rank].programs[coll];
	const struct gt_cuda_programs *peer =
		&engine->ranks[at->peer].programs[coll];
	const struct gt_program *mine = &set->programs[at->program];
	uint32_t first = at->program / set->nlanes * set->nlanes;

	for (uint32_t l = 0; l < set->nlanes; l++) {
		int64_t j =
			gt_conn_other(mine, at->i, &peer->programs[first + l]);

		if (j < 0)
			continue;
		at->there = first + l;
		at->j = (uint32_t)j;
		return GT_OK;
	}
	return gt_err_set(err, GT_EINPUT, NULL,
			  "channel %u: ranks %u and %u do not agree on their "
			  "connection",
			  engine->plan->channels[mine->channel].id, at->rank,
			  at->peer);
}

/* Fill in the ends of a program's connections, for all workers. */
static int gt_program_connect(struct gt_engine *engine, enum gt_coll coll,
			      uint32_t rank, uint32_t p,
			      struct gt_kernel_conn *out, struct gt_err *err)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[rank].programs[coll];
	const struct gt_program *mine = &set->programs[p];

	for (uint32_t i = 0; i < mine->nconns; i++) {
		const struct gt_conn *conn = &mine->conns[i];
		struct gt_cuda_end at = {
			.rank = rank, .program = p, .i = i, .peer = conn->peer};

		if (gt_end_find(engine, coll, &at, err))
			return GT_EINPUT;
		for (at.worker = 0; at.worker < set->workers[p]; at.worker++) {
			size_t k = at.worker * mine->nconns + i;

			if (gt_conn_is_over_link(engine, conn->peer))
				gt_end_over_link(
					&set->ends[set->conn_at[p] + k],
					conn->sends, &out[k]);
			else
				gt_end_in_memory(engine, coll, &at, &out[k]);
			out[k].peer = conn->peer;
			out[k].sends = conn->sends;
		}
	}
	return GT_OK;
}

static int gt_program_upload(struct gt_engine *engine, enum gt_coll coll,
			     uint32_t rank, uint32_t p, struct gt_step *to,
			     struct gt_err *err)
{
	struct gt_arena *arena = engine->program_arenas[coll];
	struct gt_cuda_programs *set = &engine->ranks[rank].programs[coll];
	const struct gt_program *program = &set->programs[p];
	uint32_t nconns = program->nconns;
	size_t ends = (size_t)nconns * set->workers[p];
	struct gt_kernel_channel *image = &set->image[p];
	struct gt_kernel_conn *conns =
		gt_arena_array(arena, ends, sizeof(*conns));
	struct gt_step *steps =
		gt_arena_array(arena, program->nsteps, sizeof(*steps));
	uint32_t *uses = gt_arena_array(arena, nconns, sizeof(*uses));
	cudaStream_t own = engine->ranks[rank].own;
	cudaError_t done;
	int rc;

	if (!conns || !steps || !uses)
		return gt_err_nomem(err);
	gt_program_number(program, steps, uses);
	rc = gt_program_connect(engine, coll, rank, p, conns, err);
	if (rc)
		return rc;
	for (size_t e = 0; e < ends; e++)
		conns[e].uses = uses[e % nconns];
	image->steps = to;
	image->conns = set->conns + set->conn_at[p];
	image->nrecords = program->nsteps;
	image->nsteps = gt_program_nsteps(program);
	image->nconns = nconns;
	done = cudaMemcpyAsync(to, steps, program->nsteps * sizeof(*steps),
			       cudaMemcpyHostToDevice, own);
	if (done == cudaSuccess)
		done = cudaMemcpyAsync(image->conns, conns,
				       ends * sizeof(*conns),
				       cudaMemcpyHostToDevice, own);
	if (done != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)done, "copy the program",
				    err);
	return GT_OK;
}

static int gt_programs_upload(struct gt_engine *engine, enum gt_coll coll,
			      uint32_t rank, struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_programs *set = &me->programs[coll];
	struct gt_step *steps = set->steps;
	cudaError_t done;
	int rc = GT_OK;

	cudaSetDevice(me->device);
	for (uint32_t p = 0; !rc && p < set->nprograms; p++) {
		rc = gt_program_upload(engine, coll, rank, p, steps, err);
		steps += set->programs[p].nsteps;
	}
	if (rc)
		return rc;
	done = cudaMemcpyAsync(set->channels, set->image,
			       set->nprograms * sizeof(*set->image),
			       cudaMemcpyHostToDevice, me->own);
	if (done == cudaSuccess)
		done = cudaStreamSynchronize(me->own);
	return done == cudaSuccess ? GT_OK
				   : gt_cuda_fail(engine, rank, (int)done,
						  "copy the programs", err);
}

/* Free everything of a collective but its region. */
static void gt_programs_free(struct gt_engine *engine, enum gt_coll coll)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_programs *set = &engine->ranks[r].programs[coll];

		cudaSetDevice(engine->ranks[r].device);
		cudaFree(set->channels);
		cudaFree(set->conns);
		cudaFree(set->steps);
	}
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		memset(&engine->ranks[r].programs[coll], 0,
		       sizeof(engine->ranks[r].programs[coll]));
	gt_arena_free(engine->program_arenas[coll]);
	engine->program_arenas[coll] = NULL;
}

void gt_cuda_disconnect(struct gt_engine *engine)
{
	for (int coll = 0; coll < GT_NCOLLS; coll++)
		gt_programs_free(engine, (enum gt_coll)coll);
}

/* Forget all collectives, as links hold the FIFOs of one at a time. */
static int gt_programs_forget(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++) {
		if (!(engine->connected >> coll & 1))
			continue;
		engine->connected &= ~(1u << coll);
		gt_programs_free(engine, (enum gt_coll)coll);
		rc = gt_cuda_region_drop(engine, GT_CUDA_FIFOS + coll, err);
	}
	return rc;
}

static int gt_programs_make(struct gt_engine *engine, enum gt_coll coll,
			    struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	int rc = GT_OK;

	if (!engine->program_arenas[coll])
		engine->program_arenas[coll] = gt_arena_new();
	if (!engine->program_arenas[coll])
		rc = gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < engine->plan->nranks; r++)
		rc = gt_cuda_programs_lower(engine, coll, r, err);
	for (uint32_t r = group->first; !rc && r < group->end; r++)
		rc = gt_programs_alloc(engine, coll, r, err);
	if (!rc)
		rc = gt_programs_alloc_fifos(engine, coll, err);
	return rc ? rc : gt_programs_add_links(engine, coll, err);
}

/* Copy the programs to the GPUs, when their links are connected. */
static int gt_programs_ready(struct gt_engine *engine, enum gt_coll coll,
			     struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	int rc = GT_OK;

	for (uint32_t r = group->first; !rc && r < group->end; r++)
		rc = gt_programs_upload(engine, coll, r, err);
	if (rc)
		return rc;
	engine->connected |= 1u << coll;
	engine->loaded_dtypes = 0; /* shared_bytes may have grown */
	return GT_OK;
}

int gt_cuda_connect(struct gt_engine *engine, enum gt_coll coll,
		    struct gt_err *err)
{
	int rc = GT_OK;

	if (engine->connected & 1u << coll)
		return GT_OK;
	if (gt_process_group_has_links(&engine->group))
		rc = gt_programs_forget(engine, err);
	if (!rc)
		rc = gt_programs_make(engine, coll, err);
	if (!rc)
		rc = gt_programs_connect_links(engine, err);
	return rc ? rc : gt_programs_ready(engine, coll, err);
}

/* Connect in GPUs' memory what requests of several processes may go through. */
static int gt_programs_connect_memory(struct gt_engine *engine,
				      struct gt_err *err)
{
	int rc = GT_OK;

	for (int coll = 0; !rc && engine->group.world && coll < GT_NCOLLS;
	     coll++)
		if (gt_cuda_programs_exist(engine, (enum gt_coll)coll) &&
		    gt_cuda_may_use_fifos(engine, (enum gt_coll)coll))
			rc = gt_cuda_connect(engine, (enum gt_coll)coll, err);
	return rc;
}

int gt_cuda_connect_all(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	if (!gt_process_group_has_links(&engine->group))
		return gt_programs_connect_memory(engine, err);
	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++)
		if (gt_cuda_programs_exist(engine, (enum gt_coll)coll))
			rc = gt_programs_make(engine, (enum gt_coll)coll, err);
	if (!rc)
		rc = gt_programs_connect_links(engine, err);
	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++)
		if (engine->program_arenas[coll])
			rc = gt_programs_ready(engine, (enum gt_coll)coll, err);
	return rc;
}

int gt_cuda_link_progress(const struct gt_engine *engine, enum gt_coll coll,
			  uint32_t rank, uint64_t *moved)
{
	const struct gt_cuda_programs *set =
		&engine->ranks[rank].programs[coll];
	uint32_t n = set->conn_at[set->nprograms], far = 0;

	*moved = 0;
	for (uint32_t i = 0;
	     i < n && gt_process_group_has_links(&engine->group); i++) {
		struct gt_fifo *fifo = set->ends[i].fifo;

		if (!fifo)
			continue;
		far++;
		/*
		 * Its own posts and the other side's are all that happens to a
		 * FIFO.
		 */
		*moved += atomic_load_explicit(&fifo->data,
					       memory_order_relaxed) +
			  atomic_load_explicit(&fifo->credit,
					       memory_order_relaxed);
	}
	return far != 0;
}
