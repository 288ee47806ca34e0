/*
 * Regions that grow: whoever cannot have the larger one keeps the old one, and
 * so do all others.  GPUs and their memory are SIMULATED, as memory of the
 * host; the processes that agree are real, and see nothing of each other's.
 */
#include "unit/job.h"

#include <string.h>

#define cudaSetDevice         fake_device
#define cudaMalloc            fake_malloc
#define cudaFree              fake_free
#define cudaMemsetAsync       fake_memset
#define cudaStreamSynchronize fake_sync
#define cudaIpcGetMemHandle   fake_handle
#define cudaIpcOpenMemHandle  fake_open
#define cudaIpcCloseMemHandle fake_close
#define cudaGetLastError      fake_last

#include <cuda_runtime_api.h>

#include "exec/cuda/device/ipc_memory.c"

enum { RANKS = 3, SMALL = 1 << 20, LARGE = 5 << 20, TIMEOUT_S = 60 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_rank named[RANKS];
	struct gt_cuda_rank ranks[RANKS];
	uint8_t reachable[RANKS];
	int allocated, opened; /* that are not freed or closed */
	int fails;             /* to allocate: from now on */
	int opens_nothing;     /* of another process */
} world;

cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

cudaError_t fake_malloc(void **at, size_t bytes)
{
	if (world.fails)
		return cudaErrorMemoryAllocation;
	*at = malloc(bytes);
	world.allocated++;
	return cudaSuccess;
}

cudaError_t fake_free(void *at)
{
	world.allocated -= at != NULL;
	free(at);
	return cudaSuccess;
}

cudaError_t fake_memset(void *at, int value, size_t bytes, cudaStream_t stream)
{
	(void)stream;
	memset(at, value, bytes);
	return cudaSuccess;
}

cudaError_t fake_sync(cudaStream_t stream)
{
	(void)stream;
	return cudaSuccess;
}

cudaError_t fake_handle(cudaIpcMemHandle_t *handle, void *at)
{
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &at, sizeof(at));
	return cudaSuccess;
}

/* What it is does not matter, as nobody looks into it. */
cudaError_t fake_open(void **at, cudaIpcMemHandle_t handle, unsigned int flags)
{
	(void)flags;
	if (world.opens_nothing)
		return cudaErrorMapBufferObjectFailed;
	memcpy(at, &handle, sizeof(*at));
	world.opened++;
	return cudaSuccess;
}

cudaError_t fake_close(void *at)
{
	(void)at;
	world.opened--;
	return cudaSuccess;
}

cudaError_t fake_last(void)
{
	return cudaSuccess;
}

/* Three ranks of one process, or one of three each. */
static void open_world(struct gt_world *processes)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	memset(world.reachable, 1, sizeof(world.reachable));
	for (int r = 0; r < RANKS; r++)
		world.named[r].device = "gpu";
	world.plan.nranks = RANKS;
	world.plan.ranks = world.named;
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->reachable = world.reachable;
	engine->all_peers_reachable = 1;
	engine->same = calloc(RANKS, 1);
	engine->group = (struct gt_process_group){
		.config.nranks = RANKS,
		.world = processes,
		.nprocesses = processes ? RANKS : 1,
		.self = processes ? gt_world_rank(processes) : 0,
		.end = RANKS};
	if (!processes)
		return;
	engine->group.first = engine->group.self;
	engine->group.end = engine->group.first + 1;
}

static void close_world(void)
{
	gt_cuda_regions_unmap(&world.engine);
	gt_cuda_regions_free(&world.engine);
	assert_int_equal(world.allocated, 0);
	assert_int_equal(world.opened, 0);
	free(world.engine.same);
}

static int grow(uint64_t bytes, int on_streams, struct gt_err *err)
{
	static void *stream;
	const struct gt_exec_request req = {.streams = on_streams ? &stream
								  : NULL};

	return gt_cuda_region_grow(&world.engine, GT_CUDA_SCRATCH, bytes, &req,
				   err);
}

/* The region that is there, which graphs may use for ever. */
static const char *scratch(void)
{
	uint32_t first = world.engine.group.first;

	return gt_cuda_region_at(&world.engine, GT_CUDA_SCRATCH, first, first);
}

/* One process, of which one rank cannot; then it can. */
static void test_one_process(void **state)
{
	const char *before;
	struct gt_err err;

	(void)state;
	open_world(NULL);
	gt_err_init(&err);
	assert_int_equal(grow(SMALL, 0, NULL), 0);
	before = scratch();
	world.fails = 1;
	assert_int_equal(grow(LARGE, 1, &err), GT_ESYS);
	assert_non_null(strstr(err.text, "rank 0 (gpu): cannot allocate"));
	assert_ptr_equal(scratch(), before);
	assert_int_equal(world.engine.regions[GT_CUDA_SCRATCH].bytes, SMALL);
	assert_int_equal(world.engine.nretired, 0);
	world.fails = 0;
	assert_int_equal(grow(LARGE, 1, NULL), 0);
	assert_ptr_not_equal(scratch(), before);
	assert_int_equal(world.engine.regions[GT_CUDA_SCRATCH].bytes, LARGE);
	assert_int_equal(world.engine.nretired, 1);
	close_world();
}

/* A process fails in one way or the other: nobody has the larger region. */
static void fail_in(uint32_t process, struct gt_err *err)
{
	const char *before = scratch();
	uint32_t self = world.engine.group.self;

	for (int way = 0; way < 2; way++) {
		world.fails = self == process && !way;
		world.opens_nothing = self == process && way;
		gt_err_init(err);
		assert_int_equal(grow(LARGE, 1, err), GT_ESYS);
		assert_non_null(strstr(err->text, "rank"));
		assert_ptr_equal(scratch(), before);
		assert_int_equal(world.engine.regions[GT_CUDA_SCRATCH].bytes,
				 SMALL);
		assert_int_equal(world.allocated, 1);
		assert_int_equal(world.opened, RANKS - 1);
	}
	world.fails = world.opens_nothing = 0;
}

static int part_grows(struct gt_world *processes, struct gt_err *err)
{
	open_world(processes);
	assert_int_equal(grow(SMALL, 0, err), 0);
	for (uint32_t p = 0; p < RANKS; p++)
		fail_in(p, err);
	gt_err_init(err);
	assert_int_equal(grow(LARGE, 1, err), 0);
	assert_int_equal(world.allocated, 2);
	assert_int_equal(world.opened, 2 * (RANKS - 1));
	close_world();
	return 0;
}

static void test_processes(void **state)
{
	struct job job;

	(void)state;
	job_prepare(&job, RANKS, TIMEOUT_S * 1000000000ll, "127.0.0.1");
	job_start(&job, part_grows);
	job_wait(&job);
	for (uint32_t r = 0; r < job.size; r++)
		assert_int_equal(job.status[r], 0);
}

/* No flow reads what is multiplied: each process makes it for itself. */
static int part_is_alone(struct gt_world *processes, struct gt_err *err)
{
	static void *stream;
	const struct gt_exec_request req = {.streams = &stream};
	int rc = GT_OK;

	open_world(processes);
	world.engine.all_peers_reachable = 0;
	if (!world.engine.group.self)
		rc = gt_cuda_region_grow(&world.engine, GT_CUDA_PREMUL, SMALL,
					 &req, err);
	assert_int_equal(rc, 0);
	assert_int_equal(world.opened, 0);
	close_world();
	return 0;
}

static void test_alone(void **state)
{
	struct job job;

	(void)state;
	job_prepare(&job, RANKS, TIMEOUT_S * 1000000000ll, "127.0.0.1");
	job_start(&job, part_is_alone);
	job_wait(&job);
	for (uint32_t r = 0; r < job.size; r++)
		assert_int_equal(job.status[r], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
