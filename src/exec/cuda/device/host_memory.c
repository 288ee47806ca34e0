/*
 * Memory of the host for all its processes: the first process of a host makes
 * it and the others map it; and how it is pinned for GPUs.
 */
#include "exec/cuda/device/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "world/world.h"

enum { GT_CUDA_FAULT_BYTES = 240 };

/* A host's first process tells what it has made, or why it has made nothing. */
struct gt_host_share_made {
	struct gt_shared_memory_handle name;
	char fault[GT_CUDA_FAULT_BYTES];
};

/* Map what the host's first process has made; share->bytes is the size. */
static int gt_host_share_map(const struct gt_engine *engine, uint32_t leader,
			     const struct gt_world_part *part,
			     struct gt_shared_memory *share, struct gt_err *err)
{
	const char *name = gt_world_name(engine->group.world, leader);
	struct gt_host_share_made made;

	if (part->len != sizeof(made))
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s is at another meeting", name);
	memcpy(&made, part->bytes, sizeof(made));
	if (!made.name.bytes)
		return gt_err_set(err, GT_ESYS, NULL, "%s: %.*s", name,
				  GT_CUDA_FAULT_BYTES - 1, made.fault);
	if (made.name.bytes != share->bytes)
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s shares '%zu' bytes, not '%zu'", name,
				  (size_t)made.name.bytes, share->bytes);
	return gt_shared_memory_map(&made.name, share, err);
}

/*
 * The first process of each host makes the memory.  All come to both meetings,
 * also where it cannot be had: they may do without.
 */
static int gt_host_share_new(struct gt_engine *engine, size_t bytes,
			     struct gt_shared_memory *share, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_world_part *parts = calloc(group->nprocesses, sizeof(*parts));
	struct gt_host_share_made made = {.name.bytes = 0};
	struct gt_err own;
	uint32_t leader = 0;
	int rc, met;

	gt_err_init(&own);
	rc = parts ? GT_OK : gt_err_nomem(&own);
	while (!group->is_here[leader])
		leader++;
	if (!rc && leader == group->self)
		rc = gt_shared_memory_new(bytes, share, &own);
	if (!rc && leader == group->self)
		made.name = gt_shared_memory_handle(share);
	snprintf(made.fault, sizeof(made.fault), "%.*s",
		 GT_CUDA_FAULT_BYTES - 1, own.text);
	met = gt_world_allgather(group->world, &made, sizeof(made), parts, err);
	if (leader != group->self)
		share->bytes = bytes;
	if (!rc && !met && leader != group->self)
		rc = gt_host_share_map(engine, leader, &parts[leader], share,
				       &own);
	free(parts);
	/* Its descriptor stays open until all have mapped it. */
	if (!met)
		met = gt_world_allgather(group->world, NULL, 0, NULL, err);
	if (met || !rc)
		return met;
	return gt_err_set(err, rc, own.where, "%s", own.text);
}

int gt_cuda_host_share(struct gt_engine *engine, size_t bytes,
		       struct gt_shared_memory *share, struct gt_err *err)
{
	return engine->group.world
		       ? gt_host_share_new(engine, bytes, share, err)
		       : gt_shared_memory_new(bytes, share, err);
}

/* Pin memory so that it has one address for the host and for all GPUs. */
static int gt_cuda_pin(void *base, size_t bytes, struct gt_err *err)
{
	void *at = NULL;
	cudaError_t rc = cudaHostRegister(
		base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);

	if (rc == cudaSuccess)
		rc = cudaHostGetDevicePointer(&at, base, 0);
	if (rc == cudaSuccess && at != base)
		rc = cudaErrorNotSupported;
	if (rc == cudaSuccess)
		return GT_OK;
	if (at)
		cudaHostUnregister(base);
	cudaGetLastError();
	return gt_err_set(err, GT_ESYS, NULL,
			  "cannot pin '%zu' bytes for GPUs: %s", bytes,
			  cudaGetErrorString(rc));
}

static void gt_cuda_unpin(void *base)
{
	cudaHostUnregister(base);
}

const struct gt_link_memory_ops gt_cuda_pins = {
	gt_cuda_pin, gt_cuda_unpin, gt_cuda_gdr_new, gt_cuda_gdr_free};
