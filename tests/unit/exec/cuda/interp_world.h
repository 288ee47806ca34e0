/*
 * GPUs on which the interpreter runs, SIMULATED: their memory is the host's,
 * and its blocks take turns, each for a slice, in an order that is drawn.  What
 * connects the programs, cuts slices and launches is included here.
 */
#ifndef GT_TESTS_UNIT_EXEC_CUDA_INTERP_WORLD_H
#define GT_TESTS_UNIT_EXEC_CUDA_INTERP_WORLD_H

#include "draw.h"
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
	RANKS = 8, /* at most */
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
	uint32_t nranks;
	struct gt_kernel_args args[RANKS]; /* of the launches */
	char *at[GT_CUDA_REGIONS][RANKS * RANKS];
	uint64_t launches, state;
	uint32_t elem_bytes;
} world;

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
	for (uint32_t r = 0; r < world.nranks; r++) {
		char *at = calloc(1, bytes[r]);

		assert_non_null(at);
		for (uint32_t viewer = 0; viewer < world.nranks; viewer++)
			world.at[region][viewer * world.nranks + r] = at;
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
	world.args[world.launches++ % world.nranks] = *args;
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
		       (slice.offset - args->input_first) * world.elem_bytes;
	if (operand->buf == GT_BUF_OUTPUT)
		return (char *)args->output +
		       (slice.offset - args->output_first) * world.elem_bytes;
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
	const struct gt_layout_span *spans = b->args->spans;
	size_t pairs = (size_t)world.nranks * world.nranks;
	struct gt_layout own = gt_layout_of_pair(
		&b->layout,
		spans ? spans + b->index / b->args->nlanes * pairs : NULL,
		step->pair);
	struct gt_range slice = gt_layout_slice(&own, step->chunk, b->worker,
						b->loop0 + b->loop);

	assert_int_equal(step->nsrc, 1);
	assert_int_equal(step->ndst, 1);
	for (int i = 0; i < 2; i++)
		if (!is_ready(b, &step->operand[i]))
			return 0;
	/* In place the own block is where it belongs. */
	memmove(address_of(b, &step->operand[1], slice),
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
	uint32_t nparts;

	*b = (struct block){.args = args,
			    .index = i / args->nworkers,
			    .worker = i % args->nworkers};
	b->channel = &args->channels[b->index];
	b->layout = args->layouts[b->index / args->nlanes];
	b->conns = b->channel->conns + b->worker * b->channel->nconns;
	b->over = !b->layout.loops || !b->channel->nsteps;
	/* It has a part for each chunk, or where they differ for each step. */
	nparts = args->spans ? b->channel->nrecords : b->layout.nchunks;
	assert_in_range(gt_kernel_shared_bytes(b->channel->nrecords,
					       b->channel->nconns, nparts),
			0, args->shared_bytes);
}

/* All ranks' launches, which end. */
static void play(void)
{
	uint32_t each = world.args[0].nchannels * world.args[0].nworkers;
	uint32_t n = each * world.nranks, left = 0, idle = 0;
	struct block *blocks = calloc(n, sizeof(*blocks));

	assert_non_null(blocks);
	for (uint32_t i = 0; i < n; i++) {
		begin(&blocks[i], &world.args[i / each], i % each);
		left += !blocks[i].over;
	}
	for (uint32_t i = draw(&world.state, n); left;
	     i = (i + 1 + draw(&world.state, 3)) % n) {
		if (blocks[i].over)
			continue;
		idle = move(&blocks[i]) ? 0 : idle + 1;
		assert_true(idle < 100 * n);
		left -= (uint32_t)blocks[i].over;
	}
	free(blocks);
}

/* An engine of that plan as gt_cuda_open() leaves it, but for its sizes. */
static void open_engine(const char *name)
{
	struct gt_engine *engine = &world.engine;
	uint64_t bytes[RANKS] = {0};
	uint32_t n;

	memset(&world, 0, sizeof(world));
	world.plan = good_plan(name);
	n = world.nranks = world.plan->nranks;
	assert_in_range(n, 2, RANKS);
	*engine = (struct gt_engine){.plan = world.plan,
				     .processors = PROCESSORS,
				     .all_peers_reachable = 1,
				     .data_bytes = DATA_BYTES,
				     .arena = gt_arena_new()};
	assert_non_null(engine->arena);
	engine->config.plan = world.plan;
	engine->config.max_bytes = MAX_BYTES;
	engine->group.nprocesses = 1;
	engine->group.end = n;
	engine->ranks =
		gt_arena_array(engine->arena, n, sizeof(*engine->ranks));
	engine->channels = gt_arena_array(engine->arena, world.plan->nchannels,
					  sizeof(*engine->channels));
	engine->row_support = gt_arena_array(
		engine->arena, (size_t)GT_NCOLLS * (world.plan->nselect + 1),
		1);
	engine->watch = gt_arena_alloc(engine->arena, sizeof(*engine->watch));
	for (uint32_t r = 0; r < n; r++)
		bytes[r] = 2 * DATA_BYTES;
	fake_region(engine, GT_CUDA_DATA, bytes, NULL);
	for (uint32_t r = 0; r < n; r++)
		engine->ranks[r].wrong =
			gt_arena_alloc(engine->arena, sizeof(uint64_t));
}

static void close_world(void)
{
	struct gt_engine *engine = &world.engine;

	gt_cuda_disconnect(engine);
	gt_cuda_demand_release(engine);
	for (int region = 0; region < GT_CUDA_REGIONS; region++)
		for (uint32_t r = 0; r < world.nranks; r++)
			free(world.at[region][r]);
	gt_arena_free(engine->arena);
	gt_plan_free(world.plan);
}

/* Move a request's bytes so many times. */
static void carry(const struct gt_exec_request *req, uint32_t times)
{
	struct gt_engine *engine = &world.engine;

	assert_int_equal(gt_cuda_fill(engine, req, NULL), GT_OK);
	for (uint32_t t = 0; t < times; t++) {
		assert_int_equal(gt_cuda_prepare(engine, req, NULL), GT_OK);
		for (uint32_t r = 0; r < world.nranks; r++)
			assert_int_equal(gt_cuda_enqueue(engine, req, r, 1), 0);
		play();
	}
}

/* What lies in outputs is what should, and not whatever lies there. */
static void expect_carried(const struct gt_exec_request *req)
{
	struct gt_exec_request other = *req;
	uint64_t wrong = 0;

	assert_int_equal(gt_cuda_check(&world.engine, req, &wrong, NULL),
			 GT_OK);
	assert_int_equal(wrong, 0);
	other.seed++;
	assert_int_equal(gt_cuda_check(&world.engine, &other, &wrong, NULL),
			 GT_OK);
	assert_true(wrong > 0 || !req->count);
}

#endif
