/*
 * Detours: the last elements of every block go through the host's memory, by
 * copy engines over PCIe, beside those that go over NVLink.  Where GPUs do not
 * reach each other, all elements go so, and nothing beside them.
 *
 * They are cut into chunks, which lanes take in turn.  A lane goes in steps,
 * alike on all ranks:
 *
 *     out    chunk c of this rank's blocks, and the sum of chunk c - 2 LANES,
 *            to slots in the host's memory
 *     in     beside it, chunk c - LANES of the others' blocks from their slots,
 *            to be added up if it is summed; sums that others have sent
 *     meet   behind both: tell the others, and wait for them
 *
 * Meetings follow one another, and all else that waits for other ranks comes
 * before or behind them; but for sums by copy engines, where all ranks do the
 * same, a root that pulls, whom the others tell before, and a kernel beside the
 * first barrier, which tells the others before it waits.  So whatever order a
 * GPU's queues, or a graph's, bring into what is not ordered here, nobody waits
 * for something that is behind its own waiting.  What is put into slots in a
 * step is taken in the next, and replaced in the one after that.
 *
 * Where all elements go so, the meetings are all that waits: slots are free
 * when the operation begins, as its last meeting was behind all copies of the
 * one before, and nobody writes to another's buffers.
 */
#include "exec/cuda/p2p/detour.h"

#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/detour_slots.h"
#include "exec/cuda/p2p/p2p.h"
#include "plan/ir/plan.h"

enum {
	GT_DETOUR_LAST_STEPS = 3, /* behind the last chunk, to take its sum */
	GT_DETOUR_BLOCKS = 16,
	/*
	 * Where all goes so, a rank's step has at least so many bytes, and an
	 * operation so many steps if they are larger.  Reasoned, not measured:
	 * at 35 GB/s the least lasts 15 us, a meeting 5 to 8, which the other
	 * lane hides; and the first step out and the last one in, which nothing
	 * hides, should be a small part of all.
	 */
	GT_STAGED_STEP_BYTES = 512 << 10,
	GT_STAGED_STEPS = 24,
	GT_STAGED_GRAIN_BYTES = 4096,
};

/* One rank's part in one operation. */
struct gt_detouring {
	const struct gt_engine *engine;
	const struct gt_exec_request *req;
	const struct gt_cuda_rank *me;
	const struct gt_cuda_detour *detour;
	struct gt_p2p flow;
	uint32_t rank;
	int is_all; /* nothing goes another way */
	uint32_t nchunks;
	int puts, takes; /* copies out and in, at all ... */
	int put, took;   /* ... since the last meeting */
	uint64_t elem_bytes;
	uint64_t chunk; /* elements */
	char *input, *output;
	cudaError_t rc; /* the first failure */
};

static void gt_detour_try(struct gt_detouring *at, cudaError_t rc)
{
	if (at->rc == cudaSuccess)
		at->rc = rc;
}

static struct gt_detour_slots *gt_detour_slots(const struct gt_detouring *at,
					       uint32_t rank)
{
	return (struct gt_detour_slots *)at->engine->detour_slots.base + rank;
}

/*
 * To whom does a rank send blocks?  What it sends is one item where all get the
 * same.
 */
static uint32_t gt_detour_to(const struct gt_p2p *flow)
{
	return flow->to & ~(1u << flow->me);
}

static int gt_detour_is_shared(const struct gt_p2p *flow)
{
	return !flow->in_stride;
}

/* Does a rank add up the blocks that come to it? */
static int gt_detour_adds(const struct gt_p2p *flow)
{
	return flow->flags & GT_P2P_SPREAD ? (int)(flow->via >> flow->me & 1)
					   : flow->flags & GT_P2P_REDUCE;
}

/* Whose blocks come to a rank? */
static uint32_t gt_detour_from(const struct gt_p2p *flow)
{
	uint32_t from = flow->flags & GT_P2P_SPREAD ? 0 : flow->from;

	if (gt_detour_adds(flow))
		from = flow->adds;
	return from & ~(1u << flow->me);
}

/* To whom does a rank send sums?  gt_detour_summing() says whose come to it. */
static uint32_t gt_detour_back(const struct gt_p2p *flow)
{
	if (!(flow->flags & GT_P2P_SPREAD) || !(flow->via >> flow->me & 1))
		return 0;
	return flow->back & ~(1u << flow->me);
}

static uint32_t gt_detour_summing(const struct gt_p2p *flow)
{
	if (!(flow->flags & GT_P2P_SPREAD) || flow->takes != GT_P2P_SUMS)
		return 0;
	return flow->from & ~(1u << flow->me);
}

/*
 * How many blocks does a rank put out in a step?  A sum is the item behind
 * them.
 */
static uint32_t gt_detour_blocks(const struct gt_p2p *flow)
{
	uint32_t to = gt_detour_to(flow);

	return gt_detour_is_shared(flow) ? to != 0
					 : (uint32_t)__builtin_popcount(to);
}

/* Number the item that a rank sends to rank d. */
static uint32_t gt_detour_item(const struct gt_p2p *flow, uint32_t d)
{
	uint32_t to = gt_detour_to(flow), n = 0;

	if (!gt_detour_is_shared(flow))
		for (uint32_t i = 1; gt_p2p_next(flow, i) != d; i++)
			n += to >> gt_p2p_next(flow, i) & 1;
	return n;
}

/* Find a rank's item of a step: lanes alternate between two places. */
static char *gt_detour_slot(const struct gt_detouring *at, uint32_t rank,
			    uint32_t lane, uint32_t step, uint32_t item)
{
	struct gt_detour_slots *room = gt_detour_slots(at, rank);

	return room->slots[lane][step % 2] + item * at->chunk * at->elem_bytes;
}

/* How many bytes has chunk c of rank r's block?  0 behind the last. */
static uint64_t gt_detour_bytes(const struct gt_detouring *at, uint32_t r,
				uint32_t c)
{
	uint64_t count = gt_p2p_count(&at->flow, gt_p2p_block(&at->flow, r));
	uint64_t begin = c * at->chunk;

	if (begin >= count)
		return 0;
	return (count - begin < at->chunk ? count - begin : at->chunk) *
	       at->elem_bytes;
}

/* Say where chunk c of rank r's block begins in a buffer. */
static uint64_t gt_detour_at(const struct gt_detouring *at, uint64_t stride,
			     uint32_t r, uint32_t c)
{
	return (gt_p2p_block(&at->flow, r) * stride + c * at->chunk) *
	       at->elem_bytes;
}

static void gt_detour_copy(struct gt_detouring *at, char *to, const char *from,
			   uint64_t bytes, cudaStream_t stream)
{
	if (bytes && at->rc == cudaSuccess)
		gt_detour_try(at, cudaMemcpyAsync(to, from, bytes,
						  cudaMemcpyDefault, stream));
}

static void gt_detour_put(struct gt_detouring *at, uint32_t lane, char *to,
			  const char *from, uint64_t bytes)
{
	at->put |= bytes != 0;
	gt_detour_copy(at, to, from, bytes, at->detour->out[lane]);
}

static void gt_detour_take(struct gt_detouring *at, uint32_t lane, char *to,
			   const char *from, uint64_t bytes)
{
	at->took |= bytes != 0;
	gt_detour_copy(at, to, from, bytes, at->detour->in[lane]);
}

/* Let what comes on `to` wait for what is on `from`. */
static void gt_detour_after(struct gt_detouring *at, cudaStream_t to,
			    cudaStream_t from)
{
	if (at->rc == cudaSuccess)
		gt_detour_try(at, cudaEventRecord(at->detour->event, from));
	if (at->rc == cudaSuccess)
		gt_detour_try(at,
			      cudaStreamWaitEvent(to, at->detour->event, 0));
}

/*
 * A lane goes on behind the meeting, but not on a stream that it never copies
 * on: in a graph a stream without nodes collects all that it waits for, and
 * hands all of it to whoever waits for it, so that a graph of n operations
 * would have edges like n * n.
 */
static void gt_detour_go_on(struct gt_detouring *at, uint32_t lane)
{
	const struct gt_cuda_detour *detour = at->detour;

	if (at->puts)
		gt_detour_after(at, detour->out[lane], detour->meet);
	if (at->takes)
		gt_detour_after(at, detour->in[lane], detour->meet);
}

/*
 * Meet when all ranks have done a lane's step: the operation's meeting of that
 * number.
 */
static void gt_detour_barrier(struct gt_detouring *at, uint32_t lane,
			      uint32_t number, int last)
{
	const struct gt_cuda_detour *detour = at->detour;
	struct gt_detour_args args = {
		.guard = gt_cuda_guard_of(at->engine, at->rank),
		.number = number + 1,
		.me = at->rank,
		.nranks = at->flow.nranks,
		.last = (uint32_t)last};

	args.guard.epoch = detour->epoch;
	args.guard.reports = at->me->reports + at->engine->nblocks - 1;
	if (!at->is_all)
		args.guard.fault = GT_KERNEL_FAULT_NONE; /* the rest has it */
	for (uint32_t r = 0; r < at->flow.nranks; r++)
		args.flags[r] = &gt_detour_slots(at, r)->told;
	if (at->put)
		gt_detour_after(at, detour->meet, detour->out[lane]);
	if (at->took)
		gt_detour_after(at, detour->meet, detour->in[lane]);
	at->put = at->took = 0;
	if (at->rc == cudaSuccess)
		gt_detour_try(at,
			      (cudaError_t)gt_detour_run(&args, detour->meet));
	gt_detour_go_on(at, lane);
}

/*
 * Of 2 ranks each may as well add up everything: the same bytes cross PCIe in
 * fewer steps.  A detour keeps to what the rest does.
 */
static struct gt_p2p gt_detour_flow(const struct gt_detouring *at,
				    uint32_t rank)
{
	const struct gt_exec_request *req = at->req;
	int many = at->engine->plan->nranks > 2;
	int two = (req->coll == GT_COLL_ALLREDUCE && (many || !at->is_all)) ||
		  (req->coll == GT_COLL_REDUCE && many);

	return gt_cuda_p2p_of(at->engine, req,
			      two ? GT_ALGO_TWO_SHOT : GT_ALGO_ONE_SHOT, rank);
}

/* Say where rank s's block waits to be added up. */
static char *gt_detour_pile(const struct gt_detouring *at, uint32_t lane,
			    uint32_t s)
{
	return at->detour->piles +
	       (lane * at->flow.nranks + s) * at->detour->chunk_bytes;
}

/*
 * Say where the sum of chunk c is made: in this rank's result if it is part of
 * it; else in a place of its own, until it is sent two steps later.
 */
static char *gt_detour_sum(const struct gt_detouring *at, uint32_t c)
{
	const struct gt_p2p *flow = &at->flow;
	uint64_t place = c % (GT_DETOUR_LANES * GT_DETOUR_SUM_STEPS);

	if (flow->flags & GT_P2P_SPREAD && !(flow->back >> at->rank & 1))
		return at->detour->sums + place * at->detour->chunk_bytes;
	return at->output + gt_detour_at(at, flow->out_stride, at->rank, c);
}

/* Add up what has come of chunk c, in the order of ranks. */
static void gt_detour_add(struct gt_detouring *at, uint32_t lane, uint32_t c)
{
	const struct gt_kernel_grid grid = {
		.dtype = at->req->dtype,
		.op = at->req->op,
		.blocks = at->is_all ? at->engine->choice.blocks
				     : GT_DETOUR_BLOCKS,
		.threads = GT_DIRECT_THREADS,
		.stream = at->detour->in[lane]};
	struct gt_direct_args args = {
		.guard = gt_cuda_guard_of(at->engine, at->rank),
		.flow = at->flow,
		.moves = 1};
	uint64_t bytes = gt_detour_bytes(at, at->rank, c);

	args.guard.fault = GT_KERNEL_FAULT_NONE;
	for (uint32_t s = 0; s < at->flow.nranks; s++)
		args.input[s] = gt_detour_pile(at, lane, s);
	args.input[at->rank] =
		at->input + gt_detour_at(at, at->flow.in_stride, at->rank, c);
	args.output[at->rank] = gt_detour_sum(at, c);
	args.flow.flags = GT_P2P_REDUCE;
	args.flow.count = bytes / at->elem_bytes;
	args.flow.end = args.flow.in_stride = args.flow.out_stride = 0;
	if (bytes && at->rc == cudaSuccess)
		gt_detour_try(at, (cudaError_t)gt_direct_run(&grid, &args));
}

/* Put chunk c of this rank's blocks into its slots; one item may be for all. */
static void gt_detour_put_blocks(struct gt_detouring *at, uint32_t lane,
				 uint32_t step, uint32_t c)
{
	const struct gt_p2p *flow = &at->flow;
	uint32_t to = gt_detour_to(flow);
	int shared = gt_detour_is_shared(flow);

	for (uint32_t i = 1; i < flow->nranks && to; i++) {
		uint32_t d = gt_p2p_next(flow, i);

		if (!shared && !(to >> d & 1))
			continue;
		gt_detour_put(at, lane,
			      gt_detour_slot(at, at->rank, lane, step,
					     gt_detour_item(flow, d)),
			      at->input +
				      gt_detour_at(at, flow->in_stride, d, c),
			      gt_detour_bytes(at, d, c));
		if (shared)
			return;
	}
}

static void gt_detour_put_sum(struct gt_detouring *at, uint32_t lane,
			      uint32_t step, uint32_t c)
{
	const struct gt_p2p *flow = &at->flow;

	if (gt_detour_back(flow))
		gt_detour_put(at, lane,
			      gt_detour_slot(at, at->rank, lane, step,
					     gt_detour_blocks(flow)),
			      gt_detour_sum(at, c),
			      gt_detour_bytes(at, at->rank, c));
}

/* Take chunk c of the others' blocks, which they put out in the step before. */
static void gt_detour_take_blocks(struct gt_detouring *at, uint32_t lane,
				  uint32_t step, uint32_t c)
{
	const struct gt_p2p *flow = &at->flow;
	uint32_t n = flow->nranks, from = gt_detour_from(flow);

	for (uint32_t i = 1; i < n; i++) {
		uint32_t s = gt_p2p_next(flow, n - i);
		struct gt_p2p theirs = gt_detour_flow(at, s);
		char *to = gt_detour_pile(at, lane, s);

		if (!(from >> s & 1))
			continue;
		if (!gt_detour_adds(flow))
			to = at->output +
			     gt_detour_at(at, flow->out_stride, s, c);
		gt_detour_take(
			at, lane, to,
			gt_detour_slot(at, s, lane, step - 1,
				       gt_detour_item(&theirs, at->rank)),
			gt_detour_bytes(at, at->rank, c));
	}
}

/* Take the others' sums of chunk c, which they put out in the step before. */
static void gt_detour_take_sums(struct gt_detouring *at, uint32_t lane,
				uint32_t step, uint32_t c)
{
	const struct gt_p2p *flow = &at->flow;
	uint32_t n = flow->nranks, from = gt_detour_summing(flow);

	for (uint32_t i = 1; i < n; i++) {
		uint32_t s = gt_p2p_next(flow, n - i);
		struct gt_p2p theirs = gt_detour_flow(at, s);

		if (from >> s & 1)
			gt_detour_take(
				at, lane,
				at->output + gt_detour_at(at, flow->out_stride,
							  s, c),
				gt_detour_slot(at, s, lane, step - 1,
					       gt_detour_blocks(&theirs)),
				gt_detour_bytes(at, s, c));
	}
}

/* How many steps has each lane?  They are alike on all ranks. */
static uint32_t gt_detour_steps(const struct gt_detouring *at)
{
	uint32_t steps = (at->nchunks + GT_DETOUR_LANES - 1) / GT_DETOUR_LANES;

	return steps +
	       (at->flow.flags & GT_P2P_SPREAD ? GT_DETOUR_LAST_STEPS : 1);
}

int gt_cuda_detour_begin(const struct gt_engine *engine, uint32_t rank)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	const struct gt_cuda_detour *detour = me->detour;
	cudaError_t rc = cudaEventRecord(detour->event, me->stream);

	if (rc == cudaSuccess)
		rc = cudaStreamWaitEvent(detour->meet, detour->event, 0);
	return (int)rc;
}

/* How many elements has a chunk, alike on all ranks? */
static uint64_t gt_detour_chunk_elems(const struct gt_detouring *at)
{
	uint64_t most = at->detour->chunk_bytes, bytes, least;
	uint32_t items = at->flow.nranks - 1;

	if (!at->is_all)
		return most / at->elem_bytes;
	if (at->req->coll == GT_COLL_BROADCAST ||
	    at->req->coll == GT_COLL_SENDRECV)
		items = 1;
	least = GT_STAGED_STEP_BYTES / items;
	bytes = at->flow.count * at->elem_bytes / GT_STAGED_STEPS;
	bytes = (bytes < least ? least : bytes) / GT_STAGED_GRAIN_BYTES *
		GT_STAGED_GRAIN_BYTES;
	return (bytes < most ? bytes : most) / at->elem_bytes;
}

/* Fill in what the rank's part of a request that takes the detour is. */
static void gt_detour_init(struct gt_detouring *at)
{
	const struct gt_exec_request *away = at->req;
	struct gt_cuda_span span =
		gt_cuda_span_of(at->engine, away, at->rank, at->rank);

	at->me = &at->engine->ranks[at->rank];
	at->detour = at->me->detour;
	at->elem_bytes = gt_dtype_bytes(away->dtype);
	at->input = span.input;
	/* Alone, a chunk of all blocks has gone before one comes there. */
	if (gt_cuda_p2p_overwrites(away) && !at->is_all)
		at->input = gt_cuda_region_at(at->engine,
					      gt_cuda_pulls(at->engine)
						      ? GT_CUDA_DATA
						      : GT_CUDA_SCRATCH,
					      at->rank, at->rank) +
			    away->part_first * at->elem_bytes;
	at->output = span.output;
	at->flow = gt_detour_flow(at, at->rank);
	at->chunk = gt_detour_chunk_elems(at);
	at->nchunks = (uint32_t)((at->flow.count + at->chunk - 1) / at->chunk);
	at->puts = (gt_detour_to(&at->flow) | gt_detour_back(&at->flow)) != 0;
	at->takes =
		(gt_detour_from(&at->flow) | gt_detour_summing(&at->flow)) != 0;
}

/* Put the c-th of all lanes' steps, of n, on the rank's streams. */
static void gt_detour_step(struct gt_detouring *at, uint32_t c, uint32_t n)
{
	uint32_t lane = c % GT_DETOUR_LANES, step = c / GT_DETOUR_LANES;
	uint32_t before = c - GT_DETOUR_LANES, sum = GT_DETOUR_SUM_STEPS;

	gt_detour_put_blocks(at, lane, step, c);
	if (step >= 1)
		gt_detour_take_blocks(at, lane, step, before);
	if (step >= 1 && gt_detour_adds(&at->flow))
		gt_detour_add(at, lane, before);
	if (step >= sum)
		gt_detour_put_sum(at, lane, step, c - sum * GT_DETOUR_LANES);
	if (step >= sum + 1)
		gt_detour_take_sums(at, lane, step,
				    c - (sum + 1) * GT_DETOUR_LANES);
	gt_detour_barrier(at, lane, c, c + 1 == n);
}

/* Let the rank's stream wait for all copies. */
static void gt_detour_join(struct gt_detouring *at)
{
	for (uint32_t lane = 0; lane < GT_DETOUR_LANES; lane++) {
		if (at->puts)
			gt_detour_after(at, at->me->stream,
					at->detour->out[lane]);
		if (at->takes)
			gt_detour_after(at, at->me->stream,
					at->detour->in[lane]);
	}
}

int gt_cuda_detour_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *rest, uint32_t rank)
{
	struct gt_exec_request away = *rest;
	struct gt_detouring at = {.engine = engine, .req = &away, .rank = rank};
	uint32_t n;

	away.part_first = rest->part_count;
	away.part_count = rest->count - rest->part_count;
	gt_detour_init(&at);
	n = gt_detour_steps(&at) * GT_DETOUR_LANES;
	for (uint32_t lane = 0; lane < GT_DETOUR_LANES; lane++)
		gt_detour_go_on(&at, lane);
	for (uint32_t c = 0; c < n; c++)
		gt_detour_step(&at, c, n);
	gt_detour_join(&at);
	return (int)at.rc;
}

/*
 * Begin a rank's part: its lanes start from where its stream is, which then
 * moves the block that stays on the rank.
 */
static void gt_staged_begin(struct gt_detouring *at)
{
	const struct gt_p2p *flow = &at->flow;
	uint64_t bytes = flow->count * at->elem_bytes, block = at->rank;
	char *to = at->output + block * flow->out_stride * at->elem_bytes;
	const char *from = at->input + block * flow->in_stride * at->elem_bytes;

	gt_detour_try(at,
		      (cudaError_t)gt_cuda_detour_begin(at->engine, at->rank));
	for (uint32_t lane = 0; lane < GT_DETOUR_LANES; lane++)
		gt_detour_go_on(at, lane);
	if (flow->to >> at->rank & 1 && flow->takes == GT_P2P_BLOCKS &&
	    to != from)
		gt_detour_copy(at, to, from, bytes, at->me->stream);
}

int gt_cuda_staged_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t first,
			  uint32_t end)
{
	struct gt_detouring all[GT_P2P_RANKS];
	cudaError_t rc = cudaSuccess;
	uint32_t n = 0;

	for (uint32_t r = first; r < end; r++) {
		struct gt_detouring *at = &all[r - first];

		*at = (struct gt_detouring){
			.engine = engine, .req = req, .rank = r, .is_all = 1};
		gt_detour_init(at);
		gt_detour_try(at, cudaSetDevice(at->me->device));
		gt_staged_begin(at);
		n = gt_detour_steps(at) * GT_DETOUR_LANES;
	}
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t r = first; r < end; r++) {
			struct gt_detouring *at = &all[r - first];

			if (end - first > 1)
				gt_detour_try(at,
					      cudaSetDevice(at->me->device));
			gt_detour_step(at, c, n);
		}
	for (uint32_t r = first; r < end; r++) {
		gt_detour_join(&all[r - first]);
		if (rc == cudaSuccess)
			rc = all[r - first].rc;
	}
	return (int)rc;
}

/*
 * The root waits for the others when it begins, who tell it before their
 * detours, and not at its end.  A rank that serves it tells it first, and waits
 * for it behind the detour.
 */
int gt_cuda_detour_pull(const struct gt_engine *engine,
			const struct gt_exec_request *rest, uint32_t rank)
{
	const struct gt_kernel_grid grid = gt_cuda_p2p_grid(engine, rest, rank);
	struct gt_direct_args first = gt_cuda_direct_args(engine, rest, rank);
	struct gt_direct_args last = first;
	int pulls = rest->root == rank;
	int rc = pulls ? gt_cuda_detour_begin(engine, rank) : 0;

	first.end_wait = 0;
	if (!pulls)
		first.begin_wait = first.end_post = first.last = 0;
	if (!rc)
		rc = gt_direct_run(&grid, &first);
	if (!rc && !pulls)
		rc = gt_cuda_detour_begin(engine, rank);
	if (!rc)
		rc = gt_cuda_detour_launch(engine, rest, rank);
	last.begin_post = last.begin_wait = 0;
	return rc || pulls ? rc : gt_direct_run(&grid, &last);
}
