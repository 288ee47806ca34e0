#include "gpu/library.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernels/kernels.h"
#include "plan/lower/layout.h"

enum { LINES_SHOWN = 20 };

/* Where a rank's data of an operation lie, in the whole buffer's indices. */
struct place {
	char *input, *output;
	struct gt_range in, out;
};

void complain(struct library *lib, const char *what, const char *why)
{
	if (lib->bad++ < LINES_SHOWN)
		printf("# %s: %s\n", what, why);
}

int is_far(void)
{
	return getenv("GTOPO_HOSTID") != NULL;
}

int all_colls(void)
{
	return is_far() ? GT_COLL_ALLTOALL : GT_COLL_SENDRECV;
}

int late(const struct library *lib)
{
	return gt_clock_ns() > lib->deadline_ns;
}

static int failed(struct library *lib, const char *what, cudaError_t rc)
{
	if (rc == cudaSuccess)
		return 0;
	cudaGetLastError();
	complain(lib, what, cudaGetErrorString(rc));
	return 1;
}

int open_comm(struct library *lib, unsigned flags, int64_t timeout_ms)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char message[512];

	config.plan = lib->plan;
	config.device = GTOPO_CUDA;
	config.flags = flags | lib->map;
	config.timeout_ms = timeout_ms;
	if (getenv("WORLD_SIZE"))
		config.flags |= GTOPO_LAUNCHED;
	config.beside = lib->base;
	if (getenv("LIBRARY_MAX_BLOCKS"))
		config.max_blocks =
			strtoull(getenv("LIBRARY_MAX_BLOCKS"), NULL, 10);
	if (gtopo_comm_create(&config, &lib->comm, message, sizeof(message))) {
		complain(lib, "gtopo_comm_create", message);
		lib->comm = NULL;
		return 0;
	}
	lib->nranks = gtopo_comm_ranks(lib->comm);
	gtopo_comm_local(lib->comm, &lib->first, &lib->end);
	lib->end += lib->first;
	if (lib->nranks > MAX_RANKS)
		return 0;
	for (int r = lib->first; r < lib->end; r++) {
		lib->ranks[r].gpu = gtopo_comm_gpu(lib->comm, r);
		gtopo_comm_stream(lib->comm, r, lib->ranks[r].stream);
	}
	return 1;
}

void close_comm(struct library *lib)
{
	gtopo_comm_destroy(lib->comm);
	lib->comm = NULL;
}

static cudaError_t open_scalars(const struct library *lib, struct rank *me)
{
	uint64_t bits[GT_NDTYPES];
	cudaError_t rc = cudaMalloc((void **)&me->scalars, sizeof(bits));

	for (int t = 0; t < GT_NDTYPES; t++)
		bits[t] = gt_pattern_scalar((enum gt_dtype)t,
					    (uint32_t)(me - lib->ranks))
				  .bits;
	return rc == cudaSuccess ? cudaMemcpy(me->scalars, bits, sizeof(bits),
					      cudaMemcpyHostToDevice)
				 : rc;
}

static int open_rank(struct library *lib, struct rank *me)
{
	size_t bytes = lib->room + TAIL_BYTES;
	cudaError_t rc = cudaSetDevice(me->gpu);

	/* One that waits for the default stream, one that does not. */
	if (rc == cudaSuccess)
		rc = cudaStreamCreate(&me->stream);
	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&me->other,
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->input, bytes);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->output, bytes);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->wrong, sizeof(*me->wrong));
	if (rc == cudaSuccess)
		rc = cudaMemset(me->wrong, 0, sizeof(*me->wrong));
	if (rc == cudaSuccess)
		rc = open_scalars(lib, me);
	if (rc == cudaSuccess)
		rc = cudaDeviceSynchronize();
	return !failed(lib, "buffers", rc);
}

int open_ranks(struct library *lib, uint64_t room)
{
	int r;

	if (!open_comm(lib, 0, 30000))
		return 0;
	lib->room = room;
	for (r = lib->first; r < lib->end; r++)
		if (!open_rank(lib, &lib->ranks[r]))
			break;
	/* Of a job, others are made beside the first. */
	if (getenv("WORLD_SIZE"))
		lib->base = lib->comm;
	else
		gtopo_comm_destroy(lib->comm);
	lib->comm = NULL;
	return r == lib->end;
}

void close_ranks(struct library *lib)
{
	for (int r = lib->first; r < lib->end; r++) {
		struct rank *me = &lib->ranks[r];

		cudaSetDevice(me->gpu);
		cudaFree(me->input);
		cudaFree(me->output);
		cudaFree(me->wrong);
		cudaFree(me->scalars);
		if (me->stream)
			cudaStreamDestroy(me->stream);
		if (me->other)
			cudaStreamDestroy(me->other);
	}
}

static uint64_t blocks_of(const struct library *lib, enum gt_coll coll)
{
	return gt_coll_has_blocks(coll) ? (uint64_t)lib->nranks : 1;
}

int fits(const struct library *lib, const struct operation *op)
{
	return op->at + op->count * blocks_of(lib, op->coll) *
				gt_dtype_bytes((enum gt_dtype)op->type) <=
	       lib->room;
}

static struct gt_range range_of(const struct library *lib,
				const struct operation *op,
				enum gt_extent extent, int rank)
{
	if (extent == GT_EXTENT_OWN)
		return (struct gt_range){op->count * (uint64_t)rank, op->count};
	if (extent == GT_EXTENT_NONE)
		return (struct gt_range){0, 0};
	return (struct gt_range){0, op->count * blocks_of(lib, op->coll)};
}

static struct place place_of(const struct library *lib,
			     const struct operation *op, int rank)
{
	const struct gt_channel_use use = {.coll = op->coll,
					   .root = (uint32_t)op->root};
	size_t elem = gt_dtype_bytes((enum gt_dtype)op->type);
	const struct rank *me = &lib->ranks[rank];
	uint32_t r = (uint32_t)rank;
	struct place at = {
		.input = me->input + op->at + op->shift * elem,
		.output = me->output + op->at + op->shift * elem,
		.in = range_of(lib, op, gt_layout_input(&use, r), rank),
		.out = range_of(lib, op, gt_layout_output(&use, r), rank)};

	/* In place, a block lies where it is in the whole buffer. */
	if (op->inplace) {
		at.input = at.output + at.in.offset * elem;
		at.output += at.out.offset * elem;
	}
	return at;
}

static struct gt_kernel_data data_of(const struct library *lib,
				     const struct operation *op, int rank)
{
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(op->coll, (enum gt_dtype)op->type,
					   (enum gt_redop)op->op,
					   (uint32_t)lib->nranks, op->seed),
		.block_elems = op->count,
		.rank = (uint32_t)rank,
		.wrong = lib->ranks[rank].wrong};

	data.pattern.root = (uint32_t)op->root;
	data.pattern.rank = (uint32_t)rank;
	return data;
}

/* Have a kernel go over what a rank gives, or over what it gets. */
static int go_over(struct library *lib, const struct operation *op, int rank,
		   int gets)
{
	struct gt_kernel_data data = data_of(lib, op, rank);
	struct place at = place_of(lib, op, rank);
	const struct rank *me = &lib->ranks[rank];

	data.data = gets ? at.output : at.input;
	data.first = gets ? at.out.offset : at.in.offset;
	data.count = gets ? at.out.count : at.in.count;
	cudaSetDevice(me->gpu);
	return !failed(lib, gets ? "compare" : "fill",
		       (cudaError_t)(gets ? gt_kernel_check(&data, me->stream)
					  : gt_kernel_fill(&data, me->stream)));
}

int fill(struct library *lib, const struct operation *op, int rank)
{
	return go_over(lib, op, rank, 0);
}

int compare(struct library *lib, const struct operation *op, int rank)
{
	return go_over(lib, op, rank, 1);
}

static int call_made(struct library *lib, const struct operation *op, int rank)
{
	struct place at = place_of(lib, op, rank);
	struct gtopo_comm *c = lib->comm;
	uint64_t n = op->count;

	switch (op->coll) {
	case GT_COLL_ALLREDUCE:
		return gtopo_allreduce(c, rank, at.input, at.output, n,
				       op->type, op->op);
	case GT_COLL_ALLGATHER:
		return gtopo_allgather(c, rank, at.input, at.output, n,
				       op->type);
	case GT_COLL_REDUCESCATTER:
		return gtopo_reducescatter(c, rank, at.input, at.output, n,
					   op->type, op->op);
	case GT_COLL_ALLTOALL:
		return gtopo_alltoall(c, rank, at.input, at.output, n,
				      op->type);
	case GT_COLL_BROADCAST:
		return gtopo_broadcast(c, rank, at.input, at.output, n,
				       op->type, op->root);
	case GT_COLL_REDUCE:
		return gtopo_reduce(c, rank, at.input, at.output, n, op->type,
				    op->op, op->root);
	case GT_COLL_GATHER:
		return gtopo_gather(c, rank, at.input, at.output, n, op->type,
				    op->root);
	default:
		return gtopo_scatter(c, rank, at.input, at.output, n, op->type,
				     op->root);
	}
}

/*
 * With an operator that lives as long as the call; the scalars of some ranks
 * are on the GPU.
 */
int call(struct library *lib, const struct operation *op, int rank)
{
	const struct gt_scalar host =
		gt_pattern_scalar((enum gt_dtype)op->type, (uint32_t)rank);
	struct operation made = *op;
	int device = (rank + (int)op->seed) & 1, rc;

	if ((int)op->op != GT_REDOP_PREMUL ||
	    !gt_pattern_reduces((uint32_t)op->coll))
		return call_made(lib, op, rank);
	rc = gtopo_op_create_premul(
		lib->comm, rank,
		device ? &lib->ranks[rank].scalars[op->type] : &host.bits,
		op->type, device ? GTOPO_SCALAR_DEVICE : GTOPO_SCALAR_HOST,
		&made.op);
	if (rc)
		return rc;
	rc = call_made(lib, &made, rank);
	return rc ? rc : gtopo_op_destroy(lib->comm, rank, made.op);
}

int call_together(struct library *lib, const struct operation *ops, int n)
{
	int rc = gtopo_group_start(lib->comm, GTOPO_ALL_RANKS);

	for (int i = 0; i < n; i++)
		for (int r = lib->first; !rc && r < lib->end; r++)
			rc = call(lib, &ops[i], r);
	return rc ? rc : gtopo_group_end(lib->comm, GTOPO_ALL_RANKS);
}

static int each(struct library *lib, const struct operation *ops, int n,
		int (*what)(struct library *lib, const struct operation *op,
			    int rank))
{
	for (int i = 0; i < n; i++)
		for (int r = lib->first; r < lib->end; r++)
			if (!what(lib, &ops[i], r))
				return 0;
	return 1;
}

int run_all(struct library *lib, const struct operation *ops, int n)
{
	char message[512];

	lib->operations += (uint64_t)n;
	if (!each(lib, ops, n, fill))
		return 0;
	if (call_together(lib, ops, n)) {
		gtopo_comm_message(lib->comm, message, sizeof(message));
		complain(lib, gt_coll_name(ops[0].coll), message);
		return 0;
	}
	return each(lib, ops, n, compare);
}

int run(struct library *lib, const struct operation *op)
{
	return run_all(lib, op, 1);
}

int64_t sum_wrong(struct library *lib)
{
	char message[512];
	int64_t sum = 0;
	uint64_t here;

	if (gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 60000)) {
		gtopo_comm_message(lib->comm, message, sizeof(message));
		complain(lib, "gtopo_wait", message);
		return -1;
	}
	for (int r = lib->first; r < lib->end; r++) {
		struct rank *me = &lib->ranks[r];
		cudaError_t rc = cudaSetDevice(me->gpu);

		if (rc == cudaSuccess)
			rc = cudaMemcpyAsync(&here, me->wrong, sizeof(here),
					     cudaMemcpyDeviceToHost,
					     me->stream);
		if (rc == cudaSuccess)
			rc = cudaMemsetAsync(me->wrong, 0, sizeof(here),
					     me->stream);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(me->stream);
		if (failed(lib, "read the count", rc))
			return -1;
		sum += (int64_t)here;
	}
	return sum;
}
