/*
 * Who reaches whom, and who goes through the host's memory.  GPUs and their
 * memory are SIMULATED; the processes that agree are real.
 */
#include "unit/job.h"

#include <string.h>

#define cudaSetDevice              fake_device
#define cudaDeviceCanAccessPeer    fake_can
#define cudaDeviceEnablePeerAccess fake_enable
#define cudaGetLastError           fake_last
#define gt_cuda_region_alloc       fake_alloc
#define gt_cuda_region_share       fake_share
#define gt_cuda_region_detach      fake_detach
#define gt_cuda_region_drop        fake_drop
#define gt_cuda_region_free        fake_free
#define gt_cuda_pages              fake_pages

#include <cuda_runtime_api.h>

#include "exec/cuda/device/peers.c"

enum { RANKS = 4, TIMEOUT_S = 60, NOBODY = 100 };

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_rank named[RANKS];
	struct gt_cuda_rank ranks[RANKS];
	uint8_t is_here[RANKS];
	int a, b;    /* devices without access to each other */
	int handles; /* can be opened */
	int files;   /* can be mapped */
	int enabled, allocs, drops;
	char text[GT_NOTICE_MAX];
} world;

cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

cudaError_t fake_can(int *can, int device, int other)
{
	*can = !((device == world.a && other == world.b) ||
		 (device == world.b && other == world.a));
	return cudaSuccess;
}

cudaError_t fake_enable(int device, unsigned int flags)
{
	(void)device;
	assert_int_equal(flags, 0);
	world.enabled++;
	return cudaSuccess;
}

cudaError_t fake_last(void)
{
	return cudaSuccess;
}

int fake_alloc(struct gt_engine *engine, int region, const uint64_t *bytes,
	       struct gt_err *err)
{
	(void)bytes;
	(void)err;
	assert_ptr_equal(engine, &world.engine);
	assert_int_equal(region, GT_CUDA_DATA);
	world.allocs++;
	return GT_OK;
}

int fake_share(struct gt_engine *engine, int region, int tries,
	       struct gt_err *err)
{
	(void)region;
	(void)err;
	assert_true(tries);
	for (uint32_t p = 0; p < engine->group.nprocesses; p++)
		if (p != engine->group.self &&
		    !(engine->shares_files ? world.files : world.handles))
			engine->reachable[p] = 0;
	return GT_OK;
}

void fake_detach(struct gt_engine *engine, int region, uint32_t p)
{
	(void)engine;
	(void)region;
	(void)p;
}

int fake_drop(struct gt_engine *engine, int region, struct gt_err *err)
{
	(void)region;
	world.drops++;
	return engine->group.world ? gt_world_allgather(engine->group.world,
							NULL, 0, NULL, err)
				   : GT_OK;
}

void fake_free(struct gt_engine *engine, int region)
{
	(void)engine;
	(void)region;
}

uint64_t fake_pages(uint64_t bytes)
{
	return bytes;
}

static void hear(void *arg, int warning, const char *text)
{
	(void)arg;
	assert_false(warning);
	snprintf(world.text, sizeof(world.text), "%s", text);
}

static const struct gt_notice notice = {.tell = hear};

/* Four ranks of one process, or one of four each, on a host. */
static void open_world(struct gt_world *processes)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	memset(world.is_here, 1, sizeof(world.is_here));
	world.a = world.b = NOBODY;
	world.handles = world.files = 1;
	for (int r = 0; r < RANKS; r++) {
		world.ranks[r].device = r;
		world.named[r].device = "gpu";
	}
	world.plan.nranks = RANKS;
	world.plan.ranks = world.named;
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->group = (struct gt_process_group){
		.config.notice = &notice,
		.world = processes,
		.nprocesses = processes ? RANKS : 1,
		.self = processes ? gt_world_rank(processes) : 0,
		.nhere = RANKS,
		.is_here = world.is_here,
		.end = RANKS};
	if (!processes)
		return;
	engine->group.first = engine->group.self;
	engine->group.end = engine->group.first + 1;
}

static void close_world(void)
{
	free(world.engine.reachable);
}

/* All reach what is theirs of the others, whichever memory that is in. */
static void expect(int is_staged)
{
	assert_int_equal(world.engine.stages_in_host, is_staged);
	assert_true(world.engine.all_peers_reachable);
	for (uint32_t p = 0; world.engine.group.world && p < RANKS; p++)
		assert_true(world.engine.reachable[p]);
	if (is_staged)
		assert_false(world.engine.shares_files);
	if (!world.engine.group.self)
		assert_int_equal(world.text[0] != '\0', is_staged);
}

static void expect_probed(int is_staged)
{
	assert_int_equal(gt_cuda_peers_probe(&world.engine, NULL), 0);
	expect(is_staged);
	close_world();
}

static void test_one_process(void **state)
{
	(void)state;
	open_world(NULL);
	expect_probed(0);
	assert_int_equal(world.enabled, RANKS * (RANKS - 1));

	open_world(NULL);
	world.a = 1;
	world.b = 3;
	expect_probed(1);
	assert_int_equal(world.enabled, 0);
	assert_non_null(strstr(world.text, "ranks 1 and 3"));
	assert_non_null(strstr(world.text, "no peer access"));

	/* One GPU reaches itself, but words are about ranks. */
	open_world(NULL);
	for (int r = 0; r < RANKS; r++)
		world.ranks[r].device = 0;
	expect_probed(0);
	open_world(NULL);
	world.engine.config.p2p = "2-3";
	expect_probed(1);
	assert_non_null(strstr(world.text, "ranks 2 and 3"));
	assert_non_null(strstr(world.text, "--p2p"));
}

/* The option comes before the variable. */
static void test_words(void **state)
{
	struct gt_err err;

	(void)state;
	setenv("GTOPO_P2P", "off", 1);
	open_world(NULL);
	expect_probed(1);
	assert_non_null(strstr(world.text, "GTOPO_P2P"));
	setenv("GTOPO_P2P", "6-7", 1);
	open_world(NULL);
	expect_probed(0);
	setenv("GTOPO_P2P", "nonsense", 1);
	open_world(NULL);
	gt_err_init(&err);
	assert_int_equal(gt_cuda_peers_probe(&world.engine, &err), GT_EINPUT);
	assert_string_equal(err.where, "GTOPO_P2P");
	close_world();
	open_world(NULL);
	world.engine.config.p2p = "0-1";
	expect_probed(1);
	unsetenv("GTOPO_P2P");
}

/* On several hosts a process with several GPUs cannot do without access. */
static void test_several_hosts(void **state)
{
	struct gt_err err;

	(void)state;
	open_world(NULL);
	world.engine.group.nhere = RANKS - 1;
	world.a = 0;
	world.b = 2;
	gt_err_init(&err);
	assert_int_equal(gt_cuda_peers_probe(&world.engine, &err), GT_ESYS);
	assert_non_null(strstr(err.text, "rank 0 (gpu) cannot reach"));
	assert_non_null(strstr(err.text, "a process for each GPU"));
	close_world();
}

static int part_reaches(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(processes);
	expect_probed(0);
	assert_int_equal(world.allocs, 1);
	return 0;
}

static int part_one_is_apart(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(processes);
	if (world.engine.group.self == 2)
		world.engine.config.p2p = "1-3";
	expect_probed(1);
	assert_int_equal(world.allocs, 1);
	/* Who tells it is another one than who knows it. */
	if (!world.engine.group.self)
		assert_non_null(strstr(world.text, "ranks 1 and 3"));
	return 0;
}

static int part_no_handles(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(processes);
	world.handles = world.engine.group.self != 1;
	assert_int_equal(gt_cuda_peers_probe(&world.engine, NULL), 0);
	assert_int_equal(world.engine.shares_files, 1);
	expect(0);
	close_world();
	return 0;
}

static int part_nothing_opens(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(processes);
	world.handles = world.files = world.engine.group.self != 3;
	expect_probed(1);
	if (!world.engine.group.self) {
		assert_non_null(strstr(world.text, "ranks 3 and 0"));
		assert_non_null(strstr(world.text, "cannot open"));
	}
	assert_int_equal(world.allocs, 3);
	assert_int_equal(world.drops, 2);
	return 0;
}

/* What a user wants between processes stays between them. */
static int part_has_link(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(processes);
	world.engine.group.config.link = "shm";
	world.engine.config.p2p = "off";
	assert_int_equal(gt_cuda_peers_probe(&world.engine, NULL), 0);
	assert_false(world.engine.stages_in_host);
	for (uint32_t p = 0; p < RANKS; p++)
		assert_int_equal(world.engine.reachable[p],
				 p == world.engine.group.self);
	close_world();
	return 0;
}

static void do_all(job_part *part)
{
	job_all_end(RANKS, TIMEOUT_S * 1000000000ll, part, 0);
}

static void test_processes(void **state)
{
	(void)state;
	do_all(part_reaches);
	do_all(part_one_is_apart);
	do_all(part_no_handles);
	do_all(part_nothing_opens);
	do_all(part_has_link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_several_hosts),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
