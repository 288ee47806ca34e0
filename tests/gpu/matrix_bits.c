/*
 * Sums bit by bit: random parts of the same data, in callers' buffers, by every
 * way and as the engine chooses, with any number of blocks, alone, in groups
 * and in graphs, in place or not.  What must come out is tests/sums.h's loop
 * over the ranks.
 */
#include "gpu/matrix.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "sums.h"

enum {
	BITS_OPERATIONS = 100000,
	BITS_ELEMENTS = 1 << 19, /* of the data, and of the largest part */
	BITS_BATCH = 8,          /* operations between two waits */
	BITS_SMALL = 1 << 13,    /* elements of each of several */
	BITS_SLOT = 1 << 16,     /* elements of room for one of several */
	BITS_MARGIN = 64,
	BITS_SHOWN = 20,
	BITS_DATA_FOR = 400, /* batches with the same data */
};

/* One operation of a batch. */
struct piece {
	struct gt_exec_request req;
	struct gt_algo_choice way;
	struct gt_buffers buffers[MAX_RANKS];
	size_t first, blocks;
};

struct bits {
	struct matrix *m;
	uint32_t n;
	struct sums sums;
	char *data[MAX_RANKS], *room[MAX_RANKS]; /* on the GPUs */
	size_t room_bytes;
	cudaStream_t streams[MAX_RANKS];
	cudaGraphExec_t graphs[MAX_RANKS];
	char *seen; /* pinned: what one rank's output holds */
	struct piece pieces[BITS_BATCH];
	struct gt_buffers others[MAX_RANKS]; /* of stranger() */
	uint32_t npieces;
	uint64_t state;
};

static int ok(struct bits *b, const char *what, cudaError_t rc)
{
	if (rc == cudaSuccess)
		return 1;
	printf("# %s: %s\n", what, cudaGetErrorString(rc));
	b->m->bad++;
	return 0;
}

static int rank_on(const struct bits *b, uint32_t rank)
{
	int gpu = gt_engine_cuda.async->device(b->m->engine, rank);

	return cudaSetDevice(gpu) == cudaSuccess;
}

static int make_room(struct bits *b)
{
	size_t data = BITS_ELEMENTS * sizeof(double);
	int all = 1;

	b->room_bytes = data + BITS_MARGIN * 16;
	for (uint32_t r = 0; all && r < b->n; r++)
		all = rank_on(b, r) &&
		      ok(b, "memory", cudaMalloc((void **)&b->data[r], data)) &&
		      ok(b, "memory",
			 cudaMalloc((void **)&b->room[r], b->room_bytes)) &&
		      ok(b, "stream",
			 cudaStreamCreateWithFlags(&b->streams[r],
						   cudaStreamNonBlocking));
	return all &&
	       ok(b, "host memory", cudaMallocHost((void **)&b->seen, data));
}

static void free_room(struct bits *b)
{
	for (uint32_t r = 0; r < b->n; r++) {
		cudaFree(b->data[r]);
		cudaFree(b->room[r]);
		if (b->streams[r])
			cudaStreamDestroy(b->streams[r]);
	}
	cudaFreeHost(b->seen);
	sums_free(&b->sums);
}

/* Data of another type or operator, on all GPUs. */
static int make_data(struct bits *b, uint32_t number)
{
	size_t bytes;

	sums_free(&b->sums);
	b->sums = (struct sums){.dtype = sums_dtypes[number % SUMS_DTYPES],
				.op = sums_ops[number / SUMS_DTYPES % SUMS_OPS],
				.nranks = b->n,
				.count = BITS_ELEMENTS};
	if (!sums_make(&b->sums, &b->state))
		return 0;
	bytes = BITS_ELEMENTS * gt_dtype_bytes(b->sums.dtype);
	for (uint32_t r = 0; r < b->n; r++)
		if (!rank_on(b, r) ||
		    !ok(b, "copy",
			cudaMemcpy(b->data[r], b->sums.data + r * bytes, bytes,
				   cudaMemcpyHostToDevice)))
			return 0;
	return 1;
}

/* Where things lie: inputs in the data, or in place in the room. */
static void place(struct bits *b, struct piece *piece, uint32_t number)
{
	size_t elem = gt_dtype_bytes(b->sums.dtype);
	size_t shift = draw(&b->state, 2) * draw(&b->state, BITS_MARGIN);
	size_t own = piece->blocks > 1 ? piece->req.count * elem : 0;

	for (uint32_t r = 0; r < b->n; r++) {
		char *in = b->data[r] + piece->first * elem;
		char *out = b->room[r] +
			    ((size_t)number * BITS_SLOT + shift) * elem;

		piece->buffers[r] = (struct gt_buffers){in, out};
		if (piece->req.inplace)
			piece->buffers[r] =
				(struct gt_buffers){out, out + r * own};
	}
	piece->req.buffers = piece->buffers;
}

/* A random operation; sizes are uniform in their logarithm. */
static void draw_piece(struct bits *b, uint32_t number, uint32_t most)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLREDUCE, GT_COLL_REDUCESCATTER,
		GT_COLL_REDUCE};
	struct piece *piece = &b->pieces[number];
	uint32_t bits = 1, blocks;

	*piece = (struct piece){.req = {.coll = colls[draw(&b->state, 4)],
					.dtype = b->sums.dtype,
					.op = b->sums.op,
					.root = draw(&b->state, b->n),
					.inplace = (int)draw(&b->state, 2),
					.scalars = b->sums.scalars,
					.streams = (void *const *)b->streams},
				.way = ways[draw(&b->state, WAYS)]};
	blocks = piece->req.coll == GT_COLL_REDUCESCATTER ? b->n : 1;
	piece->blocks = blocks;
	while (1u << bits < most / blocks)
		bits++;
	piece->req.count = 1 + draw(&b->state, 1u << draw(&b->state, bits + 1));
	if (piece->req.count > most / blocks)
		piece->req.count = most / blocks;
	piece->first =
		draw(&b->state,
		     1 + BITS_ELEMENTS - (uint32_t)piece->req.count * blocks);
	piece->way.max_blocks =
		draw(&b->state, 3) ? 0 : 1 + draw(&b->state, 16);
	piece->way.pieces = draw(&b->state, 5);
	piece->req.choice = draw(&b->state, 3) ? &piece->way : NULL;
	if (piece->req.choice && !possible(b->m, &piece->req))
		piece->req.choice = NULL;
	place(b, piece, number);
}

/* Inputs of operations in place are copied to where they are summed. */
static int copy_inputs(struct bits *b)
{
	size_t elem = gt_dtype_bytes(b->sums.dtype);

	for (uint32_t i = 0; i < b->npieces; i++) {
		const struct piece *piece = &b->pieces[i];

		for (uint32_t r = 0; piece->req.inplace && r < b->n; r++)
			if (!rank_on(b, r) ||
			    !ok(b, "copy of an input",
				cudaMemcpyAsync(
					(void *)(uintptr_t)piece->buffers[r]
						.input,
					b->data[r] + piece->first * elem,
					piece->req.count * piece->blocks * elem,
					cudaMemcpyDeviceToDevice,
					b->streams[r])))
				return 0;
	}
	return 1;
}

/*
 * An operation of another type, with which a group goes by the kernel for all
 * types.  Its output lies at the room's end, and nobody looks at it.
 */
static struct gt_exec_request stranger(struct bits *b)
{
	for (uint32_t r = 0; r < b->n; r++)
		b->others[r] = (struct gt_buffers){
			b->data[r], b->room[r] + b->room_bytes - BITS_MARGIN};
	return (struct gt_exec_request){.coll = GT_COLL_ALLREDUCE,
					.dtype = GT_DTYPE_INT32,
					.op = GT_REDOP_MAX,
					.count = BITS_MARGIN / 4,
					.buffers = b->others,
					.streams = (void *const *)b->streams};
}

static int enqueue(struct bits *b, int grouped)
{
	struct gt_exec_request reqs[BITS_BATCH + 1];
	uint32_t n = b->npieces, step;
	struct gt_err err;

	gt_err_init(&err);
	for (uint32_t i = 0; i < n; i++)
		reqs[i] = b->pieces[i].req;
	if (grouped && draw(&b->state, 2))
		reqs[n++] = stranger(b);
	step = grouped ? n : 1;
	for (uint32_t i = 0; i < n; i += step) {
		if (!gt_engine_cuda.async->enqueue(b->m->engine, &reqs[i], step,
						   &err))
			continue;
		printf("# enqueue: %s\n", err.text);
		b->m->bad++;
		return 0;
	}
	return 1;
}

static int capture_begin(struct bits *b)
{
	int all = 1;

	for (uint32_t r = 0; all && r < b->n; r++)
		all = rank_on(b, r) &&
		      ok(b, "capture",
			 cudaStreamBeginCapture(b->streams[r],
						cudaStreamCaptureModeGlobal));
	return all;
}

/* All captures end before graphs are made: that is illegal during one. */
static int capture_end(struct bits *b)
{
	cudaGraph_t graph[MAX_RANKS] = {NULL};
	int all = 1;

	for (uint32_t r = 0; r < b->n; r++)
		all &= rank_on(b, r) &&
		       ok(b, "end of a capture",
			  cudaStreamEndCapture(b->streams[r], &graph[r]));
	for (uint32_t r = 0; r < b->n; r++) {
		all = all && rank_on(b, r) &&
		      ok(b, "graph",
			 cudaGraphInstantiate(&b->graphs[r], graph[r], 0));
		if (graph[r])
			cudaGraphDestroy(graph[r]);
	}
	return all;
}

static int replay(struct bits *b)
{
	int all = 1;

	for (uint32_t r = 0; all && r < b->n; r++)
		all = rank_on(b, r) &&
		      ok(b, "launch of a graph",
			 cudaGraphLaunch(b->graphs[r], b->streams[r]));
	return all;
}

static void drop_graphs(struct bits *b)
{
	for (uint32_t r = 0; r < b->n; r++)
		if (b->graphs[r])
			cudaGraphExecDestroy(b->graphs[r]);
	memset(b->graphs, 0, sizeof(b->graphs));
}

static int await_all(struct bits *b)
{
	struct gt_err err;

	gt_err_init(&err);
	for (uint32_t r = 0; r < b->n; r++) {
		if (!gt_engine_cuda.async->await(b->m->engine, r, b->streams[r],
						 -1, &err))
			continue;
		printf("# wait: %s\n", err.text);
		b->m->bad++;
		return 0;
	}
	return 1;
}

static void complain(struct bits *b, const struct piece *piece, uint32_t rank)
{
	struct gt_algo_choice way = {.algo = 0};
	struct gt_err err;

	gt_err_init(&err);
	if (b->m->bad++ >= BITS_SHOWN)
		return;
	gt_engine_cuda.algo_choice(b->m->engine, &piece->req, &way, &err);
	printf("# %s %s of %s %s, element %zu, count %llu, inplace %d, rank %u "
	       "of %u: other bits\n",
	       gt_algo_name(way.algo), gt_protocol_name(way.protocol),
	       gt_dtype_name(b->sums.dtype), gt_redop_name(b->sums.op),
	       piece->first, (unsigned long long)piece->req.count,
	       piece->req.inplace, rank, b->n);
}

/* Does a rank have the bits that it must? */
static int compare_rank(struct bits *b, const struct piece *piece,
			uint32_t rank)
{
	size_t elem = gt_dtype_bytes(b->sums.dtype), first = piece->first;
	size_t bytes = piece->req.count * elem;

	if (piece->req.coll == GT_COLL_REDUCE && rank != piece->req.root)
		return 1;
	if (piece->blocks > 1)
		first += rank * piece->req.count;
	if (!rank_on(b, rank) ||
	    !ok(b, "copy of an output",
		cudaMemcpy(b->seen, piece->buffers[rank].output, bytes,
			   cudaMemcpyDeviceToHost)))
		return 0;
	if (memcmp(b->seen, b->sums.want + first * elem, bytes))
		complain(b, piece, rank);
	return 1;
}

static int compare(struct bits *b)
{
	for (uint32_t i = 0; i < b->npieces; i++) {
		for (uint32_t r = 0; r < b->n; r++)
			if (!compare_rank(b, &b->pieces[i], r))
				return 0;
		b->m->runs++;
	}
	return 1;
}

/* Several small operations, or a large one; some of them through graphs. */
static int try_batch(struct bits *b)
{
	int graph = !draw(&b->state, 6), grouped = (int)draw(&b->state, 2);
	int several = draw(&b->state, 12) > 0, all = 1;

	b->npieces = several ? BITS_BATCH : 1;
	for (uint32_t i = 0; i < b->npieces; i++)
		draw_piece(b, i, several ? BITS_SMALL : BITS_ELEMENTS);
	if (graph)
		all = capture_begin(b);
	all = all && copy_inputs(b) && enqueue(b, grouped);
	if (graph)
		all = capture_end(b) && all && replay(b);
	all = all && await_all(b) && compare(b);
	drop_graphs(b);
	b->m->operations += b->npieces;
	return all;
}

/* What the engine takes unasked: the fastest, what overlaps, or the rows. */
static int next_engine(struct bits *b, uint32_t number)
{
	b->m->config.best = number % 3 == 0;
	b->m->config.overlap = number % 3 == 1;
	return engine_open(b->m);
}

int part_bits(struct matrix *m)
{
	struct bits b = {.m = m, .n = m->plan.nranks, .state = 21};
	uint32_t batches = 0;
	int all;

	m->config.max_bytes = 0;
	m->config.invariant = 1;
	m->config.timeout_ns = 20000000000;
	all = engine_open(m) && make_room(&b);
	while (all && m->operations < BITS_OPERATIONS) {
		uint32_t number = batches / BITS_DATA_FOR;

		if (batches++ % BITS_DATA_FOR == 0)
			all = next_engine(&b, number) && make_data(&b, number);
		all = all && !late(m) && try_batch(&b);
	}
	free_room(&b);
	return all;
}
