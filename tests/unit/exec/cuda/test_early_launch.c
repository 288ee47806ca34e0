/*
 * A kernel that is set up early, while the launch before it still runs, holds
 * room while it waits: of ranks that share a GPU it may hold no more than each
 * one's part, or others' kernels that it waits for find none.  And no launch
 * has more blocks than the caller, or who chose its algorithm, allows.  No GPU
 * takes part: launches are only looked at.
 */
#include "draw.h"
#include "unit/test.h"

#include <string.h>

#include "exec/cuda/device/state.h"

#define cudaSetDevice        fake_device
#define cudaMemcpyAsync      fake_copy
#define gt_cuda_ce_need      fake_need
#define gt_direct_run        fake_direct
#define gt_group_run         fake_group
#define gt_packet_run        fake_packet
#define gt_scratch_run       fake_push
#define gt_scratch_group_run fake_pushes
#define gt_premul_run        fake_scale

static cudaError_t fake_device(int device);
static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream);
static int fake_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err);
static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args);
static int fake_group(const struct gt_kernel_grid *grid,
		      const struct gt_group_args *args);
static int fake_packet(const struct gt_kernel_grid *grid, int ll128,
		       const struct gt_packet_args *args);
static int fake_push(const struct gt_kernel_grid *grid,
		     const struct gt_scratch_args *args);
static int fake_pushes(const struct gt_kernel_grid *grid,
		       const struct gt_scratch_group_args *args);
static int fake_scale(const struct gt_kernel_grid *grid,
		      const struct gt_premul_args *args);

#include "exec/cuda/enqueue.c"
#include "exec/cuda/p2p/launch.c"
#include "exec/cuda/group.c"
#include "exec/cuda/p2p/scratch_reduce.c"
#include "exec/cuda/p2p/scratch_reduce_group.c"

enum {
	PROCESSORS = 132,
	ROUNDS = 2000,
	PAIRS = GT_P2P_RANKS * GT_P2P_RANKS,
};

enum kind { DIRECT, GROUP, PACKET, PUSH, PUSHES, SCALE, KINDS };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_cuda_rank ranks[GT_P2P_RANKS];
	char *at[PAIRS];
	void *streams[GT_P2P_RANKS];
	uint64_t state;
	uint64_t early[KINDS], late[KINDS];
	uint32_t most[KINDS]; /* blocks that were seen */
	uint32_t allowed;     /* blocks, by the request's choice; 0: any */
} world;

static cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)to;
	(void)from;
	(void)bytes;
	(void)kind;
	(void)stream;
	return cudaSuccess;
}

/* There are streams, and scratch for anything. */
static int fake_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err)
{
	(void)engine;
	(void)req;
	(void)err;
	return GT_OK;
}

/* Two such of all ranks fit, as gt_devices_check() has it. */
static int look(const struct gt_kernel_grid *grid, enum kind kind)
{
	uint32_t given = world.engine.config.max_blocks;

	assert_in_range(grid->threads, 32, GT_DIRECT_THREADS);
	if (grid->overlaps || given)
		assert_in_range(grid->blocks, 1, world.engine.processors);
	if (given)
		assert_in_range(grid->blocks, 1, given);
	if (world.allowed)
		assert_in_range(grid->blocks, 1, world.allowed);
	if ((given && given < world.engine.processors) ||
	    (world.allowed && world.allowed < world.engine.processors))
		assert_false(grid->overlaps);
	if (grid->blocks > world.most[kind])
		world.most[kind] = grid->blocks;
	++*(grid->overlaps ? &world.early[kind] : &world.late[kind]);
	return 0;
}

static int fake_direct(const struct gt_kernel_grid *grid,
		       const struct gt_direct_args *args)
{
	(void)args;
	return look(grid, DIRECT);
}

static int fake_group(const struct gt_kernel_grid *grid,
		      const struct gt_group_args *args)
{
	(void)args;
	return look(grid, GROUP);
}

static int fake_packet(const struct gt_kernel_grid *grid, int ll128,
		       const struct gt_packet_args *args)
{
	(void)ll128;
	(void)args;
	return look(grid, PACKET);
}

static int fake_push(const struct gt_kernel_grid *grid,
		     const struct gt_scratch_args *args)
{
	(void)args;
	return look(grid, PUSH);
}

static int fake_pushes(const struct gt_kernel_grid *grid,
		       const struct gt_scratch_group_args *args)
{
	(void)args;
	return look(grid, PUSHES);
}

static int fake_scale(const struct gt_kernel_grid *grid,
		      const struct gt_premul_args *args)
{
	(void)args;
	return look(grid, SCALE);
}

/* Of n ranks so many on each GPU. */
static void open_world(uint32_t n, uint32_t each)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	world.plan.nranks = n;
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->group.end = n;
	engine->all_peers_reachable = engine->has_128b_stores = 1;
	engine->p2p_dtypes = ~0u;
	engine->sharers = each - 1;
	engine->processors = each > 1 ? PROCESSORS / (2 * each) : PROCESSORS;
	for (int i = 0; i < PAIRS; i++)
		world.at[i] = (char *)((uintptr_t)(i + 1) << 32);
	for (int i = 0; i < GT_CUDA_REGIONS; i++) {
		engine->regions[i].at = world.at;
		engine->regions[i].bytes = UINT64_MAX;
	}
}

static struct gt_algo_choice draw_choice(void)
{
	static const uint8_t protocols[] = {GT_PROTOCOL_LL, GT_PROTOCOL_LL128,
					    GT_PROTOCOL_DIRECT};

	return (struct gt_algo_choice){
		.algo = draw(&world.state, 2) ? GT_ALGO_ONE_SHOT
					      : GT_ALGO_TWO_SHOT,
		.protocol = protocols[draw(&world.state, 3)]};
}

static struct gt_exec_request draw_request(const struct gt_algo_choice *choice)
{
	return (struct gt_exec_request){
		.coll = (enum gt_coll)draw(&world.state, GT_NCOLLS),
		.dtype = (enum gt_dtype)draw(&world.state, GT_NDTYPES),
		.op = (enum gt_redop)draw(&world.state, GT_NREDOPS),
		.count = draw(&world.state, 2u << draw(&world.state, 24)),
		.root = draw(&world.state, world.plan.nranks),
		.inplace = !draw(&world.state, 4),
		.streams = world.streams,
		.choice = choice};
}

static void launch(const struct gt_exec_request *req)
{
	for (uint32_t r = 0; r < world.plan.nranks; r++)
		assert_int_equal(gt_cuda_enqueue(&world.engine, req, r, 1), 0);
}

/* exec/cuda/stream.c does the same. */
static void launch_group(void)
{
	struct gt_exec_request reqs[GT_GROUP_OPS];
	struct gt_algo_choice choices[GT_GROUP_OPS];
	struct gt_cuda_fusion bundle = {.n = 0};
	uint32_t n = 1 + draw(&world.state, GT_GROUP_OPS);
	struct gt_err err;

	gt_err_init(&err);
	for (uint32_t i = 0; i < n; i++) {
		choices[i] = draw_choice();
		reqs[i] = draw_request(&choices[i]);
		if (gt_cuda_prepare(&world.engine, &reqs[i], &err))
			continue; /* no such choice */
		if (gt_cuda_fusion_takes(&world.engine, &reqs[i]))
			gt_cuda_fusion_add(&world.engine, &bundle, &reqs[i]);
		else
			launch(&reqs[i]);
	}
	assert_int_equal(gt_cuda_fusion_flush(&world.engine, &bundle, &err), 0);
}

static void launch_many(uint32_t n, uint32_t each)
{
	open_world(n, each);
	for (int i = 0; i < ROUNDS / (int)n; i++)
		launch_group();
	for (int kind = DIRECT; kind < KINDS; kind++)
		assert_true(world.early[kind] || world.late[kind]);
}

/* What waits for others is set up early nevertheless; multiplying is not. */
static void test_shared(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 8; n *= 2)
		for (uint32_t each = 2; each <= n; each *= 2) {
			launch_many(n, each);
			assert_true(world.early[PACKET] && world.early[GROUP]);
			assert_true(world.early[PUSH] && world.early[PUSHES]);
			assert_true(world.early[DIRECT]);
		}
}

static void test_alone(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 8; n *= 2) {
		launch_many(n, 1);
		assert_int_equal(world.late[SCALE], 0);
	}
}

/* Large groups take all blocks that they may, of every kind, and no more. */
static void test_limited(void **state)
{
	static const uint32_t limits[] = {1, 2, 3, 8, 16, 131, 132, 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		uint32_t most = limits[i] < PROCESSORS ? limits[i] : PROCESSORS;

		open_world(2 + (uint32_t)i % 7, 1);
		world.engine.config.max_blocks = limits[i];
		for (int k = 0; k < ROUNDS / 4; k++)
			launch_group();
		for (int kind = DIRECT; kind < KINDS; kind++)
			assert_int_equal(world.most[kind],
					 kind == SCALE && most > 128 ? 128
								     : most);
	}
}

/* Each request has a limit of its own; those of a launch keep the least. */
static void test_limited_each(void **state)
{
	(void)state;
	open_world(4, 1);
	for (int i = 0; i < ROUNDS; i++) {
		struct gt_algo_choice choice = draw_choice();
		struct gt_exec_request req = draw_request(&choice);

		world.allowed = choice.max_blocks = 1 + draw(&world.state, 200);
		if (!gt_cuda_prepare(&world.engine, &req, NULL))
			launch(&req);
	}
	for (int i = 0; i < ROUNDS / 10; i++) {
		struct gt_algo_choice choices[2] = {draw_choice(),
						    draw_choice()};
		struct gt_cuda_fusion bundle = {.n = 0};
		struct gt_exec_request reqs[2];

		world.allowed = 1 + draw(&world.state, 200);
		choices[i % 2].max_blocks = world.allowed;
		choices[!(i % 2)].max_blocks =
			world.allowed + draw(&world.state, 200);
		for (int k = 0; k < 2; k++) {
			reqs[k] = draw_request(&choices[k]);
			if (!gt_cuda_prepare(&world.engine, &reqs[k], NULL) &&
			    gt_cuda_fusion_takes(&world.engine, &reqs[k]))
				gt_cuda_fusion_add(&world.engine, &bundle,
						   &reqs[k]);
		}
		if (bundle.n == 2)
			assert_int_equal(gt_cuda_fusion_flush(&world.engine,
							      &bundle, NULL),
					 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_limited),
		cmocka_unit_test(test_limited_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
