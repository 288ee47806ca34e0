/* Streams: captured into graphs, one thread a rank, beside other kernels. */
#include "gpu/library.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/dtype.h"

enum { REPLAYS = 200, FAR_REPLAYS = 10, THREAD_OPERATIONS = 2000 };

int cuda_ok(struct library *lib, const char *what, cudaError_t rc)
{
	if (rc != cudaSuccess)
		complain(lib, what, cudaGetErrorString(rc));
	return rc == cudaSuccess;
}

int capture_begin(struct library *lib)
{
	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		if (!cuda_ok(lib, "begin of a capture",
			     cudaStreamBeginCapture(
				     lib->ranks[r].stream,
				     cudaStreamCaptureModeGlobal)))
			return 0;
	}
	return 1;
}

/* All captures end before graphs are made: that is illegal during one. */
int capture_end(struct library *lib, struct graphs *graphs)
{
	int all = 1;

	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all &= cuda_ok(lib, "end of a capture",
			       cudaStreamEndCapture(lib->ranks[r].stream,
						    &graphs->graph[r]));
	}
	for (int r = lib->first; all && r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all = cuda_ok(lib, "graph",
			      cudaGraphInstantiate(&graphs->exec[r],
						   graphs->graph[r], 0));
	}
	return all;
}

/* Fewer where links carry it. */
static int replays(void)
{
	return is_far() ? FAR_REPLAYS : REPLAYS;
}

int replay(struct library *lib, const struct graphs *graphs, int times)
{
	for (int i = 0; i < times; i++)
		for (int r = lib->first; r < lib->end; r++) {
			cudaSetDevice(lib->ranks[r].gpu);
			if (!cuda_ok(lib, "launch of a graph",
				     cudaGraphLaunch(graphs->exec[r],
						     lib->ranks[r].stream)))
				return 0;
		}
	return 1;
}

void drop(struct library *lib, struct graphs *graphs)
{
	for (int r = lib->first; r < lib->end; r++) {
		if (graphs->exec[r])
			cudaGraphExecDestroy(graphs->exec[r]);
		if (graphs->graph[r])
			cudaGraphDestroy(graphs->graph[r]);
	}
}

/* Every collective at several sizes, captured as the first of its kind. */
static int capture_all(struct library *lib, int ncolls)
{
	static const uint64_t counts[] = {5, 30000, 1000003};
	struct operation op = {.type = GTOPO_BF16, .seed = 7};

	for (int c = 0; c < ncolls; c++)
		for (size_t i = 0; i < 3; i++) {
			op.coll = (enum gt_coll)c;
			op.count = counts[i];
			op.inplace = (int)i % 2;
			/* Scalars on the GPU are read again and again. */
			op.op = i % 2 ? (enum gtopo_op)GT_REDOP_PREMUL
				      : GTOPO_SUM;
			op.seed++;
			if (!run(lib, &op))
				return 0;
		}
	op.coll = GT_COLL_ALLREDUCE;
	op.op = GTOPO_SUM;
	op.count = 100 << 20;
	return run(lib, &op);
}

static int graph_once(struct library *lib, unsigned flags, int ncolls)
{
	struct operation op = {.coll = GT_COLL_ALLREDUCE,
			       .type = GTOPO_FLOAT,
			       .count = 12345,
			       .seed = 5};
	struct graphs graphs = {0};
	uint64_t captured;
	int all;

	if (!open_comm(lib, flags, 10000))
		return 0;
	captured = lib->operations;
	all = capture_begin(lib) && capture_all(lib, ncolls);
	all = capture_end(lib, &graphs) && all;
	captured = lib->operations - captured;
	/* Graphs and plain calls take turns on the streams. */
	all = all && run(lib, &op) && replay(lib, &graphs, replays()) &&
	      run(lib, &op);
	lib->operations += captured * (uint64_t)replays();
	if (all && sum_wrong(lib))
		complain(lib, "graph", "wrong elements");
	drop(lib, &graphs);
	close_comm(lib);
	return all && !late(lib);
}

int part_graph(struct library *lib)
{
	return open_ranks(lib, 256 << 20) &&
	       graph_once(lib, 0, GT_COLL_ALLTOALL) &&
	       graph_once(lib, GTOPO_BEST, all_colls());
}

struct worker {
	struct library *lib;
	pthread_t thread;
	int rank, failed;
};

/* No groups: each call returns when it is on the thread's own stream. */
static void *work(void *arg)
{
	struct worker *me = arg;
	uint64_t state = 4711;

	for (int i = 0; i < THREAD_OPERATIONS && !me->failed; i++) {
		struct operation op = {
			.coll = (enum gt_coll)draw(&state, GT_COLL_SENDRECV),
			.type = (enum gtopo_type)draw(&state, GT_NDTYPES),
			.op = GTOPO_MAX,
			.seed = (uint64_t)i};

		op.count = draw(&state, 2u << draw(&state, 15));
		me->failed = !fill(me->lib, &op, me->rank) ||
			     call(me->lib, &op, me->rank) ||
			     !compare(me->lib, &op, me->rank);
	}
	if (me->failed)
		gtopo_comm_abort(me->lib->comm);
	return NULL;
}

int part_threads(struct library *lib)
{
	struct worker workers[MAX_RANKS];
	int failed = 0;

	if (!open_ranks(lib, 16 << 20) ||
	    !open_comm(lib, GTOPO_BEST | GTOPO_NONBLOCKING, 10000))
		return 0;
	for (int r = lib->first; r < lib->end; r++) {
		workers[r] = (struct worker){.lib = lib, .rank = r};
		if (pthread_create(&workers[r].thread, NULL, work, &workers[r]))
			return 0;
	}
	for (int r = lib->first; r < lib->end; r++) {
		pthread_join(workers[r].thread, NULL);
		failed |= workers[r].failed;
	}
	lib->operations += THREAD_OPERATIONS;
	if (failed || sum_wrong(lib))
		complain(lib, "threads", "failed or wrong elements");
	close_comm(lib);
	return !failed;
}

/* All kinds once, so that nothing is allocated any more. */
static int warm_up(struct library *lib)
{
	struct operation op = {.type = GTOPO_FLOAT, .seed = 3};

	for (int c = 0; c < GT_COLL_SENDRECV; c++)
		for (op.count = 4; op.count <= 4 << 20; op.count <<= 10) {
			op.coll = (enum gt_coll)c;
			op.inplace = !op.inplace;
			if (!run(lib, &op))
				return 0;
		}
	return sum_wrong(lib) == 0;
}

static int spin_all(struct library *lib, const uint32_t *go)
{
	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		if (!cuda_ok(lib, "spin",
			     (cudaError_t)gt_spin_run(go, lib->ranks[r].other)))
			return 0;
	}
	return 1;
}

/* Operations end while a kernel on another stream of each GPU does not. */
int part_overlap(struct library *lib)
{
	volatile uint32_t *go;
	int all;

	if (!open_ranks(lib, 64 << 20) || !open_comm(lib, GTOPO_BEST, 10000) ||
	    !warm_up(lib))
		return 0;
	if (!cuda_ok(lib, "host memory",
		     cudaHostAlloc((void **)&go, sizeof(*go),
				   cudaHostAllocPortable)))
		return 0;
	*go = 0;
	all = spin_all(lib, (const uint32_t *)go) && warm_up(lib);
	for (int r = lib->first; all && r < lib->end; r++)
		if (cudaStreamQuery(lib->ranks[r].other) != cudaErrorNotReady)
			complain(lib, "overlap", "the other kernel had ended");
	*go = 1;
	close_comm(lib);
	for (int r = lib->first; r < lib->end; r++)
		cudaStreamSynchronize(lib->ranks[r].other);
	cudaFreeHost((void *)go);
	return all;
}
