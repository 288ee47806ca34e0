/*
 * Regions that grow: whoever cannot have the larger one keeps the old one, and
 * so do all others.  GPUs and their memory are SIMULATED, as memory of the
 * host; the processes that agree are real, and see nothing of each other's.
 */
#include "unit/job.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define cudaSetDevice             fake_device
#define cudaMalloc                fake_malloc
#define cudaFree                  fake_free
#define cudaMemsetAsync           fake_memset
#define cudaStreamSynchronize     fake_sync
#define cudaIpcGetMemHandle       fake_handle
#define cudaIpcOpenMemHandle      fake_open
#define cudaIpcCloseMemHandle     fake_close
#define cudaGetLastError          fake_last
#define gt_cuda_mapping_new       fake_mapping_new
#define gt_cuda_mapping_open      fake_mapping_open
#define gt_cuda_mapping_drop      fake_mapping_drop
#define gt_cuda_files_of          fake_files
#define gt_fd_exchange(swap, err) fake_exchange(swap, err)

#include <cuda_runtime_api.h>

#include "exec/cuda/device/ipc_memory.c"
#include "exec/cuda/device/region_exchange.c"

#undef gt_fd_exchange
int gt_fd_exchange(const struct gt_fd_exchange *swap, struct gt_err *err);

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
	int makes_no_file;     /* of its memory */
	int exchanges_nothing; /* of files, with anybody */
	int is_failing;        /* to grow: what is freed is open nowhere */
} world;

/* How many other processes have each one's memory open; all see it. */
static _Atomic int *opened_of;

/* What has no file of its own is opened by a name of its owner. */
static char *name_of(uint32_t owner)
{
	static char names[RANKS];

	return names + owner;
}

static void is_opened(const void *at, int by)
{
	atomic_fetch_add(&opened_of[(const char *)at - name_of(0)], by);
	world.opened += by;
}

/* Each of this process's parts that is left may be open in all others. */
static void is_freed(void)
{
	if (world.is_failing && opened_of)
		assert_true(opened_of[world.engine.group.self] <=
			    world.allocated * (RANKS - 1));
}

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
	is_freed();
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
	at = name_of(world.engine.group.self);
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
	is_opened(*at, 1);
	return cudaSuccess;
}

/* Whoever does not wait for it frees what is open. */
cudaError_t fake_close(void *at)
{
	const struct timespec some = {0, 20000000};

	nanosleep(&some, NULL);
	is_opened(at, -1);
	return cudaSuccess;
}

/* Mapped pieces: the own one is memory, another process's its name. */
cudaError_t fake_mapping_new(int device, uint64_t bytes, const int *devices,
			     uint32_t ndevices, struct gt_cuda_mapping *map)
{
	(void)device;
	(void)devices;
	(void)ndevices;
	map->bytes = bytes;
	return fake_malloc((void **)&map->base, bytes);
}

cudaError_t fake_mapping_open(const struct gt_fd_packet *pass,
			      const int *devices, uint32_t ndevices,
			      struct gt_cuda_mapping *map)
{
	(void)devices;
	(void)ndevices;
	if (world.opens_nothing)
		return cudaErrorMapBufferObjectFailed;
	map->base = name_of(pass->tag);
	is_opened(map->base, 1);
	return cudaSuccess;
}

void fake_mapping_drop(struct gt_cuda_mapping *map)
{
	if (map->bytes)
		fake_free(map->base);
	else if (map->base)
		fake_close(map->base);
	*map = (struct gt_cuda_mapping){0};
}

/* A file that stands for nothing, and is counted as every file is. */
cudaError_t fake_files(struct gt_cuda_extent extent, struct gt_fd_packet *pass,
		       uint64_t *offset)
{
	(void)extent;
	if (world.makes_no_file)
		return cudaErrorNotSupported;
	*offset = 0;
	pass->n = 1;
	pass->fds[0] = dup(STDERR_FILENO);
	return pass->fds[0] < 0 ? cudaErrorOperatingSystem : cudaSuccess;
}

/* One that fails does so before it has met the others. */
int fake_exchange(const struct gt_fd_exchange *swap, struct gt_err *err)
{
	return world.exchanges_nothing
		       ? gt_err_set(err, GT_ESYS, NULL, "no socket is left")
		       : gt_fd_exchange(swap, err);
}

cudaError_t fake_last(void)
{
	return cudaSuccess;
}

/* Three ranks of one process, or one of three each. */
static void open_world(struct gt_world *processes, int shares_files)
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
	engine->shares_files = (uint8_t)shares_files;
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
	open_world(NULL, 0);
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
static void fail_in(uint32_t process, int files, struct gt_err *err)
{
	const char *before = scratch();
	uint32_t self = world.engine.group.self;

	world.is_failing = 1;
	for (int way = 0; way < 2 + files; way++) {
		world.fails = self == process && way == 0;
		world.opens_nothing = self == process && way == 1;
		world.makes_no_file = self == process && way == 2;
		gt_err_init(err);
		assert_int_equal(grow(LARGE, 1, err), GT_ESYS);
		assert_non_null(strstr(err->text, "rank"));
		assert_ptr_equal(scratch(), before);
		assert_int_equal(world.engine.regions[GT_CUDA_SCRATCH].bytes,
				 SMALL);
		assert_int_equal(world.allocated, 1);
		assert_int_equal(world.opened, RANKS - 1);
	}
	world.fails = world.opens_nothing = world.makes_no_file = 0;
	world.is_failing = 0;
}

static int grow_in(struct gt_world *processes, int files, struct gt_err *err)
{
	open_world(processes, files);
	assert_int_equal(grow(SMALL, 0, err), 0);
	for (uint32_t p = 0; p < RANKS; p++)
		fail_in(p, files, err);
	gt_err_init(err);
	assert_int_equal(grow(LARGE, 1, err), 0);
	assert_int_equal(world.allocated, 2);
	assert_int_equal(world.opened, 2 * (RANKS - 1));
	close_world();
	return 0;
}

static int part_grows(struct gt_world *processes, struct gt_err *err)
{
	return grow_in(processes, 0, err);
}

static int part_grows_by_files(struct gt_world *processes, struct gt_err *err)
{
	return grow_in(processes, 1, err);
}

/* A meeting that one process does not come to is the last, by its name. */
static int part_misses(struct gt_world *processes, struct gt_err *err)
{
	int64_t start = gt_clock_ns();

	open_world(processes, 1);
	assert_int_equal(grow(SMALL, 0, err), 0);
	job_gate(job_now);
	world.exchanges_nothing = world.engine.group.self == 1;
	gt_err_init(err);
	assert_int_equal(grow(LARGE, 1, err), GT_ESYS);
	assert_non_null(strstr(err->text, "no socket is left"));
	assert_true(gt_clock_ns() - start < TIMEOUT_S * 500000000ll);
	gt_err_init(err);
	assert_int_equal(gt_world_failed(processes, err), GT_ESYS);
	assert_non_null(strstr(err->text, "process 1"));
	close_world();
	return 0;
}

/* What the processes share is there before they are. */
static void run_processes(job_part *part)
{
	opened_of =
		mmap(NULL, RANKS * sizeof(*opened_of), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(opened_of != MAP_FAILED);
	job_all_end(RANKS, TIMEOUT_S * 1000000000ll, part, 0);
	munmap(opened_of, RANKS * sizeof(*opened_of));
	opened_of = NULL;
}

static void test_processes(void **state)
{
	(void)state;
	run_processes(part_grows);
}

static void test_files(void **state)
{
	(void)state;
	run_processes(part_grows_by_files);
}

static void test_missed(void **state)
{
	(void)state;
	run_processes(part_misses);
}

/* No flow reads what is multiplied: each process makes it for itself. */
static int part_is_alone(struct gt_world *processes, struct gt_err *err)
{
	static void *stream;
	const struct gt_exec_request req = {.streams = &stream};
	int rc = GT_OK;

	open_world(processes, 0);
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
	(void)state;
	run_processes(part_is_alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
