/*
 * Memory of the host for all its processes: the first process of a host makes
 * it and the others map it; and how it is pinned for GPUs.
 */
#include "exec/cuda/device/host_memory.h"

#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit.h"
#include "exec/cuda/device/state.h"
#include "world/world.h"

enum {
	GT_CUDA_FAULT_BYTES = 240,
	GT_HOST_PAGE_BYTES = 4096,
	GT_HOST_NODES = 1024, /* a mask has bits for so many NUMA nodes */
	GT_HOST_WORD_BITS = 8 * sizeof(unsigned long),
	GT_PINNED_GIB = 4, /* of a communicator, at most */
	GT_MIB_SHIFT = 20,
	GT_GIB_SHIFT = 30,
};

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

/* Where the rank's part begins; that of nranks is behind all of them. */
static uint64_t gt_host_part_at(const uint64_t *bytes, uint32_t rank)
{
	uint64_t at = 0;

	for (uint32_t r = 0; r < rank; r++)
		at += (bytes[r] + GT_HOST_PAGE_BYTES - 1) / GT_HOST_PAGE_BYTES *
		      GT_HOST_PAGE_BYTES;
	return at;
}

/*
 * Move each rank's part, which nobody uses yet, near its GPU.  Who polls it is
 * its rank, and a read that crosses sockets waits for an answer, while a write
 * does not.  Where that fails all is as right as before, and slower.
 */
static void gt_host_parts_place(const struct gt_engine *engine,
				const uint64_t *bytes,
				const struct gt_shared_memory *share)
{
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		unsigned long nodes[GT_HOST_NODES / GT_HOST_WORD_BITS] = {0};
		int node = engine->ranks[r].numa_node;
		uint64_t at = gt_host_part_at(bytes, r);
		uint64_t end = gt_host_part_at(bytes, r + 1);

		if (node < 0 || node >= GT_HOST_NODES)
			continue;
		nodes[(size_t)node / GT_HOST_WORD_BITS] =
			1ul << (size_t)node % GT_HOST_WORD_BITS;
		syscall(SYS_mbind, (char *)share->base + at, end - at,
			MPOL_PREFERRED, nodes, (unsigned long)GT_HOST_NODES,
			MPOL_MF_MOVE);
	}
}

/* Make the memory; of parts each in its place. */
static int gt_host_share_make(const struct gt_engine *engine, size_t bytes,
			      const uint64_t *parts,
			      struct gt_shared_memory *share,
			      struct gt_err *err)
{
	int rc = gt_shared_memory_new(bytes, share, err);

	if (!rc && parts)
		gt_host_parts_place(engine, parts, share);
	return rc;
}

/*
 * The first process of each host makes the memory.  All come to both meetings,
 * also where it cannot be had: they may do without.
 */
static int gt_host_share_new(struct gt_engine *engine, size_t bytes,
			     const uint64_t *rank_bytes,
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
		rc = gt_host_share_make(engine, bytes, rank_bytes, share, &own);
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
		       ? gt_host_share_new(engine, bytes, NULL, share, err)
		       : gt_shared_memory_new(bytes, share, err);
}

int gt_cuda_host_share_parts(struct gt_engine *engine, const uint64_t *bytes,
			     struct gt_shared_memory *share, struct gt_err *err)
{
	uint64_t all = gt_host_part_at(bytes, engine->plan->nranks);

	return engine->group.world
		       ? gt_host_share_new(engine, all, bytes, share, err)
		       : gt_host_share_make(engine, all, bytes, share, err);
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

int gt_cuda_pinned_open(struct gt_engine *engine, struct gt_err *err)
{
	const char *most = getenv("GTOPO_PINNED");
	uint64_t less;
	int rc;

	engine->pinned_most = (uint64_t)GT_PINNED_GIB << GT_GIB_SHIFT;
	if (most && *most && !gt_unit_bytes(most, &engine->pinned_most))
		return gt_err_set(err, GT_EINPUT, "GTOPO_PINNED",
				  "'%.80s' is no size such as 512M or 4G",
				  most);
	if (!engine->group.world)
		return GT_OK;
	/* The least of all processes', so that all decide alike. */
	less = UINT64_MAX - engine->pinned_most;
	rc = gt_world_max(engine->group.world, &less, err);
	engine->pinned_most = UINT64_MAX - less;
	return rc;
}

int gt_cuda_pinned_may(const struct gt_engine *engine, uint64_t bytes,
		       struct gt_err *err)
{
	if (bytes <= engine->pinned_most &&
	    engine->pinned_bytes <= engine->pinned_most - bytes)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "%u ranks need %" PRIu64 " MiB of the host's memory, "
			  "pinned, and %" PRIu64 " MiB are allowed; "
			  "GTOPO_PINNED=%" PRIu64 "M allows them",
			  engine->plan->nranks,
			  (engine->pinned_bytes + bytes) >> GT_MIB_SHIFT,
			  engine->pinned_most >> GT_MIB_SHIFT,
			  ((engine->pinned_bytes + bytes) >> GT_MIB_SHIFT) + 1);
}

void gt_cuda_pinned_add(struct gt_engine *engine, uint64_t bytes)
{
	char text[GT_NOTICE_MAX];

	engine->pinned_bytes += bytes;
	if (!engine->stages_in_host)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " KiB of the host's memory are pinned for each of "
		 "%u ranks, %" PRIu64 " MiB for all",
		 (engine->pinned_bytes / engine->plan->nranks) >> 10,
		 engine->plan->nranks, engine->pinned_bytes >> GT_MIB_SHIFT);
	gt_process_group_notice(&engine->group, 0, text);
}

int gt_cuda_host_region_new(struct gt_engine *engine, int region,
			    const uint64_t *bytes, struct gt_err *err)
{
	uint32_t n = engine->plan->nranks;
	uint32_t nlocal = engine->group.end - engine->group.first;
	struct gt_cuda_region made = {.host.fd = -1};
	uint64_t all = gt_host_part_at(bytes, n);
	int rc = gt_cuda_pinned_may(engine, all, err);

	if (!rc)
		rc = gt_cuda_host_share_parts(engine, bytes, &made.host, err);
	if (!rc)
		rc = gt_cuda_pins.pin(made.host.base, all, err);
	if (!rc) {
		made.at = calloc((size_t)nlocal * n, sizeof(*made.at));
		if (!made.at)
			gt_cuda_pins.unpin(made.host.base);
		rc = made.at ? GT_OK : gt_err_nomem(err);
	}
	if (rc) {
		gt_shared_memory_free(&made.host);
		return rc;
	}
	for (uint32_t i = 0; i < nlocal * n; i++)
		made.at[i] =
			(char *)made.host.base + gt_host_part_at(bytes, i % n);
	engine->regions[region] = made;
	gt_cuda_pinned_add(engine, all);
	return GT_OK;
}

void gt_cuda_host_region_free(struct gt_engine *engine, int region)
{
	struct gt_cuda_region *made = &engine->regions[region];

	if (!made->host.base)
		return;
	gt_cuda_pins.unpin(made->host.base);
	engine->pinned_bytes -= made->host.bytes;
	gt_shared_memory_free(&made->host);
}

const struct gt_link_memory_ops gt_cuda_pins = {
	gt_cuda_pin, gt_cuda_unpin, gt_cuda_gdr_new, gt_cuda_gdr_free};
