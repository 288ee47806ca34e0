/*
 * Requests of a group wait here for one another, as packets or through scratch,
 * and are launched together.
 */
#include "exec/cuda/requests.h"

#include "base/err.h"
#include "exec/cuda/bundle.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/p2p.h"
#include "plan/ir/plan.h"

enum {
	GT_FUSION_FEW_WARPS = 4, /* of a thread block, as in tuning.c */
	/*
	 * An operation of fewer bytes does not go through scratch with others.
	 */
	GT_FUSION_SCRATCH_BYTES = 128 << 10,
};

/* An operation that needs more than one kernel cannot share a launch. */
int gt_cuda_fusion_takes(const struct gt_engine *engine,
			 const struct gt_exec_request *req)
{
	const struct gt_algo_choice *choice = &engine->choice;

	/* Multiplied inputs lie in a region that has room for one. */
	if (!req->count || gt_exec_request_premultiplies(req))
		return 0;
	if (gt_choice_is_scratch_reduce(choice, req->coll))
		return gt_scratch_group_can(engine, req);
	/*
	 * What a root sends or gets in two shots is large, and its kernel needs
	 * more arguments.
	 */
	if (choice->algo == GT_ALGO_TWO_SHOT && req->coll != GT_COLL_ALLREDUCE)
		return 0;
	return (choice->protocol == GT_PROTOCOL_LL ||
		choice->protocol == GT_PROTOCOL_LL128) &&
	       gt_cuda_p2p_fits(engine, req, choice);
}

static uint64_t gt_fusion_block_bytes(const struct gt_engine *engine,
				      const struct gt_exec_request *req,
				      enum gt_algo algo)
{
	return gt_cuda_p2p_of(engine, req, algo, 0).count *
	       gt_dtype_bytes(req->dtype);
}

void gt_cuda_fusion_add(const struct gt_engine *engine,
			struct gt_cuda_fusion *bundle,
			const struct gt_exec_request *req)
{
	const struct gt_algo_choice *choice = &engine->choice;
	struct gt_bundle_op *op = &bundle->ops[bundle->n];
	uint32_t most = gt_cuda_packet_blocks(engine, choice->max_blocks);
	int all = req->coll == GT_COLL_ALLREDUCE;

	*op = (struct gt_bundle_op){
		.bytes = gt_fusion_block_bytes(engine, req, GT_ALGO_ONE_SHOT),
		.slice = all ? gt_fusion_block_bytes(engine, req,
						     GT_ALGO_TWO_SHOT)
			     : 0,
		.two_shots = choice->algo == GT_ALGO_TWO_SHOT,
		.ll128 = choice->protocol == GT_PROTOCOL_LL128,
		.is_fixed = req->choice || !engine->config.best,
		.push = (uint8_t)gt_choice_is_scratch_reduce(choice,
							     req->coll)};
	op->may_push = all && op->bytes >= GT_FUSION_SCRATCH_BYTES &&
		       gt_scratch_group_can(engine, req);
	if (!bundle->n || most < bundle->max_blocks)
		bundle->max_blocks = most;
	bundle->reqs[bundle->n++] = req;
}

static struct gt_bundle_limits gt_fusion_limits(
	const struct gt_engine *engine, const struct gt_cuda_fusion *bundle)
{
	struct gt_bundle_limits limits = {.nranks = engine->plan->nranks,
					  .ops = GT_GROUP_OPS,
					  .warps = bundle->max_blocks *
						   GT_GROUP_WARPS,
					  .has_ll128 = engine->has_128b_stores};

	for (int i = 0; i < 2; i++)
		limits.chunks[i] = (uint32_t)(gt_cuda_ll_buffer_bytes(i) /
					      GT_PACKET_CHUNK_BYTES);
	return limits;
}

static enum gt_algo gt_fusion_algo(const struct gt_bundle_op *op)
{
	return op->two_shots ? GT_ALGO_TWO_SHOT : GT_ALGO_ONE_SHOT;
}

static struct gt_group_op gt_group_op_of(const struct gt_engine *engine,
					 const struct gt_exec_request *req,
					 const struct gt_bundle_op *op,
					 uint32_t rank)
{
	struct gt_p2p flow =
		gt_cuda_p2p_of(engine, req, gt_fusion_algo(op), rank);
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	uint64_t elem = gt_dtype_bytes(req->dtype);

	return (struct gt_group_op){
		.input = span.input,
		.output = span.output,
		.count = (uint32_t)(flow.count * elem),
		.end = (uint32_t)(flow.end * elem),
		.in_stride = (uint32_t)(flow.in_stride * elem),
		.out_stride = (uint32_t)(flow.out_stride * elem),
		.divide = flow.divide,
		.to = (uint16_t)flow.to,
		.from = (uint16_t)flow.from,
		.ll_chunk = (uint16_t)op->ll_chunk,
		.chunks = (uint16_t)op->chunks,
		.flags = (uint8_t)flow.flags,
		.ll128 = op->ll128,
		.dtype = (uint8_t)req->dtype,
		.op = (uint8_t)req->op};
}

static int gt_fusion_adds(const struct gt_exec_request *req)
{
	return req->op == GT_REDOP_SUM || req->op == GT_REDOP_AVG;
}

/*
 * Sums of one type have a kernel of their own, and so have operations that only
 * move; the kernel for a mixture has GT_NDTYPES.
 */
static enum gt_dtype gt_fusion_dtype(const struct gt_exec_request *const *reqs,
				     uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (reqs[i]->dtype != reqs[0]->dtype ||
		    (gt_coll_reduces(reqs[i]->coll) &&
		     !gt_fusion_adds(reqs[i])))
			return GT_NDTYPES;
	return reqs[0]->dtype;
}

static int gt_fusion_launch_packets(const struct gt_engine *engine,
				    const struct gt_cuda_fusion *bundle,
				    uint32_t first, uint32_t n, uint32_t rank)
{
	const struct gt_bundle_op *ops = &bundle->ops[first];
	uint32_t warps = ops[n - 1].warp + ops[n - 1].warps;
	uint32_t most = bundle->max_blocks, each = (warps + most - 1) / most;
	struct gt_kernel_grid grid = {
		.dtype = gt_fusion_dtype(&bundle->reqs[first], n),
		.overlaps = gt_cuda_may_overlap(engine, most),
		.stream = engine->ranks[rank].stream};
	struct gt_group_args args = {.guard = gt_cuda_guard_of(engine, rank),
				     .me = rank,
				     .nranks = engine->plan->nranks,
				     .nops = n};

	if (each < GT_FUSION_FEW_WARPS)
		each = GT_FUSION_FEW_WARPS;
	grid.threads = each * 32;
	grid.blocks = (warps + each - 1) / each;
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.ll_buffer[r] = gt_cuda_ll_buffer_at(engine, rank, r, 0);
	for (int i = 0; i < 2; i++) {
		args.ll_buffer_at[i] =
			(uint64_t)(gt_cuda_ll_buffer_at(engine, rank, rank, i) -
				   args.ll_buffer[rank]);
		args.box_bytes[i] = gt_cuda_ll_buffer_bytes(i);
	}
	for (uint32_t i = 0; i < n; i++) {
		args.ends[i] = (uint16_t)(ops[i].warp + ops[i].warps);
		args.ops[i] = gt_group_op_of(engine, bundle->reqs[first + i],
					     &ops[i], rank);
	}
	return gt_group_run(&grid, &args);
}

static int gt_fusion_launch_scratch(const struct gt_engine *engine,
				    const struct gt_cuda_fusion *bundle,
				    uint32_t first, uint32_t n, uint32_t rank)
{
	const struct gt_scratch_group group = {&bundle->reqs[first], n,
					       bundle->max_blocks};

	return gt_scratch_group_launch(engine, &group, rank);
}

/*
 * An operation that is alone in a launch takes the kernel for one, which has
 * less to find out.
 */
static struct gt_algo_choice gt_fusion_choice(
	const struct gt_cuda_fusion *bundle, uint32_t i)
{
	const struct gt_bundle_op *op = &bundle->ops[i];
	enum gt_algo push = bundle->reqs[i]->coll == GT_COLL_ALLREDUCE
				    ? GT_ALGO_TWO_SHOT
				    : GT_ALGO_ONE_SHOT;
	enum gt_protocol packets =
		op->ll128 ? GT_PROTOCOL_LL128 : GT_PROTOCOL_LL;

	return (struct gt_algo_choice){
		.algo = (uint8_t)(op->push ? push : gt_fusion_algo(op)),
		.protocol = (uint8_t)(op->push ? GT_PROTOCOL_DIRECT : packets),
		.max_blocks = bundle->max_blocks};
}

/* Launch n operations on a rank in one kernel; a cudaError_t. */
static int gt_fusion_launch(struct gt_engine *engine,
			    const struct gt_cuda_fusion *bundle, uint32_t first,
			    uint32_t n, uint32_t rank)
{
	struct gt_exec_request one = *bundle->reqs[first];
	struct gt_algo_choice choice = gt_fusion_choice(bundle, first);
	struct gt_cuda_rank *me = &engine->ranks[rank];
	int rc = (int)cudaSetDevice(me->device);

	if (rc)
		return rc;
	me->stream = one.streams[rank];
	one.choice = &choice;
	if (n > 1)
		rc = bundle->ops[first].push
			     ? gt_fusion_launch_scratch(engine, bundle, first,
							n, rank)
			     : gt_fusion_launch_packets(engine, bundle, first,
							n, rank);
	else if (gt_cuda_choose_algo(engine, &one, &engine->choice, NULL))
		rc = (int)cudaErrorInvalidValue;
	else
		rc = gt_cuda_enqueue(engine, &one, rank, 1);
	me->stream = me->own;
	return rc;
}

/* Can one kernel do both operations? */
static int gt_fusion_alike(const struct gt_cuda_fusion *bundle, uint32_t a,
			   uint32_t b)
{
	const struct gt_exec_request *x = bundle->reqs[a], *y = bundle->reqs[b];

	if (!bundle->ops[a].push || !bundle->ops[b].push)
		return bundle->ops[a].push == bundle->ops[b].push;
	return x->dtype == y->dtype &&
	       (x->op == y->op || (gt_fusion_adds(x) && gt_fusion_adds(y)));
}

/*
 * Move the operations that one kernel can do to the front, from `first` on;
 * return how many there are.
 */
static uint32_t gt_fusion_gather(struct gt_cuda_fusion *bundle, uint32_t first)
{
	uint32_t end = first;

	for (uint32_t i = first; i < bundle->n; i++) {
		const struct gt_exec_request *req = bundle->reqs[i];
		struct gt_bundle_op op = bundle->ops[i];

		if (!gt_fusion_alike(bundle, first, i))
			continue;
		bundle->reqs[i] = bundle->reqs[end];
		bundle->ops[i] = bundle->ops[end];
		bundle->reqs[end] = req;
		bundle->ops[end++] = op;
	}
	return end - first;
}

/*
 * Find how many of the next *n operations one launch carries, and make what it
 * needs.
 */
static int gt_fusion_next(struct gt_engine *engine,
			  struct gt_cuda_fusion *bundle, uint32_t first,
			  uint32_t *n, struct gt_err *err)
{
	const struct gt_bundle_limits limits = gt_fusion_limits(engine, bundle);
	const struct gt_exec_request *const *reqs = &bundle->reqs[first];
	struct gt_exec_request one = *reqs[0];
	struct gt_algo_choice choice = gt_fusion_choice(bundle, first);

	if (!bundle->ops[first].push) {
		*n = gt_bundle_divide(&bundle->ops[first], *n, &limits);
		return GT_OK;
	}
	*n = gt_scratch_group_fit(engine, reqs, *n);
	one.choice = &choice;
	return *n == 1 ? gt_cuda_prepare(engine, &one, err)
		       : gt_scratch_group_need(engine, reqs, *n, err);
}

int gt_cuda_fusion_flush(struct gt_engine *engine,
			 struct gt_cuda_fusion *bundle, struct gt_err *err)
{
	const struct gt_bundle_limits limits = gt_fusion_limits(engine, bundle);
	uint32_t done = 0, n;
	int rc = GT_OK;

	gt_bundle_choose(bundle->ops, bundle->n, &limits);
	for (; !rc && done < bundle->n; done += n) {
		n = gt_fusion_gather(bundle, done);
		rc = gt_fusion_next(engine, bundle, done, &n, err);
		for (uint32_t r = engine->group.first;
		     !rc && r < engine->group.end; r++) {
			int bad = gt_fusion_launch(engine, bundle, done, n, r);

			if (bad)
				rc = gt_cuda_fail(engine, r, bad,
						  "launch the group", err);
		}
	}
	bundle->n = 0;
	return rc;
}
