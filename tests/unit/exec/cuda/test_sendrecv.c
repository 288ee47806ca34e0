/*
 * Messages of a rank that start together: which its kernel gets, in how many
 * blocks, and which do not leave the GPU where others are reached through the
 * host's memory.  No GPU takes part: copies and launches are noted.
 */
#include "unit/test.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "kernels/sendrecv.h"

#define cudaSetDevice        fake_device
#define cudaMemcpyAsync      fake_copy
#define gt_sendrecv_run      fake_run
#define gt_cuda_capture_find fake_capture

static cudaError_t fake_device(int device);
static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream);
static int fake_run(const struct gt_kernel_grid *grid,
		    const struct gt_sendrecv_args *args,
		    const struct gt_kernel_message *messages);

static cudaError_t fake_capture(cudaStream_t stream, unsigned long long *id);

#include "exec/cuda/sendrecv.c"

enum { RANKS = 4, SELF = 1, PROCESSORS = 132 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_rank names[RANKS];
	struct gt_cuda_rank ranks[RANKS];
	char *at[RANKS * RANKS];
	char buffers[8][64];
	uint32_t copies, launches, given, blocks;
	unsigned long long capture;
	cudaError_t answer;
} world;

static cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	assert_int_equal(kind, cudaMemcpyDefault);
	assert_ptr_equal(stream, &world);
	world.copies++;
	if (world.answer == cudaSuccess)
		memcpy(to, from, bytes);
	return world.answer;
}

static cudaError_t fake_capture(cudaStream_t stream, unsigned long long *id)
{
	assert_ptr_equal(stream, &world);
	*id = world.capture;
	return cudaSuccess;
}

static int fake_run(const struct gt_kernel_grid *grid,
		    const struct gt_sendrecv_args *args,
		    const struct gt_kernel_message *messages)
{
	assert_non_null(messages);
	world.launches++;
	world.given = args->n;
	world.blocks = grid->blocks;
	return cudaSuccess;
}

static void open_world(int staged)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	world.plan.nranks = RANKS;
	world.plan.ranks = world.names;
	for (int r = 0; r < RANKS; r++)
		world.names[r].device = "0000:00:00.0";
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->group.end = RANKS;
	engine->processors = PROCESSORS;
	engine->all_peers_reachable = 1;
	engine->stages_in_host = staged;
	engine->regions[GT_CUDA_SENDRECV].at = world.at;
	for (int i = 0; i < 8; i++)
		memset(world.buffers[i], 'a' + i, sizeof(world.buffers[i]));
}

static struct gt_message message(uint32_t peer, int sends, uint64_t bytes,
				 int buffer)
{
	return (struct gt_message){.buffer = world.buffers[buffer],
				   .bytes = bytes,
				   .peer = peer,
				   .sends = (uint8_t)sends};
}

static int start(const struct gt_message *messages, uint32_t n)
{
	world.copies = world.launches = world.given = world.blocks = 0;
	return gt_cuda_sendrecv(&world.engine, SELF, &world, messages, n, NULL);
}

static void expect_start(const struct gt_message *messages, uint32_t n,
			 uint32_t copies, uint32_t given)
{
	assert_int_equal(start(messages, n), GT_OK);
	assert_int_equal(world.copies, copies);
	assert_int_equal(world.given, given);
	assert_int_equal(world.launches, given > 0);
}

/* The first that is sent is the first that is received, whatever is between. */
static void test_own_are_copied(void **state)
{
	const struct gt_message all[] = {
		message(SELF, 0, 8, 0), message(2, 1, 8, 1),
		message(SELF, 1, 8, 2), message(SELF, 0, 16, 3),
		message(SELF, 0, 0, 4), message(2, 0, 8, 5),
		message(SELF, 1, 16, 6)};
	const struct gt_message here[] = {message(SELF, 1, 8, 0),
					  message(SELF, 0, 8, 0)};

	(void)state;
	open_world(1);
	expect_start(here, 2, 0, 0);
	expect_start(all, 7, 2, 2);
	assert_memory_equal(world.buffers[0], "ccccccccaaaaaaaa", 16);
	assert_memory_equal(world.buffers[3], "ggggggggggggggggdddd", 20);
	assert_memory_equal(world.buffers[4], "eeee", 4);
}

/* What was sent before comes first, so what follows must wait behind it. */
static void test_own_keep_their_order(void **state)
{
	const struct gt_message pair[] = {message(SELF, 1, 8, 0),
					  message(SELF, 0, 8, 1)};

	(void)state;
	open_world(1);
	expect_start(pair, 2, 1, 0);
	expect_start(pair, 1, 0, 1);
	expect_start(pair, 2, 0, 2);
	expect_start(&pair[1], 1, 0, 1);
	expect_start(pair, 2, 1, 0);
	/* The same with one that is received before it is sent. */
	expect_start(&pair[1], 1, 0, 1);
	expect_start(pair, 2, 0, 2);
	expect_start(pair, 1, 0, 1);
	expect_start(pair, 2, 1, 0);
}

/*
 * A graph may be launched once, often or never: one that sends and another one
 * that receives leave nothing to count on.
 */
static void test_own_in_graphs(void **state)
{
	const struct gt_message pair[] = {message(SELF, 1, 8, 0),
					  message(SELF, 0, 8, 1)};

	(void)state;
	open_world(1);
	world.capture = 1;
	expect_start(pair, 2, 1, 0);
	world.capture = 0;
	expect_start(pair, 2, 1, 0);
	world.capture = 2;
	expect_start(pair, 1, 0, 1);
	world.capture = 3;
	expect_start(&pair[1], 1, 0, 1);
	world.capture = 0;
	expect_start(pair, 2, 0, 2);
}

/* Kernels find out that two ends differ, and say so. */
static void test_others_are_not_copied(void **state)
{
	struct gt_message pair[] = {message(SELF, 1, 8, 0),
				    message(SELF, 0, 16, 1)};

	(void)state;
	open_world(1);
	expect_start(pair, 2, 0, 2);
	pair[1].bytes = 8;
	pair[1].dtype = 1;
	expect_start(pair, 2, 0, 2);
	pair[1].dtype = 0;
	expect_start(pair, 2, 1, 0);
	open_world(0);
	expect_start(pair, 2, 0, 2);
}

static void test_failure(void **state)
{
	const struct gt_message all[] = {message(SELF, 1, 8, 0),
					 message(SELF, 0, 8, 1),
					 message(2, 1, 8, 2)};

	(void)state;
	open_world(1);
	world.answer = cudaErrorUnknown;
	assert_int_equal(start(all, 3), GT_ESYS);
	assert_int_equal(world.launches, 0);
}

static uint32_t blocks_of(uint64_t bytes, int sends, int receives)
{
	struct gt_message both[2];
	uint32_t n = 0;

	if (sends)
		both[n++] = message(2, 1, bytes, 0);
	if (receives)
		both[n++] = message(2, 0, bytes, 1);
	assert_int_equal(start(both, n), GT_OK);
	return world.blocks;
}

/*
 * Through the host's memory a block has pieces of both directions, and fewer
 * blocks carry all; a limit holds.
 */
static void test_blocks(void **state)
{
	(void)state;
	open_world(1);
	assert_int_equal(blocks_of(256 << 10, 1, 0), 32);
	assert_int_equal(blocks_of(256 << 10, 1, 1), 32);
	assert_int_equal(blocks_of(64 << 10, 1, 1), 16);
	assert_int_equal(blocks_of(64 << 20, 1, 1), 64);
	world.engine.config.max_blocks = 5;
	assert_int_equal(blocks_of(64 << 20, 1, 1), 5);
	open_world(0);
	assert_int_equal(blocks_of(64 << 20, 1, 1), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_are_copied),
		cmocka_unit_test(test_own_keep_their_order),
		cmocka_unit_test(test_own_in_graphs),
		cmocka_unit_test(test_others_are_not_copied),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
