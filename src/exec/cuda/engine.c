/*
 * The CUDA engine's table: opens everything in order and closes it, makes known
 * inputs and checks outputs.  Nothing else of the engine calls this file.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "exec/cuda/device/closing_turn.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/captures.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/p2p.h"
#include "exec/cuda/requests.h"
#include "exec/cuda/user_buffers.h"
#include "exec/engine.h"
#include "plan/ir/plan.h"
#include "plan/lower/layout.h"
#include "world/world.h"

enum { GT_CUDA_HEAD_BYTES = 128 };

/*
 * All processes of a host share the abort word, then the reports of all blocks,
 * then the area in which processes say where their buffers lie.
 */
static int gt_host_state_open(struct gt_engine *engine, struct gt_err *err)
{
	size_t n = (size_t)engine->plan->nranks * engine->nblocks;
	size_t table = GT_CUDA_HEAD_BYTES + n * sizeof(*engine->reports);
	size_t bytes = table + engine->group.nprocesses *
				       sizeof(*engine->exchange->slots);
	int rc = gt_cuda_host_share(engine, bytes, &engine->host_state, err);
	char *base = engine->host_state.base;

	if (!rc)
		rc = gt_cuda_pins.pin(base, bytes, err);
	if (rc) {
		gt_shared_memory_free(&engine->host_state);
		return rc;
	}
	engine->watch = (void *)base;
	engine->reports = (void *)(base + GT_CUDA_HEAD_BYTES);
	if (engine->plan->nranks <= GT_P2P_RANKS)
		engine->exchange = (void *)(base + table);
	return GT_OK;
}

static void gt_host_state_close(struct gt_engine *engine)
{
	if (engine->host_state.base)
		gt_cuda_pins.unpin(engine->host_state.base);
	gt_shared_memory_free(&engine->host_state);
}

static int gt_rank_stream(struct gt_engine *engine, uint32_t rank,
			  struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&me->own, cudaStreamNonBlocking);
	me->stream = me->own;
	return rc == cudaSuccess ? GT_OK
				 : gt_cuda_fail(engine, rank, (int)rc,
						"make a stream", err);
}

static int gt_rank_open(struct gt_engine *engine, uint32_t rank,
			struct gt_err *err)
{
	struct gt_cuda_rank *me = &engine->ranks[rank];
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess)
		rc = cudaEventCreate(&me->begin);
	if (rc == cudaSuccess)
		rc = cudaEventCreate(&me->end);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->wrong, sizeof(*me->wrong));
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "make events", err);
	me->reports = engine->reports + (size_t)rank * engine->nblocks;
	return GT_OK;
}

static void gt_rank_close(struct gt_cuda_rank *me)
{
	cudaSetDevice(me->device);
	cudaFree(me->wrong);
	if (me->begin)
		cudaEventDestroy(me->begin);
	if (me->end)
		cudaEventDestroy(me->end);
	if (me->own)
		cudaStreamDestroy(me->own);
}

/* Alone there is nobody whose kernels wait for what is held back here. */
static int gt_cuda_take_turn(const struct gt_engine *engine)
{
	return engine->group.world ? gt_closing_turn_take(GT_CLOSING_TURN_NS)
				   : GT_CLOSING_TURN_NONE;
}

static void gt_cuda_release(struct gt_engine *engine)
{
	int turn = gt_cuda_take_turn(engine);

	gt_cuda_disconnect(engine);
	gt_cuda_p2p_release(engine);
	gt_cuda_sendrecv_release(engine);
	gt_cuda_captures_release(engine);
	gt_cuda_reserve_release(engine);
	gt_cuda_ce_release(engine);
	gt_cuda_detour_release(engine);
	gt_cuda_demand_release(engine);
	gt_user_buffers_close(engine);
	gt_cuda_regions_unmap(engine);
	gt_closing_turn_give(turn);
}

static void gt_cuda_free(struct gt_engine *engine)
{
	int turn = gt_cuda_take_turn(engine);

	gt_cuda_regions_free(engine);
	for (uint32_t r = engine->group.first; r < engine->group.end; r++)
		gt_rank_close(&engine->ranks[r]);
	gt_closing_turn_give(turn);
}

static void gt_cuda_close(struct gt_engine *engine)
{
	if (!engine)
		return;
	if (engine->has_devices) {
		gt_cuda_release(engine);
		/* Nobody frees what another process has still open. */
		if (engine->group.world && engine->is_open && !engine->failed)
			gt_world_allgather(engine->group.world, NULL, 0, NULL,
					   NULL);
		else if (engine->group.world && engine->is_open)
			gt_user_buffers_quiet(engine);
		gt_cuda_free(engine);
	}
	gt_cuda_proxy_stop(engine);
	gt_process_group_close(&engine->group);
	gt_host_state_close(engine);
	cudaGetLastError();
	free(engine->reachable);
	free(engine->same);
	gt_arena_free(engine->arena);
	free(engine);
}

static int gt_engine_join(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_engine_config *config = &engine->config;
	const struct gt_process_group_config group = {
		.world = config->world,
		.starts = config->starts,
		.nranks = engine->plan->nranks,
		.plan = config->plan,
		.notice = config->notice,
		.link = config->link,
		.trace = config->trace_links,
		.iface = config->iface,
		.pins = &gt_cuda_pins,
		.pins_arg = engine,
		.streams = config->trace_links ? 1 : GT_PROCESS_GROUP_STREAMS};

	return gt_process_group_open(&engine->group, &group, err);
}

/* Give the local ranks streams on their devices. */
static int gt_engine_open_devices(struct gt_engine *engine, struct gt_err *err)
{
	uint32_t first = engine->group.first, end = engine->group.end;
	int rc = gt_cuda_devices_assign(engine, err);

	engine->has_devices = !rc;
	for (uint32_t r = first; !rc && r < end; r++)
		rc = gt_rank_stream(engine, r, err);
	return rc;
}

static int gt_engine_setup(struct gt_engine *engine, struct gt_err *err)
{
	int rc = gt_engine_join(engine, err);

	if (!rc)
		rc = gt_engine_open_devices(engine, err);
	if (!rc)
		rc = gt_cuda_peers_probe(engine, err);
	if (!rc)
		rc = gt_process_group_link(&engine->group, engine->reachable,
					   err);
	if (!rc)
		rc = gt_cuda_mesh_open(engine, err);
	if (!rc)
		rc = gt_cuda_sizes_choose(engine, err);
	if (!rc)
		rc = gt_host_state_open(engine, err);
	if (!rc)
		rc = gt_user_buffers_open(engine, err);
	if (!rc)
		rc = gt_cuda_detour_open(engine, err);
	if (!rc)
		rc = gt_cuda_demand_open(engine, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++)
		rc = gt_rank_open(engine, r, err);
	if (!rc && gt_cuda_is_async(engine))
		rc = gt_cuda_reserve(engine, err);
	if (!rc && gt_cuda_is_async(engine))
		rc = gt_cuda_proxy_start(engine, err);
	engine->is_open = !rc;
	return rc;
}

static int gt_cuda_open(const struct gt_engine_config *config,
			struct gt_engine **engine, struct gt_err *err)
{
	int rc = gt_plan_need_forwarding(config->plan, "engine 'cuda'", err);
	struct gt_engine *made;

	/* A graph would hold what pairs have of another request. */
	if (!rc && !config->max_bytes)
		rc = gt_plan_need_even(
			config->plan, "engine 'cuda' on callers' streams", err);
	if (rc)
		return rc;
	made = calloc(1, sizeof(*made));
	if (!made)
		return gt_err_nomem(err);
	made->config = *config;
	made->plan = config->plan;
	made->group.bells.fd = made->host_state.fd = -1;
	made->arena = gt_arena_new();
	if (made->arena) {
		made->ranks = gt_arena_array(made->arena, config->plan->nranks,
					     sizeof(*made->ranks));
		made->channels =
			gt_arena_array(made->arena, config->plan->nchannels,
				       sizeof(*made->channels));
		made->row_support = gt_arena_array(
			made->arena,
			((size_t)config->plan->nselect + 1) * GT_NCOLLS,
			sizeof(*made->row_support));
	}
	if (!made->ranks || !made->channels || !made->row_support)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_engine_setup(made, err);
	if (rc) {
		gt_process_group_tell(&made->group, rc, err);
		gt_cuda_close(made);
		return rc;
	}
	*engine = made;
	return GT_OK;
}

static struct gt_kernel_data gt_data_of(const struct gt_engine *engine,
					const struct gt_exec_request *req)
{
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(req->coll, req->dtype, req->op,
					   engine->plan->nranks, req->seed),
		.block_elems = req->count,
	};

	data.pattern.root = req->root;
	return data;
}

static int gt_cuda_fill(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err)
{
	struct gt_kernel_data data = gt_data_of(engine, req);
	uint64_t bytes = engine->data_bytes;
	cudaError_t rc;

	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r, r);
		char *output =
			gt_cuda_region_at(engine, GT_CUDA_DATA, r, r) + bytes;

		data.rank = r;
		data.data = span.input;
		data.first = span.input_first;
		data.count = span.input_count;
		rc = cudaSetDevice(me->device);
		if (rc == cudaSuccess)
			rc = cudaMemsetAsync(output, GT_KERNEL_POISON, bytes,
					     me->stream);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_fill(&data, me->stream);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(me->stream);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc, "write inputs",
					    err);
	}
	return GT_OK;
}

static int gt_cuda_check(struct gt_engine *engine,
			 const struct gt_exec_request *req, uint64_t *wrong,
			 struct gt_err *err)
{
	struct gt_kernel_data data = gt_data_of(engine, req);
	uint64_t sum = 0, here;
	cudaError_t rc;

	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r, r);

		data.pattern.rank = r;
		data.data = span.output;
		data.first = span.output_first;
		data.count = span.output_count;
		data.wrong = me->wrong;
		rc = cudaSetDevice(me->device);
		if (rc == cudaSuccess)
			rc = cudaMemsetAsync(me->wrong, 0, sizeof(here),
					     me->stream);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_cuda_demand_coming(engine, req, r,
								&data.coming);
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_check(&data, me->stream);
		if (rc == cudaSuccess)
			rc = cudaMemcpyAsync(&here, me->wrong, sizeof(here),
					     cudaMemcpyDeviceToHost,
					     me->stream);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(me->stream);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc, "check outputs",
					    err);
		sum += here;
	}
	*wrong = sum;
	return engine->group.world
		       ? gt_world_sum(engine->group.world, wrong, err)
		       : GT_OK;
}

static int gt_cuda_do_fill(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_err *err)
{
	int rc = gt_cuda_fill(engine, req, err);

	engine->failed |= !!rc;
	return rc;
}

static int gt_cuda_do_check(struct gt_engine *engine,
			    const struct gt_exec_request *req, uint64_t *wrong,
			    struct gt_err *err)
{
	int rc = gt_cuda_check(engine, req, wrong, err);

	engine->failed |= !!rc;
	return rc;
}

static int gt_cuda_algo_choice(struct gt_engine *engine,
			       const struct gt_exec_request *req,
			       struct gt_algo_choice *choice,
			       struct gt_err *err)
{
	int rc = gt_cuda_choose_algo(engine, req, choice, err);

	if (!rc && choice->protocol == GT_PROTOCOL_SIMPLE)
		choice->blocks =
			engine->slicing.workers * engine->nchannels *
			gt_cuda_row_lanes(engine, gt_cuda_row_of(engine, req),
					  req->coll);
	return rc;
}

static uint64_t gt_cuda_staged_bytes(const struct gt_engine *engine)
{
	return engine->stages_in_host ? engine->pinned_bytes : 0;
}

static int gt_cuda_usable(void)
{
	int count = 0;

	return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

const struct gt_engine_ops gt_engine_cuda = {
	.name = "cuda",
	.usable = gt_cuda_usable,
	.open = gt_cuda_open,
	.close = gt_cuda_close,
	.fill = gt_cuda_do_fill,
	.run = gt_cuda_run,
	.algo_choice = gt_cuda_algo_choice,
	.check = gt_cuda_do_check,
	.staged_bytes = gt_cuda_staged_bytes,
	.async = &gt_cuda_async,
};
