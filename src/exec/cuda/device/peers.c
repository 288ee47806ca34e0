/*
 * Tries who reaches whose memory, first by handles, then by files, until all
 * processes agree.
 */
#include "exec/cuda/device/ipc_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "world/world.h"

/* A pair of processes reaches each other or goes over a link, both ways. */
static int gt_peers_agree(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	struct gt_world_part *parts = calloc(group->nprocesses, sizeof(*parts));
	int rc;

	if (!parts)
		return gt_err_nomem(err);
	rc = gt_world_allgather(group->world, engine->reachable,
				group->nprocesses, parts, err);
	for (uint32_t p = 0; !rc && p < group->nprocesses; p++) {
		const uint8_t *theirs = parts[p].bytes;

		if (parts[p].len != group->nprocesses) {
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s is at another meeting",
					gt_world_name(group->world, p));
			break;
		}
		for (uint32_t q = 0; q < group->nprocesses; q++)
			engine->all_peers_reachable &= theirs[q];
		if (engine->reachable[p] && !theirs[group->self])
			gt_cuda_region_detach(engine, GT_CUDA_DATA, p);
		engine->reachable[p] &= theirs[group->self];
	}
	free(parts);
	return rc;
}

/* Share the first region of all ranks, and note who reaches whom by it. */
static int gt_peers_try(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	int rc;

	engine->all_peers_reachable = 1;
	for (uint32_t p = 0; p < group->nprocesses; p++)
		engine->reachable[p] =
			p == group->self ||
			(group->is_here[p] && !group->config.link);
	rc = gt_cuda_region_share(engine, GT_CUDA_DATA, 1, err);
	return rc ? rc : gt_peers_agree(engine, err);
}

/*
 * Return 1 if a process of this host is out of reach for one of its others,
 * alike in all processes.  GTOPO_CUDA_IPC=0 says so, to test.
 */
static int gt_peers_lack(struct gt_engine *engine, struct gt_err *err)
{
	const char *ipc = getenv("GTOPO_CUDA_IPC");
	struct gt_process_group *group = &engine->group;
	uint64_t lacks = ipc && !strcmp(ipc, "0");
	int rc;

	for (uint32_t p = 0; p < group->nprocesses; p++)
		lacks |= group->is_here[p] && !engine->reachable[p];
	lacks &= !group->config.link;
	rc = gt_world_max(group->world, &lacks, err);
	return rc ? rc : lacks != 0;
}

static int gt_peers_alloc(struct gt_engine *engine, int pieces,
			  struct gt_err *err)
{
	uint32_t n = engine->plan->nranks;
	uint64_t *bytes = calloc(n, sizeof(*bytes));
	int rc;

	engine->shares_files = pieces;
	for (uint32_t r = 0; bytes && r < n; r++)
		bytes[r] = 2 * engine->data_bytes;
	rc = bytes ? gt_cuda_region_alloc(engine, GT_CUDA_DATA, bytes, err)
		   : gt_err_nomem(err);
	free(bytes);
	return rc;
}

/* Try pieces and files instead of handles, if all processes can make them. */
static int gt_peers_probe_files(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	uint64_t cannot;
	int rc = gt_cuda_region_drop(engine, GT_CUDA_DATA, err);

	if (rc)
		return rc;
	cannot = group->end - group->first > GT_P2P_RANKS ||
		 gt_peers_alloc(engine, 1, NULL);
	rc = gt_world_max(group->world, &cannot, err);
	if (!rc && cannot) {
		gt_cuda_region_free(engine, GT_CUDA_DATA);
		rc = gt_peers_alloc(engine, 0, err);
	}
	return rc ? rc : gt_peers_try(engine, err);
}

/* Is any process another one's neighbour in the same? */
static int gt_peers_count_same(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	uint64_t some = 0;
	int rc;

	for (uint32_t p = 0; p < group->nprocesses; p++)
		some |= p != group->self && engine->same[p];
	rc = gt_world_max(group->world, &some, err);
	engine->some_are_same = some != 0;
	return rc;
}

int gt_cuda_peers_probe(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	int rc;

	engine->reachable = calloc(group->nprocesses, 1);
	engine->same = calloc(group->nprocesses, 1);
	if (!engine->reachable || !engine->same)
		return gt_err_nomem(err);
	engine->all_peers_reachable = 1;
	engine->data_bytes =
		gt_cuda_pages(engine->config.max_bytes + GT_CUDA_TAIL_BYTES);
	rc = gt_peers_alloc(engine, 0, err);
	if (rc || !group->world)
		return rc;
	rc = gt_peers_try(engine, err);
	if (!rc)
		rc = gt_peers_lack(engine, err);
	if (rc > 0)
		rc = gt_peers_probe_files(engine, err);
	return rc ? rc : gt_peers_count_same(engine, err);
}
