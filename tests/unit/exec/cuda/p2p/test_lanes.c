/*
 * Requests of several processes whose buffers are not registered, SIMULATED: no
 * GPU takes part.  Each rank has an engine of its own, as of a process, which
 * knows no other caller's buffers.  What exec/cuda/pieces.c and
 * exec/cuda/p2p/copy_engine*.c, which are included here, put on streams in one
 * lane or in two is played in many orders (streams.h), and what then lies in
 * callers' buffers is compared.
 *
 * Operations are put one behind the other, in pieces of other sizes, so a rank
 * runs ahead of others, and what ranks hold for each other takes the place of
 * what they held before.
 */
#include "unit/exec/cuda/p2p/streams.h"
#include "unit/test.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"

#define cudaMemcpyAsync        fake_copy
#define cudaEventRecord        streams_event_record
#define cudaStreamWaitEvent    streams_event_await
#define gt_direct_run          fake_direct
#define gt_cuda_barrier_launch fake_barrier
#define gt_cuda_enqueue        fake_enqueue

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on);
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args);
static int fake_barrier(const struct gt_engine *engine, uint32_t rank,
			uint32_t stage, int last, cudaStream_t on);
static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times);

#include "exec/cuda/p2p/copy_engine.c"
#include "exec/cuda/p2p/copy_engine_lanes.c"
#include "exec/cuda/pieces.c"

enum {
	RANKS = 4, /* at most */
	OPS = STREAMS_OPS,
	STREAM_SECOND = STREAM_MEET, /* lane 1's: no detour meets on it */
	PIECES = 5,                  /* at most */
	PIECE_ELEMS = 160,           /* at most: lines for all ranks' slices */
	PROCESSORS = 8,
	/* Operations that go at once may sum in parts of whole grains. */
	SUM_PARTS = 2,
	SUM_ELEMS = SUM_PARTS * GT_CE_GRAIN_BYTES / 4,
	ROOM = (RANKS - 1) * (SUM_ELEMS + 32) * 4,
	CALLER_BYTES = 2 * RANKS * SUM_ELEMS * 4, /* input, then output */
	FLAGS_ROOM = 256 << 20, /* buffers of packets, then flags: untouched */
	VALUE_BITS = 20,        /* a sum of all ranks' is positive */
};

struct op {
	struct gt_exec_request req;
	struct gt_algo_choice choice;
	uint64_t piece_count;
	uint32_t turns[RANKS]; /* so many pieces are put at a time */
};

/* A rank's, as one process has it. */
struct process {
	struct gt_engine engine;
	struct gt_cuda_rank ranks[RANKS];
	struct gt_kernel_epoch epochs[2];
	uint32_t mark, edges[2][GT_CUDA_EDGES]; /* of its events */
	char *held[2];                          /* of each lane */
	char *mail, *caller, *before;
};

static struct world {
	struct gt_plan plan;
	struct process processes[RANKS];
	/* All processes see the same addresses. */
	char *data[RANKS], *scratch[RANKS], *mail[RANKS];
	struct op ops[OPS];
	uint64_t held_bytes;      /* at most, of what is put now */
	struct gt_engine callers; /* whose own buffers are the callers' */
	char *buffers[RANKS * RANKS];
} world;

/* Putting. */

/* Do so many bytes lie in as many others? */
static int is_in(const char *at, size_t bytes, const char *memory, size_t room)
{
	return at >= memory && at + bytes <= memory + room;
}

/* Whose lanes hold what is here, in the room for it?  RANKS: nobody's. */
static uint32_t holder_of(const char *at, size_t bytes)
{
	for (uint32_t i = 0; i < 2 * world.plan.nranks; i++)
		if (is_in(at, bytes, world.processes[i / 2].held[i % 2],
			  world.held_bytes))
			return i / 2;
	return RANKS;
}

/* Does it lie in a rank's own memory, of its process or of its caller? */
static int is_own(uint32_t rank, const char *at, size_t bytes)
{
	return holder_of(at, bytes) == rank ||
	       is_in(at, bytes, world.processes[rank].caller, CALLER_BYTES);
}

/* Copies between GPUs follow each other on the caller's stream. */
static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on)
{
	struct stream *stream = (struct stream *)on;
	int reads = is_own(stream->rank, from, bytes);
	int writes = is_own(stream->rank, to, bytes);
	struct command *c;

	assert_int_equal(kind, cudaMemcpyDeviceToDevice);
	assert_true(reads || holder_of(from, bytes) < RANKS);
	assert_true(writes || holder_of(to, bytes) < RANKS);
	if (!reads || !writes)
		assert_int_equal(streams_which(stream), STREAM_MAIN);
	c = streams_put(stream, reads && writes ? LOCAL : COPY);
	c->to = to;
	c->from = from;
	c->bytes = (uint32_t)bytes;
	return cudaSuccess;
}

static void put_barrier(struct stream *stream,
			const struct gt_direct_args *from, uint32_t stage,
			int last)
{
	struct gt_barrier_args *args = malloc(sizeof(*args));

	*args = (struct gt_barrier_args){.guard = from->guard,
					 .stage = stage,
					 .me = from->flow.me,
					 .nranks = from->flow.nranks,
					 .last = (uint32_t)last};
	memcpy(args->flags, from->flags, sizeof(args->flags));
	streams_put(stream, BARRIER)->args = args;
}

static uint32_t which_of(uint32_t lane)
{
	return lane && !streams.in_graph ? STREAM_SECOND : STREAM_SIDE;
}

static int fake_barrier(const struct gt_engine *engine, uint32_t rank,
			uint32_t stage, int last, cudaStream_t on)
{
	const struct gt_exec_request any = {.dtype = GT_DTYPE_INT32};
	struct stream *stream = (struct stream *)on;
	struct gt_ce at = gt_ce_of(engine, &any, rank);
	struct gt_direct_args args = gt_ce_args(&at);

	/* Who waits for others keeps no other lane's copies. */
	if (engine->shares_wire)
		assert_int_equal(streams_which(stream), which_of(engine->lane));
	put_barrier(stream, &args, stage, last);
	return 0;
}

/* Where it waits itself, nothing of it goes on before. */
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args)
{
	struct stream *stream = (struct stream *)grid->stream;
	struct gt_direct_args *kept = malloc(sizeof(*kept));

	assert_int_equal(grid->dtype, GT_DTYPE_INT32);
	assert_int_equal(streams_which(stream),
			 which_of(world.processes[stream->rank].engine.lane));
	assert_int_equal(args->begin_post, args->begin_wait);
	assert_true(args->one_word && args->moves && !args->last &&
		    !args->end_post && !args->end_wait);
	if (args->begin_wait)
		put_barrier(stream, args, args->begin_wait, 0);
	*kept = *args;
	streams_put(stream, SUM)->args = kept;
	return 0;
}

static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times)
{
	assert_int_equal(times, 1);
	return gt_cuda_ce_launch(engine, req, rank);
}

#include "unit/exec/cuda/p2p/values.h"

/* Of an operation's input, and as many of its output. */
static uint64_t data_bytes(uint32_t op)
{
	const struct gt_exec_request *req = &world.ops[op].req;
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? world.plan.nranks : 1;

	return blocks * req->count * sizeof(int32_t);
}

static struct gt_cuda_span caller_span(uint32_t op, uint32_t rank)
{
	world.callers.data_bytes = data_bytes(op);
	return gt_cuda_span_of(&world.callers, &world.ops[op].req, rank, rank);
}

/* The caller writes a rank's input. */
static void fill(uint32_t op, uint32_t rank)
{
	struct process *process = &world.processes[rank];
	struct gt_cuda_span span = caller_span(op, rank);
	uint64_t bytes = 2 * data_bytes(op);
	int32_t *input = (int32_t *)span.input;

	memset(process->caller, -1, bytes);
	for (uint64_t i = 0; i < span.input_count; i++)
		input[i] = value(op, rank, i);
	memcpy(process->before, process->caller, bytes);
}

static void expect(uint32_t op, uint32_t rank, uint64_t at, int32_t found,
		   int32_t wanted)
{
	const struct op *me = &world.ops[op];

	if (found != wanted)
		fail_msg("operation %" PRIu32 ", %s%s in %" PRIu32
			 " pieces, of %" PRIu32 " ranks, seed %" PRIu64
			 ": rank %" PRIu32 ", element %" PRIu64 ": %" PRId32
			 ", not %" PRId32,
			 op, gt_coll_name(me->req.coll),
			 me->req.inplace ? " in place" : "",
			 (uint32_t)((me->req.count - 1) / me->piece_count + 1),
			 world.plan.nranks, streams.seed, rank, at, found,
			 wanted);
}

/*
 * The caller reads a rank's output; all else is as it was.  Then there are
 * other things.
 */
static void check(uint32_t op, uint32_t rank)
{
	struct process *process = &world.processes[rank];
	struct gt_cuda_span span = caller_span(op, rank);
	uint64_t count = world.ops[op].req.count;
	const int32_t *output = (const int32_t *)span.output;
	int32_t *before =
		(int32_t *)(process->before + (span.output - process->caller));

	for (uint64_t k = 0; k < span.output_count; k++) {
		expect(op, rank, k, output[k],
		       result(op, rank, k / count, k % count));
		before[k] = output[k];
	}
	if (memcmp(process->caller, process->before, 2 * data_bytes(op)))
		fail_msg("operation %" PRIu32 ", seed %" PRIu64
			 ": rank %" PRIu32 " has written what is no output",
			 op, streams.seed, rank);
	memset(process->caller, -1, 2 * data_bytes(op));
}

/* Setting up. */

static void *zeros(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void open_memory(uint32_t r)
{
	struct process *process = &world.processes[r];
	uint32_t n = world.plan.nranks;

	process->held[0] = world.data[r] = malloc(ROOM);
	process->held[1] = world.scratch[r] = malloc(ROOM);
	process->mail = world.mail[r] = zeros(FLAGS_ROOM);
	process->caller = malloc(CALLER_BYTES);
	process->before = malloc(CALLER_BYTES);
	world.buffers[r * n + r] = process->caller;
}

static void open_streams(uint32_t r)
{
	struct process *process = &world.processes[r];
	struct gt_cuda_rank *me = &process->ranks[r];

	me->stream = (cudaStream_t)streams_of(r, STREAM_MAIN);
	me->side = (cudaStream_t)streams_of(r, STREAM_SIDE);
	me->second = (cudaStream_t)streams_of(r, STREAM_SECOND);
	me->done = (cudaEvent_t)&process->mark;
	for (int i = 0; i < 2 * GT_CUDA_EDGES; i++)
		me->edges[i % 2][i / 2] =
			(cudaEvent_t)&process->edges[i % 2][i / 2];
	if (streams.in_graph)
		me->capture = (struct gt_cuda_capture *)process;
	me->epoch = process->epochs;
}

static void open_engine(uint32_t r)
{
	struct process *process = &world.processes[r];
	struct gt_engine *engine = &process->engine;

	engine->plan = &world.plan;
	engine->ranks = process->ranks;
	engine->group.first = r;
	engine->group.end = r + 1;
	engine->access = GT_CUDA_ACCESS_PULLED;
	engine->processors = PROCESSORS;
	engine->data_bytes = engine->reserved_bytes = ROOM;
	engine->regions[GT_CUDA_DATA].at = world.data;
	engine->regions[GT_CUDA_PREMUL].at = world.scratch;
	engine->regions[GT_CUDA_SCRATCH].bytes = ROOM;
	engine->regions[GT_CUDA_LL_BUFFERS].at = world.mail;
}

static void open_world(uint32_t n, int in_graph)
{
	memset(&world, 0, sizeof(world));
	streams_open(n);
	streams.any_order = 1;
	streams.in_graph = in_graph;
	world.plan.nranks = n;
	world.callers.plan = &world.plan;
	world.callers.group.end = n;
	world.callers.regions[GT_CUDA_DATA].at = world.buffers;
	for (uint32_t r = 0; r < n; r++) {
		open_memory(r);
		open_streams(r);
		open_engine(r);
	}
}

static void close_world(void)
{
	streams_close();
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct process *process = &world.processes[r];

		free(process->held[0]);
		free(process->held[1]);
		munmap(process->mail, FLAGS_ROOM);
		free(process->caller);
		free(process->before);
	}
}

/* Operations. */

static const enum gt_coll colls[] = {
	GT_COLL_ALLREDUCE, GT_COLL_REDUCESCATTER, GT_COLL_ALLGATHER,
	GT_COLL_ALLTOALL,  GT_COLL_BROADCAST,     GT_COLL_GATHER,
	GT_COLL_SCATTER,   GT_COLL_SENDRECV,      GT_COLL_REDUCE, /* of two */
};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

/* Sums of what goes at once are made in parts of a block, which are grains. */
static void make_sums(struct op *op, uint64_t *random)
{
	uint32_t slices =
		op->req.coll == GT_COLL_ALLREDUCE ? world.plan.nranks : 1;

	op->choice.pieces = SUM_PARTS;
	op->req.count = slices * SUM_ELEMS - streams_draw(random, 9);
	op->piece_count = op->req.count;
}

static void make_pieces(struct op *op, uint32_t pieces, uint64_t *random)
{
	op->choice.pieces = 1;
	op->piece_count = 1 + streams_draw(random, PIECE_ELEMS);
	op->req.count = (pieces - 1) * op->piece_count + 1 +
			streams_draw(random, (uint32_t)op->piece_count);
}

static void make_op(struct op *op, enum gt_coll coll, int apart,
		    uint64_t *random)
{
	uint32_t pieces = 1 + streams_draw(random, PIECES);

	op->req = (struct gt_exec_request){
		.coll = coll,
		.dtype = GT_DTYPE_INT32,
		.op = streams_draw(random, 2) ? GT_REDOP_SUM : GT_REDOP_AVG,
		.root = streams_draw(random, world.plan.nranks),
		.inplace = (int)streams_draw(random, 2)};
	op->choice = (struct gt_algo_choice){.algo = coll == GT_COLL_ALLREDUCE
							     ? GT_ALGO_TWO_SHOT
							     : GT_ALGO_ONE_SHOT,
					     .protocol = GT_PROTOCOL_CE,
					     .waits_apart = (uint8_t)apart,
					     .blocks = PROCESSORS / 2};
	for (uint32_t r = 0; r < RANKS; r++)
		op->turns[r] = 1 + streams_draw(random, PIECES);
	make_pieces(op, pieces, random);
}

/* All collectives, in any order, some once more. */
static void make_ops(uint64_t seed)
{
	int apart = (int)(seed % 2);
	uint64_t random = seed;

	for (uint32_t i = 0; i < OPS; i++)
		make_op(&world.ops[i],
			colls[i % (NCOLLS - (world.plan.nranks > 2))], apart,
			&random);
	make_sums(&world.ops[seed / 2 % 2], &random); /* one of the first two */
	for (uint32_t i = OPS; i-- > 1;) {
		uint32_t k = streams_draw(&random, i + 1);
		struct op op = world.ops[i];

		world.ops[i] = world.ops[k];
		world.ops[k] = op;
	}
}

static uint64_t held_bytes(const struct gt_engine *engine,
			   const struct gt_exec_request *req, uint64_t count)
{
	struct gt_exec_request piece = gt_piece_staged(req, count);

	return gt_pieces_held_bytes(engine, &piece);
}

/* As a process does that knows no other one's buffers. */
static void put_part(uint32_t index, uint32_t rank)
{
	const struct op *op = &world.ops[index];
	struct gt_engine *engine = &world.processes[rank].engine;
	struct gt_cuda_span span = caller_span(index, rank);
	struct gt_buffers buffers[RANKS] = {{NULL, NULL}};
	struct gt_exec_request req = op->req;
	uint32_t number;

	buffers[rank] = (struct gt_buffers){span.input, span.output};
	req.buffers = buffers;
	engine->choice = op->choice;
	engine->piece_count = op->piece_count;
	world.held_bytes = held_bytes(engine, &req, op->piece_count);
	assert_true(gt_piece_fits(engine, &req, op->piece_count, 0));
	number = gt_cuda_pieces_number(engine, &req);
	assert_true(number == 1 || gt_pieces_have_lanes(engine));
	for (uint32_t k = 0; k < number; k += op->turns[rank])
		assert_int_equal(gt_cuda_pieces_enqueue(engine, &req, rank, k,
							op->turns[rank]),
				 0);
	assert_int_equal(engine->lane, 0);
	assert_true(streams_joined(rank));
}

static void put_call(uint32_t rank, void (*call)(uint32_t, uint32_t))
{
	streams_put(streams_of(rank, STREAM_MAIN), CALL)->call = call;
}

static void put_all(void)
{
	while (streams.nops < OPS) {
		for (uint32_t r = 0; r < world.plan.nranks; r++) {
			put_call(r, fill);
			put_part(streams.nops, r);
			put_call(r, check);
		}
		streams_next();
	}
}

/* As it was before the first operation, but for what nobody needs. */
static void play(uint64_t seed)
{
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct process *process = &world.processes[r];
		struct gt_engine *engine = &process->engine;

		memset(process->epochs, 0, sizeof(process->epochs));
		for (engine->lane = 2; engine->lane-- > 0;) {
			memset(process->held[engine->lane], -1, ROOM);
			memset(gt_cuda_p2p_flags(engine, r, r), 0,
			       GT_P2P_RANKS * sizeof(uint64_t));
		}
		engine->lane = 0;
	}
	streams_play(seed);
}

static void play_many(uint32_t n, uint32_t sets, uint32_t plays)
{
	for (uint64_t set = 0; set < sets; set++) {
		open_world(n, set % 2);
		make_ops(n * sets + set);
		put_all();
		streams_expect_few_edges(n);
		for (uint64_t seed = 0; seed < plays; seed++)
			play(seed);
		close_world();
	}
}

static void test_two(void **state)
{
	(void)state;
	play_many(2, 8, 240);
}

static void test_three(void **state)
{
	(void)state;
	play_many(3, 4, 240);
}

static void test_four(void **state)
{
	(void)state;
	play_many(4, 4, 240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_four),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
