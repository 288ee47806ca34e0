/*
 * Regions in the host's memory.  CUDA's calls that pin are SIMULATED; the
 * memory is real, and so are the processes that share it.
 */
#include "unit/job.h"

#include <string.h>

#define cudaHostRegister         fake_register
#define cudaHostUnregister       fake_unregister
#define cudaHostGetDevicePointer fake_pointer

#include <cuda_runtime_api.h>

#include "exec/cuda/device/host_memory.c"

enum {
	RANKS = 3,
	TIMEOUT_S = 60,
	REGION = GT_CUDA_SENDRECV,
	NODE_NOWHERE = 1000,
};

/* The second rank has nothing, the third an odd number of bytes. */
static const uint64_t sizes[RANKS] = {1 << 20, 0, 12345};

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_cuda_rank ranks[RANKS];
	uint8_t is_here[RANKS];
	const void *pinned;
	size_t bytes;
	int has, told;
} world;

cudaError_t fake_register(void *at, size_t bytes, unsigned int flags)
{
	assert_int_equal(flags,
			 cudaHostRegisterPortable | cudaHostRegisterMapped);
	world.pinned = at;
	world.bytes = bytes;
	world.has++;
	return cudaSuccess;
}

cudaError_t fake_unregister(void *at)
{
	assert_ptr_equal(at, world.pinned);
	world.has--;
	return cudaSuccess;
}

cudaError_t fake_pointer(void **at, void *host, unsigned int flags)
{
	assert_int_equal(flags, 0);
	*at = host;
	return cudaSuccess;
}

static void hear(void *arg, int warning, const char *text)
{
	(void)arg;
	assert_false(warning);
	assert_non_null(strstr(text, "of the host's memory are pinned"));
	world.told++;
}

static const struct gt_notice notice = {.tell = hear};

/* NUMA nodes that there are, that are not known and that there are none of. */
static void open_world(struct gt_world *processes)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	memset(world.is_here, 1, sizeof(world.is_here));
	world.ranks[1].numa_node = -1;
	world.ranks[2].numa_node = NODE_NOWHERE;
	world.plan.nranks = RANKS;
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->stages_in_host = 1;
	engine->group = (struct gt_process_group){
		.config.notice = &notice,
		.world = processes,
		.nprocesses = processes ? RANKS : 1,
		.self = processes ? gt_world_rank(processes) : 0,
		.is_here = world.is_here,
		.end = RANKS};
	if (processes) {
		engine->group.first = engine->group.self;
		engine->group.end = engine->group.first + 1;
	}
	assert_int_equal(gt_cuda_pinned_open(engine, NULL), 0);
}

static void close_region(void)
{
	gt_cuda_host_region_free(&world.engine, REGION);
	free(world.engine.regions[REGION].at);
	assert_int_equal(world.has, 0);
	assert_int_equal(world.engine.pinned_bytes, 0);
}

/* Parts are zeros, apart, and begin with pages; all of it is pinned, once. */
static void test_one_process(void **state)
{
	const char *last = NULL;

	(void)state;
	open_world(NULL);
	assert_int_equal(
		gt_cuda_host_region_new(&world.engine, REGION, sizes, NULL), 0);
	assert_int_equal(world.has, 1);
	assert_int_equal(world.told, 1);
	assert_int_equal(world.bytes, (1 << 20) + 4 * GT_HOST_PAGE_BYTES);
	assert_int_equal(world.engine.pinned_bytes, world.bytes);
	for (uint32_t r = 0; r < RANKS; r++) {
		char *at = gt_cuda_region_at(&world.engine, REGION, 0, r);

		assert_int_equal((uintptr_t)at % GT_HOST_PAGE_BYTES, 0);
		assert_true(!last || at >= last + sizes[r - 1]);
		for (uint64_t i = 0; i < sizes[r]; i++)
			assert_int_equal(at[i], 0);
		for (uint32_t v = 1; v < RANKS; v++)
			assert_ptr_equal(
				gt_cuda_region_at(&world.engine, REGION, v, r),
				at);
		last = at;
	}
	close_region();
}

/* What a rank writes in its part, and in others', all see. */
static int part_shares(struct gt_world *processes, struct gt_err *err)
{
	uint32_t self = gt_world_rank(processes);
	int rc;

	open_world(processes);
	rc = gt_cuda_host_region_new(&world.engine, REGION, sizes, err);
	if (rc)
		return rc;
	for (uint32_t r = 0; r < RANKS; r += 2)
		gt_cuda_region_at(&world.engine, REGION, self, r)[self * 4000] =
			(char)(10 * r + self + 1);
	rc = gt_world_allgather(processes, NULL, 0, NULL, err);
	for (uint32_t r = 0; !rc && r < RANKS; r += 2)
		for (uint32_t p = 0; p < RANKS; p++)
			assert_int_equal(gt_cuda_region_at(&world.engine,
							   REGION, self,
							   r)[p * 4000],
					 (int)(10 * r + p + 1));
	if (!rc)
		rc = gt_world_allgather(processes, NULL, 0, NULL, err);
	assert_int_equal(world.told, !self);
	close_region();
	return rc;
}

static void test_processes(void **state)
{
	(void)state;
	job_all_end(RANKS, TIMEOUT_S * 1000000000ll, part_shares, 0);
}

static void test_capped(void **state)
{
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	setenv("GTOPO_PINNED", "1M", 1);
	open_world(NULL);
	assert_int_equal(
		gt_cuda_host_region_new(&world.engine, REGION, sizes, &err),
		GT_ESYS);
	assert_string_equal(err.text,
			    "3 ranks need 1 MiB of the host's memory, pinned, "
			    "and 1 MiB are allowed; GTOPO_PINNED=2M allows "
			    "them");
	assert_null(world.engine.regions[REGION].at);
	assert_int_equal(world.has, 0);
	setenv("GTOPO_PINNED", "2M", 1);
	assert_int_equal(gt_cuda_pinned_open(&world.engine, NULL), 0);
	assert_int_equal(
		gt_cuda_host_region_new(&world.engine, REGION, sizes, NULL), 0);
	close_region();
	gt_err_init(&err);
	setenv("GTOPO_PINNED", "much", 1);
	assert_int_equal(gt_cuda_pinned_open(&world.engine, &err), GT_EINPUT);
	assert_string_equal(err.where, "GTOPO_PINNED");
	assert_non_null(strstr(err.text, "'much' is no size"));
	unsetenv("GTOPO_PINNED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
