/* Registered buffers: right wherever they lie, and what they save. */
#include "gpu/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
	ROUNDS = 5,    /* of what is timed; the least counts */
	SLOW_MS = 20,  /* that a round takes at least */
	AGAIN = 6,     /* times that buffers are made anew */
	REPLAYED = 50, /* times that a graph is launched */
};

static const uint64_t MIB = 1 << 20;

static int gtopo_ok(struct library *lib, const char *what, int rc)
{
	char message[512];

	if (rc) {
		gtopo_comm_message(lib->comm, message, sizeof(message));
		complain(lib, what, message);
	}
	return !rc;
}

/* All of both buffers, with the tail that shifted operations use. */
static int register_all(struct library *lib)
{
	uint64_t bytes = lib->room + TAIL_BYTES;
	int rc = 0;

	for (int r = lib->first; !rc && r < lib->end; r++) {
		rc = gtopo_register(lib->comm, r, lib->ranks[r].input, bytes);
		if (!rc)
			rc = gtopo_register(lib->comm, r, lib->ranks[r].output,
					    bytes);
	}
	return gtopo_ok(lib, "gtopo_register", rc);
}

static int deregister_all(struct library *lib)
{
	int rc = gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 20000);

	for (int r = lib->first; !rc && r < lib->end; r++) {
		rc = gtopo_deregister(lib->comm, r, lib->ranks[r].input);
		if (!rc)
			rc = gtopo_deregister(lib->comm, r,
					      lib->ranks[r].output);
	}
	return gtopo_ok(lib, "gtopo_deregister", rc);
}

/* Every collective at sizes that go directly and by copy engines. */
static int right_all(struct library *lib, const char *what)
{
	static const uint64_t sizes[] = {5, 40, 250};
	struct operation op = {.type = GTOPO_FLOAT};

	for (int c = 0; c < GT_COLL_SENDRECV; c++)
		for (size_t i = 0; i < 6; i++) {
			op.coll = (enum gt_coll)c;
			op.count = sizes[i / 2] * MIB / sizeof(float) + 1;
			if (gt_coll_has_blocks(op.coll))
				op.count /= (uint64_t)lib->nranks;
			op.inplace = i % 2;
			op.shift = (unsigned)c;
			op.root = (int)i % lib->nranks;
			op.seed++;
			if (fits(lib, &op) && !run(lib, &op))
				return 0;
		}
	if (sum_wrong(lib))
		complain(lib, what, "wrong elements");
	return !late(lib);
}

/* All begin elsewhere in what is registered, at the same place. */
static void move_all(struct library *lib, int way)
{
	for (int r = lib->first; r < lib->end; r++) {
		lib->ranks[r].input += way * 4096;
		lib->ranks[r].output += way * 65536;
	}
	lib->room -= (uint64_t)((int64_t)way * 2 * (int64_t)MIB);
}

static int right_places(struct library *lib)
{
	int all = register_all(lib) && right_all(lib, "registered");

	if (!all)
		return 0;
	move_all(lib, 1);
	all = right_all(lib, "elsewhere in what is registered");
	move_all(lib, -1);
	all = all && deregister_all(lib) && right_all(lib, "deregistered") &&
	      register_all(lib);
	for (int r = lib->first; all && r < lib->end; r++)
		all = gtopo_ok(
			lib, "gtopo_deregister",
			gtopo_deregister(lib->comm, r, lib->ranks[r].input));
	all = all && right_all(lib, "partly registered");
	for (int r = lib->first; all && r < lib->end; r++)
		all = gtopo_ok(lib, "gtopo_register",
			       gtopo_register(lib->comm, r, lib->ranks[r].input,
					      lib->room + TAIL_BYTES));
	return all && right_all(lib, "registered again") && deregister_all(lib);
}

/* What was freed behind its deregistration comes back, often as itself. */
static int right_again(struct library *lib)
{
	struct operation op = {.coll = GT_COLL_ALLREDUCE,
			       .type = GTOPO_BF16,
			       .count = 150 * MIB / 2};
	size_t bytes = lib->room + TAIL_BYTES;

	for (int i = 0; i < AGAIN; i++) {
		if (!register_all(lib))
			return 0;
		for (int k = 0; k < 3; k++) {
			op.seed++;
			op.coll = k ? GT_COLL_ALLREDUCE : GT_COLL_BROADCAST;
			if (!run(lib, &op))
				return 0;
		}
		if (!deregister_all(lib))
			return 0;
		for (int r = lib->first; r < lib->end; r++) {
			struct rank *me = &lib->ranks[r];

			cudaSetDevice(me->gpu);
			cudaFree(me->input);
			cudaFree(me->output);
			if (!cuda_ok(lib, "cudaMalloc",
				     cudaMalloc((void **)&me->output, bytes)) ||
			    !cuda_ok(lib, "cudaMalloc",
				     cudaMalloc((void **)&me->input, bytes)))
				return 0;
		}
	}
	if (sum_wrong(lib))
		complain(lib, "freed and made again", "wrong elements");
	return !late(lib);
}

/* Captured on registered buffers, replayed while they are. */
static int right_graph(struct library *lib)
{
	struct operation op = {.coll = GT_COLL_ALLGATHER,
			       .type = GTOPO_FLOAT,
			       .count = 64 * MIB / 8};
	cudaGraphExec_t exec[MAX_RANKS] = {0};
	cudaGraph_t graph[MAX_RANKS] = {0};
	int all = register_all(lib);

	for (int r = lib->first; all && r < lib->end; r++)
		all = !cudaSetDevice(lib->ranks[r].gpu) &&
		      !cudaStreamBeginCapture(lib->ranks[r].stream,
					      cudaStreamCaptureModeGlobal);
	all = all && run(lib, &op);
	op.coll = GT_COLL_ALLREDUCE;
	op.count *= 8;
	op.seed++;
	all = all && run(lib, &op);
	for (int r = lib->first; all && r < lib->end; r++)
		all = !cudaStreamEndCapture(lib->ranks[r].stream, &graph[r]);
	for (int r = lib->first; all && r < lib->end; r++)
		all = !cudaSetDevice(lib->ranks[r].gpu) &&
		      !cudaGraphInstantiate(&exec[r], graph[r], 0);
	for (int i = 0; i < REPLAYED * (lib->end - lib->first) && all; i++) {
		int r = lib->first + i % (lib->end - lib->first);

		all = !cudaSetDevice(lib->ranks[r].gpu) &&
		      !cudaGraphLaunch(exec[r], lib->ranks[r].stream);
	}
	if (!all || sum_wrong(lib))
		complain(lib, "graphs", "failed or wrong elements");
	for (int r = lib->first; r < lib->end; r++) {
		cudaGraphExecDestroy(exec[r]);
		cudaGraphDestroy(graph[r]);
	}
	return all && deregister_all(lib);
}

/* us an operation, on the first rank's GPU; negative: failed. */
static double time_one(struct library *lib, const struct operation *op,
		       unsigned times)
{
	struct rank *me = &lib->ranks[lib->first];
	cudaEvent_t begin = NULL, end = NULL;
	float ms = -1;
	int rc = 0;

	cudaSetDevice(me->gpu);
	cudaEventCreate(&begin);
	cudaEventCreate(&end);
	cudaEventRecord(begin, me->stream);
	for (unsigned i = 0; !rc && i < times; i++)
		rc = call_together(lib, op, 1);
	cudaSetDevice(me->gpu);
	cudaEventRecord(end, me->stream);
	gtopo_ok(lib, "what is timed", rc);
	if (!rc && !gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 20000))
		cudaEventElapsedTime(&ms, begin, end);
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	return (double)ms * 1e3 / times;
}

/* Equally often in all processes. */
static double time_of(struct library *lib, const struct operation *op)
{
	uint64_t bytes = op->count * sizeof(float);
	unsigned times = (unsigned)(SLOW_MS * 300 * MIB / (bytes + MIB)) + 2;
	double least = -1;

	for (int i = 0; i <= ROUNDS; i++) {
		double us = time_one(lib, op, times);

		if (us < 0)
			return us;
		if (i && (least < 0 || us < least))
			least = us;
	}
	return least;
}

static int time_sizes(struct library *lib, enum gt_coll coll)
{
	struct operation op = {.coll = coll, .type = GTOPO_FLOAT};
	double staged, lent;

	for (uint64_t bytes = 16 * MIB; bytes <= lib->room; bytes *= 4) {
		op.count = bytes / sizeof(float);
		if (gt_coll_has_blocks(coll))
			op.count /= (uint64_t)lib->nranks;
		staged = time_of(lib, &op);
		if (staged < 0 || !register_all(lib))
			return 0;
		lent = time_of(lib, &op);
		if (lent < 0 || !deregister_all(lib))
			return 0;
		if (!lib->first)
			printf("# %s %llu bytes: %.1f us, registered %.1f us\n",
			       gt_coll_name(coll), (unsigned long long)bytes,
			       staged, lent);
	}
	return !late(lib);
}

int part_register(struct library *lib)
{
	return open_ranks(lib, 1024 * MIB) &&
	       open_comm(lib, GTOPO_BEST, 10000) &&
	       time_sizes(lib, GT_COLL_ALLREDUCE) &&
	       time_sizes(lib, GT_COLL_ALLGATHER) && right_again(lib) &&
	       right_graph(lib) && right_places(lib);
}

/* Each rank's buffers for others, of pieces, and back. */
static int take_pieces(struct library *lib)
{
	for (int r = lib->first; r < lib->end; r++) {
		struct rank *me = &lib->ranks[r];

		cudaSetDevice(me->gpu);
		cudaFree(me->input);
		cudaFree(me->output);
		me->input = me->output = NULL;
		if (!make_pieces(lib, me->gpu, lib->room + TAIL_BYTES,
				 &me->input) ||
		    !make_pieces(lib, me->gpu, lib->room + TAIL_BYTES,
				 &me->output))
			return 0;
	}
	return 1;
}

static void drop_pieces(struct library *lib)
{
	for (int r = lib->first; r < lib->end; r++) {
		struct rank *me = &lib->ranks[r];

		cudaSetDevice(me->gpu);
		if (me->input)
			free_pieces(me->input, lib->room + TAIL_BYTES);
		if (me->output)
			free_pieces(me->output, lib->room + TAIL_BYTES);
		me->input = me->output = NULL;
	}
}

/* In one process only registered pieces are in reach of other GPUs. */
int part_pieces(struct library *lib)
{
	int all = open_ranks(lib, 256 * MIB) &&
		  open_comm(lib, GTOPO_BEST, 10000) && take_pieces(lib);

	if (all && getenv("WORLD_SIZE"))
		all = time_sizes(lib, GT_COLL_ALLGATHER) &&
		      right_all(lib, "pieces");
	all = all && register_all(lib) && right_all(lib, "registered pieces") &&
	      deregister_all(lib);
	close_comm(lib);
	drop_pieces(lib);
	return all;
}
