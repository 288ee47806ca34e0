/*
 * Regions: makes the local parts, tells the other processes of them, by handles
 * or files, and opens theirs.  What captured graphs may still use is kept.
 */
#include "exec/cuda/device/ipc_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/link/fd_passing.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	/*
	 * Smaller allocations may share a page, and all of it would be opened
	 * by others.
	 */
	GT_CUDA_PAGE_BYTES = 2 << 20,
};

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

static char **gt_region_at(const struct gt_engine *engine, int region,
			   uint32_t viewer, uint32_t rank)
{
	return &engine->regions[region].at[(viewer - engine->group.first) *
						   engine->plan->nranks +
					   rank];
}

uint64_t gt_cuda_pages(uint64_t bytes)
{
	return (bytes / GT_CUDA_PAGE_BYTES + 1) * GT_CUDA_PAGE_BYTES;
}

/* List the GPUs of this process. */
static uint32_t gt_region_devices(const struct gt_engine *engine,
				  int devices[GT_P2P_RANKS])
{
	const struct gt_process_group *group = &engine->group;
	uint32_t n = 0;

	for (uint32_t r = group->first; r < group->end && n < GT_P2P_RANKS; r++)
		devices[n++] = engine->ranks[r].device;
	return n;
}

static cudaError_t gt_region_make(struct gt_engine *engine, int region,
				  uint32_t r, uint64_t len, char **made)
{
	struct gt_cuda_rank *me = &engine->ranks[r];
	struct gt_cuda_mapping *maps = engine->regions[region].maps;
	int devices[GT_P2P_RANKS];
	uint32_t n = gt_region_devices(engine, devices);
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
			*gt_region_at(engine, region, v, r) = at;
		if (rc != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)rc,
					    "allocate its memory", err);
	}
	return GT_OK;
}

/* What there is to tell other processes of a region, and what they tell. */
struct gt_region_exchange {
	struct gt_cuda_key *keys;    /* of local ranks */
	struct gt_world_part *parts; /* [processes]: the keys of others */
	struct gt_fd_packet *mine;   /* of local ranks, where files are */
	struct gt_fd_packet *theirs; /* [ranks] */
	uint32_t ntheirs;
};

static void gt_region_exchange_end(const struct gt_engine *engine,
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
		key->at = *gt_region_at(engine, region, r, r);
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
		*gt_region_at(engine, region, v, r) = at;
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

/* Close what process p has told of. */
void gt_cuda_region_detach(struct gt_engine *engine, int region, uint32_t p)
{
	struct gt_cuda_mapping *maps = engine->regions[region].maps;
	const struct gt_process_group *group = &engine->group;

	for (uint32_t v = group->first; v < group->end; v++)
		for (uint32_t r = gt_process_group_begin(group, p);
		     r < gt_process_group_begin(group, p + 1); r++) {
			char **at = gt_region_at(engine, region, v, r);

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
	uint32_t n = gt_region_devices(engine, devices), r = theirs->tag, p;
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
		*gt_region_at(engine, region, v, r) =
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

/* Have ready what the others need: what fails here fails before a meeting. */
static int gt_region_prepare(const struct gt_engine *engine, int region,
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

/* Tell the others, or send files to all who reach them, and hear of theirs. */
static int gt_region_meet(const struct gt_engine *engine,
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

/* Open what the others have told of, as gt_cuda_region_share() does. */
static int gt_region_open(struct gt_engine *engine, int region, int tries,
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

/*
 * Open the others' parts; with `tries` a process that cannot be reached is
 * noted, else that is a failure.
 */
int gt_cuda_region_share(struct gt_engine *engine, int region, int tries,
			 struct gt_err *err)
{
	struct gt_region_exchange exchange;
	int rc = gt_region_prepare(engine, region, &exchange, err);

	if (!rc)
		rc = gt_region_meet(engine, &exchange, err);
	if (!rc)
		rc = gt_region_open(engine, region, tries, &exchange, err);
	gt_region_exchange_end(engine, &exchange);
	return rc;
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
			cudaFree(*gt_region_at(engine, region, r, r));
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

void gt_cuda_region_retire(struct gt_engine *engine, int region)
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
		rc = gt_region_prepare(engine, region, &exchange, err);
	rc = gt_region_agree(engine, rc, err);
	if (!rc)
		rc = gt_region_meet(engine, &exchange, err);
	if (!rc) {
		rc = gt_region_open(engine, region, 0, &exchange, err);
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
	gt_cuda_region_retire(engine, region);
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
