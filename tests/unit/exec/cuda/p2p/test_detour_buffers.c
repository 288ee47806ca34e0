/*
 * What detours need, SIMULATED: no GPU takes part, and the calls of CUDA that
 * get memory and streams fail when they are told to.  Memory of the host is
 * real, and so are the processes that share it.
 */
#include "unit/job.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define cudaSetDevice             fake_device
#define cudaEventCreateWithFlags  fake_event
#define cudaEventDestroy          fake_no_event
#define cudaStreamCreateWithFlags fake_stream
#define cudaStreamDestroy         fake_no_stream
#define cudaStreamSynchronize     fake_wait
#define cudaMalloc                fake_malloc
#define cudaFree                  fake_free
#define cudaMemsetAsync           fake_set
#define gt_detour_prepare         fake_prepare
#define nanosleep                 fake_sleep
#define gt_cuda_pins              fake_pins

#include <cuda_runtime_api.h>

#include "exec/link/link.h"

static int fake_prepare(void);
static int fake_sleep(const struct timespec *time, struct timespec *left);
static const struct gt_link_memory_ops fake_pins;

#include "exec/cuda/p2p/detour_buffers.c"
#include "exec/cuda/requests.h"
#include "plan/ir/detour.h"

enum {
	RANKS = 4, /* at most */
	NEVER = 1000,
	LOOKS_PER_MEETING = 30,
	TIMEOUT_S = 60,
	FEW_BYTES = 1 << 20, /* of a file, and so of what is shared */
};

static struct world {
	struct gt_engine engine;
	struct gt_plan plan;
	struct gt_plan_rank named[RANKS];
	struct gt_cuda_rank ranks[RANKS];
	uint8_t is_here[RANKS];
	uint32_t calls, calls_most; /* of CUDA; more fail */
	uint32_t pins, pins_most;
	int leaves; /* when it pins */
	int has;    /* things that have not been given back */
	uint64_t malloc_bytes;
	int told;
	int slept;      /* how often */
	int is_held_up; /* rank 1, and comes to its meetings later */
	char text[GT_NOTICE_MAX];
} world;

static cudaError_t called(void)
{
	return world.calls++ < world.calls_most ? cudaSuccess
						: cudaErrorMemoryAllocation;
}

static cudaError_t made(void **thing)
{
	cudaError_t rc = called();

	if (rc == cudaSuccess) {
		*thing = malloc(1);
		world.has++;
	}
	return rc;
}

static cudaError_t dropped(void *thing)
{
	world.has -= thing != NULL;
	free(thing);
	return cudaSuccess;
}

cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

cudaError_t fake_event(cudaEvent_t *event, unsigned int flags)
{
	assert_int_equal(flags, cudaEventDisableTiming);
	return made((void **)event);
}

cudaError_t fake_no_event(cudaEvent_t event)
{
	assert_non_null(event);
	return dropped(event);
}

cudaError_t fake_stream(cudaStream_t *stream, unsigned int flags)
{
	assert_int_equal(flags, cudaStreamNonBlocking);
	return made((void **)stream);
}

cudaError_t fake_no_stream(cudaStream_t stream)
{
	assert_non_null(stream);
	return dropped(stream);
}

cudaError_t fake_malloc(void **at, size_t bytes)
{
	world.malloc_bytes = bytes;
	return made(at);
}

cudaError_t fake_free(void *at)
{
	return dropped(at);
}

cudaError_t fake_set(void *at, int value, size_t bytes, cudaStream_t stream)
{
	(void)at;
	(void)stream;
	assert_int_equal(value, 0);
	assert_int_equal(bytes, sizeof(struct gt_kernel_epoch));
	return called();
}

cudaError_t fake_wait(cudaStream_t stream)
{
	(void)stream;
	return called();
}

static int fake_prepare(void)
{
	return (int)called();
}

static int fake_pin(void *base, size_t bytes, struct gt_err *err)
{
	assert_non_null(base);
	if (world.leaves)
		_exit(0);
	if (world.pins++ >= world.pins_most)
		return gt_err_set(err, GT_ESYS, NULL, "cannot pin '%zu' bytes",
				  bytes);
	world.has++;
	return GT_OK;
}

static void fake_unpin(void *base)
{
	assert_ptr_equal(base, world.engine.detour_slots.base);
	world.has--;
}

static const struct gt_link_memory_ops fake_pins = {.pin = fake_pin,
						    .unpin = fake_unpin};

static void hear(void *arg, int warning, const char *text)
{
	(void)arg;
	/* That detours are none is a warning, what is pinned is told. */
	assert_int_equal(!warning, world.engine.stages_in_host);
	world.told++;
	snprintf(world.text, sizeof(world.text), "%s", text);
}

static const struct gt_notice notice = {.tell = hear};

/* Of n ranks, in one process or in as many. */
static void open_world(uint32_t n, struct gt_world *processes)
{
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	world.calls_most = world.pins_most = NEVER;
	world.plan.nranks = n;
	for (uint32_t r = 0; r < n; r++) {
		world.named[r].device = "0000:17:00.0";
		world.is_here[r] = 1;
	}
	world.plan.ranks = world.named;
	engine->plan = &world.plan;
	engine->ranks = world.ranks;
	engine->arena = gt_arena_new();
	engine->detour_slots.fd = -1;
	engine->config.max_bytes = 1;
	engine->config.best = 1;
	engine->pinned_most = UINT64_MAX;
	engine->choice.detour_permille = 80;
	engine->all_peers_reachable = engine->has_128b_stores = 1;
	engine->processors = 132;
	engine->group = (struct gt_process_group){
		.config.notice = &notice,
		.world = processes,
		.nprocesses = processes ? n : 1,
		.self = processes ? gt_world_rank(processes) : 0,
		.is_here = world.is_here,
		.end = n};
	if (processes) {
		engine->group.first = engine->group.self;
		engine->group.end = engine->group.first + 1;
	}
	assert_int_equal(gt_cuda_detour_open(engine, NULL), 0);
	assert_true(engine->has_detours);
}

static void close_world(void)
{
	gt_cuda_detour_release(&world.engine);
	assert_int_equal(world.has, 0);
	gt_arena_free(world.engine.arena);
}

/* A share for a detour, and the blocks beside it. */
static struct gt_algo_choice large(enum gt_coll coll)
{
	const struct gt_exec_request req = {
		.coll = coll, .dtype = GT_DTYPE_FLOAT, .count = 1 << 28};
	struct gt_algo_choice choice;

	assert_int_equal(
		gt_cuda_choose_algo(&world.engine, &req, &choice, NULL), 0);
	return choice;
}

/* Those that can are taken as a plan's row says, and no others. */
static void test_rows(void **state)
{
	uint8_t cannot[GT_NCOLLS] = {0};
	struct gt_plan_select row = {.max_bytes = UINT64_MAX,
				     .detour_permille = 70};
	uint32_t n = 0;

	(void)state;
	memset(cannot, 1, sizeof(cannot)); /* go through FIFOs */
	for (int i = 0; i < GT_NCOLLS * GT_NALGOS * GT_NPROTOCOLS; i++) {
		struct gt_exec_request req = {.dtype = GT_DTYPE_FLOAT,
					      .count = 1 << 28};
		struct gt_algo_choice choice;
		int can, rc;

		open_world(2, NULL);
		world.engine.config.best = 0;
		world.engine.row_support = cannot;
		world.plan.select = &row;
		world.plan.nselect = 1;
		row.coll = req.coll = (enum gt_coll)(i % GT_NCOLLS);
		row.algo = (enum gt_algo)(i / GT_NCOLLS % GT_NALGOS);
		row.protocol = (enum gt_protocol)(i / GT_NCOLLS / GT_NALGOS);
		can = gt_detour_is_possible(row.algo, row.protocol, row.coll);
		rc = gt_cuda_choose_algo(&world.engine, &req, &choice, NULL);
		if (can || !rc)
			assert_int_equal(choice.detour_permille, can ? 70 : 0);
		if (can)
			assert_true(!rc && choice.algo == row.algo &&
				    choice.protocol == row.protocol);
		n += (uint32_t)can;
		close_world();
	}
	assert_int_equal(n, GT_NCOLLS);
}

static void assert_taken(uint64_t most_bytes)
{
	const struct gt_cuda_detour *detour = world.ranks[0].detour;
	uint64_t bytes = (uint64_t)((char *)detour->epoch - detour->piles);
	uint64_t sums = (uint64_t)(detour->sums - detour->piles);

	assert_int_equal(detour->chunk_bytes % GT_DETOUR_PAGE_BYTES, 0);
	assert_in_range(detour->chunk_bytes * world.plan.nranks, 1,
			GT_DETOUR_STEP_BYTES);
	assert_int_equal(sums, GT_DETOUR_LANES * world.plan.nranks *
				       detour->chunk_bytes);
	assert_int_equal(bytes - sums, GT_DETOUR_LANES * GT_DETOUR_SUM_STEPS *
					       detour->chunk_bytes);
	assert_int_equal(bytes, most_bytes);
	assert_int_equal(world.malloc_bytes, bytes + sizeof(*detour->epoch));
}

static void test_no_more_than_needed(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= RANKS; n += 2) {
		open_world(n, NULL);
		assert_int_equal(gt_cuda_detour_need(&world.engine, NULL), 0);
		assert_true(world.engine.has_detours);
		assert_int_equal(world.engine.detour_slots.bytes,
				 n * sizeof(struct gt_detour_slots));
		assert_taken(n == 2 ? 32 << 20 : 24 << 20);
		/* Once. */
		assert_int_equal(gt_cuda_detour_need(&world.engine, NULL), 0);
		assert_int_equal(world.pins, 1);
		assert_int_equal(world.told, 0);
		close_world();
	}
	assert_int_equal(gt_detour_pile_bytes(16), 18 << 20);
}

/* No failure: detours are none from now on, which is said once. */
static void assert_none(const char *why)
{
	assert_true(large(GT_COLL_BROADCAST).detour_permille);
	assert_int_equal(gt_cuda_detour_need(&world.engine, NULL), GT_ENO);
	assert_false(world.engine.has_detours);
	assert_int_equal(world.told, 1);
	assert_non_null(strstr(world.text, why));
	assert_non_null(strstr(world.text, "GTOPO_DETOUR=0"));
	assert_int_equal(large(GT_COLL_BROADCAST).detour_permille, 0);
	assert_int_equal(large(GT_COLL_REDUCE).detour_permille, 0);
}

static void assert_given_back(void)
{
	assert_int_equal(world.has, 0);
	assert_null(world.engine.detour_slots.base);
	for (uint32_t r = 0; r < world.plan.nranks; r++)
		assert_null(world.ranks[r].detour);
}

/* No more memory of the host is pinned than is allowed. */
static void test_capped(void **state)
{
	const uint64_t bytes = 2 * sizeof(struct gt_detour_slots);

	(void)state;
	open_world(2, NULL);
	world.engine.pinned_bytes = 1 << 20;
	world.engine.pinned_most = bytes + (1 << 20);
	assert_int_equal(gt_cuda_detour_need(&world.engine, NULL), 0);
	assert_int_equal(world.engine.pinned_bytes, bytes + (1 << 20));
	close_world();
	assert_int_equal(world.engine.pinned_bytes, 1 << 20);

	open_world(2, NULL);
	world.engine.pinned_most = bytes - 1;
	assert_none("GTOPO_PINNED=65M");
	assert_int_equal(world.pins, 0);
	assert_given_back();
	close_world();
}

/* Staged requests cannot do without, so it is a failure. */
static void test_staged(void **state)
{
	struct gt_err err;

	(void)state;
	open_world(4, NULL);
	world.engine.stages_in_host = 1;
	assert_int_equal(gt_cuda_staged_need(&world.engine, NULL), 0);
	assert_int_equal(gt_cuda_staged_need(&world.engine, NULL), 0);
	assert_int_equal(world.pins, 1);
	assert_int_equal(world.told, 1);
	assert_non_null(strstr(world.text, "32772 KiB"));
	assert_non_null(strstr(world.text, "128 MiB for all"));
	close_world();

	open_world(2, NULL);
	world.engine.stages_in_host = 1;
	world.engine.pinned_most = 1 << 20;
	gt_err_init(&err);
	assert_int_equal(gt_cuda_staged_need(&world.engine, &err), GT_ESYS);
	assert_non_null(strstr(err.text, "GTOPO_PINNED=65M"));
	assert_given_back();
	close_world();
}

/* Time passes: a rank that was held up comes to another meeting. */
static int fake_sleep(const struct timespec *time, struct timespec *left)
{
	struct gt_detour_slots *all = world.engine.detour_slots.base;

	(void)time;
	(void)left;
	world.slept++;
	if (world.is_held_up && world.slept % LOOKS_PER_MEETING == 0 &&
	    all[1].told < all[0].told)
		all[1].told++;
	return 0;
}

/*
 * On callers' streams it is known who stopped when the others have come to all
 * of theirs, and not before.
 */
static void test_laggard_on_streams(void **state)
{
	struct gt_detour_slots *all;

	(void)state;
	open_world(3, NULL);
	world.engine.stages_in_host = 1;
	world.engine.config.max_bytes = 0;
	world.is_held_up = 1;
	assert_int_equal(gt_cuda_staged_need(&world.engine, NULL), 0);
	all = world.engine.detour_slots.base;
	all[0].told = 9;
	all[1].told = 3;
	all[2].told = 4;
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 2);
	assert_int_equal(all[1].told, 9);
	close_world();
}

/* Who came to fewer meetings than all others is the one that stopped. */
static void test_laggard(void **state)
{
	struct gt_detour_slots *all;

	(void)state;
	open_world(3, NULL);
	world.engine.stages_in_host = 1;
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 3);
	assert_int_equal(gt_cuda_staged_need(&world.engine, NULL), 0);
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 3);
	all = world.engine.detour_slots.base;
	all[0].told = all[2].told = 5;
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 1);
	all[1].told = 7;
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 3);
	all[2].told = 4;
	assert_int_equal(gt_cuda_staged_laggard(&world.engine), 2);
	close_world();
}

static void test_no_device_memory(void **state)
{
	uint32_t calls;

	(void)state;
	open_world(2, NULL);
	assert_int_equal(gt_cuda_detour_need(&world.engine, NULL), 0);
	calls = world.calls;
	close_world();
	assert_in_range(calls, 2, NEVER);
	for (uint32_t most = 0; most < calls; most++) {
		open_world(2, NULL);
		world.calls_most = most;
		assert_none("cannot make what detours need ('33554432' bytes): "
			    "out of "
			    "memory");
		assert_int_equal(world.calls, most + 1);
		assert_given_back();
		close_world();
	}
}

static void test_no_pinned_memory(void **state)
{
	(void)state;
	open_world(2, NULL);
	world.pins_most = 0;
	assert_none("cannot pin '67117056' bytes");
	assert_given_back();
	close_world();
}

static void limit_files(uint64_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_no_shared_memory(void **state)
{
	(void)state;
	open_world(2, NULL);
	limit_files(FEW_BYTES);
	assert_none("cannot get '67117056' bytes of shared memory: File too");
	limit_files(0);
	assert_given_back();
	close_world();
}

/* What runs on callers' streams may wait for this call: nothing is freed. */
static void test_callers_streams(void **state)
{
	int has;

	(void)state;
	open_world(2, NULL);
	world.engine.config.max_bytes = 0;
	world.calls_most = 8;
	assert_none("out of memory");
	has = world.has;
	assert_in_range(has, 2, NEVER);
	gt_cuda_detour_release(&world.engine);
	assert_given_back();
	close_world();
}

/* Processes: what one of them cannot, none does. */

static void assert_all_the_same(struct gt_world *processes, const char *why)
{
	uint32_t self = gt_world_rank(processes);
	uint64_t n = 1;
	struct gt_err err;

	gt_err_init(&err);
	if (self)
		world.engine.group.config.notice = NULL;
	assert_int_equal(gt_cuda_detour_need(&world.engine, &err),
			 why ? GT_ENO : GT_OK);
	assert_int_equal(world.engine.has_detours, !why);
	assert_int_equal(world.told, why && !self);
	if (world.told)
		assert_non_null(strstr(world.text, why));
	if (why)
		assert_given_back();
	/* All are at the same meeting. */
	assert_int_equal(gt_world_sum(processes, &n, &err), 0);
	assert_int_equal(n, gt_world_size(processes));
	close_world();
}

static int part_works(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(3, processes);
	assert_all_the_same(processes, NULL);
	return 0;
}

static int part_leader_lacks_memory(struct gt_world *processes,
				    struct gt_err *err)
{
	(void)err;
	open_world(3, processes);
	if (!gt_world_rank(processes))
		limit_files(FEW_BYTES);
	assert_all_the_same(processes, "cannot get '100675584' bytes of "
				       "shared memory: File too");
	return 0;
}

static int part_one_cannot_pin(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(3, processes);
	if (gt_world_rank(processes) == 2)
		world.pins_most = 0;
	assert_all_the_same(processes, "cannot pin '100675584' bytes");
	return 0;
}

static int part_two_lack_memory(struct gt_world *processes, struct gt_err *err)
{
	(void)err;
	open_world(3, processes);
	if (gt_world_rank(processes))
		world.calls_most = 7;
	assert_all_the_same(processes,
			    "rank 1 (0000:17:00.0): cannot make what");
	return 0;
}

/* Whoever is gone is not waited for. */
static int part_one_leaves(struct gt_world *processes, struct gt_err *err)
{
	open_world(3, processes);
	world.leaves = gt_world_rank(processes) == 1;
	assert_int_equal(gt_cuda_detour_need(&world.engine, err), GT_ESYS);
	close_world();
	return 0;
}

static void do_all(job_part *part)
{
	job_all_end(3, TIMEOUT_S * 1000000000ll, part, 0);
}

static void test_processes(void **state)
{
	(void)state;
	do_all(part_works);
	do_all(part_leader_lacks_memory);
	do_all(part_one_cannot_pin);
	do_all(part_two_lack_memory);
	do_all(part_one_leaves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_more_than_needed),
		cmocka_unit_test(test_capped),
		cmocka_unit_test(test_staged),
		cmocka_unit_test(test_laggard),
		cmocka_unit_test(test_laggard_on_streams),
		cmocka_unit_test(test_no_device_memory),
		cmocka_unit_test(test_no_pinned_memory),
		cmocka_unit_test(test_no_shared_memory),
		cmocka_unit_test(test_callers_streams),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
