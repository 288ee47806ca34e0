/*
 * Requests in pieces, with CUDA SIMULATED: no GPU takes part.  Each rank is a
 * thread, whose copies are done at once; a flow is a meeting of all of them, at
 * which each makes its output from what lies in all ranks' buffers of the
 * engine, as it would find it there.  Ranks know nothing of each other's
 * callers, so all results are right only if all cut alike.
 */
#include "unit/test.h"

#include <pthread.h>
#include <string.h>

#include "exec/cuda/p2p/p2p.h"
#include "exec/cuda/requests.h"
#include "plan/ir/plan.h"

#define cudaMemcpyAsync       fake_copy
#define cudaEventRecord       fake_record
#define cudaStreamWaitEvent   fake_await
#define gt_cuda_enqueue       fake_enqueue
#define gt_cuda_ce_step       fake_step
#define gt_cuda_prepare       fake_prepare
#define gt_cuda_scratch_bytes fake_scratch_bytes

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on);
static cudaError_t fake_record(cudaEvent_t event, cudaStream_t on);
static cudaError_t fake_await(cudaStream_t on, cudaEvent_t event,
			      unsigned int flags);
static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times);
static int fake_step(const struct gt_engine *engine,
		     const struct gt_exec_request *req, uint32_t rank,
		     enum gt_cuda_step step);
static int fake_prepare(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);
static uint64_t fake_scratch_bytes(const struct gt_engine *engine,
				   const struct gt_exec_request *req);

#include "exec/cuda/pieces.c"

enum {
	RANKS = 4, /* at most */
	ROOM = 64 << 10,
	COUNT_MOST = 64 << 10,
};

static struct world {
	struct gt_engine engine[RANKS]; /* of each rank, as of a process */
	struct gt_plan plan;
	struct gt_cuda_rank ranks[RANKS];
	char *data[RANKS];
	int32_t *input[RANKS], *output[RANKS];
	struct gt_exec_request req;
	pthread_barrier_t meeting;
	uint32_t pieces[RANKS], seconds[RANKS]; /* of them, in lane 1 */
	uint32_t joins[RANKS];                  /* of lanes */
	uint32_t turns[RANKS];
	char streams[RANKS][2], events[RANKS]; /* their addresses */
	char caller;                           /* of rank 0 */
	cudaStream_t callers[RANKS], recorded[RANKS];
} world;

/* What rank 0 has put on its streams of pieces that copy engines fetch. */
static struct step {
	enum gt_cuda_step step;
	uint32_t lane;
	uint64_t first, count;
} steps[64];
static uint32_t nsteps;

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on)
{
	(void)on;
	if (kind != cudaMemcpyDeviceToDevice)
		return cudaErrorInvalidValue;
	memcpy(to, from, bytes);
	return cudaSuccess;
}

static uint32_t rank_of_event(cudaEvent_t event)
{
	return (uint32_t)((char *)event - world.events);
}

static cudaError_t fake_record(cudaEvent_t event, cudaStream_t on)
{
	uint32_t r = rank_of_event(event);

	world.recorded[r] = on;
	return cudaSuccess;
}

/* A lane begins behind what is on the caller's stream, which goes on behind. */
static cudaError_t fake_await(cudaStream_t on, cudaEvent_t event,
			      unsigned int flags)
{
	uint32_t r = rank_of_event(event);
	cudaStream_t begun = world.recorded[r], caller = world.callers[r];

	world.joins[r]++;
	return !flags && begun != on && (begun == caller) != (on == caller)
		       ? cudaSuccess
		       : cudaErrorInvalidValue;
}

/* As reductions take: all blocks but one, of a root by copy engines only. */
static uint64_t fake_scratch_bytes(const struct gt_engine *engine,
				   const struct gt_exec_request *req)
{
	uint64_t count = gt_exec_request_count(req);

	if (req->coll == GT_COLL_ALLREDUCE)
		count /= engine->plan->nranks;
	if (req->coll == GT_COLL_ALLTOALL && req->inplace)
		return count * gt_dtype_bytes(req->dtype) *
		       engine->plan->nranks;
	if (req->coll == GT_COLL_REDUCE &&
	    engine->access != GT_CUDA_ACCESS_PULLED)
		return 0;
	return gt_coll_reduces(req->coll) ? count * gt_dtype_bytes(req->dtype) *
						    (engine->plan->nranks - 1)
					  : 0;
}

static int fake_prepare(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err)
{
	(void)err;
	assert_true(fake_scratch_bytes(engine, req) <=
		    engine->regions[GT_CUDA_SCRATCH].bytes);
	return GT_OK;
}

/* Element i of a block of rank r's input. */
static int32_t value(uint32_t rank, uint32_t block, uint64_t i)
{
	return (int32_t)(i * 31 + block * 1000003u + rank * 77777777u);
}

/* What a rank gets at element i of a block, from what in() says of inputs. */
static int32_t result(uint32_t rank, uint32_t block, uint64_t i,
		      int32_t (*in)(uint32_t rank, uint32_t block, uint64_t i))
{
	uint32_t n = world.plan.nranks, sum = 0;

	switch (world.req.coll) {
	case GT_COLL_ALLGATHER:
	case GT_COLL_GATHER:
		return in(block, 0, i);
	case GT_COLL_ALLTOALL:
		return in(block, rank, i);
	case GT_COLL_BROADCAST:
		return in(world.req.root, 0, i);
	case GT_COLL_SCATTER:
		return in(world.req.root, rank, i);
	default:
		if (world.req.coll == GT_COLL_REDUCESCATTER)
			block = rank;
		for (uint32_t r = 0; r < n; r++)
			sum += (uint32_t)in(r, block, i);
		return (int32_t)sum;
	}
}

/* Elements of a piece's block; all ranks have the same at a meeting. */
static uint64_t piece_count;

static int32_t staged(uint32_t rank, uint32_t block, uint64_t i)
{
	const int32_t *at = (const int32_t *)(void *)gt_cuda_region_at(
		&world.engine[rank], GT_CUDA_DATA, rank, rank);

	return at[block * piece_count + i];
}

static int fake_enqueue(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank,
			uint32_t times)
{
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	int32_t *out = (int32_t *)(void *)span.output;

	if (times != 1 || req->buffers ||
	    (char *)engine->ranks[rank].stream !=
		    &world.streams[rank][engine->lane])
		return (int)cudaErrorInvalidValue;
	pthread_barrier_wait(&world.meeting);
	if (rank == 0)
		piece_count = req->count;
	pthread_barrier_wait(&world.meeting);
	if (piece_count != req->count) /* ranks do not cut alike */
		return (int)cudaErrorUnknown;
	for (uint64_t i = 0; i < span.output_count; i++)
		out[i] = result(rank, (uint32_t)(i / req->count),
				i % req->count, staged);
	world.pieces[rank]++;
	world.seconds[rank] += engine->lane;
	pthread_barrier_wait(&world.meeting);
	return 0;
}

static int fake_step(const struct gt_engine *engine,
		     const struct gt_exec_request *req, uint32_t rank,
		     enum gt_cuda_step step)
{
	char *lane =
		&world.streams[rank][world.ranks[0].capture ? 0 : engine->lane];

	if (rank || !engine->shares_wire ||
	    nsteps == sizeof(steps) / sizeof(steps[0]) ||
	    (char *)engine->ranks[rank].stream != lane)
		return (int)cudaErrorInvalidValue;
	steps[nsteps++] = (struct step){step, engine->lane, req->part_first,
					req->part_count};
	return 0;
}

static void open_world(uint32_t n, uint64_t room)
{
	memset(&world, 0, sizeof(world));
	world.plan.nranks = n;
	pthread_barrier_init(&world.meeting, NULL, n);
	for (uint32_t r = 0; r < n; r++) {
		struct gt_engine *engine = &world.engine[r];

		world.ranks[r].stream = world.callers[r] =
			(cudaStream_t)&world.streams[r][0];
		world.ranks[r].done = (cudaEvent_t)&world.events[r];
		world.data[r] = malloc(2 * room);
		world.input[r] = calloc(COUNT_MOST * n, sizeof(int32_t));
		world.output[r] = calloc(COUNT_MOST * n, sizeof(int32_t));
		engine->plan = &world.plan;
		engine->ranks = world.ranks;
		engine->group.end = n;
		engine->data_bytes = engine->reserved_bytes = room;
		engine->regions[GT_CUDA_SCRATCH].bytes = room;
		engine->access = GT_CUDA_ACCESS_STAGED;
		engine->choice.protocol = GT_PROTOCOL_DIRECT;
		engine->regions[GT_CUDA_DATA].at =
			calloc((size_t)n * n, sizeof(char *));
		for (uint32_t v = 0; v < n; v++)
			engine->regions[GT_CUDA_DATA].at[v * n + r] =
				world.data[r];
	}
}

static void close_world(void)
{
	pthread_barrier_destroy(&world.meeting);
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		free(world.engine[r].regions[GT_CUDA_DATA].at);
		free(world.data[r]);
		free(world.input[r]);
		free(world.output[r]);
	}
}

/* A rank knows its own buffers alone, and takes as long turns as it likes. */
static void *play(void *arg)
{
	struct gt_engine *engine = arg;
	uint32_t rank = (uint32_t)(engine - world.engine);
	struct gt_buffers buffers[RANKS] = {{NULL, NULL}};
	struct gt_exec_request req = world.req;
	uint32_t number, turn = rank + 1;

	buffers[rank] =
		(struct gt_buffers){world.input[rank], world.output[rank]};
	req.buffers = buffers;
	if (gt_cuda_pieces_prepare(engine, &req, NULL))
		return engine;
	number = gt_cuda_pieces_number(engine, &req);
	for (uint32_t k = 0; k < number; k += turn) {
		if (gt_cuda_pieces_enqueue(engine, &req, rank, k, turn))
			return engine;
		world.turns[rank]++;
	}
	return world.turns[rank] == (number + turn - 1) / turn ? NULL : engine;
}

static void fill(uint32_t rank)
{
	struct gt_exec_request own = world.req;
	uint64_t n = gt_cuda_span_of(&world.engine[rank], &own, rank, rank)
			     .input_count;

	memset(world.output[rank], 0xa5,
	       COUNT_MOST * world.plan.nranks * sizeof(int32_t));
	for (uint64_t i = 0; i < n; i++)
		world.input[rank][i] =
			value(rank, (uint32_t)(i / world.req.count),
			      i % world.req.count);
}

static void check(uint32_t rank)
{
	struct gt_exec_request own = world.req;
	uint64_t n = gt_cuda_span_of(&world.engine[rank], &own, rank, rank)
			     .output_count;

	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(world.output[rank][i],
				 result(rank, (uint32_t)(i / world.req.count),
					i % world.req.count, value));
}

static void run(void)
{
	uint32_t n = world.plan.nranks;
	pthread_t threads[RANKS];
	void *failed;

	memset(world.pieces, 0, sizeof(world.pieces));
	memset(world.seconds, 0, sizeof(world.seconds));
	memset(world.joins, 0, sizeof(world.joins));
	memset(world.turns, 0, sizeof(world.turns));
	for (uint32_t r = 0; r < n; r++)
		fill(r);
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(pthread_create(&threads[r], NULL, play,
						&world.engine[r]),
				 0);
	for (uint32_t r = 0; r < n; r++) {
		pthread_join(threads[r], &failed);
		assert_null(failed);
	}
	for (uint32_t r = 0; r < n; r++)
		check(r);
}

static const enum gt_coll colls[] = {
	GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER,
	GT_COLL_ALLTOALL,  GT_COLL_BROADCAST, GT_COLL_REDUCE,
	GT_COLL_GATHER,    GT_COLL_SCATTER,
};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

/* All collectives, of counts that fit, just do not, and are odd. */
static void test_staged(void **state)
{
	static const uint64_t counts[] = {1,    1031,         ROOM / 4,
					  4099, ROOM / 4 + 1, COUNT_MOST - 3};

	(void)state;
	for (uint32_t n = 2; n <= RANKS; n++) {
		open_world(n, ROOM);
		world.req = (struct gt_exec_request){.op = GT_REDOP_SUM,
						     .dtype = GT_DTYPE_INT32};
		for (uint32_t i = 0; i < NCOLLS * 6; i++) {
			uint64_t blocks, bytes;

			world.req.coll = colls[i % NCOLLS];
			world.req.count = counts[i / NCOLLS];
			world.req.root = i % n;
			run();
			blocks = gt_coll_has_blocks(world.req.coll) ? n : 1;
			bytes = blocks * world.req.count * sizeof(int32_t);
			for (uint32_t r = 0; r < n; r++)
				assert_int_equal(world.pieces[r],
						 world.pieces[0]);
			assert_int_equal(world.pieces[0] > 1, bytes > ROOM);
			/* No smaller than the grain makes them. */
			assert_true(world.pieces[0] <= 1 + 2 * bytes / ROOM);
		}
		close_world();
	}
}

/* Two lanes have halves of the room, and take turns. */
static void test_lanes(void **state)
{
	static const uint64_t counts[] = {ROOM / 16, ROOM / 2, COUNT_MOST - 3};

	(void)state;
	open_world(3, 2 * ROOM);
	for (uint32_t r = 0; r < 3; r++) {
		world.ranks[r].second = (cudaStream_t)&world.streams[r][1];
		world.engine[r].choice.waits_apart = 1;
	}
	world.req = (struct gt_exec_request){.op = GT_REDOP_SUM,
					     .dtype = GT_DTYPE_INT32};
	for (uint32_t i = 0; i < NCOLLS * 3; i++) {
		world.req.coll = colls[i % NCOLLS];
		world.req.count = counts[i / NCOLLS];
		run();
		for (uint32_t r = 0; r < 3; r++) {
			assert_int_equal(world.seconds[r], world.pieces[r] / 2);
			assert_int_equal(world.joins[r],
					 world.pieces[r] > 1 ? 2 : 0);
			assert_int_equal(world.engine[r].lane, 0);
		}
	}
	close_world();
}

/* When was a step of piece k put?  Once, and in its lane. */
static uint32_t place_of(enum gt_cuda_step step, uint32_t k)
{
	uint64_t each = world.engine[0].piece_count;
	uint32_t at = nsteps;

	for (uint32_t i = 0; i < nsteps; i++) {
		uint64_t left = world.req.count - steps[i].first;

		if (steps[i].step != step || steps[i].first != k * each)
			continue;
		assert_int_equal(at, nsteps);
		assert_int_equal(steps[i].lane, k % 2);
		assert_int_equal(steps[i].count, left < each ? left : each);
		at = i;
	}
	assert_true(at < nsteps);
	return at;
}

/*
 * A piece is on the wire before the one ahead is met, and takes no lane that
 * one ahead has not left.  All meet in one order, and of the last two before
 * anything is copied, but for sums.
 */
static void check_steps(uint32_t number)
{
	int reduces = gt_coll_reduces(world.req.coll);
	int sums = world.req.coll == GT_COLL_ALLREDUCE;

	assert_int_equal(nsteps, number * 4);
	for (uint32_t k = 0; k < number; k++) {
		uint32_t start = place_of(GT_CUDA_STEP_START, k);
		uint32_t met = place_of(GT_CUDA_STEP_MEET, k);
		uint32_t moved = place_of(GT_CUDA_STEP_MOVE, k);
		uint32_t end = place_of(GT_CUDA_STEP_END, k);

		assert_true(start < met && met < moved && moved < end);
		if (k + 1 < number) {
			assert_true(met < place_of(GT_CUDA_STEP_MEET, k + 1));
			assert_true((sums && k % 2) ||
				    place_of(GT_CUDA_STEP_START, k + 1) < met);
		}
		if (k + 2 < number)
			assert_true(end < place_of(GT_CUDA_STEP_START, k + 2));
		if (k + 2 == number && !reduces)
			assert_true(place_of(GT_CUDA_STEP_MEET, k + 1) < moved);
	}
}

/* Whatever turns are, in two streams or, in a graph, in one. */
static void fetch(uint32_t turn, int in_graph)
{
	struct gt_engine *engine = &world.engine[0];
	uint32_t number = gt_cuda_pieces_number(engine, &world.req);

	nsteps = 0;
	world.joins[0] = 0;
	world.ranks[0].capture =
		in_graph ? (struct gt_cuda_capture *)&world : NULL;
	for (uint32_t k = 0; k < number; k += turn)
		assert_int_equal(
			gt_cuda_pieces_enqueue(engine, &world.req, 0, k, turn),
			0);
	check_steps(number);
	world.ranks[0].capture = NULL;
	/* Lanes are the engine's. */
	assert_int_equal(world.joins[0], in_graph ? 2 : 4);
	assert_int_equal(engine->lane, 0);
	assert_int_equal(engine->shares_wire, 0);
	assert_ptr_equal(world.ranks[0].stream, &world.caller);
}

/* What would fit is cut in two where that is faster, and in no more. */
static void test_halves(struct gt_engine *engine)
{
	static const struct {
		enum gt_coll coll;
		uint64_t most; /* bytes that go at once */
	} cases[] = {
		{GT_COLL_ALLREDUCE, (12 << 20) - 4},
		{GT_COLL_REDUCESCATTER, (8 << 20) - 4},
		{GT_COLL_ALLTOALL, (16 << 20) - 4},
		{GT_COLL_ALLGATHER, (16 << 20) - 4},
		{GT_COLL_BROADCAST, (16 << 20) - 4},
		{GT_COLL_REDUCE, (8 << 20) - 4},
	};
	struct gt_exec_request req = world.req;

	engine->data_bytes = engine->reserved_bytes = UINT64_C(2) << 30;
	engine->regions[GT_CUDA_SCRATCH].bytes = engine->reserved_bytes;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		req.coll = cases[i].coll;
		req.count = cases[i].most / sizeof(int32_t);
		assert_int_equal(gt_pieces_cut(engine, &req), req.count);
		req.count++;
		assert_in_range(gt_pieces_cut(engine, &req), req.count / 2,
				req.count / 2 + 2048);
		/* Alone there is nothing to go beside. */
		engine->choice.waits_apart = 0;
		engine->choice.protocol = GT_PROTOCOL_DIRECT;
		assert_int_equal(gt_pieces_cut(engine, &req), req.count);
		engine->choice.waits_apart = 1;
		engine->choice.protocol = GT_PROTOCOL_CE;
	}
	engine->data_bytes = engine->reserved_bytes = ROOM;
	engine->regions[GT_CUDA_SCRATCH].bytes = ROOM;
}

/* A lane holds what others fetch, or what is to be added up. */
static void test_fetched(void **state)
{
	struct gt_engine *engine = &world.engine[0];

	(void)state;
	open_world(2, ROOM);
	world.ranks[0].stream = world.callers[0] = (cudaStream_t)&world.caller;
	world.ranks[0].side = (cudaStream_t)&world.streams[0][0];
	world.ranks[0].second = (cudaStream_t)&world.streams[0][1];
	engine->access = GT_CUDA_ACCESS_PULLED;
	engine->choice = (struct gt_algo_choice){.protocol = GT_PROTOCOL_CE,
						 .waits_apart = 1};
	world.req = (struct gt_exec_request){.coll = GT_COLL_ALLGATHER,
					     .dtype = GT_DTYPE_INT32,
					     .count = ROOM / 4};
	assert_int_equal(gt_pieces_cut(engine, &world.req), ROOM / 4);
	world.req.coll = GT_COLL_REDUCESCATTER;
	assert_int_equal(gt_pieces_cut(engine, &world.req), ROOM / 4);
	world.req.coll = GT_COLL_ALLTOALL;
	assert_int_equal(gt_pieces_cut(engine, &world.req), ROOM / 4);
	world.req.coll = GT_COLL_ALLREDUCE;
	world.req.count = ROOM / 2;
	assert_int_equal(gt_pieces_cut(engine, &world.req), ROOM / 2);
	world.req.count += 2;
	assert_true(gt_pieces_cut(engine, &world.req) < ROOM / 2);
	test_halves(engine);
	for (uint32_t i = 0; i < NCOLLS; i++) {
		world.req.coll = colls[i];
		world.req.count = COUNT_MOST - 3;
		engine->piece_count = gt_pieces_cut(engine, &world.req);
		for (uint32_t turn = 1; turn < 6; turn++) {
			fetch(turn, 0);
			fetch(turn, 1);
		}
	}
	close_world();
}

/*
 * What would be multiplied as a whole, but is too large for that, goes through
 * the engine's buffers, whatever it was meant to go through.
 */
static void test_multiplied(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .op = GT_REDOP_PREMUL,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = ROOM};
	struct gt_engine *engine = &world.engine[0];

	(void)state;
	open_world(2, ROOM);
	engine->access = GT_CUDA_ACCESS_LOCAL;
	engine->choice.protocol = GT_PROTOCOL_SIMPLE;
	assert_int_equal(gt_cuda_pieces_prepare(engine, &req, NULL), GT_OK);
	assert_int_equal(engine->access, GT_CUDA_ACCESS_STAGED);
	assert_int_equal(engine->choice.protocol, GT_PROTOCOL_DIRECT);
	assert_int_equal(engine->choice.algo, GT_ALGO_TWO_SHOT);
	assert_true(engine->piece_count * 4 <= ROOM);
	req.count = ROOM / 4;
	engine->access = GT_CUDA_ACCESS_LOCAL;
	engine->choice.protocol = GT_PROTOCOL_SIMPLE;
	assert_int_equal(gt_cuda_pieces_prepare(engine, &req, NULL), GT_OK);
	assert_int_equal(engine->access, GT_CUDA_ACCESS_LOCAL);
	assert_int_equal(engine->piece_count, req.count);
	close_world();
}

/*
 * An all-to-all of registered buffers needs room on no rank unless it is in
 * place: then others fetch, piece by piece, what they would overwrite.
 */
static void test_registered(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_INT32,
				      .count = ROOM};
	struct gt_engine *engine = &world.engine[0];

	(void)state;
	open_world(2, ROOM);
	engine->choice.protocol = GT_PROTOCOL_CE;
	engine->access = GT_CUDA_ACCESS_REGISTERED;
	assert_int_equal(gt_cuda_pieces_prepare(engine, &req, NULL), GT_OK);
	assert_int_equal(engine->access, GT_CUDA_ACCESS_REGISTERED);
	assert_int_equal(engine->piece_count, req.count);
	req.inplace = 1;
	assert_int_equal(gt_cuda_pieces_prepare(engine, &req, NULL), GT_OK);
	assert_int_equal(engine->access, GT_CUDA_ACCESS_PULLED);
	assert_true(engine->piece_count * 4 <= ROOM);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registered),
		cmocka_unit_test(test_staged),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_fetched),
		cmocka_unit_test(test_multiplied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
