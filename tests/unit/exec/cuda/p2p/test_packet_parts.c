/*
 * Packets that do not fit in mailboxes go in parts, as through the host's
 * memory.  No GPU takes part: launches are only looked at.
 */
#include "unit/test.h"

#include <string.h>

#include "exec/cuda/device/state.h"

#define cudaSetDevice fake_device
#define gt_packet_run fake_packet

static cudaError_t fake_device(int device);
static int fake_packet(const struct gt_kernel_grid *grid, int ll128,
		       const struct gt_packet_args *args);

#include "exec/cuda/p2p/launch.c"

enum { RANKS = 3, PAIRS = RANKS * RANKS, PROCESSORS = 16 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_cuda_rank ranks[RANKS];
	struct gt_exec_request req;
	char *at[PAIRS];
	int device;
	uint64_t launches;
	uint64_t done[RANKS]; /* bytes of a block, so far */
} world;

/* Nobody looks at what lies at these addresses. */
static char data[PAIRS];

static cudaError_t fake_device(int device)
{
	world.device = device;
	return cudaSuccess;
}

/*
 * A part goes on where the one before ended, on one rank after the other, and
 * each slice or block of it has room.
 */
static int fake_packet(const struct gt_kernel_grid *grid, int ll128,
		       const struct gt_packet_args *args)
{
	const struct gt_p2p *flow = &args->part.flow;
	uint64_t elem = gt_dtype_bytes(world.req.dtype);
	uint64_t all = flow->end ? flow->end : flow->count;
	uint32_t r = flow->me;
	struct gt_cuda_span span =
		gt_cuda_span_of(&world.engine, &world.req, r, r);

	assert_false(ll128);
	assert_in_range(grid->blocks, 1, PROCESSORS);
	assert_int_equal(r, world.launches++ % RANKS);
	assert_int_equal(world.device, r);
	assert_int_equal(args->part.input - span.input, world.done[r]);
	assert_int_equal(args->part.output - span.output, world.done[r]);
	assert_in_range(flow->count * elem, 1,
			gt_cuda_p2p_room(&world.engine, &world.req,
					 &world.engine.choice));
	if (flow->in_stride && !flow->end)
		assert_int_equal(flow->in_stride, world.req.count);
	world.done[r] += all * elem;
	return 0;
}

static void open_world(void)
{
	memset(&world, 0, sizeof(world));
	world.plan.nranks = RANKS;
	world.engine.plan = &world.plan;
	world.engine.ranks = world.ranks;
	world.engine.processors = PROCESSORS;
	world.engine.group.end = RANKS;
	world.engine.stages_in_host = 1;
	for (int r = 0; r < RANKS; r++)
		world.ranks[r].device = r;
	for (int i = 0; i < PAIRS; i++)
		world.at[i] = &data[i];
	for (int i = 0; i < GT_CUDA_REGIONS; i++)
		world.engine.regions[i].at = world.at;
}

static void launch(enum gt_coll coll, enum gt_algo algo, enum gt_dtype dtype,
		   uint64_t count)
{
	open_world();
	world.engine.choice =
		(struct gt_algo_choice){.algo = (uint8_t)algo,
					.protocol = GT_PROTOCOL_LL,
					.blocks = PROCESSORS,
					.threads = 128,
					.max_blocks = PROCESSORS};
	world.req = (struct gt_exec_request){
		.coll = coll, .dtype = dtype, .count = count};
	assert_int_equal(
		gt_cuda_packets_launch(&world.engine, &world.req, 0, RANKS), 0);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(world.done[r], count * gt_dtype_bytes(dtype));
}

static void test_parts(void **state)
{
	static const enum gt_dtype types[] = {GT_DTYPE_INT8, GT_DTYPE_BF16,
					      GT_DTYPE_FLOAT, GT_DTYPE_DOUBLE};

	(void)state;
	for (uint32_t i = 0; i < GT_NCOLLS * 4 * 2; i++) {
		enum gt_coll coll = (enum gt_coll)(i / 8);
		int two = i % 2 &&
			  (coll == GT_COLL_ALLREDUCE ||
			   coll == GT_COLL_BROADCAST || coll == GT_COLL_REDUCE);

		for (uint64_t count = 1; count < 1 << 26; count = count * 5 + 3)
			launch(coll, two ? GT_ALGO_TWO_SHOT : GT_ALGO_ONE_SHOT,
			       types[i / 2 % 4], count);
	}
}

/* What fits is one launch, which may be set up early. */
static void test_no_more_than_needed(void **state)
{
	(void)state;
	launch(GT_COLL_ALLREDUCE, GT_ALGO_ONE_SHOT, GT_DTYPE_FLOAT, 128 << 10);
	assert_int_equal(world.launches, RANKS);
	launch(GT_COLL_ALLREDUCE, GT_ALGO_ONE_SHOT, GT_DTYPE_FLOAT,
	       (128 << 10) + 1);
	assert_int_equal(world.launches, 2 * RANKS);
	launch(GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_DTYPE_FLOAT, 192 << 10);
	assert_int_equal(world.launches, RANKS);
	launch(GT_COLL_ALLREDUCE, GT_ALGO_TWO_SHOT, GT_DTYPE_FLOAT,
	       (192 << 10) + 1);
	assert_int_equal(world.launches, 2 * RANKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_no_more_than_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
