/*
 * Turns a collective into what each rank sends to which, adds up and passes on,
 * in one shot or in two.
 */
#include "exec/cuda/p2p/p2p.h"

#include "exec/cuda/device/state.h"
#include "plan/ir/plan.h"

/* Cut a buffer into n slices of whole lines, so that packs stay aligned. */
static uint64_t gt_p2p_slice(const struct gt_exec_request *req, uint32_t n)
{
	uint64_t line = GT_CUDA_LINE_BYTES / gt_dtype_bytes(req->dtype);
	uint64_t slice = (gt_exec_request_count(req) + n - 1) / n;

	return (slice + line - 1) / line * line;
}

/*
 * Where all bytes come from the root or go to it, the others take equal slices:
 * each is sent on by one of them, so nobody sends more than the whole buffer.
 */
static void gt_p2p_rooted_two(struct gt_p2p *flow,
			      const struct gt_exec_request *req)
{
	uint32_t n = flow->nranks, all = (1u << n) - 1, root = 1u << req->root;
	int casts = req->coll == GT_COLL_BROADCAST;

	flow->first = (req->root + 1) % n;
	flow->via = all & ~root;
	flow->back = casts ? flow->via : root;
	if (casts)
		flow->divide = 0;
	if (flow->me == req->root) {
		flow->to = casts ? all : flow->via;
		flow->from = casts ? root : flow->via;
		flow->adds = 0;
		flow->takes = casts ? GT_P2P_BLOCKS : GT_P2P_SUMS;
	} else {
		flow->to = casts ? 0 : flow->via;
		flow->from = casts ? flow->via : 0;
		flow->adds = casts ? root : all;
		flow->takes = casts ? GT_P2P_SUMS : GT_P2P_NOTHING;
	}
}

static void gt_p2p_two_shot(struct gt_p2p *flow,
			    const struct gt_exec_request *req)
{
	uint32_t n = flow->nranks;

	flow->end = gt_exec_request_count(req);
	flow->flags |= GT_P2P_SPREAD;
	flow->via = flow->back = flow->to;
	flow->takes = GT_P2P_SUMS;
	if (req->coll != GT_COLL_ALLREDUCE) {
		gt_p2p_rooted_two(flow, req);
		n = n > 1 ? n - 1 : 1;
	}
	flow->count = gt_p2p_slice(req, n);
	flow->in_stride = flow->out_stride = flow->count;
}

/* Fill in what one rank, the root, holds for all or gets from all. */
static void gt_p2p_rooted(struct gt_p2p *flow,
			  const struct gt_exec_request *req)
{
	uint32_t all = flow->to, root = 1u << req->root;
	int mine = flow->me == req->root;

	if (req->coll == GT_COLL_BROADCAST || req->coll == GT_COLL_SCATTER) {
		flow->to = mine ? all : 0;
		flow->from = root;
		if (req->coll == GT_COLL_SCATTER)
			flow->in_stride = req->count;
		return;
	}
	flow->to = root;
	flow->from = mine ? all : 0;
	if (req->coll == GT_COLL_GATHER)
		flow->out_stride = req->count;
	else if (mine)
		flow->flags |= GT_P2P_REDUCE;
}

struct gt_p2p gt_cuda_p2p_of(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     enum gt_algo algo, uint32_t rank)
{
	uint32_t n = engine->plan->nranks, all = (1u << n) - 1;
	struct gt_p2p flow = {.count = gt_exec_request_count(req),
			      .to = all,
			      .from = all,
			      .me = rank,
			      .nranks = n,
			      .divide = req->op == GT_REDOP_AVG ? n : 0};

	switch (req->coll) {
	case GT_COLL_ALLREDUCE:
		flow.flags = GT_P2P_REDUCE;
		break;
	case GT_COLL_REDUCESCATTER:
		flow.flags = GT_P2P_REDUCE;
		flow.in_stride = req->count;
		break;
	case GT_COLL_ALLTOALL:
		flow.in_stride = req->count;
		flow.out_stride = req->count;
		break;
	case GT_COLL_ALLGATHER:
		flow.out_stride = req->count;
		break;
	case GT_COLL_SENDRECV:
		flow.to = 1u << (rank + 1) % n;
		flow.from = 1u << (rank + n - 1) % n;
		break;
	default:
		gt_p2p_rooted(&flow, req);
	}
	if (flow.flags & GT_P2P_REDUCE)
		flow.adds = all;
	else
		flow.takes = GT_P2P_BLOCKS;
	if (algo == GT_ALGO_TWO_SHOT)
		gt_p2p_two_shot(&flow, req);
	return flow;
}

int gt_cuda_p2p_overwrites(const struct gt_exec_request *req)
{
	return req->inplace &&
	       (req->coll == GT_COLL_ALLTOALL || req->coll == GT_COLL_SENDRECV);
}

struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank)
{
	const struct gt_engine_config *config = &engine->config;
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_kernel_guard guard = {
		.epoch = me->epoch + engine->lane,
		.watch = engine->watch,
		.reports = me->reports,
		.timeout_ns = (uint64_t)config->timeout_ns,
	};

	if (config->fault && config->fault_rank == rank)
		guard.fault = config->fault == GT_FAULT_STALL
				      ? GT_KERNEL_FAULT_STALL
				      : GT_KERNEL_FAULT_EXIT;
	return guard;
}
