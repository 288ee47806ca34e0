/*
 * Loads of bench/overlap: products on one stream of each rank, collectives on
 * another, and what of one waits for what of the other; launched one by one or
 * as a graph, and timed.
 */
#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "graph.h"
#include "world/world.h"

static struct overlap_item *load_add(struct overlap_load *load,
				     enum overlap_what what)
{
	if (load->n == load->room) {
		load->room = load->room ? 2 * load->room : 64;
		load->items =
			realloc(load->items, load->room * sizeof(*load->items));
		if (!load->items)
			abort();
	}
	load->items[load->n] = (struct overlap_item){.what = what};
	return &load->items[load->n++];
}

void gt_overlap_load_product(struct overlap_load *load, int m, int n, int k)
{
	struct overlap_item *item = load_add(load, OVERLAP_PRODUCT);

	item->product = (struct gt_blas_product){.m = m, .n = n, .k = k};
}

void gt_overlap_load_collective(struct overlap_load *load,
				const struct gt_exec_request *req)
{
	struct overlap_item *item = load_add(load, OVERLAP_COLLECTIVE);
	int kind = 0;

	while (kind < load->nkinds &&
	       !gt_exec_request_is_like(&load->kinds[kind], req))
		kind++;
	if (kind == OVERLAP_KINDS)
		abort();
	if (kind == load->nkinds)
		load->kinds[load->nkinds++] = *req;
	item->kind = kind;
	item->comm = 1;
}

void gt_overlap_load_edge(struct overlap_load *load, enum overlap_what what,
			  int comm, int edge)
{
	struct overlap_item *item = load_add(load, what);

	item->comm = comm;
	item->edge = edge;
}

void gt_overlap_load_free(struct overlap_load *load)
{
	free(load->items);
	*load = (struct overlap_load){.items = NULL};
}

/* What comes on `to` waits for what is on `from`. */
static int join(struct overlap *o, uint32_t rank, cudaStream_t from,
		cudaStream_t to)
{
	struct overlap_rank *me = &o->ranks[rank];
	cudaError_t rc = cudaEventRecord(me->fork, from);

	if (rc == cudaSuccess)
		rc = cudaStreamWaitEvent(to, me->fork, 0);
	return gt_overlap_cuda(rank, "order streams", rc);
}

static int put_product(struct overlap *o, uint32_t rank,
		       const struct overlap_item *item)
{
	struct overlap_rank *me = &o->ranks[rank];
	struct gt_blas_product product = item->product;
	char place[OVERLAP_TEXT_MAX];
	int rc;

	product.a = me->operands[0];
	product.b = me->operands[1];
	product.c = me->operands[2];
	rc = gt_blas_run(me->blas, &product);
	if (!rc)
		return GT_OK;
	snprintf(place, sizeof(place), "rank %u: product", rank);
	return gt_overlap_fail(place, gt_blas_words(me->blas, rc));
}

static int put_collective(struct overlap *o, const struct overlap_run *run,
			  uint32_t rank, int kind)
{
	struct gt_exec_request req = run->load->kinds[kind];
	void *streams[OVERLAP_RANKS] = {NULL};

	streams[rank] = o->ranks[rank].comm[run->priority];
	req.streams = streams;
	return gt_overlap_way_call(o, run->way, &req, rank);
}

static int put_item(struct overlap *o, const struct overlap_run *run,
		    uint32_t rank, const struct overlap_item *item)
{
	struct overlap_rank *me = &o->ranks[rank];
	cudaStream_t stream =
		item->comm ? me->comm[run->priority] : me->compute;

	switch (item->what) {
	case OVERLAP_PRODUCT:
		return run->products ? put_product(o, rank, item) : GT_OK;
	case OVERLAP_COLLECTIVE:
		return run->way ? put_collective(o, run, rank, item->kind)
				: GT_OK;
	case OVERLAP_MARK:
		return gt_overlap_cuda(
			rank, "mark an edge",
			cudaEventRecord(me->edges[item->edge], stream));
	default:
		return gt_overlap_cuda(
			rank, "await an edge",
			cudaStreamWaitEvent(stream, me->edges[item->edge], 0));
	}
}

/* In a graph, an event that tells times is a node of its own. */
static int put_time(const struct overlap_run *run, uint32_t rank,
		    cudaEvent_t event, cudaStream_t stream)
{
	return gt_overlap_cuda(
		rank, "record an event",
		cudaEventRecordWithFlags(event, stream,
					 run->graph ? cudaEventRecordExternal
						    : cudaEventRecordDefault));
}

/* The whole load of a rank. */
static int put_load(struct overlap *o, uint32_t rank, void *arg)
{
	const struct overlap_run *run = arg;
	struct overlap_rank *me = &o->ranks[rank];
	cudaStream_t comm = me->comm[run->priority];
	int rc = join(o, rank, me->compute, comm);

	for (uint32_t i = 0; !rc && i < run->load->n; i++)
		rc = put_item(o, run, rank, &run->load->items[i]);
	if (!rc)
		rc = put_time(run, rank, me->computed, me->compute);
	if (!rc)
		rc = join(o, rank, comm, me->compute);
	return rc ? rc : put_time(run, rank, me->done, me->compute);
}

static int capture_begin(struct overlap *o)
{
	cudaError_t rc = cudaSuccess;

	/* Relaxed: one thread begins, others go on, and this one ends it. */
	for (uint32_t r = o->first; rc == cudaSuccess && r < o->end; r++) {
		cudaSetDevice(o->ranks[r].gpu);
		rc = cudaStreamBeginCapture(o->ranks[r].compute,
					    cudaStreamCaptureModeRelaxed);
		if (rc != cudaSuccess)
			return gt_overlap_cuda(r, "begin a capture", rc);
	}
	return GT_OK;
}

/* Also after a failure, or the streams could not be used any more. */
static int capture_end(struct overlap *o, cudaGraph_t graphs[OVERLAP_RANKS])
{
	int worst = GT_OK, rc;

	for (uint32_t r = o->first; r < o->end; r++) {
		cudaSetDevice(o->ranks[r].gpu);
		rc = gt_overlap_cuda(
			r, "end a capture",
			cudaStreamEndCapture(o->ranks[r].compute, &graphs[r]));
		worst = worst ? worst : rc;
	}
	return worst;
}

static int instantiate(struct overlap *o, struct overlap_run *run,
		       cudaGraph_t graph, uint32_t rank)
{
	cudaError_t rc = cudaSetDevice(o->ranks[rank].gpu);

	if (rc == cudaSuccess)
		rc = cudaGraphInstantiate(&run->exec[rank], graph, 0);
	if (rc == cudaSuccess)
		rc = cudaGraphUpload(run->exec[rank], o->ranks[rank].compute);
	return gt_overlap_cuda(rank, "make a graph", rc);
}

int gt_overlap_capture(struct overlap *o, struct overlap_run *run)
{
	cudaGraph_t graphs[OVERLAP_RANKS] = {NULL};
	int rc = run->way ? gt_overlap_way_prepare(o, run->way, run->priority)
			  : GT_OK;
	int end;

	if (!rc)
		rc = capture_begin(o);
	if (!rc)
		rc = gt_overlap_each(o, put_load, run);
	end = capture_end(o, graphs);
	rc = rc ? rc : end;
	for (uint32_t r = o->first; !rc && r < o->end; r++)
		rc = instantiate(o, run, graphs[r], r);
	run->blocks = rc ? -1 : gt_graph_blocks(graphs[o->first]);
	for (uint32_t r = o->first; r < o->end; r++)
		if (graphs[r])
			cudaGraphDestroy(graphs[r]);
	return gt_overlap_most(o, rc != 0) ? GT_ESYS : GT_OK;
}

void gt_overlap_drop(struct overlap *o, struct overlap_run *run)
{
	for (uint32_t r = o->first; r < o->end; r++) {
		if (run->exec[r])
			cudaGraphExecDestroy(run->exec[r]);
		run->exec[r] = NULL;
	}
}

/* All ranks' collectives begin together: one that is not timed comes before. */
static int align(struct overlap *o, const struct overlap_run *run,
		 uint32_t rank)
{
	struct overlap_rank *me = &o->ranks[rank];
	int rc;

	if (!run->way || !run->load->nkinds)
		return GT_OK;
	rc = put_collective(o, run, rank, 0);
	return rc ? rc : join(o, rank, me->comm[run->priority], me->compute);
}

static int run_rank(struct overlap *o, uint32_t rank, void *arg)
{
	struct overlap_run *run = arg;
	struct overlap_rank *me = &o->ranks[rank];
	int rc = align(o, run, rank);

	if (!rc)
		rc = gt_overlap_cuda(rank, "record an event",
				     cudaEventRecord(me->begin, me->compute));
	if (!rc)
		rc = run->graph
			     ? gt_overlap_cuda(rank, "launch a graph",
					       cudaGraphLaunch(run->exec[rank],
							       me->compute))
			     : put_load(o, rank, run);
	return rc ? rc
		  : gt_overlap_cuda(rank, "run",
				    cudaStreamSynchronize(me->compute));
}

/* Of this process's slowest rank, in nanoseconds. */
static int elapsed(struct overlap *o, uint64_t *computed, uint64_t *done)
{
	float ms[2] = {0, 0};
	cudaError_t rc;

	*computed = *done = 0;
	for (uint32_t r = o->first; r < o->end; r++) {
		struct overlap_rank *me = &o->ranks[r];

		rc = cudaEventElapsedTime(&ms[0], me->begin, me->computed);
		if (rc == cudaSuccess)
			rc = cudaEventElapsedTime(&ms[1], me->begin, me->done);
		if (rc != cudaSuccess)
			return gt_overlap_cuda(r, "tell the time", rc);
		if ((double)ms[0] * 1e6 > (double)*computed)
			*computed = (uint64_t)((double)ms[0] * 1e6);
		if ((double)ms[1] * 1e6 > (double)*done)
			*done = (uint64_t)((double)ms[1] * 1e6);
	}
	return GT_OK;
}

int gt_overlap_run(struct overlap *o, struct overlap_run *run,
		   struct overlap_times *times)
{
	uint64_t computed = 0, done = 0;
	int rc = GT_OK;

	/* Processes begin together. */
	if (o->world && gt_world_allgather(o->world, NULL, 0, NULL, NULL))
		return gt_overlap_fail("job", "another process has ended");
	if (run->way)
		rc = gt_overlap_way_prepare(o, run->way, run->priority);
	if (!rc)
		rc = gt_overlap_each(o, run_rank, run);
	if (!rc && run->way)
		rc = gt_overlap_way_state(run->way);
	if (!rc)
		rc = elapsed(o, &computed, &done);
	computed = gt_overlap_most(o, rc ? UINT64_MAX : computed);
	if (computed == UINT64_MAX)
		return GT_ESYS;
	done = gt_overlap_most(o, done);
	if (done == UINT64_MAX)
		return GT_ESYS;
	times->computed_us = (double)computed / 1e3;
	times->done_us = (double)done / 1e3;
	return GT_OK;
}
