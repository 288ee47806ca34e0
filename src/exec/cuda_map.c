#include "exec/cuda_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "plan/plan.h"

/* Is there such a PCI device, whether this process may use it or not? */
static int gt_bus_exists(const char *bus_id)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s", bus_id);
	return access(path, F_OK) == 0;
}

static int gt_map_by_id(const struct gt_engine *engine, uint32_t rank,
			int *device, struct gt_err *err)
{
	const char *bus_id = engine->plan->ranks[rank].device;
	const char *seen = getenv("CUDA_VISIBLE_DEVICES");

	if (cudaDeviceGetByPCIBusId(device, bus_id) == cudaSuccess)
		return GT_OK;
	cudaGetLastError();
	if (seen && gt_bus_exists(bus_id))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u: GPU '%s' is hidden by "
				  "CUDA_VISIBLE_DEVICES=%s",
				  rank, bus_id, seen);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "rank %u: no GPU '%s' on this machine; use --map "
			  "index if the plan is for an equal one",
			  rank, bus_id);
}

static int gt_map_check(struct gt_engine *engine, uint32_t rank,
			struct gt_err *err)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct cudaDeviceProp prop;
	cudaError_t rc = cudaGetDeviceProperties(&prop, me->device);

	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "read the GPU", err);
	if (strstr(prop.name, " MIG ") && engine->plan->nranks > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u: '%s' is a part of a GPU in MIG "
				  "mode, which cannot reach other GPUs",
				  rank, prop.name);
	if (!rank || (uint32_t)prop.multiProcessorCount < engine->processors)
		engine->processors = (uint32_t)prop.multiProcessorCount;
	for (uint32_t r = 0; r < rank; r++)
		if (engine->ranks[r].device == me->device)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "ranks %u and %u are the same GPU "
					  "'%s'",
					  r, rank,
					  engine->plan->ranks[rank].device);
	return GT_OK;
}

static int gt_map_count(const struct gt_engine *engine, struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks;
	int count = 0;
	cudaError_t rc = cudaGetDeviceCount(&count);

	if (rc != cudaSuccess)
		return gt_err_set(err, GT_ESYS, NULL, "no usable GPU: %s",
				  cudaGetErrorString(rc));
	if ((uint32_t)count < nranks)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the plan is for %u GPUs, here are %d%s",
				  nranks, count,
				  getenv("CUDA_VISIBLE_DEVICES")
					  ? "; CUDA_VISIBLE_DEVICES may hide "
					    "others"
					  : "");
	return GT_OK;
}

int gt_cuda_map(struct gt_engine *engine, struct gt_err *err)
{
	int rc = gt_map_count(engine, err);

	for (uint32_t r = 0; !rc && r < engine->plan->nranks; r++) {
		engine->ranks[r].device = (int)r;
		if (!engine->config.map_index)
			rc = gt_map_by_id(engine, r, &engine->ranks[r].device,
					  err);
		if (!rc)
			rc = gt_map_check(engine, r, err);
	}
	return rc;
}
