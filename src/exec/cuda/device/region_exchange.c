/*
 * A rank's part is opened by a handle that its process tells all others, or
 * mapped from files that it sends to those who reach it.
 */
#include "exec/cuda/device/region_exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/state.h"
#include "exec/link/fd_passing.h"
#include "plan/ir/plan.h"
#include "world/world.h"

/* Two of these are equal if they tell of one process on one host. */
struct gt_cuda_process {
	uint64_t pid, space, device;
};

/* A process tells this of a rank's part of a region. */
struct gt_cuda_key {
	cudaIpcMemHandle_t handle;
	uint64_t valid;
	/* CUDA opens no handles of the own process, and need not. */
	struct gt_cuda_process process;
	char *at;
	int64_t device;
};

/* Containers have spaces of their own, with the same numbers in each. */
static struct gt_cuda_process gt_process_own(void)
{
	struct gt_cuda_process own = {.pid = (uint64_t)getpid()};
	struct stat space;

	if (!stat("/proc/self/ns/pid", &space)) {
		own.space = (uint64_t)space.st_ino;
		own.device = (uint64_t)space.st_dev;
	}
	return own;
}

/* Is it memory of this process, which another one of its ranks has made? */
static int gt_key_is_own(const struct gt_cuda_key *key)
{
	const struct gt_cuda_process own = gt_process_own();

	return key->process.pid == own.pid && key->process.space == own.space &&
	       key->process.device == own.device;
}

/* Whoever says so knows the job's secret, and still may be wrong. */
static cudaError_t gt_key_check(const struct gt_cuda_key *key)
{
	struct cudaPointerAttributes is;
	cudaError_t rc = cudaPointerGetAttributes(&is, key->at);

	if (rc == cudaSuccess &&
	    (is.type != cudaMemoryTypeDevice || is.device != (int)key->device))
		rc = cudaErrorInvalidDevicePointer;
	return rc;
}

/* Let the current device reach another one's memory. */
static cudaError_t gt_device_reach(int device, int other)
{
	cudaError_t rc = device == other ? cudaSuccess
					 : cudaDeviceEnablePeerAccess(other, 0);

	if (rc != cudaErrorPeerAccessAlreadyEnabled)
		return rc;
	cudaGetLastError();
	return cudaSuccess;
}
void gt_region_exchange_end(const struct gt_engine *engine,
			    struct gt_region_exchange *exchange)
{
	const struct gt_process_group *group = &engine->group;

	for (uint32_t i = 0; exchange->mine && i < group->end - group->first;
	     i++)
		gt_fd_packet_close(&exchange->mine[i]);
	for (uint32_t i = 0; exchange->theirs && i < exchange->ntheirs; i++)
		gt_fd_packet_close(&exchange->theirs[i]);
	free(exchange->keys);
	free(exchange->parts);
	free(exchange->mine);
	free(exchange->theirs);
}

/* Say where the local parts are, and by which handle they are opened. */
static void gt_region_keys(const struct gt_engine *engine, int region,
			   struct gt_cuda_key *keys)
{
	const struct gt_process_group *group = &engine->group;

	for (uint32_t r = group->first; r < group->end; r++) {
		struct gt_cuda_key *key = &keys[r - group->first];

		cudaSetDevice(engine->ranks[r].device);
		key->at = *gt_cuda_region_slot(engine, region, r, r);
		key->device = engine->ranks[r].device;
		key->process = gt_process_own();
		key->valid = cudaIpcGetMemHandle(&key->handle, key->at) ==
			     cudaSuccess;
	}
	cudaGetLastError();
}

/* Open rank r's part, which its process has told of, for each local rank. */
static int gt_rank_attach(struct gt_engine *engine, int region, uint32_t r,
			  const struct gt_cuda_key *key, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	int is_own = gt_key_is_own(key);
	cudaError_t rc =
		key->valid || is_own ? cudaSuccess : cudaErrorNotSupported;
	void *at = key->at;

	engine->same[gt_process_group_of_rank(group, r)] = (uint8_t)is_own;

	for (uint32_t v = group->first; v < group->end; v++) {
		if (rc == cudaSuccess)
			rc = cudaSetDevice(engine->ranks[v].device);
		if (rc == cudaSuccess && is_own)
			rc = gt_key_check(key);
		if (rc == cudaSuccess && is_own)
			rc = gt_device_reach(engine->ranks[v].device,
					     (int)key->device);
		else if (rc == cudaSuccess)
			rc = cudaIpcOpenMemHandle(
				&at, key->handle,
				cudaIpcMemLazyEnablePeerAccess);
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "share its memory", err);
		*gt_cuda_region_slot(engine, region, v, r) = at;
	}
	return GT_OK;
}

static int gt_region_attach(struct gt_engine *engine, int region, uint32_t p,
			    const struct gt_world_part *part,
			    struct gt_err *err)
{
	uint32_t first = gt_process_group_begin(&engine->group, p);
	uint32_t end = gt_process_group_begin(&engine->group, p + 1);
	struct gt_cuda_key key;
	int rc = GT_OK;

	if (part->len != (end - first) * sizeof(key))
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s is at another "
				  "meeting",
				  gt_world_name(engine->group.world, p));
	for (uint32_t r = first; !rc && r < end; r++) {
		memcpy(&key,
		       (const char *)part->bytes + (r - first) * sizeof(key),
		       sizeof(key));
		rc = gt_rank_attach(engine, region, r, &key, err);
	}
	return rc;
}

void gt_cuda_region_detach(struct gt_engine *engine, int region, uint32_t p)
{
	struct gt_cuda_mapping *maps = engine->regions[region].maps;
	const struct gt_process_group *group = &engine->group;

	for (uint32_t v = group->first; v < group->end; v++)
		for (uint32_t r = gt_process_group_begin(group, p);
		     r < gt_process_group_begin(group, p + 1); r++) {
			char **at = gt_cuda_region_slot(engine, region, v, r);

			if (*at && !maps && !engine->same[p]) {
				cudaSetDevice(engine->ranks[v].device);
				cudaIpcCloseMemHandle(*at);
			}
			*at = NULL;
			if (maps)
				gt_cuda_mapping_drop(&maps[r]);
		}
}

/*
 * Map a part that came as files, which are tagged with its rank; what cannot be
 * mapped is noted, or fails.
 */
static int gt_region_map(struct gt_engine *engine, int region, int tries,
			 const struct gt_fd_packet *theirs, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	int devices[GT_P2P_RANKS];
	uint32_t n = gt_cuda_local_devices(engine, devices), r = theirs->tag, p;
	cudaError_t rc = cudaErrorInvalidValue;

	if (r >= engine->plan->nranks || gt_process_group_is_local(group, r) ||
	    engine->regions[region].maps[r].base)
		return gt_err_set(err, GT_ESYS, NULL,
				  "files of rank '%u' came from elsewhere", r);
	p = gt_process_group_of_rank(group, r);
	if (!engine->reachable[p])
		return GT_OK;
	rc = cudaSetDevice(devices[0]);
	if (rc == cudaSuccess)
		rc = gt_cuda_mapping_open(theirs, devices, n,
					  &engine->regions[region].maps[r]);
	for (uint32_t v = group->first; v < group->end; v++)
		*gt_cuda_region_slot(engine, region, v, r) =
			engine->regions[region].maps[r].base;
	if (rc == cudaSuccess)
		return GT_OK;
	if (!tries)
		return gt_cuda_fail(engine, r, (int)rc, "share its memory",
				    err);
	gt_cuda_region_detach(engine, region, p);
	engine->reachable[p] = 0;
	return GT_OK;
}

/* Make a file for each local part. */
static int gt_region_files(const struct gt_engine *engine, int region,
			   struct gt_fd_packet *mine, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	const struct gt_cuda_mapping *maps = engine->regions[region].maps;
	uint64_t offset;

	for (uint32_t r = group->first; r < group->end; r++) {
		struct gt_fd_packet *packet = &mine[r - group->first];
		struct gt_cuda_extent all = {maps[r].base, maps[r].bytes};

		packet->tag = r;
		if (gt_cuda_files_of(all, packet, &offset) != cudaSuccess)
			return gt_err_set(err, GT_ESYS, NULL,
					  "rank %u's memory has no file", r);
	}
	return GT_OK;
}

int gt_region_exchange_prepare(const struct gt_engine *engine, int region,
			       struct gt_region_exchange *exchange,
			       struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	uint32_t nlocal = group->end - group->first;
	uint32_t nranks = engine->plan->nranks;

	*exchange = (struct gt_region_exchange){0};
	if (!engine->shares_files) {
		exchange->keys = calloc(nlocal, sizeof(*exchange->keys));
		exchange->parts =
			calloc(group->nprocesses, sizeof(*exchange->parts));
		if (!exchange->keys || !exchange->parts)
			return gt_err_nomem(err);
		gt_region_keys(engine, region, exchange->keys);
		return GT_OK;
	}
	exchange->mine = calloc(nlocal, sizeof(*exchange->mine));
	exchange->theirs = calloc(nranks, sizeof(*exchange->theirs));
	if (!exchange->mine || !exchange->theirs)
		return gt_err_nomem(err);
	return gt_region_files(engine, region, exchange->mine, err);
}

int gt_region_exchange_meet(const struct gt_engine *engine,
			    struct gt_region_exchange *exchange,
			    struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	uint32_t nlocal = group->end - group->first;
	struct gt_fd_exchange swap = {.world = group->world,
				      .with = engine->reachable,
				      .mine = exchange->mine,
				      .nmine = nlocal,
				      .theirs = exchange->theirs};
	int rc;

	if (!engine->shares_files)
		return gt_world_allgather(group->world, exchange->keys,
					  nlocal * sizeof(*exchange->keys),
					  exchange->parts, err);
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		swap.ntheirs +=
			!gt_process_group_is_local(group, r) &&
			engine->reachable[gt_process_group_of_rank(group, r)];
	rc = gt_fd_exchange(&swap, err);
	if (!rc)
		exchange->ntheirs = swap.ntheirs;
	return rc;
}

int gt_region_exchange_open(struct gt_engine *engine, int region, int tries,
			    const struct gt_region_exchange *exchange,
			    struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < exchange->ntheirs; i++)
		rc = gt_region_map(engine, region, tries, &exchange->theirs[i],
				   err);
	for (uint32_t p = 0; exchange->parts && !rc && p < group->nprocesses;
	     p++) {
		if (!engine->reachable[p] || p == group->self)
			continue;
		rc = gt_region_attach(engine, region, p, &exchange->parts[p],
				      tries ? NULL : err);
		if (rc && tries) {
			gt_cuda_region_detach(engine, region, p);
			engine->reachable[p] = 0;
			rc = GT_OK;
		}
	}
	return rc;
}

int gt_cuda_region_share(struct gt_engine *engine, int region, int tries,
			 struct gt_err *err)
{
	struct gt_region_exchange exchange;
	int rc = gt_region_exchange_prepare(engine, region, &exchange, err);

	if (!rc)
		rc = gt_region_exchange_meet(engine, &exchange, err);
	if (!rc)
		rc = gt_region_exchange_open(engine, region, tries, &exchange,
					     err);
	gt_region_exchange_end(engine, &exchange);
	return rc;
}
