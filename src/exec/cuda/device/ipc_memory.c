/*
 * Regions: makes the local parts and has them exchanged.  What captured graphs
 * may still use is kept.
 */
#include "exec/cuda/device/ipc_memory.h"

#include <stdlib.h>

#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/region_exchange.h"
#include "exec/cuda/device/state.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	/*
	 * Smaller allocations may share a page, and all of it would be opened
	 * by others.
	 */
	GT_CUDA_PAGE_BYTES = 2 << 20,
};
uint64_t gt_cuda_pages(uint64_t bytes)
{
	return (bytes / GT_CUDA_PAGE_BYTES + 1) * GT_CUDA_PAGE_BYTES;
}
static cudaError_t gt_region_make(struct gt_engine *engine, int region,
				  uint32_t r, uint64_t len, char **made)
{
	struct gt_cuda_rank *me = &engine->ranks[r];
	struct gt_cuda_mapping *maps = engine->regions[region].maps;
	int devices[GT_P2P_RANKS];
	uint32_t n = gt_cuda_local_devices(engine, devices);
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess && !maps)
		rc = cudaMalloc((void **)made, len);
	if (rc == cudaSuccess && maps)
		rc = gt_cuda_mapping_new(me->device, len, devices, n, &maps[r]);
	if (rc == cudaSuccess && maps)
		*made = maps[r].base;
	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(*made, 0, len, me->own);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->own);
	return rc;
}

/* Make zeros on each local GPU. */
int gt_cuda_region_alloc(struct gt_engine *engine, int region,
			 const uint64_t *bytes, struct gt_err *err)
{
	struct gt_cuda_region *made = &engine->regions[region];
	const struct gt_process_group *group = &engine->group;
	uint32_t nranks = engine->plan->nranks;
	size_t n = (size_t)(group->end - group->first) * nranks;

	made->at = calloc(n, sizeof(*made->at));
	if (engine->shares_files)
		made->maps = calloc(nranks, sizeof(*made->maps));
	if (!made->at || (engine->shares_files && !made->maps))
		return gt_err_nomem(err);
	for (uint32_t r = group->first; r < group->end; r++) {
		char *at = NULL;
		cudaError_t rc = gt_region_make(engine, region, r,
						gt_cuda_pages(bytes[r]), &at);

		for (uint32_t v = group->first; v < group->end; v++)
			*gt_cuda_region_slot(engine, region, v, r) = at;
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "allocate its memory", err);
	}
	return GT_OK;
}
/* Do other ranks reach into it even if they do not reach GPUs' buffers? */
static int gt_region_is_met(int region)
{
	return region == GT_CUDA_LL_BUFFERS || region == GT_CUDA_SENDRECV ||
	       region >= GT_CUDA_FIFOS;
}

int gt_cuda_region_new(struct gt_engine *engine, int region,
		       const uint64_t *bytes, struct gt_err *err)
{
	int rc;

	if (engine->stages_in_host && gt_region_is_met(region))
		return gt_cuda_host_region_new(engine, region, bytes, err);
	rc = gt_cuda_region_alloc(engine, region, bytes, err);
	/* In the host's memory ranks meet; the other regions they keep. */
	if (rc || !engine->group.world || engine->stages_in_host)
		return rc;
	return gt_cuda_region_share(engine, region, 0, err);
}

static void gt_region_unmap(struct gt_engine *engine, int region)
{
	for (uint32_t p = 0; p < engine->group.nprocesses; p++)
		if (engine->regions[region].at &&
		    !engine->regions[region].host.base &&
		    p != engine->group.self)
			gt_cuda_region_detach(engine, region, p);
}

void gt_cuda_region_free(struct gt_engine *engine, int region)
{
	struct gt_cuda_mapping *maps = engine->regions[region].maps;
	const struct gt_process_group *group = &engine->group;

	if (!engine->regions[region].at)
		return;
	for (uint32_t r = group->first;
	     r < group->end && !engine->regions[region].host.base; r++) {
		cudaSetDevice(engine->ranks[r].device);
		if (!maps)
			cudaFree(*gt_cuda_region_slot(engine, region, r, r));
		else
			gt_cuda_mapping_drop(&maps[r]);
	}
	gt_cuda_host_region_free(engine, region);
	free(maps);
	free(engine->regions[region].at);
	engine->regions[region] = (struct gt_cuda_region){0};
}

int gt_cuda_region_drop(struct gt_engine *engine, int region,
			struct gt_err *err)
{
	int rc = GT_OK;

	if (!engine->regions[region].at)
		return GT_OK;
	gt_region_unmap(engine, region);
	if (engine->group.world)
		rc = gt_world_allgather(engine->group.world, NULL, 0, NULL,
					err);
	gt_cuda_region_free(engine, region);
	return rc;
}

/*
 * Put a retired region into the first one's place, for functions that take a
 * region's number; a second call undoes it.
 */
static void gt_region_swap(struct gt_engine *engine, uint32_t old)
{
	struct gt_cuda_region first = engine->regions[0];

	engine->regions[0] = engine->retired[old];
	engine->retired[old] = first;
}

void gt_cuda_regions_unmap(struct gt_engine *engine)
{
	for (int i = 0; i < GT_CUDA_REGIONS; i++)
		gt_region_unmap(engine, i);
	for (uint32_t i = 0; i < engine->nretired; i++) {
		gt_region_swap(engine, i);
		gt_region_unmap(engine, 0);
		gt_region_swap(engine, i);
	}
}

/* Make room for a new one; the old one is freed at the end. */
static void gt_region_retire(struct gt_engine *engine, int region)
{
	if (engine->regions[region].at)
		engine->retired[engine->nretired++] = engine->regions[region];
	engine->regions[region] = (struct gt_cuda_region){0};
}

/*
 * Is a region for its own rank alone, so that making it is no meeting?  Only
 * flows read the others' multiplied inputs.
 */
static int gt_region_is_own(const struct gt_engine *engine, int region)
{
	int flows = engine->all_peers_reachable &&
		    engine->plan->nranks <= GT_P2P_RANKS;

	return region == GT_CUDA_STEP_SCRATCH ||
	       (region == GT_CUDA_PREMUL && !flows);
}

/* All processes have what they tried to make, or none of them. */
static int gt_region_agree(const struct gt_engine *engine, int rc,
			   struct gt_err *err)
{
	return gt_world_agree(engine->group.world, rc ? GT_EINPUT : GT_OK, err);
}

/* With bytes NULL memory has run out, which others may have to hear of. */
static int gt_region_try(struct gt_engine *engine, int region,
			 const uint64_t *bytes, struct gt_err *err)
{
	return bytes ? gt_cuda_region_alloc(engine, region, bytes, err)
		     : gt_err_nomem(err);
}

/*
 * All processes make a region and open the others', or none of them: GT_EINPUT.
 * Another failure is one of a meeting, to which some may have come alone.
 */
static int gt_region_make_together(struct gt_engine *engine, int region,
				   const uint64_t *bytes, struct gt_err *err)
{
	struct gt_region_exchange exchange = {0};
	int rc = gt_region_try(engine, region, bytes, err);

	if (!rc)
		rc = gt_region_exchange_prepare(engine, region, &exchange, err);
	rc = gt_region_agree(engine, rc, err);
	if (!rc)
		rc = gt_region_exchange_meet(engine, &exchange, err);
	if (!rc) {
		rc = gt_region_exchange_open(engine, region, 0, &exchange, err);
		rc = gt_region_agree(engine, rc, err);
	}
	gt_region_exchange_end(engine, &exchange);
	return rc;
}

/* Free what is made of a region, when nobody has it open any more. */
static void gt_region_unmake(struct gt_engine *engine, int region, int rc)
{
	gt_region_unmap(engine, region);
	if (rc == GT_EINPUT)
		gt_world_allgather(engine->group.world, NULL, 0, NULL, NULL);
	gt_cuda_region_free(engine, region);
}

/*
 * Make a region besides the one that is there, which stays until the end: it
 * takes its place again where this fails.
 */
static int gt_region_replace(struct gt_engine *engine, int region,
			     const uint64_t *bytes, struct gt_err *err)
{
	int meets = engine->group.world && !engine->stages_in_host &&
		    !gt_region_is_own(engine, region);
	uint32_t nretired = engine->nretired;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	gt_region_retire(engine, region);
	rc = meets ? gt_region_make_together(engine, region, bytes, &why)
		   : gt_region_try(engine, region, bytes, &why);
	if (!rc)
		return GT_OK;
	if (meets && rc != GT_EINPUT)
		gt_world_abort(engine->group.world, why.text);
	gt_region_unmake(engine, region, meets ? rc : GT_OK);
	if (engine->nretired > nretired)
		engine->regions[region] = engine->retired[--engine->nretired];
	return gt_err_set(err, GT_ESYS, NULL, "%s", why.text);
}

/* Make a region in the place of the one that is there. */
static int gt_region_remake(struct gt_engine *engine, int region,
			    const uint64_t *bytes, struct gt_err *err)
{
	int rc = bytes ? gt_cuda_region_drop(engine, region, err)
		       : gt_err_nomem(err);

	if (rc)
		return rc;
	return gt_region_is_own(engine, region)
		       ? gt_cuda_region_alloc(engine, region, bytes, err)
		       : gt_cuda_region_new(engine, region, bytes, err);
}

/*
 * On callers' streams earlier operations may still use the memory that is
 * there, and a graph for ever: it stays.  Each is twice as large as the one
 * before, so all of them are less than twice what is used.
 */
int gt_cuda_region_grow(struct gt_engine *engine, int region, uint64_t need,
			const struct gt_exec_request *req, struct gt_err *err)
{
	uint64_t have = engine->regions[region].bytes, *bytes;
	uint32_t n = engine->plan->nranks;
	int rc;

	if (need <= have)
		return GT_OK;
	if (req->streams && need < 2 * have)
		need = 2 * have;
	bytes = calloc(n, sizeof(*bytes));
	for (uint32_t r = 0; bytes && r < n; r++)
		bytes[r] = need;
	if (req->streams)
		rc = gt_region_replace(engine, region, bytes, err);
	else
		rc = gt_region_remake(engine, region, bytes, err);
	if (!rc)
		engine->regions[region].bytes = need;
	free(bytes);
	return rc;
}

void gt_cuda_regions_free(struct gt_engine *engine)
{
	for (int i = 0; i < GT_CUDA_REGIONS; i++)
		gt_cuda_region_free(engine, i);
	while (engine->nretired) {
		gt_region_swap(engine, --engine->nretired);
		gt_cuda_region_free(engine, 0);
	}
}

int gt_cuda_data_remake(struct gt_engine *engine, uint64_t bytes,
			struct gt_err *err)
{
	uint64_t all[GT_P2P_RANKS];
	int rc = gt_cuda_region_drop(engine, GT_CUDA_DATA, err);

	engine->data_bytes = gt_cuda_pages(bytes + GT_CUDA_TAIL_BYTES);
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		all[r] = 2 * engine->data_bytes;
	return rc ? rc : gt_cuda_region_new(engine, GT_CUDA_DATA, all, err);
}
