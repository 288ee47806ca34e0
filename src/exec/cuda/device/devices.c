/*
 * Gives each rank of this process a GPU, and compares them with those of all
 * other processes: no two ranks share one unless they may.
 */
#include "exec/cuda/device/state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "world/world.h"

/* Is there such a PCI device, whether this process may use it or not? */
static int gt_bus_exists(const char *bus_id)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s", bus_id);
	return access(path, F_OK) == 0;
}

static int gt_device_by_id(const struct gt_engine *engine, uint32_t rank,
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

/* Which of the host's NUMA nodes is next to the GPU?  -1: it has none. */
static int gt_device_numa_node(const char *bus_id)
{
	char path[128];
	FILE *file;
	int node;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/numa_node",
		 bus_id);
	/* CUDA writes bus ids in capitals, the system in small letters. */
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node;
}

/* A process tells the others this of a local rank's GPU. */
struct gt_devices_gpu {
	char bus_id[32];
	int32_t numa_node;
	uint32_t processors;
	uint32_t host; /* the first process there */
};

/* A process tells this before its ranks' GPUs: what is wrong with them. */
struct gt_devices_head {
	int32_t code;
	char fault[508];
};

static int gt_devices_look(const struct gt_engine *engine, uint32_t rank,
			   struct gt_devices_gpu *gpu, struct gt_err *err)
{
	const struct gt_cuda_rank *me = &engine->ranks[rank];
	struct cudaDeviceProp prop;
	cudaError_t rc = cudaGetDeviceProperties(&prop, me->device);

	if (rc == cudaSuccess)
		rc = cudaDeviceGetPCIBusId(gpu->bus_id, sizeof(gpu->bus_id),
					   me->device);
	if (rc != cudaSuccess)
		return gt_cuda_fail(engine, rank, (int)rc, "read the GPU", err);
	if (strstr(prop.name, " MIG ") && engine->plan->nranks > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u: '%s' is a part of a GPU in MIG "
				  "mode, which cannot reach other GPUs",
				  rank, prop.name);
	gpu->numa_node = gt_device_numa_node(gpu->bus_id);
	gpu->processors = (uint32_t)prop.multiProcessorCount;
	while (engine->group.world && !engine->group.is_here[gpu->host])
		gpu->host++;
	return GT_OK;
}

static int gt_devices_count(const struct gt_engine *engine, int *count,
			    struct gt_err *err)
{
	uint32_t local = engine->group.end - engine->group.first;
	cudaError_t rc = cudaGetDeviceCount(count);

	if (rc != cudaSuccess)
		return gt_err_set(err, GT_ESYS, NULL, "no usable GPU: %s",
				  cudaGetErrorString(rc));
	if (*count && engine->config.map == GT_DEVICE_SHARED)
		return GT_OK;
	if ((uint32_t)*count < local)
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"the plan is for %u GPUs%s, here are %d%s", local,
			engine->group.world ? " in this process" : "", *count,
			getenv("CUDA_VISIBLE_DEVICES")
				? "; CUDA_VISIBLE_DEVICES may hide "
				  "others"
				: "");
	return GT_OK;
}

/*
 * Where ranks share GPUs and a job goes on without some of its processes, the
 * others get new numbers.  A process with one rank then keeps its GPU: to open
 * another one took 0.13 to 0.65 s of the 0.9 until the rest went on.
 */
static int gt_devices_shared(const struct gt_engine *engine, uint32_t i,
			     int count)
{
	const struct gt_process_group *group = &engine->group;
	uint32_t had = engine->config.had_device;

	if (had && had <= (uint32_t)count && group->end - group->first == 1)
		return (int)had - 1;
	return (int)((group->place + i) % (uint32_t)count);
}

/* Give this process's ranks their devices. */
static int gt_devices_local(struct gt_engine *engine,
			    struct gt_devices_gpu *gpus, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	enum gt_device_map map = engine->config.map;
	int count = 0, rc = gt_devices_count(engine, &count, err);

	for (uint32_t r = group->first; !rc && r < group->end; r++) {
		uint32_t i = r - group->first;

		/* A process that sees all of the host's GPUs shares them. */
		engine->ranks[r].device =
			(int)((uint32_t)count >= group->nhere ? group->place + i
							      : i);
		if (map == GT_DEVICE_SHARED)
			engine->ranks[r].device =
				gt_devices_shared(engine, i, count);
		if (map == GT_DEVICE_BY_ID)
			rc = gt_device_by_id(engine, r,
					     &engine->ranks[r].device, err);
		if (!rc)
			rc = gt_devices_look(engine, r, &gpus[i], err);
	}
	return rc;
}

static int gt_devices_same(const struct gt_devices_gpu *a,
			   const struct gt_devices_gpu *b)
{
	return a->host == b->host && !strcmp(a->bus_id, b->bus_id);
}

/*
 * Check that no two ranks share a GPU, or give them their parts of it, and take
 * as many blocks as the smallest GPU has.  Of ranks that share, the blocks of
 * this operation and of the next, which come early, must find room beside each
 * other.
 */
static int gt_devices_check(struct gt_engine *engine,
			    const struct gt_devices_gpu *gpus,
			    struct gt_err *err)
{
	engine->processors = UINT32_MAX;
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		uint32_t own = gpus[r].processors, others = 0;

		engine->ranks[r].numa_node = gpus[r].numa_node;
		for (uint32_t q = 0; q < engine->plan->nranks; q++)
			if (q != r && gt_devices_same(&gpus[q], &gpus[r]))
				others++;
		if (others && engine->config.map != GT_DEVICE_SHARED)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "rank %u and another are the same "
					  "GPU '%s'; --map share allows that, "
					  "to test",
					  r, gpus[r].bus_id);
		if (others > engine->sharers)
			engine->sharers = others;
		if (others)
			own /= 2 * (others + 1);
		if (own < engine->processors)
			engine->processors = own;
	}
	return GT_OK;
}

/* Take what process p told; its fault is everybody's. */
static int gt_devices_hear(const struct gt_engine *engine, uint32_t p,
			   const struct gt_world_part *part,
			   struct gt_devices_gpu *gpus, struct gt_err *err)
{
	uint32_t first = gt_process_group_begin(&engine->group, p);
	uint32_t end = gt_process_group_begin(&engine->group, p + 1);
	const char *name = gt_world_name(engine->group.world, p);
	struct gt_devices_head head = {.code = GT_OK};
	size_t bytes = (end - first) * sizeof(*gpus);

	if (part->len != sizeof(head) + bytes)
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s is at another meeting", name);
	memcpy(&head, part->bytes, sizeof(head));
	memcpy(&gpus[first], (const char *)part->bytes + sizeof(head), bytes);
	return head.code ? gt_err_set(err, head.code, NULL, "%s: %.507s", name,
				      head.fault)
			 : GT_OK;
}

/* Tell the others of this process's GPUs, and hear of theirs. */
static int gt_devices_share(struct gt_engine *engine, int code,
			    const char *fault, struct gt_devices_gpu *gpus,
			    struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_world_part *parts = calloc(group->nprocesses, sizeof(*parts));
	struct gt_devices_head head = {.code = code};
	struct gt_buf text = GT_BUF_INIT;
	int rc = GT_OK;

	snprintf(head.fault, sizeof(head.fault), "%.507s", fault);
	gt_buf_add(&text, &head, sizeof(head));
	gt_buf_add(&text, &gpus[group->first],
		   (group->end - group->first) * sizeof(*gpus));
	if (!parts || text.failed)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_world_allgather(group->world, text.text, text.len,
					parts, err);
	for (uint32_t p = 0; !rc && p < group->nprocesses; p++)
		rc = gt_devices_hear(engine, p, &parts[p], gpus, err);
	gt_buf_release(&text);
	free(parts);
	return rc;
}

int gt_cuda_devices_assign(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_devices_gpu *gpus =
		calloc(engine->plan->nranks, sizeof(*gpus));
	struct gt_err own;
	int rc, met;

	if (!gpus)
		return gt_err_nomem(err);
	gt_err_init(&own);
	rc = gt_devices_local(engine, &gpus[group->first], &own);
	if (group->world)
		rc = gt_devices_share(engine, rc, own.text, gpus, err);
	else if (rc)
		gt_err_set(err, rc, NULL, "%s", own.text);
	if (!rc)
		rc = gt_devices_check(engine, gpus, err);
	free(gpus);
	/* All come to the same verdict; process 0 is the first to say it. */
	if (!group->world || (rc && !group->self))
		return rc;
	met = gt_world_allgather(group->world, NULL, 0, NULL, rc ? NULL : err);
	return rc ? rc : met;
}
