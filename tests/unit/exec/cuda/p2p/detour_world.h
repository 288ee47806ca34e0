/*
 * Ranks whose copies go through the host's memory, SIMULATED: no GPU takes
 * part.  What exec/cuda/p2p/detour.c, which is included here, puts on streams
 * is played in many orders (streams.h), and what then lies in buffers is
 * compared.
 *
 * Several operations are put one behind the other, in the same buffers, so a
 * rank runs ahead of others, and what one operation left to do shows in the
 * next one.
 */
#ifndef GT_TESTS_UNIT_EXEC_CUDA_P2P_DETOUR_WORLD_H
#define GT_TESTS_UNIT_EXEC_CUDA_P2P_DETOUR_WORLD_H

#include "unit/exec/cuda/p2p/streams.h"
#include "unit/test.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "plan/ir/plan.h"

/* Chunks of 48 elements or fewer, where slices are multiples of 32. */
enum {
	CHUNK_BYTES = 192,
	STEP_BYTES = 8 * CHUNK_BYTES, /* smaller chunks of 16 ranks */
	PAGE_BYTES = 64,
	CHUNK_ELEMS = CHUNK_BYTES / 4,
	LINE_ELEMS = 32,
	SLOT_BYTES = sizeof(((struct gt_detour_slots *)0)->slots[0][0]),
};

#define cudaSetDevice       fake_device
#define cudaMemcpyAsync     fake_copy
#define cudaEventRecord     fake_record
#define cudaStreamWaitEvent fake_await
#define gt_detour_run       fake_meet
#define gt_direct_run       fake_sum

static cudaError_t fake_device(int device);
static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream);
static cudaError_t fake_record(cudaEvent_t event, cudaStream_t stream);
static cudaError_t fake_await(cudaStream_t stream, cudaEvent_t event,
			      unsigned int flags);
static int fake_meet(const struct gt_detour_args *args, cudaStream_t stream);
static int fake_sum(const struct gt_kernel_grid *grid,
		    const struct gt_direct_args *args);

#include "exec/cuda/p2p/detour.c"

enum {
	MAIN_ELEMS = 5,    /* of a block, that take no detour */
	OPS = STREAMS_OPS, /* one behind the other */
	CHUNKS = 16,       /* of a block or a slice, at most */
	UNTOUCHED = 0x5eed,
	VALUE_BITS = 20, /* a sum of all ranks' is positive */
	NEVER = 2000000000,
};

enum order { AROUND, BESIDE, PULLED, STAGED };

struct op {
	struct gt_exec_request req;
	enum order order;
	uint64_t away; /* elements of a block that go the detour */
};

/* What a rank has beside what the detour knows. */
struct side {
	struct gt_kernel_epoch detour, main;
	uint64_t told; /* of what takes no detour */
	char from[CHUNK_BYTES], to[CHUNK_BYTES];
	uint32_t mark; /* of its event */
};

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_cuda_rank ranks[GT_P2P_RANKS];
	struct gt_cuda_detour detours[GT_P2P_RANKS];
	struct gt_kernel_report reports[GT_CUDA_DETOUR_REPORTS];
	struct side sides[GT_P2P_RANKS];
	char *data[GT_P2P_RANKS * GT_P2P_RANKS];
	char *scratch[GT_P2P_RANKS * GT_P2P_RANKS];
	struct op ops[OPS];
	uint32_t calls, calls_most; /* of CUDA; more fail */
} world;

/* Putting. */

static cudaError_t called(void)
{
	return world.calls++ < world.calls_most ? cudaSuccess
						: cudaErrorUnknown;
}

static void *kept(const void *args, size_t bytes)
{
	return memcpy(malloc(bytes), args, bytes);
}

static int is_out(const struct stream *stream)
{
	return streams_which(stream) % 2 == STREAM_LANES % 2;
}

/* In a slot of its rank's and its lane's, of which there is as much. */
static void expect_slot(const struct stream *stream, const char *at,
			size_t bytes)
{
	const struct gt_detour_slots *room = world.engine.detour_slots.base;
	uint64_t rank = (uint64_t)(at - (const char *)room) / sizeof(*room);
	uint64_t lane, rest;

	assert_in_range(rank, 0, world.plan.nranks - 1);
	rest = (uint64_t)(at - room[rank].slots[0][0]);
	lane = rest / (2 * SLOT_BYTES);
	assert_int_equal(lane, (streams_which(stream) - STREAM_LANES) / 2);
	assert_in_range(rest % SLOT_BYTES + bytes, 1, STEP_BYTES);
	if (is_out(stream))
		assert_int_equal(rank, stream->rank);
	else
		assert_int_not_equal(rank, stream->rank);
}

static struct command *put_copy(struct stream *stream, char *to,
				const char *from, size_t bytes)
{
	struct command *c = streams_put(stream, COPY);

	c->to = to;
	c->from = from;
	c->bytes = (uint32_t)bytes;
	return c;
}

static cudaError_t fake_device(int device)
{
	(void)device;
	return called();
}

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on)
{
	struct stream *stream = (struct stream *)on;

	assert_int_equal(kind, cudaMemcpyDefault);
	/* A block that stays on its rank is copied beside. */
	if (streams_which(stream) == STREAM_MAIN) {
		put_copy(stream, to, from, bytes);
		return called();
	}
	assert_in_range(bytes, 1, CHUNK_BYTES);
	expect_slot(stream, is_out(stream) ? to : from, bytes);
	put_copy(stream, to, from, bytes);
	return called();
}

static cudaError_t fake_record(cudaEvent_t event, cudaStream_t stream)
{
	streams_event_record(event, stream);
	return called();
}

static cudaError_t fake_await(cudaStream_t stream, cudaEvent_t event,
			      unsigned int flags)
{
	streams_event_await(stream, event, flags);
	return called();
}

static int fake_meet(const struct gt_detour_args *args, cudaStream_t on)
{
	struct stream *stream = (struct stream *)on;

	assert_int_equal(streams_which(stream), STREAM_MEET);
	assert_in_range(
		(uintptr_t)args->guard.reports, (uintptr_t)world.reports,
		(uintptr_t)(world.reports + GT_CUDA_DETOUR_REPORTS) - 1);
	assert_int_equal(args->number, ++streams.meetings[stream->rank]);
	streams_put(stream, MEET)->args = kept(args, sizeof(*args));
	return (int)called();
}

static int fake_sum(const struct gt_kernel_grid *grid,
		    const struct gt_direct_args *args)
{
	assert_int_equal(grid->dtype, GT_DTYPE_INT32);
	assert_true(args->flow.flags == GT_P2P_REDUCE);
	assert_true(args->moves && !args->last && !args->begin_post &&
		    !args->begin_wait && !args->end_post && !args->end_wait);
	streams_put((struct stream *)grid->stream, SUM)->args =
		kept(args, sizeof(*args));
	return (int)called();
}

#include "unit/exec/cuda/p2p/values.h"

/* Blocks that only move on a rank itself belong to the rest, too. */
static int is_own(const struct gt_exec_request *req, uint32_t rank,
		  uint64_t block)
{
	if (req->coll == GT_COLL_BROADCAST || req->coll == GT_COLL_SCATTER)
		return rank == req->root;
	return block == rank &&
	       (req->coll == GT_COLL_ALLGATHER || req->coll == GT_COLL_GATHER ||
		req->coll == GT_COLL_ALLTOALL);
}

/* The caller writes a rank's input; what is set aside comes behind it. */
static void fill(uint32_t op, uint32_t rank)
{
	const struct gt_exec_request *req = &world.ops[op].req;
	struct gt_cuda_span span =
		gt_cuda_span_of(&world.engine, req, rank, rank);
	int32_t *input = (int32_t *)span.input;
	int32_t *output = (int32_t *)span.output;

	for (uint64_t i = 0; i < span.output_count; i++)
		output[i] = UNTOUCHED;
	/* Of an all-gather all have their own block. */
	for (uint64_t i = 0; i < span.input_count; i++)
		input[i] = value(op, rank, i);
	if (gt_cuda_p2p_overwrites(req))
		memcpy(gt_cuda_region_at(&world.engine, GT_CUDA_SCRATCH, rank,
					 rank),
		       input, span.input_count * sizeof(*input));
}

static void expect(int32_t found, int32_t wanted, uint32_t op, uint32_t rank,
		   uint64_t at)
{
	if (found != wanted)
		fail_msg("operation %" PRIu32 ", %s, of %" PRIu32
			 " ranks, seed %" PRIu64 ": rank %" PRIu32
			 ", element %" PRIu64 ": %" PRId32 ", not %" PRId32,
			 op, gt_coll_name(world.ops[op].req.coll),
			 world.plan.nranks, streams.seed, rank, at, found,
			 wanted);
}

/* The caller reads a rank's output, and then writes other things there. */
static void check(uint32_t op, uint32_t rank)
{
	const struct gt_exec_request *req = &world.ops[op].req;
	uint64_t count = req->count, main = count - world.ops[op].away;
	int all = world.ops[op].order == STAGED;
	struct gt_cuda_span span =
		gt_cuda_span_of(&world.engine, req, rank, rank);
	int32_t *output = (int32_t *)span.output;

	for (uint64_t k = 0; k < span.output_count; k++)
		if (k % count >= main && (all || !is_own(req, rank, k / count)))
			expect(output[k],
			       result(op, rank, k / count, k % count), op, rank,
			       k);
		else if (!req->inplace)
			expect(output[k], UNTOUCHED, op, rank, k);
	memset(span.output, -1, span.output_count * sizeof(*output));
	memset(span.input, -1, span.input_count * sizeof(*output));
}

/* Setting up. */

static void *zeros(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Most elements of a rank's input or output: of one block for each rank. */
static uint64_t most_elems(uint32_t n)
{
	return (uint64_t)n * ((CHUNKS + 2) * n * CHUNK_ELEMS + MAIN_ELEMS);
}

static uint64_t chunk_bytes(uint32_t n)
{
	return n * CHUNK_BYTES <= STEP_BYTES
		       ? CHUNK_BYTES
		       : STEP_BYTES / n / PAGE_BYTES * PAGE_BYTES;
}

static void open_rank(uint32_t r, uint32_t n)
{
	struct gt_cuda_rank *me = &world.ranks[r];
	struct gt_cuda_detour *detour = &world.detours[r];

	me->stream = (cudaStream_t)streams_of(r, STREAM_MAIN);
	me->reports = world.reports;
	me->detour = detour;
	for (uint32_t i = 0; i < GT_DETOUR_LANES; i++) {
		detour->out[i] =
			(cudaStream_t)streams_of(r, STREAM_LANES + 2 * i);
		detour->in[i] =
			(cudaStream_t)streams_of(r, STREAM_LANES + 2 * i + 1);
	}
	detour->meet = (cudaStream_t)streams_of(r, STREAM_MEET);
	detour->event = (cudaEvent_t)&world.sides[r].mark;
	detour->epoch = &world.sides[r].detour;
	detour->chunk_bytes = chunk_bytes(n);
	detour->piles = malloc(GT_DETOUR_LANES * n * detour->chunk_bytes);
	detour->sums = malloc(GT_DETOUR_SUM_STEPS * GT_DETOUR_LANES *
			      detour->chunk_bytes);
	world.data[r * n + r] = zeros(2 * world.engine.data_bytes);
	world.scratch[r * n + r] = zeros(world.engine.data_bytes);
}

static void open_world(uint32_t n)
{
	memset(&world, 0, sizeof(world));
	streams_open(n);
	world.plan.nranks = n;
	world.calls_most = NEVER;
	world.engine.plan = &world.plan;
	world.engine.ranks = world.ranks;
	world.engine.group.end = n;
	world.engine.choice.protocol = GT_PROTOCOL_CE;
	world.engine.nblocks = GT_CUDA_DETOUR_REPORTS;
	world.engine.regions[GT_CUDA_DATA].at = world.data;
	world.engine.regions[GT_CUDA_SCRATCH].at = world.scratch;
	world.engine.data_bytes = most_elems(n) * sizeof(int32_t);
	world.engine.detour_slots.base =
		zeros(n * sizeof(struct gt_detour_slots));
	for (uint32_t r = 0; r < n; r++)
		open_rank(r, n);
}

static void close_world(void)
{
	uint32_t n = world.plan.nranks;

	streams_close();
	for (uint32_t r = 0; r < n; r++) {
		free(world.detours[r].piles);
		free(world.detours[r].sums);
		munmap(world.data[r * n + r], 2 * world.engine.data_bytes);
		munmap(world.scratch[r * n + r], world.engine.data_bytes);
	}
	munmap(world.engine.detour_slots.base,
	       n * sizeof(struct gt_detour_slots));
}

static void put_call(uint32_t rank, void (*call)(uint32_t, uint32_t))
{
	streams_put(streams_of(rank, STREAM_MAIN), CALL)->call = call;
}

/* As it was before the first operation, but for what is in slots. */
static void play(uint64_t seed)
{
	struct gt_detour_slots *rooms = world.engine.detour_slots.base;

	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct side *side = &world.sides[r];

		rooms[r].told = side->told = 0;
		side->detour.count = side->main.count = 0;
	}
	streams_play(seed);
}

/* Elements of a block that are several chunks of each slice. */
static uint64_t many(const struct gt_exec_request *req, uint64_t *random)
{
	struct gt_detouring at = {.engine = &world.engine, .req = req};
	struct gt_p2p flow = gt_detour_flow(&at, 0);
	uint64_t chunks = CHUNKS - streams_draw(random, CHUNKS * 2 / 3);
	uint64_t slices = 1;

	if (flow.flags & GT_P2P_SPREAD)
		slices = (uint32_t)__builtin_popcount(flow.via);
	return (slices * chunks * CHUNK_ELEMS / LINE_ELEMS +
		streams_draw(random, 4)) *
	       LINE_ELEMS;
}

/* Copy engines add up while they wait for others; a root pulls. */
static enum order order_of(enum gt_coll coll)
{
	if (coll == GT_COLL_REDUCE)
		return PULLED;
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER
		       ? BESIDE
		       : AROUND;
}

/* All collectives, in any order; those with few elements have empty slices. */
static void make_ops(uint64_t seed)
{
	uint64_t random = seed;

	for (uint32_t i = 0; i < OPS; i++) {
		struct op *op = &world.ops[i];
		struct gt_exec_request *req = &op->req;

		req->coll = (enum gt_coll)(i % GT_NCOLLS);
		req->dtype = GT_DTYPE_INT32;
		req->op =
			streams_draw(&random, 2) ? GT_REDOP_SUM : GT_REDOP_AVG;
		req->root = streams_draw(&random, world.plan.nranks);
		req->inplace = (int)(i / GT_NCOLLS);
		op->away = (1 + streams_draw(&random, world.plan.nranks + 4)) *
			   LINE_ELEMS;
		req->count = 1;
		if (streams_draw(&random, 4))
			op->away = many(req, &random);
		req->count = op->away + MAIN_ELEMS;
		op->order = order_of(req->coll);
	}
	for (uint32_t i = OPS; i-- > 1;) {
		uint32_t k = streams_draw(&random, i + 1);
		struct op op = world.ops[i];

		world.ops[i] = world.ops[k];
		world.ops[k] = op;
	}
}

#endif
