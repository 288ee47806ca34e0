/*
 * Makes beforehand what requests of several processes on callers' streams go
 * through.  Making it later would be a meeting, in which a host waits for
 * others that may wait for it, and kernels that are loaded late wait for those
 * that run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/p2p.h"
#include "exec/cuda/region_budget.h"
#include "exec/cuda/requests.h"
#include "world/world.h"

enum {
	GT_RESERVE_MIB_LEAST =
		4, /* a grain of every block of 16 ranks, twice */
	GT_RESERVE_MIB_MOST = 4096,
	GT_RESERVE_MIB_BITS = 20,
	/* Blocks of scratch begin at lines, and may lie off their begin. */
	GT_RESERVE_SCRATCH_MOST = 256 << 20,
	GT_RESERVE_EDGE_BYTES = 2 * GT_CUDA_LINE_BYTES * GT_P2P_RANKS,
};

/* Reads what the program asks for; 0: it asks for nothing. */
static int gt_reserve_read(uint64_t *mib, struct gt_err *err)
{
	const char *text = getenv("GTOPO_REGION_MIB");
	char *end;

	*mib = 0;
	if (!text || !*text)
		return GT_OK;
	errno = 0;
	*mib = strtoull(text, &end, 10);
	if (!errno && !*end && *text != '-' && *mib >= GT_RESERVE_MIB_LEAST &&
	    *mib <= GT_RESERVE_MIB_MOST)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "GTOPO_REGION_MIB '%s' is no number from %d to %d",
			  text, GT_RESERVE_MIB_LEAST, GT_RESERVE_MIB_MOST);
}

/* What this process's GPUs have room for. */
static uint64_t gt_reserve_propose(const struct gt_engine *engine)
{
	size_t free_bytes, all_bytes;

	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		int gpu = engine->ranks[r].device;

		if (cudaSetDevice(gpu) != cudaSuccess ||
		    cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess ||
		    !gt_region_may_be_large(gpu, free_bytes, all_bytes))
			return GT_REGION_MIB;
	}
	return GT_REGION_LARGE_MIB;
}

/* Find the most and the least that any process has. */
static int gt_reserve_range(struct gt_world *world, uint64_t mine,
			    uint64_t *least, uint64_t *most, struct gt_err *err)
{
	int rc;

	*most = mine;
	*least = UINT64_MAX - mine;
	rc = gt_world_max(world, most, err);
	if (!rc)
		rc = gt_world_max(world, least, err);
	*least = UINT64_MAX - *least;
	return rc;
}

/* All processes have the same, or none goes on. */
static int gt_reserve_agree(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_world *world = engine->group.world;
	uint64_t asked, most, mib = 0;
	int rc = gt_reserve_read(&asked, err);

	rc = gt_world_agree(world, rc, err);
	if (!rc)
		rc = gt_reserve_range(world, asked, &mib, &most, err);
	if (!rc && mib != most)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"GTOPO_REGION_MIB is %" PRIu64
				" in one process and %" PRIu64
				" in another one (0: it is not set)",
				mib, most);
	if (!rc && !asked) {
		rc = gt_reserve_range(world, gt_reserve_propose(engine), &mib,
				      &most, err);
		engine->has_large_regions = !rc && mib == GT_REGION_LARGE_MIB;
	}
	for (uint32_t r = engine->group.first; r < engine->group.end; r++)
		if (engine->has_large_regions)
			gt_region_count_large(engine->ranks[r].device, 1);
	engine->reserved_bytes = mib << GT_RESERVE_MIB_BITS;
	return rc;
}

void gt_cuda_reserve_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++)
		if (engine->has_large_regions)
			gt_region_count_large(engine->ranks[r].device, -1);
	engine->has_large_regions = 0;
}

/* The kernels of flows, and that multiplies, for all types. */
static int gt_reserve_kernels(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	for (int dtype = 0; !rc && dtype < GT_NDTYPES; dtype++)
		rc = gt_cuda_p2p_load(engine, (enum gt_dtype)dtype, err);
	return rc;
}

/* Buffers of flows, and their kernels for all types. */
static int gt_reserve_flows(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_exec_request none = {.count = 0};
	uint64_t bytes = engine->reserved_bytes + 2 * GT_RESERVE_EDGE_BYTES;
	int rc = gt_cuda_data_remake(engine, engine->reserved_bytes, err);

	if (!rc)
		rc = gt_cuda_region_grow(engine, GT_CUDA_SCRATCH, bytes, &none,
					 err);
	if (!rc)
		rc = gt_cuda_region_grow(engine, GT_CUDA_PREMUL, bytes, &none,
					 err);
	for (int dtype = 0; !rc && dtype < GT_NDTYPES; dtype++)
		rc = gt_cuda_p2p_open(engine, (enum gt_dtype)dtype, err);
	return rc ? rc : gt_cuda_ce_open(engine, err);
}

/* What goes through the host's memory needs no buffer of a rank's own. */
static int gt_reserve_staged(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	for (int dtype = 0; !rc && dtype < GT_NDTYPES; dtype++)
		rc = gt_cuda_p2p_open(engine, (enum gt_dtype)dtype, err);
	if (!rc && !gt_cuda_staged_fault(engine))
		rc = gt_cuda_staged_need(engine, err);
	return rc;
}

/*
 * Registered buffers are reached as a whole, by operations that need scratch,
 * and may have a detour beside them.
 */
int gt_cuda_reserve_more(struct gt_engine *engine, uint64_t bytes,
			 struct gt_err *err)
{
	/* Graphs and what runs may use the scratch that is there. */
	const struct gt_exec_request any = {
		.streams = (void *const *)&engine->ranks->own};
	uint64_t before = engine->regions[GT_CUDA_SCRATCH].bytes;
	int rc;

	if (bytes > GT_RESERVE_SCRATCH_MOST)
		bytes = GT_RESERVE_SCRATCH_MOST;
	rc = gt_cuda_region_grow(engine, GT_CUDA_SCRATCH,
				 bytes + GT_RESERVE_EDGE_BYTES, &any, err);
	engine->ngrown += engine->regions[GT_CUDA_SCRATCH].bytes != before;
	return rc ? rc : gt_cuda_detour_reserve(engine, err);
}

/*
 * Flows of several processes have it from the start, since making it is a
 * meeting for them.
 */
int gt_cuda_reserve_premul(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_exec_request any = {
		.streams = (void *const *)&engine->ranks->own};
	uint64_t mib;
	int rc = engine->regions[GT_CUDA_PREMUL].at
			 ? GT_OK
			 : gt_reserve_kernels(engine, err);

	if (rc || engine->regions[GT_CUDA_PREMUL].at)
		return rc;
	rc = gt_reserve_read(&mib, err);
	return rc ? rc
		  : gt_cuda_region_grow(engine, GT_CUDA_PREMUL,
					((mib ? mib : GT_REGION_MIB)
					 << GT_RESERVE_MIB_BITS) +
						GT_RESERVE_EDGE_BYTES,
					&any, err);
}

int gt_cuda_reserve(struct gt_engine *engine, struct gt_err *err)
{
	int flows = engine->group.world && engine->all_peers_reachable &&
		    engine->plan->nranks <= GT_P2P_RANKS;
	int rc = GT_OK;

	if (flows && engine->stages_in_host)
		rc = gt_reserve_staged(engine, err);
	else if (flows)
		rc = gt_reserve_agree(engine, err);
	if (!rc && flows && !engine->stages_in_host)
		rc = gt_reserve_flows(engine, err);
	/* Graphs keep addresses of FIFOs: those of links are made here. */
	if (!rc)
		rc = gt_cuda_connect_all(engine, err);
	if (!rc)
		rc = gt_cuda_kernels_load_all(engine, err);
	/* Inputs may be multiplied before the plan's steps as well. */
	return rc || !engine->group.world ? rc
					  : gt_reserve_kernels(engine, err);
}
