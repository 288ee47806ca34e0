/*
 * Pieces of captured requests in lanes that go through the engine's own
 * buffers on the way there and back, SIMULATED: no GPU takes part.  What
 * exec/cuda/pieces.c, p2p/launch.c and p2p/copy_engine.c, which are included
 * here, put on streams is played in many orders (streams.h), in some of them as
 * graphs are queued: nobody hangs.  Copies and kernels move nothing;
 * test_lanes.c compares what they would.
 */
#include "unit/exec/cuda/p2p/streams.h"
#include "unit/test.h"

#include <string.h>

#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"

#define cudaMemcpyAsync     fake_copy
#define cudaEventRecord     streams_event_record
#define cudaStreamWaitEvent streams_event_await
#define gt_direct_run       fake_direct
#define gt_barrier_run      fake_barrier
#define gt_cuda_p2p_flags   fake_flags
#define gt_cuda_enqueue     fake_enqueue

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on);
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args);
static int fake_barrier(const struct gt_barrier_args *args, cudaStream_t on);
static uint64_t *fake_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank);
static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times);

#include "exec/cuda/p2p/copy_engine.c"
#include "exec/cuda/p2p/launch.c"
#include "exec/cuda/pieces.c"

enum {
	RANKS = 4, /* at most */
	OPS = 12,
	STREAM_SECOND = STREAM_MEET, /* lane 1's: no detour meets on it */
	PIECES = 5,                  /* at most */
	PIECE_ELEMS = 2 * GT_CE_GRAIN_BYTES,
	PROCESSORS = 8,
	REGION_BYTES = 1 << 20,
	PLAYS = 240,
};

/* A rank's, as one process has it. */
struct process {
	struct gt_engine engine;
	struct gt_cuda_rank ranks[RANKS];
	struct gt_kernel_epoch epochs[2];
	uint32_t done, reduced[GT_CUDA_CE_PIECES]; /* events' marks */
	uint64_t flags[2][GT_P2P_RANKS];
};

static struct world {
	struct gt_plan plan;
	struct process processes[RANKS];
	char *at[RANKS * RANKS];
} world;

/* All addresses are here, and nobody looks. */
static char memory[2 * REGION_BYTES];

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on)
{
	struct command *c = streams_put((struct stream *)on, COPY);

	(void)to;
	(void)from;
	assert_int_equal(kind, cudaMemcpyDeviceToDevice);
	assert_true(bytes > 0);
	c->to = memory;
	c->from = memory;
	return cudaSuccess;
}

static int fake_barrier(const struct gt_barrier_args *args, cudaStream_t on)
{
	struct gt_barrier_args *kept = malloc(sizeof(*kept));

	*kept = *args;
	streams_put((struct stream *)on, BARRIER)->args = kept;
	return 0;
}

/* A kernel that waits itself is a barrier and what moves behind it. */
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args)
{
	struct gt_barrier_args barrier = {.guard = args->guard,
					  .stage = args->begin_wait,
					  .me = args->flow.me,
					  .nranks = args->flow.nranks};

	assert_int_equal(args->begin_post, args->begin_wait);
	assert_true(!args->end_post && !args->end_wait && !args->last);
	memcpy(barrier.flags, args->flags, sizeof(barrier.flags));
	if (args->begin_wait)
		fake_barrier(&barrier, grid->stream);
	return (int)fake_copy(NULL, NULL, 1, cudaMemcpyDeviceToDevice,
			      grid->stream);
}

static uint64_t *fake_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank)
{
	(void)viewer;
	return world.processes[rank].flags[engine->lane];
}

static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times)
{
	assert_int_equal(times, 1);
	return engine->choice.protocol == GT_PROTOCOL_CE
		       ? gt_cuda_ce_launch(engine, req, rank)
		       : gt_cuda_apart_launch(engine, req, rank);
}

static void open_rank(uint32_t r)
{
	struct process *process = &world.processes[r];
	struct gt_engine *engine = &process->engine;
	struct gt_cuda_rank *me = &process->ranks[r];

	me->stream = (cudaStream_t)streams_of(r, STREAM_MAIN);
	me->side = (cudaStream_t)streams_of(r, STREAM_SIDE);
	me->second = (cudaStream_t)streams_of(r, STREAM_SECOND);
	me->done = (cudaEvent_t)&process->done;
	for (int k = 0; k < GT_CUDA_CE_PIECES; k++)
		me->reduced[k] = (cudaEvent_t)&process->reduced[k];
	me->capture = (struct gt_cuda_capture *)process; /* any will do */
	me->epoch = process->epochs;
	engine->plan = &world.plan;
	engine->ranks = process->ranks;
	engine->group.first = r;
	engine->group.end = r + 1;
	engine->access = GT_CUDA_ACCESS_STAGED;
	engine->processors = PROCESSORS;
	engine->reserved_bytes = engine->data_bytes = REGION_BYTES;
	engine->regions[GT_CUDA_DATA].at = world.at;
	engine->regions[GT_CUDA_SCRATCH].at = world.at;
	engine->regions[GT_CUDA_SCRATCH].bytes = REGION_BYTES;
}

static void open_world(uint32_t n)
{
	memset(&world, 0, sizeof(world));
	streams_open(n);
	streams.any_order = streams.in_graph = 1;
	streams.heads = 1;
	world.plan.nranks = n;
	for (uint32_t i = 0; i < n * n; i++)
		world.at[i] = memory;
	for (uint32_t r = 0; r < n; r++)
		open_rank(r);
}

static struct gt_algo_choice draw_choice(enum gt_coll coll, uint64_t *random)
{
	return (struct gt_algo_choice){
		.algo = coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT
						  : GT_ALGO_ONE_SHOT,
		.protocol = streams_draw(random, 2) ? GT_PROTOCOL_CE
						    : GT_PROTOCOL_DIRECT,
		.waits_apart = 1,
		.pieces = 1 + streams_draw(random, 2),
		.blocks = PROCESSORS / 2};
}

/* All ranks put the same pieces, some of them more at a time. */
static void put(uint64_t *random)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_REDUCESCATTER, GT_COLL_ALLGATHER,
		GT_COLL_ALLTOALL, GT_COLL_BROADCAST};
	enum gt_coll coll = colls[streams_draw(random, 5)];
	struct gt_algo_choice choice = draw_choice(coll, random);
	uint32_t pieces = 2 + streams_draw(random, PIECES - 1);
	struct gt_buffers buffers[RANKS];
	struct gt_exec_request req = {
		.coll = coll,
		.dtype = GT_DTYPE_INT32,
		.root = streams_draw(random, world.plan.nranks),
		.count = (uint64_t)pieces * PIECE_ELEMS,
		.buffers = buffers};

	if (choice.protocol == GT_PROTOCOL_CE)
		choice.waits_apart = (uint8_t)streams_draw(random, 2);
	for (uint32_t r = 0; r < RANKS; r++)
		buffers[r] = (struct gt_buffers){memory, memory + REGION_BYTES};
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct gt_engine *engine = &world.processes[r].engine;
		uint32_t turn = 1 + streams_draw(random, PIECES);

		engine->choice = choice;
		engine->piece_count = PIECE_ELEMS;
		assert_true(gt_pieces_have_lanes(engine));
		for (uint32_t k = 0; k < pieces; k += turn)
			assert_int_equal(gt_cuda_pieces_enqueue(engine, &req, r,
								k, turn),
					 0);
		assert_true(streams_joined(r));
	}
	streams_next();
}

static void play(uint64_t seed)
{
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct process *process = &world.processes[r];

		memset(process->epochs, 0, sizeof(process->epochs));
		memset(process->flags, 0, sizeof(process->flags));
	}
	streams_play(seed);
}

static void test_graphs(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= RANKS; n++) {
		uint64_t random = n;

		open_world(n);
		for (int i = 0; i < OPS; i++)
			put(&random);
		streams_expect_few_edges(n);
		for (uint64_t seed = 0; seed < PLAYS; seed++)
			play(seed);
		streams_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
