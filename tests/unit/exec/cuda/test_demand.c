/*
 * Plans with a demand, whose blocks differ, on GPUs: that they go through the
 * plan's FIFOs whatever is asked for, and arrive.  GPUs are SIMULATED: their
 * memory is the host's, and blocks of the interpreter take turns, each for a
 * slice, in an order that is drawn.
 */
#include "unit/good_plan.h"
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"

#define cudaSetDevice         fake_device
#define cudaMalloc            fake_malloc
#define cudaFree              fake_free
#define cudaMemcpyAsync       fake_copy
#define cudaMemsetAsync       fake_set
#define cudaStreamSynchronize fake_wait
#define gt_cuda_region_new    fake_region
#define gt_kernel_prepare     fake_prepare
#define gt_kernel_run         fake_run
#define gt_kernel_fill        fake_fill
#define gt_kernel_check       fake_check

static cudaError_t fake_device(int device);
static cudaError_t fake_malloc(void **at, size_t bytes);
static cudaError_t fake_free(void *at);
static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream);
static cudaError_t fake_set(void *to, int byte, size_t bytes,
			    cudaStream_t stream);
static cudaError_t fake_wait(cudaStream_t stream);
static int fake_region(struct gt_engine *engine, int region,
		       const uint64_t *bytes, struct gt_err *err);
static int fake_prepare(enum gt_dtype dtype, uint32_t shared_bytes);
static int fake_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		    struct CUstream_st *stream);
static int fake_fill(const struct gt_kernel_data *data,
		     struct CUstream_st *stream);
static int fake_check(const struct gt_kernel_data *data,
		      struct CUstream_st *stream);

#include "exec/cuda/connect.c"
#include "exec/cuda/demand.c"
#include "exec/cuda/engine.c"
#include "exec/cuda/enqueue.c"
#include "exec/cuda/slicing.c"

enum {
	RANKS = 4,
	PROCESSORS = 132,
	MAX_BYTES = 4 << 20,
	DATA_BYTES = MAX_BYTES + GT_CUDA_TAIL_BYTES, /* as there is */
	MOST_SHIFT = 15,
};

/* A block of the interpreter, between two slices. */
struct block {
	const struct gt_kernel_args *args;
	const struct gt_kernel_channel *channel;
	struct gt_layout layout;
	struct gt_kernel_conn *conns; /* the worker's */
	uint32_t index, worker, loop0, step, loop;
	int over;
};

static struct world {
	struct gt_engine engine;
	struct gt_plan *plan;
	struct gt_kernel_args args[RANKS]; /* of the launches */
	char *at[GT_CUDA_REGIONS][RANKS * RANKS];
	uint64_t launches, state;
	uint32_t elem_bytes;
} world;

static uint32_t draw(uint32_t below)
{
	world.state = world.state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(world.state >> 33) % below;
}

static cudaError_t fake_device(int device)
{
	(void)device;
	return cudaSuccess;
}

static cudaError_t fake_malloc(void **at, size_t bytes)
{
	*at = calloc(1, bytes);
	return *at ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t fake_free(void *at)
{
	free(at);
	return cudaSuccess;
}

static cudaError_t fake_copy(void *to, const void *from, size_t bytes,
			     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	(void)stream;
	memcpy(to, from, bytes);
	return cudaSuccess;
}

static cudaError_t fake_set(void *to, int byte, size_t bytes,
			    cudaStream_t stream)
{
	(void)stream;
	memset(to, byte, bytes);
	return cudaSuccess;
}

static cudaError_t fake_wait(cudaStream_t stream)
{
	(void)stream;
	return cudaSuccess;
}

/* All ranks see a region at the same addresses. */
static int fake_region(struct gt_engine *engine, int region,
		       const uint64_t *bytes, struct gt_err *err)
{
	(void)err;
	engine->regions[region].at = world.at[region];
	for (uint32_t r = 0; r < RANKS; r++) {
		char *at = calloc(1, bytes[r]);

		assert_non_null(at);
		for (uint32_t viewer = 0; viewer < RANKS; viewer++)
			world.at[region][viewer * RANKS + r] = at;
	}
	return GT_OK;
}

static int fake_prepare(enum gt_dtype dtype, uint32_t shared_bytes)
{
	(void)dtype;
	assert_true(shared_bytes > 0);
	return 0;
}

static int fake_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		    struct CUstream_st *stream)
{
	(void)stream;
	world.elem_bytes = (uint32_t)gt_dtype_bytes(dtype);
	world.args[world.launches++ % RANKS] = *args;
	return 0;
}

static void put(char *at, uint64_t bits)
{
	for (uint32_t i = 0; i < world.elem_bytes; i++)
		at[i] = (char)(bits >> 8 * i);
}

static int fake_fill(const struct gt_kernel_data *data,
		     struct CUstream_st *stream)
{
	(void)stream;
	world.elem_bytes =
		(uint32_t)gt_dtype_bytes((enum gt_dtype)data->pattern.dtype);
	for (uint64_t i = 0; i < data->count; i++)
		put((char *)data->data + i * world.elem_bytes,
		    gt_pattern_input(&data->pattern, data->rank,
				     data->first + i));
	return 0;
}

static int fake_check(const struct gt_kernel_data *data,
		      struct CUstream_st *stream)
{
	char want[8];

	(void)stream;
	for (uint64_t i = 0; i < data->count; i++) {
		put(want, gt_kernel_wanted(data, data->first + i));
		*data->wrong += !!memcmp(
			want, (char *)data->data + i * world.elem_bytes,
			world.elem_bytes);
	}
	return 0;
}

static uint64_t number_of(const struct block *b,
			  const struct gt_operand *operand)
{
	const struct gt_kernel_conn *conn = &b->conns[operand->conn];
	uint32_t left = b->layout.loops - b->loop0;
	uint32_t turn = left < b->args->turn ? left : b->args->turn;

	return conn->base + (uint64_t)b->loop0 * conn->uses +
	       operand->chunk * turn + b->loop;
}

static int is_ready(const struct block *b, const struct gt_operand *operand)
{
	const struct gt_kernel_conn *conn = &b->conns[operand->conn];
	uint64_t need = number_of(b, operand) + 1, slots = b->args->nslots;

	if (!(operand->flags & GT_OPERAND_WAIT))
		return 1;
	if (conn->sends)
		need = need > slots ? need - slots : 0;
	return *conn->wait >= need;
}

static char *address_of(const struct block *b, const struct gt_operand *operand,
			struct gt_range slice)
{
	const struct gt_kernel_args *args = b->args;
	const struct gt_kernel_conn *conn = &b->conns[operand->conn];

	if (operand->buf == GT_BUF_INPUT)
		return (char *)(uintptr_t)args->input +
		       slice.offset * world.elem_bytes;
	if (operand->buf == GT_BUF_OUTPUT)
		return (char *)args->output + slice.offset * world.elem_bytes;
	assert_int_equal(operand->buf, GT_BUF_FIFO);
	return conn->slots +
	       number_of(b, operand) % args->nslots * args->slot_pitch;
}

/* As in kernels/interp: turns of loops, in a turn the steps. */
static void go_on(struct block *b)
{
	uint32_t left = b->layout.loops - b->loop0;
	uint32_t turn = left < b->args->turn ? left : b->args->turn;

	if (++b->loop < turn)
		return;
	b->loop = 0;
	if (++b->step < b->channel->nrecords)
		return;
	b->step = 0;
	b->loop0 += turn;
	if (b->loop0 < b->layout.loops)
		return;
	b->over = 1;
	for (uint32_t c = 0; c < b->channel->nconns; c++)
		b->conns[c].base +=
			(uint64_t)b->layout.loops * b->conns[c].uses;
}

/* Move a block's next slice; 0: it must wait. */
static int move(struct block *b)
{
	const struct gt_step *step = &b->channel->steps[b->step];
	uint32_t channel = b->index / b->args->nlanes;
	struct gt_layout own = gt_layout_of_pair(
		&b->layout, b->args->spans + channel * RANKS * RANKS,
		step->pair);
	struct gt_range slice = gt_layout_slice(&own, step->chunk, b->worker,
						b->loop0 + b->loop);

	assert_int_equal(step->nsrc, 1);
	assert_int_equal(step->ndst, 1);
	for (int i = 0; i < 2; i++)
		if (!is_ready(b, &step->operand[i]))
			return 0;
	memcpy(address_of(b, &step->operand[1], slice),
	       address_of(b, &step->operand[0], slice),
	       slice.count * world.elem_bytes);
	for (int i = 0; i < 2; i++)
		if (step->operand[i].flags & GT_OPERAND_POST)
			*b->conns[step->operand[i].conn].post =
				number_of(b, &step->operand[i]) + 1;
	go_on(b);
	return 1;
}

static void begin(struct block *b, const struct gt_kernel_args *args,
		  uint32_t i)
{
	*b = (struct block){.args = args,
			    .index = i / args->nworkers,
			    .worker = i % args->nworkers};
	b->channel = &args->channels[b->index];
	b->layout = args->layouts[b->index / args->nlanes];
	b->conns = b->channel->conns + b->worker * b->channel->nconns;
	b->over = !b->layout.loops || !b->channel->nsteps;
	/* It keeps a part for each of its steps. */
	assert_in_range(gt_kernel_shared_bytes(b->channel->nrecords,
					       b->channel->nconns,
					       b->channel->nrecords),
			0, args->shared_bytes);
}

/* All ranks' launches, which end. */
static void play(void)
{
	uint32_t each = world.args[0].nchannels * world.args[0].nworkers;
	uint32_t n = each * RANKS, left = 0, idle = 0;
	struct block *blocks = calloc(n, sizeof(*blocks));

	assert_non_null(blocks);
	for (uint32_t i = 0; i < n; i++) {
		begin(&blocks[i], &world.args[i / each], i % each);
		left += !blocks[i].over;
	}
	for (uint32_t i = draw(n); left; i = (i + 1 + draw(3)) % n) {
		if (blocks[i].over)
			continue;
		idle = move(&blocks[i]) ? 0 : idle + 1;
		assert_true(idle < 100 * n);
		left -= (uint32_t)blocks[i].over;
	}
	free(blocks);
}

/* An engine as gt_cuda_open() leaves it. */
static void open_world(const char *name)
{
	const uint64_t bytes[RANKS] = {2 * DATA_BYTES, 2 * DATA_BYTES,
				       2 * DATA_BYTES, 2 * DATA_BYTES};
	struct gt_engine *engine = &world.engine;

	memset(&world, 0, sizeof(world));
	world.plan = good_plan(name);
	assert_int_equal(world.plan->nranks, RANKS);
	*engine = (struct gt_engine){.plan = world.plan,
				     .processors = PROCESSORS,
				     .all_peers_reachable = 1,
				     .data_bytes = DATA_BYTES,
				     .arena = gt_arena_new()};
	assert_non_null(engine->arena);
	engine->config.plan = world.plan;
	engine->config.max_bytes = MAX_BYTES;
	engine->group.nprocesses = 1;
	engine->group.end = RANKS;
	engine->ranks =
		gt_arena_array(engine->arena, RANKS, sizeof(*engine->ranks));
	engine->channels = gt_arena_array(engine->arena, world.plan->nchannels,
					  sizeof(*engine->channels));
	engine->row_support = gt_arena_array(
		engine->arena, (size_t)GT_NCOLLS * world.plan->nselect, 1);
	engine->watch = gt_arena_alloc(engine->arena, sizeof(*engine->watch));
	fake_region(engine, GT_CUDA_DATA, bytes, NULL);
	for (uint32_t r = 0; r < RANKS; r++)
		engine->ranks[r].wrong =
			gt_arena_alloc(engine->arena, sizeof(uint64_t));
	assert_int_equal(gt_cuda_sizes_choose(engine, NULL), GT_OK);
	assert_int_equal(gt_cuda_demand_open(engine, NULL), GT_OK);
}

static void close_world(void)
{
	struct gt_engine *engine = &world.engine;

	gt_cuda_disconnect(engine);
	gt_cuda_demand_release(engine);
	for (int region = 0; region < GT_CUDA_REGIONS; region++)
		for (uint32_t r = 0; r < RANKS; r++)
			free(world.at[region][r]);
	gt_arena_free(engine->arena);
	gt_plan_free(world.plan);
}

static void expect_arrives(enum gt_dtype dtype, uint64_t count, uint32_t shift,
			   uint32_t times)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = dtype,
				      .count = count,
				      .shift = shift,
				      .seed = count};
	struct gt_engine *engine = &world.engine;
	uint64_t wrong = 0;

	assert_int_equal(gt_cuda_fill(engine, &req, NULL), GT_OK);
	for (uint32_t t = 0; t < times; t++) {
		assert_int_equal(gt_cuda_prepare(engine, &req, NULL), GT_OK);
		for (uint32_t r = 0; r < RANKS; r++)
			assert_int_equal(gt_cuda_enqueue(engine, &req, r, 1),
					 0);
		play();
	}
	assert_int_equal(gt_cuda_check(engine, &req, &wrong, NULL), GT_OK);
	assert_int_equal(wrong, 0);
	/* Right is not whatever lies there. */
	req.seed++;
	assert_int_equal(gt_cuda_check(engine, &req, &wrong, NULL), GT_OK);
	assert_true(wrong > 0 || !count);
}

/* Blocks of every length, from none on, in slices and parts of many kinds. */
static void test_arrives(void **state)
{
	static const uint64_t counts[] = {0,    1,     2,     8,     9,
					  1000, 40960, 65537, 131072};

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		open_world("flow4-demand");
		world.engine.config.best = i == 1;
		world.engine.config.overlap = i == 2;
		world.engine.stages_in_host = i == 3;
		world.engine.config.workers = i == 4 ? 3 : 0;
		world.engine.config.slice_bytes = i == 5 ? 4096 : 0;
		world.engine.config.slots = i == 6;
		gt_cuda_sizes_choose(&world.engine, NULL);
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			for (int dtype = 0; dtype < GT_NDTYPES; dtype += 3)
				expect_arrives((enum gt_dtype)dtype, counts[k],
					       draw(MOST_SHIFT + 1), 1 + k % 3);
		close_world();
	}
}

/* What comes of a block is what its pair has; the rest is as it was. */
static void test_behind_is_checked(void **state)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_UINT8,
				      .count = 900};
	struct gt_engine *engine = &world.engine;
	uint64_t wrong = 0;

	(void)state;
	open_world("flow4-demand");
	expect_arrives(GT_DTYPE_UINT8, 900, 0, 1);
	req.seed = 900;
	/* Of 9 that the largest has, rank 0 has 2 for rank 3. */
	world.at[GT_CUDA_DATA][3][DATA_BYTES + 200] ^= 1;
	world.at[GT_CUDA_DATA][3][DATA_BYTES + 199] ^= 1;
	assert_int_equal(gt_cuda_check(engine, &req, &wrong, NULL), GT_OK);
	assert_int_equal(wrong, 2);
	assert_int_equal(engine->coming[0], 200);
	close_world();
}

/* Means that know no plan would move whole blocks. */
static void test_only_through_fifos(void **state)
{
	static const uint8_t protocols[] = {GT_PROTOCOL_LL, GT_PROTOCOL_LL128,
					    GT_PROTOCOL_DIRECT, GT_PROTOCOL_CE};
	struct gt_algo_choice wish = {.algo = GT_ALGO_ONE_SHOT}, choice;
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_FLOAT};
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	for (int how = 0; how < 3; how++)
		for (req.count = 1; req.count < 1 << 28; req.count *= 4) {
			world.engine.config.best = how == 1;
			world.engine.config.overlap = how == 2;
			assert_int_equal(gt_cuda_choose_algo(&world.engine,
							     &req, &choice,
							     NULL),
					 GT_OK);
			assert_int_equal(choice.protocol, GT_PROTOCOL_SIMPLE);
			assert_int_equal(choice.algo, GT_ALGO_FLOW);
			assert_int_equal(choice.detour_permille, 0);
		}
	req.choice = &wish;
	for (size_t p = 0; p < sizeof(protocols); p++) {
		gt_err_init(&err);
		wish.protocol = protocols[p];
		assert_int_equal(
			gt_cuda_choose_algo(&world.engine, &req, &choice, &err),
			GT_EINPUT);
		assert_non_null(strstr(err.text, "blocks are not all alike"));
	}
	close_world();
}

/* Where channels do not fit nothing takes their place. */
static void test_no_room(void **state)
{
	const struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
					    .dtype = GT_DTYPE_FLOAT,
					    .count = 1000};
	struct gt_algo_choice choice;
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	world.engine.processors = world.plan->nchannels - 1;
	for (int best = 0; best < 2; best++) {
		world.engine.config.best = best;
		gt_err_init(&err);
		assert_int_equal(
			gt_cuda_choose_algo(&world.engine, &req, &choice, &err),
			GT_EINPUT);
		assert_non_null(strstr(err.text, "multiprocessors at once"));
	}
	close_world();
}

/* Callers' streams may be captured, with what pairs had at that time. */
static void test_streams_refuse(void **state)
{
	struct gt_engine_config config = {0};
	struct gt_engine *engine;
	struct gt_err err;

	(void)state;
	open_world("flow4-demand");
	config.plan = world.plan;
	gt_err_init(&err);
	assert_int_equal(gt_cuda_open(&config, &engine, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, "on callers' streams cannot do yet"));
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrives),
		cmocka_unit_test(test_behind_is_checked),
		cmocka_unit_test(test_only_through_fifos),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_streams_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
