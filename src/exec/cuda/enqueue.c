/*
 * One request, from its choice of an algorithm to the kernels on a rank's
 * stream, for whoever runs it: timed or on callers' streams.
 */
#include "exec/cuda/requests.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/device/trace_record.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/p2p.h"

/* How many programs have blocks?  Behind the last in use there are none. */
static uint32_t gt_launch_programs(const struct gt_engine *engine)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < engine->nchannels; i++)
		if (engine->channels[i] > last)
			last = engine->channels[i];
	return (last + 1) * engine->nlanes;
}

static struct gt_kernel_args gt_launch_args(const struct gt_engine *engine,
					    const struct gt_exec_request *req,
					    uint32_t rank)
{
	const struct gt_engine_config *config = &engine->config;
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	struct gt_kernel_args args = {
		.channels = me->programs[req->coll].channels,
		.spans = me->spans,
		.watch = engine->watch,
		.reports = me->reports,
		.input = span.input,
		.output = span.output,
		.input_first = span.input_first,
		.output_first = span.output_first,
		.scratch_bytes = engine->step_scratch_bytes,
		.marks = gt_cuda_trace_blocks(engine, rank),
		.timeout_ns = (uint64_t)config->timeout_ns,
		.op = req->op,
		.nranks = engine->plan->nranks,
		.nchannels = gt_launch_programs(engine),
		.nlanes = engine->nlanes,
		.nworkers = engine->slicing.workers,
		.nslots = engine->nslots,
		.slot_pitch = engine->slot_pitch,
		.renames = req->coll == GT_COLL_ALLTOALL,
		.turn = engine->slicing.turn,
		.nmarks = engine->nmarks,
		.threads = engine->threads,
		.shared_bytes = engine->shared_bytes,
	};

	memcpy(args.layouts, engine->layouts, sizeof(args.layouts));
	if (engine->regions[GT_CUDA_STEP_SCRATCH].at)
		args.scratch = gt_cuda_region_at(engine, GT_CUDA_STEP_SCRATCH,
						 rank, rank);
	if (config->fault && config->fault_rank == rank) {
		args.fault = config->fault == GT_FAULT_STALL
				     ? GT_KERNEL_FAULT_STALL
				     : GT_KERNEL_FAULT_EXIT;
		args.fault_slice = config->fault_step;
	}
	return args;
}

int gt_cuda_starts_together(const struct gt_engine *engine)
{
	return engine->group.world && engine->all_peers_reachable &&
	       engine->plan->nranks <= GT_P2P_RANKS;
}

static int gt_interpreter_launch(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 uint32_t rank)
{
	const struct gt_kernel_args args = gt_launch_args(engine, req, rank);

	return gt_kernel_run(req->dtype, &args, engine->ranks[rank].stream);
}

static int gt_packets_launch_one(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 uint32_t rank)
{
	return gt_cuda_packets_launch(engine, req, rank, rank + 1);
}

static int gt_staged_launch_one(const struct gt_engine *engine,
				const struct gt_exec_request *req,
				uint32_t rank)
{
	return gt_cuda_staged_launch(engine, req, rank, rank + 1);
}

typedef int gt_launcher(const struct gt_engine *engine,
			const struct gt_exec_request *req, uint32_t rank);

/* Find what puts a rank's part of engine->choice on its stream. */
static gt_launcher *gt_launcher_of(const struct gt_engine *engine,
				   const struct gt_exec_request *req)
{
	const struct gt_algo_choice *choice = &engine->choice;

	switch (choice->protocol) {
	case GT_PROTOCOL_SIMPLE:
		return gt_interpreter_launch;
	case GT_PROTOCOL_LL:
	case GT_PROTOCOL_LL128:
		return gt_packets_launch_one;
	case GT_PROTOCOL_CE:
		return engine->stages_in_host ? gt_staged_launch_one
					      : gt_cuda_ce_launch;
	default:
		if (choice->waits_apart)
			return gt_cuda_apart_launch;
		if (gt_choice_is_scratch_reduce(choice, req->coll))
			return gt_scratch_reduce_launch;
		return gt_cuda_takes_detour(engine, req)
			       ? gt_cuda_detour_pull
			       : gt_cuda_direct_launch;
	}
}

/* Put on the stream what goes before the rank's part, and find what that is. */
static int gt_inputs_launch(const struct gt_engine *engine,
			    const struct gt_exec_request *req, uint32_t rank,
			    struct gt_exec_request *part)
{
	int rc = 0, by_packets = engine->choice.protocol == GT_PROTOCOL_LL ||
				 engine->choice.protocol == GT_PROTOCOL_LL128;

	*part = *req;
	if (gt_exec_request_premultiplies(req) && !req->premultiplied) {
		rc = gt_cuda_premul_launch(engine, req, rank);
		part->premultiplied = 1;
	}
	if (rc)
		return rc;
	*part = gt_cuda_detour_rest(engine, part);
	return gt_choice_is_p2p(&engine->choice) && !by_packets && req->count &&
			       gt_cuda_p2p_overwrites(req) &&
			       !gt_cuda_pulls(engine) && !engine->stages_in_host
		       ? gt_cuda_input_launch(engine, part, rank)
		       : 0;
}

int gt_cuda_enqueue(const struct gt_engine *engine,
		    const struct gt_exec_request *req, uint32_t rank,
		    uint32_t times)
{
	struct gt_exec_request part;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < times; i++) {
		/* Each launch more would take a millisecond to notice. */
		if (i && gt_cuda_is_aborted(engine))
			break;
		rc = gt_inputs_launch(engine, req, rank, &part);
		if (!rc && (part.count || !gt_choice_is_p2p(&engine->choice)))
			rc = gt_launcher_of(engine, &part)(engine, &part, rank);
	}
	return rc;
}

static int gt_enqueue_copies(const struct gt_engine *engine)
{
	return engine->stages_in_host &&
	       engine->choice.protocol == GT_PROTOCOL_CE;
}

int gt_cuda_is_staged(const struct gt_engine *engine,
		      const struct gt_exec_request *req)
{
	return gt_enqueue_copies(engine) ||
	       (engine->stages_in_host &&
		engine->choice.protocol == GT_PROTOCOL_LL &&
		!gt_cuda_p2p_fits(engine, req, &engine->choice));
}

int gt_cuda_enqueue_staged(const struct gt_engine *engine,
			   const struct gt_exec_request *req)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_exec_request part = *req;
	int rc = 0;

	for (uint32_t r = group->first; !rc && r < group->end; r++) {
		rc = (int)cudaSetDevice(engine->ranks[r].device);
		if (!rc)
			rc = gt_inputs_launch(engine, req, r, &part);
	}
	if (rc || !part.count)
		return rc;
	return gt_enqueue_copies(engine)
		       ? gt_cuda_staged_launch(engine, &part, group->first,
					       group->end)
		       : gt_cuda_packets_launch(engine, &part, group->first,
						group->end);
}

/*
 * Make what engine->choice needs for a request between GPUs, unless it is
 * there.
 */
static int gt_p2p_need(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err)
{
	int rc = gt_cuda_p2p_open(engine, req->dtype, err);

	if (!rc && gt_enqueue_copies(engine))
		return gt_cuda_staged_need(engine, err);
	if (!rc && (engine->choice.protocol == GT_PROTOCOL_CE ||
		    engine->choice.protocol == GT_PROTOCOL_DIRECT))
		rc = gt_cuda_ce_need(engine, req, err);
	return rc;
}

int gt_cuda_prepare(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err)
{
	int rc = gt_cuda_choose_algo(engine, req, &engine->choice, err);

	if (!rc && gt_exec_request_premultiplies(req))
		rc = gt_cuda_premul_need(engine, req, err);
	if (!rc)
		rc = gt_choice_is_p2p(&engine->choice)
			     ? gt_p2p_need(engine, req, err)
			     : gt_cuda_layout_set(engine, req, err);
	/* A detour comes last: it is what one can do without. */
	if (!rc)
		rc = gt_cuda_detour_need(engine, err);
	return rc == GT_ENO
		       ? gt_cuda_choose_algo(engine, req, &engine->choice, err)
		       : rc;
}
