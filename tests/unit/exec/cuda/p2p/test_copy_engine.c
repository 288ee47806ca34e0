/*
 * Blocks by copy engines, with CUDA's calls faked: no GPU takes part.  What
 * exec/cuda/p2p/copy_engine.c has copied, by engines and by kernels beside
 * them, is copied by the CPU at once, as no rank reads what another one writes.
 * Every byte must come to its place, once; and graphs must not grow faster than
 * operations.
 */
#include "unit/exec/cuda/p2p/streams.h"
#include "unit/test.h"

#include <string.h>

#include "exec/trace/trace.h"
#include "plan/ir/plan.h"

#define cudaMemcpyAsync        fake_copy
#define cudaEventRecord        streams_event_record
#define cudaStreamWaitEvent    streams_event_await
#define gt_direct_run          fake_direct
#define gt_cuda_barrier_launch fake_barrier
#define gt_cuda_detour_begin   fake_begin
#define gt_cuda_detour_launch  fake_launch

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on);
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args);
static int fake_barrier(const struct gt_engine *engine, uint32_t rank,
			uint32_t stage, int last, cudaStream_t on);
static int fake_begin(const struct gt_engine *engine, uint32_t rank);
static int fake_launch(const struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t rank);

#include "exec/cuda/p2p/copy_engine.c"

enum {
	RANKS = 5, /* at most */
	OPS = 8,
	UNTOUCHED = 0xa5,
	SMALL_BYTES = 3 * GT_CE_GRAIN_BYTES,
};

/* A rank's input or output; shadows count what is written. */
static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_cuda_rank ranks[RANKS];
	uint32_t marks[RANKS]; /* of its event */
	char *data[RANKS * RANKS], *scratch[RANKS * RANKS];
	char *ll_buffers[RANKS * RANKS];
	char *callers[RANKS]; /* buffers that no other process reaches */
	struct gt_buffers buffers[RANKS];
	uint8_t *written[RANKS], *written_callers[RANKS];
	uint64_t head_bytes;      /* of all ranks' kernels that wait */
	uint32_t begins, detours; /* of detours */
} world;

/* Does `to` lie in this memory?  Then it is written once. */
static int note(char *to, uint64_t bytes, const char *memory, uint8_t *written)
{
	uint64_t most = 2 * world.engine.data_bytes;
	uint64_t at = (uint64_t)(to - memory);

	if (to < memory || at >= most)
		return 0;
	assert_in_range(at + bytes, 1, most);
	for (uint64_t i = 0; i < bytes; i++)
		assert_int_equal(written[at + i]++, 0);
	return 1;
}

static void move(char *to, const char *from, uint64_t bytes)
{
	uint32_t n = world.plan.nranks, r = 0;

	while (r < n && !note(to, bytes, world.data[r], world.written[r]) &&
	       !note(to, bytes, world.callers[r], world.written_callers[r]))
		r++;
	assert_in_range(r, 0, n - 1);
	memcpy(to, from, bytes);
}

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t on)
{
	assert_int_equal(kind, cudaMemcpyDeviceToDevice);
	assert_int_equal(streams_which((struct stream *)on), STREAM_MAIN);
	streams_put((struct stream *)on, COPY);
	move(to, from, bytes);
	return cudaSuccess;
}

/* As kernels/p2p/direct.cuh lifts blocks that are not reduced. */
static uint64_t lift(const struct gt_direct_args *args, uint64_t elem_bytes)
{
	const struct gt_p2p *flow = &args->flow;
	uint64_t all = 0, bytes = flow->count * elem_bytes;

	for (uint32_t d = 0; d < flow->nranks; d++) {
		const char *in = args->input[flow->me] +
				 d * flow->in_stride * elem_bytes;
		char *out = args->output[d] +
			    flow->me * flow->out_stride * elem_bytes;

		if (!(flow->to >> d & 1) || in == out)
			continue;
		move(out, in, bytes);
		all += bytes;
	}
	return all;
}

static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args)
{
	struct stream *stream = (struct stream *)grid->stream;
	uint64_t bytes;

	assert_int_equal(stream->rank, args->flow.me);
	assert_int_equal(args->begin_post, args->begin_wait);
	assert_true(args->one_word && !args->end_post && !args->end_wait);
	assert_true(args->moves);
	streams_put(stream, SUM);
	assert_int_equal(streams_which(stream), STREAM_SIDE);
	assert_false(args->last);
	bytes = lift(args, gt_dtype_bytes(grid->dtype));
	if (args->begin_wait) {
		assert_int_equal(args->begin_wait, GT_CE_BEGIN);
		assert_true(bytes && bytes <= GT_CE_HEAD_BYTES);
		world.head_bytes += bytes;
	}
	return 0;
}

static int fake_barrier(const struct gt_engine *engine, uint32_t rank,
			uint32_t stage, int last, cudaStream_t on)
{
	struct stream *stream = (struct stream *)on;

	assert_ptr_equal(engine, &world.engine);
	assert_int_equal(stream->rank, rank);
	assert_int_equal(streams_which(stream), STREAM_MAIN);
	assert_int_equal(last, stage == GT_CE_END);
	streams_put(stream, MEET);
	return 0;
}

static int fake_begin(const struct gt_engine *engine, uint32_t rank)
{
	assert_ptr_equal(engine, &world.engine);
	assert_in_range(rank, 0, world.plan.nranks - 1);
	world.begins++;
	return 0;
}

static int fake_launch(const struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t rank)
{
	assert_ptr_equal(engine, &world.engine);
	assert_int_not_equal(req->part_count, 0);
	assert_in_range(rank, 0, world.plan.nranks - 1);
	world.detours++;
	return 0;
}

static void open_world(uint32_t n, uint64_t data_bytes)
{
	memset(&world, 0, sizeof(world));
	streams_open(n);
	world.plan.nranks = n;
	world.engine.plan = &world.plan;
	world.engine.ranks = world.ranks;
	world.engine.group.end = n;
	world.engine.data_bytes = data_bytes;
	world.engine.choice =
		(struct gt_algo_choice){.algo = GT_ALGO_ONE_SHOT,
					.protocol = GT_PROTOCOL_CE,
					.blocks = 32,
					.threads = GT_DIRECT_THREADS};
	world.engine.regions[GT_CUDA_DATA].at = world.data;
	world.engine.regions[GT_CUDA_SCRATCH].at = world.scratch;
	world.engine.regions[GT_CUDA_LL_BUFFERS].at = world.ll_buffers;
	for (uint32_t r = 0; r < n; r++) {
		struct gt_cuda_rank *me = &world.ranks[r];

		me->stream = (cudaStream_t)streams_of(r, STREAM_MAIN);
		me->side = (cudaStream_t)streams_of(r, STREAM_SIDE);
		me->done = (cudaEvent_t)&world.marks[r];
		world.data[r] = aligned_alloc(4096, 2 * data_bytes);
		world.scratch[r] = aligned_alloc(4096, data_bytes);
		world.written[r] = malloc(2 * data_bytes);
		world.callers[r] = aligned_alloc(4096, 2 * data_bytes);
		world.written_callers[r] = malloc(2 * data_bytes);
	}
	/* All ranks see the same addresses. */
	for (uint32_t i = n; i < n * n; i++) {
		world.data[i] = world.data[i % n];
		world.scratch[i] = world.scratch[i % n];
	}
}

static void close_world(void)
{
	streams_close();
	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		free(world.data[r]);
		free(world.scratch[r]);
		free(world.written[r]);
		free(world.callers[r]);
		free(world.written_callers[r]);
	}
}

/* Byte i of a rank's input. */
static uint8_t value(uint32_t rank, uint64_t i)
{
	uint64_t v = (i + 1) * 0x9e3779b97f4a7c15u + rank * 0xd1b54a32d192ed03u;

	return (uint8_t)((v ^ v >> 29) * 0xbf58476d1ce4e5b9u >> 56);
}

/* Byte i of block `block` of a rank's output. */
static uint8_t result(const struct gt_exec_request *req, uint32_t rank,
		      uint64_t block, uint64_t i)
{
	uint64_t mine = rank * req->count * gt_dtype_bytes(req->dtype);
	uint32_t n = world.plan.nranks;

	switch (req->coll) {
	case GT_COLL_BROADCAST:
		return value(req->root, i);
	case GT_COLL_SCATTER:
		return value(req->root, mine + i);
	case GT_COLL_ALLTOALL:
		return value((uint32_t)block, mine + i);
	case GT_COLL_SENDRECV:
		return value((rank + n - 1) % n, i);
	default: /* all-gather and gather */
		return value((uint32_t)block, i);
	}
}

static void fill(const struct gt_exec_request *req)
{
	uint64_t elem = gt_dtype_bytes(req->dtype);

	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct gt_cuda_span span =
			gt_cuda_span_of(&world.engine, req, r, r);

		memset(world.written[r], 0, 2 * world.engine.data_bytes);
		memset(world.data[r], UNTOUCHED, 2 * world.engine.data_bytes);
		for (uint64_t i = 0; i < span.input_count * elem; i++)
			span.input[i] = (char)value(r, i);
		if (gt_cuda_p2p_overwrites(req))
			memcpy(world.scratch[r], span.input,
			       span.input_count * elem);
	}
}

/* What stays on its rank takes no detour. */
static int is_own(const struct gt_exec_request *req, uint32_t rank,
		  uint64_t block)
{
	if (req->coll == GT_COLL_BROADCAST || req->coll == GT_COLL_SCATTER)
		return rank == req->root;
	if (req->coll == GT_COLL_SENDRECV)
		return world.plan.nranks == 1;
	return block == rank;
}

static void check(const struct gt_exec_request *req, uint32_t rank)
{
	uint64_t elem = gt_dtype_bytes(req->dtype), bytes = req->count * elem;
	uint64_t main = gt_exec_request_count(req) * elem;
	struct gt_cuda_span span =
		gt_cuda_span_of(&world.engine, req, rank, rank);

	for (uint64_t i = 0; i < span.output_count * elem; i++) {
		int comes = i % bytes < main || is_own(req, rank, i / bytes);
		uint8_t want = result(req, rank, i / bytes, i % bytes);

		if (comes)
			assert_int_equal((uint8_t)span.output[i], want);
		else if (!req->inplace)
			assert_int_equal((uint8_t)span.output[i], UNTOUCHED);
	}
	for (uint64_t i = span.output_count * elem; !req->inplace && i < 64;
	     i++)
		assert_int_equal((uint8_t)span.output[i], UNTOUCHED);
}

static void run(const struct gt_exec_request *req)
{
	fill(req);
	world.head_bytes = world.begins = world.detours = 0;
	world.engine.choice.detour_permille = req->part_count ? 100 : 0;
	for (uint32_t r = 0; r < world.plan.nranks; r++)
		assert_int_equal(gt_cuda_ce_launch(&world.engine, req, r), 0);
	for (uint32_t r = 0; r < world.plan.nranks; r++)
		check(req, r);
	assert_int_equal(world.begins, req->part_count ? world.plan.nranks : 0);
	assert_int_equal(world.detours, world.begins);
}

static const enum gt_coll colls[] = {
	GT_COLL_ALLGATHER, GT_COLL_BROADCAST, GT_COLL_ALLTOALL,
	GT_COLL_GATHER,    GT_COLL_SCATTER,   GT_COLL_SENDRECV,
};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

/* Few and odd counts; buffers that begin anywhere; all roots. */
static void test_small(void **state)
{
	static const uint64_t counts[] = {1, 7, 1031, SMALL_BYTES};
	struct gt_exec_request req = {.op = GT_REDOP_SUM};

	(void)state;
	for (uint32_t n = 1; n <= RANKS; n++) {
		open_world(n, (RANKS + 1) * SMALL_BYTES * 4);
		for (uint32_t i = 0; i < NCOLLS * 4 * 2 * 2 * 2 * n; i++) {
			uint32_t k = i / n;

			req.root = i % n;
			req.coll = colls[k % NCOLLS];
			req.inplace = k / NCOLLS % 2;
			req.dtype = k / NCOLLS / 2 % 2 ? GT_DTYPE_FLOAT
						       : GT_DTYPE_INT8;
			req.shift = k / NCOLLS / 4 % 2 ? 3 : 0;
			req.count = counts[k / NCOLLS / 8];
			run(&req);
		}
		close_world();
	}
}

/* Of large blocks a kernel moves the head, if it can move whole packs. */
static void test_head(void **state)
{
	const uint64_t most = 3 * GT_CE_HEAD_BYTES;
	struct gt_exec_request req = {.op = GT_REDOP_SUM,
				      .dtype = GT_DTYPE_INT8};

	(void)state;
	open_world(2, 2 * most + 4096);
	for (uint32_t i = 0; i < NCOLLS * 4; i++) {
		int odd = i / NCOLLS % 2, two;

		req.coll = colls[i % NCOLLS];
		req.part_count = 0;
		req.count = most - (uint64_t)odd;
		if (i / NCOLLS / 2)
			req.part_count = most / 10 * 9;
		run(&req);
		two = req.coll == GT_COLL_ALLGATHER ||
		      req.coll == GT_COLL_ALLTOALL ||
		      req.coll == GT_COLL_SENDRECV;
		/* Where blocks are strided, odd ones begin anywhere. */
		if (!odd)
			assert_int_equal(world.head_bytes,
					 (1 + two) * GT_CE_HEAD_BYTES);
		else if (req.coll == GT_COLL_ALLTOALL)
			assert_int_equal(world.head_bytes, 0);
	}
	close_world();
}

/* Of more ranks, all heads of one together. */
static void test_heads(void **state)
{
	static struct gt_trace trace;
	const uint64_t most = 2 * GT_CE_HEAD_BYTES;
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_FLOAT,
				      .count = most / 4};

	(void)state;
	open_world(3, 3 * most + 4096);
	run(&req);
	assert_int_equal(world.head_bytes, 3 * GT_CE_HEAD_BYTES);
	req.trace = &trace;
	run(&req);
	assert_int_equal(world.head_bytes, 0);
	close_world();
}

/* Give each rank a caller's buffers, with its input, which lie as its own. */
static void fill_callers(struct gt_exec_request *req)
{
	uint64_t elem = gt_dtype_bytes(req->dtype);

	for (uint32_t r = 0; r < world.plan.nranks; r++) {
		struct gt_cuda_span span;
		char *input;

		req->buffers = NULL;
		span = gt_cuda_span_of(&world.engine, req, r, r);
		memset(world.written[r], 0, 2 * world.engine.data_bytes);
		memset(world.written_callers[r], 0,
		       2 * world.engine.data_bytes);
		memset(world.callers[r], UNTOUCHED,
		       2 * world.engine.data_bytes);
		input = world.callers[r] + (span.input - world.data[r]);
		for (uint64_t i = 0; i < span.input_count * elem; i++)
			input[i] = (char)value(r, i);
		world.buffers[r] = (struct gt_buffers){
			input,
			world.callers[r] + (span.output - world.data[r])};
	}
	req->buffers = world.buffers;
}

/*
 * Ranks that cannot reach each other's buffers fetch from the engine's.  What a
 * rank fetches another one has staged before; as copies are done at once here,
 * all is done twice, and the second time finds what the first has staged.
 */
static void test_pulls(void **state)
{
	static const uint64_t counts[] = {1, 1031, SMALL_BYTES};
	struct gt_exec_request req = {.op = GT_REDOP_SUM};

	(void)state;
	for (uint32_t n = 1; n <= RANKS; n++) {
		open_world(n, (RANKS + 1) * SMALL_BYTES);
		world.engine.access = GT_CUDA_ACCESS_PULLED;
		for (uint32_t i = 0; i < NCOLLS * 3 * 2 * n; i++) {
			req.root = i % n;
			req.coll = colls[i / n % NCOLLS];
			req.inplace = i / n / NCOLLS % 2;
			req.dtype = GT_DTYPE_INT8;
			req.count = counts[i / n / NCOLLS / 2];
			for (uint32_t r = 0; r < 2 * n; r++) {
				if (r % n == 0)
					fill_callers(&req);
				assert_int_equal(
					gt_cuda_ce_launch(&world.engine, &req,
							  r % n),
					0);
			}
			for (uint32_t r = 0; r < n; r++)
				check(&req, r);
			assert_int_equal(world.head_bytes, 0);
		}
		close_world();
	}
}

/* One part of every block, from callers' buffers that hold all of them. */
static void pull_piece(struct gt_exec_request *req, uint64_t first,
		       uint64_t count)
{
	uint64_t most = 2 * world.engine.data_bytes;
	uint32_t n = world.plan.nranks;
	char *before[RANKS];

	req->part_first = first;
	req->part_count = count;
	for (uint32_t r = 0; r < n; r++) {
		before[r] = malloc(most);
		memcpy(before[r], world.callers[r], most);
	}
	for (uint32_t i = 0; i < 2 * n; i++) {
		for (uint32_t r = 0; i % n == 0 && r < n; r++) {
			memset(world.written[r], 0, most);
			memset(world.written_callers[r], 0, most);
			memcpy(world.callers[r], before[r], most);
		}
		assert_int_equal(gt_cuda_ce_launch(&world.engine, req, i % n),
				 0);
	}
	for (uint32_t r = 0; r < n; r++)
		free(before[r]);
	req->part_first = req->part_count = 0;
}

/* Pieces of a request come to where all of it would at once. */
static void test_pulls_pieces(void **state)
{
	static const uint64_t counts[] = {2, 1031, SMALL_BYTES};
	struct gt_exec_request req = {.op = GT_REDOP_SUM,
				      .dtype = GT_DTYPE_INT8};

	(void)state;
	for (uint32_t n = 2; n <= RANKS; n++) {
		open_world(n, (RANKS + 1) * SMALL_BYTES);
		world.engine.access = GT_CUDA_ACCESS_PULLED;
		for (uint32_t i = 0; i < NCOLLS * 3 * 2 * n; i++) {
			uint64_t piece, first = 0;

			req.root = i % n;
			req.coll = colls[i / n % NCOLLS];
			req.inplace = i / n / NCOLLS % 2;
			req.count = counts[i / n / NCOLLS / 2];
			fill_callers(&req);
			for (; first < req.count; first += piece) {
				piece = (req.count + 2) / 3;
				if (piece > req.count - first)
					piece = req.count - first;
				pull_piece(&req, first, piece);
			}
			for (uint32_t r = 0; r < n; r++)
				check(&req, r);
		}
		close_world();
	}
}

/* A graph of one operation many times has as many edges for each. */
static void test_edges(void **state)
{
	struct gt_exec_request req = {.dtype = GT_DTYPE_INT8,
				      .count = SMALL_BYTES};
	uint64_t nodes, edges;

	(void)state;
	for (uint32_t i = 0; i < NCOLLS; i++) {
		open_world(3, 4 * SMALL_BYTES);
		req.coll = colls[i];
		for (uint32_t k = 0; k < OPS; k++)
			run(&req);
		for (uint32_t r = 0; r < world.plan.nranks; r++) {
			edges = streams_edges(r, &nodes);
			assert_in_range(edges, nodes - 1, 2 * nodes);
			assert_true(streams_joined(r));
		}
		close_world();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_pulls),
		cmocka_unit_test(test_pulls_pieces),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
