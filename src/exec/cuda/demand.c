/*
 * Requests whose blocks differ, as the plan's demand says: what each channel
 * has of each pair's block, and how much of each block comes, on the GPUs.
 */
#include "exec/cuda/fifos.h"

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "plan/lower/layout.h"

static size_t gt_demand_pairs(const struct gt_engine *engine)
{
	return (size_t)engine->plan->nranks * engine->plan->nranks;
}

static size_t gt_demand_spans_bytes(const struct gt_engine *engine)
{
	return engine->plan->nchannels * gt_demand_pairs(engine) *
	       sizeof(*engine->spans);
}

int gt_cuda_demand_open(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->plan;

	if (!plan->demand)
		return GT_OK;
	engine->spans = gt_arena_array(engine->arena, plan->nchannels,
				       gt_demand_pairs(engine) *
					       sizeof(*engine->spans));
	engine->coming = gt_arena_array(engine->arena, plan->nranks,
					sizeof(*engine->coming));
	if (!engine->spans || !engine->coming)
		return gt_err_nomem(err);
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t rc = cudaSetDevice(me->device);

		if (rc == cudaSuccess)
			rc = cudaMalloc((void **)&me->spans,
					gt_demand_spans_bytes(engine));
		if (rc == cudaSuccess)
			rc = cudaMalloc((void **)&me->coming,
					plan->nranks * sizeof(*me->coming));
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "allocate what pairs have", err);
	}
	return GT_OK;
}

void gt_cuda_demand_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		cudaFree(engine->ranks[r].spans);
		cudaFree(engine->ranks[r].coming);
	}
}

static int gt_demand_copy_spans(const struct gt_engine *engine,
				struct gt_err *err)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		const struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t rc = cudaSetDevice(me->device);

		if (rc == cudaSuccess)
			rc = cudaMemcpyAsync(me->spans, engine->spans,
					     gt_demand_spans_bytes(engine),
					     cudaMemcpyHostToDevice,
					     me->stream);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "copy what pairs have", err);
	}
	return GT_OK;
}

int gt_cuda_demand_layouts(struct gt_engine *engine,
			   const struct gt_layout_args *args,
			   struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < engine->nchannels; i++) {
		uint32_t c = engine->channels[i];

		rc = gt_layout_init_demand(engine->plan, c, args,
					   engine->spans +
						   c * gt_demand_pairs(engine),
					   &engine->layouts[c], err);
	}
	return rc ? rc : gt_demand_copy_spans(engine, err);
}

int gt_cuda_demand_coming(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank,
			  const uint64_t **coming)
{
	const struct gt_plan *plan = engine->plan;
	const struct gt_cuda_rank *me = &engine->ranks[rank];

	*coming = NULL;
	if (!gt_plan_blocks_differ(plan, req->coll))
		return (int)cudaSuccess;
	for (uint32_t from = 0; from < plan->nranks; from++)
		engine->coming[from] = gt_demand_elems(
			plan->demand, from * plan->nranks + rank, req->count);
	*coming = me->coming;
	return (int)cudaMemcpyAsync(me->coming, engine->coming,
				    plan->nranks * sizeof(*engine->coming),
				    cudaMemcpyHostToDevice, me->stream);
}
