/*
 * Tries who reaches whose memory: within a process by peer access, then other
 * processes by handles, then by files, until all agree.  Where some GPUs of one
 * host do not reach each other, all go through its memory.
 */
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/region_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pairs.h"
#include "exec/cuda/device/host_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/peer_access.h"
#include "world/world.h"

enum gt_peers_why {
	GT_PEERS_REACH,
	GT_PEERS_CLOSED,
	GT_PEERS_NO_ACCESS,
	GT_PEERS_VARIABLE,
	GT_PEERS_OPTION,
};

static const char *const gt_peers_words[] = {
	[GT_PEERS_CLOSED] = "their processes cannot open each other's memory",
	[GT_PEERS_NO_ACCESS] = "no peer access",
	[GT_PEERS_VARIABLE] = GT_PEER_ACCESS_VARIABLE,
	[GT_PEERS_OPTION] = GT_PEER_ACCESS_OPTION,
};

/* Two ranks that do not reach each other, and why. */
struct gt_peers_apart {
	struct gt_pair pair;
	enum gt_peers_why why;
};

/* As one number, by which processes tell each other; 0: none are apart. */
enum { GT_PEERS_RANK_BITS = 24 };

static uint64_t gt_peers_pack(const struct gt_peers_apart *apart)
{
	return (uint64_t)apart->why << 2 * GT_PEERS_RANK_BITS |
	       (uint64_t)apart->pair.a << GT_PEERS_RANK_BITS | apart->pair.b;
}

static struct gt_peers_apart gt_peers_unpack(uint64_t packed)
{
	const uint32_t ranks = (1u << GT_PEERS_RANK_BITS) - 1;

	return (struct gt_peers_apart){
		{(uint32_t)(packed >> GT_PEERS_RANK_BITS) & ranks,
		 (uint32_t)packed & ranks},
		(enum gt_peers_why)(packed >> 2 * GT_PEERS_RANK_BITS)};
}

/* Has somebody turned peer access off? */
static int gt_peers_are_parted(const struct gt_engine *engine,
			       struct gt_peers_apart *apart, struct gt_err *err)
{
	const char *words = engine->config.p2p;

	apart->why = words ? GT_PEERS_OPTION : GT_PEERS_VARIABLE;
	if (!words)
		words = getenv(GT_PEER_ACCESS_VARIABLE);
	return gt_peer_access_off(words, gt_peers_words[apart->why],
				  engine->plan->nranks, &apart->pair, err);
}

/* Find two ranks of this process whose GPUs have no access to each other. */
static int gt_peers_lack_access(const struct gt_engine *engine,
				struct gt_peers_apart *apart)
{
	const struct gt_process_group *group = &engine->group;

	apart->why = GT_PEERS_NO_ACCESS;
	for (uint32_t r = group->first; r < group->end; r++)
		for (uint32_t p = group->first; p < group->end; p++) {
			int device = engine->ranks[r].device, can = 0;
			int other = engine->ranks[p].device;

			apart->pair = (struct gt_pair){r, p};
			if (device != other &&
			    (cudaDeviceCanAccessPeer(&can, device, other) !=
				     cudaSuccess ||
			     !can))
				return 1;
		}
	return 0;
}

/* Hops need access from the sender's and the receiver's GPU to the other's. */
static int gt_peers_enable(const struct gt_engine *engine, uint32_t from,
			   uint32_t to, struct gt_err *err)
{
	int device = engine->ranks[from].device;
	int other = engine->ranks[to].device;
	cudaError_t rc;

	if (device == other)
		return GT_OK;
	rc = cudaSetDevice(device);
	if (rc == cudaSuccess)
		rc = cudaDeviceEnablePeerAccess(other, 0);
	if (rc != cudaSuccess && rc != cudaErrorPeerAccessAlreadyEnabled)
		return gt_cuda_fail(engine, from, (int)rc, "enable peer access",
				    err);
	cudaGetLastError();
	return GT_OK;
}

static int gt_peers_enable_all(const struct gt_engine *engine,
			       struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	int rc = GT_OK;

	for (uint32_t r = group->first; !rc && r < group->end; r++)
		for (uint32_t p = group->first; !rc && p < group->end; p++)
			rc = gt_peers_enable(engine, r, p, err);
	return rc;
}

/* Can all go through the host's memory?  Only ranks of one host. */
static int gt_peers_may_stage(const struct gt_engine *engine)
{
	uint32_t n = engine->plan->nranks;

	return n > 1 && n <= GT_P2P_RANKS && engine->group.nhere == n &&
	       !engine->group.config.link;
}

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

/*
 * Share the first region of all ranks, if they may reach each other, and note
 * who reaches whom by it.
 */
static int gt_peers_try(struct gt_engine *engine, int may, struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	int rc;

	engine->all_peers_reachable = 1;
	for (uint32_t p = 0; p < group->nprocesses; p++)
		engine->reachable[p] =
			p == group->self ||
			(may && group->is_here[p] && !group->config.link);
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
	return rc ? rc : gt_peers_try(engine, 1, err);
}

/* Go through the host's memory from the start. */
static int gt_peers_stage(struct gt_engine *engine,
			  const struct gt_peers_apart *apart,
			  struct gt_err *err)
{
	struct gt_process_group *group = &engine->group;
	char text[GT_NOTICE_MAX];

	snprintf(text, sizeof(text),
		 "GPUs of ranks %u and %u do not reach each other (%s): "
		 "all go through the host's memory",
		 apart->pair.a, apart->pair.b, gt_peers_words[apart->why]);
	gt_process_group_notice(group, 0, text);
	engine->stages_in_host = engine->all_peers_reachable = 1;
	engine->shares_files = 0;
	memset(engine->reachable, 1, group->nprocesses);
	return gt_peers_alloc(engine, 0, err);
}

/*
 * Ranks of several hosts go through the host's memory by links, which are
 * between processes.
 */
static int gt_peers_refuse(const struct gt_engine *engine,
			   const struct gt_peers_apart *apart,
			   struct gt_err *err)
{
	return gt_err_set(
		err, GT_ESYS, NULL,
		"rank %u (%s) cannot reach the memory of rank %u "
		"(%s): %s; more than %d ranks, and those of several "
		"hosts, need a process for each GPU then",
		apart->pair.a, engine->plan->ranks[apart->pair.a].device,
		apart->pair.b, engine->plan->ranks[apart->pair.b].device,
		gt_peers_words[apart->why], GT_P2P_RANKS);
}

/*
 * Let all processes know what one of them has found: 1, and *apart is the same
 * pair for all, or 0.
 */
static int gt_peers_tell(struct gt_engine *engine, uint64_t packed,
			 struct gt_peers_apart *apart, struct gt_err *err)
{
	int rc = engine->group.world
			 ? gt_world_max(engine->group.world, &packed, err)
			 : GT_OK;

	*apart = gt_peers_unpack(packed);
	return rc ? rc : packed != 0;
}

/* Are two ranks apart, as any process knows? */
static int gt_peers_find_apart(struct gt_engine *engine,
			       struct gt_peers_apart *apart, struct gt_err *err)
{
	int found = gt_peers_are_parted(engine, apart, err);

	if (found < 0)
		return found;
	if (!found)
		found = gt_peers_lack_access(engine, apart);
	return gt_peers_tell(engine, found ? gt_peers_pack(apart) : 0, apart,
			     err);
}

/* Go through the host's memory since some process cannot open another's. */
static int gt_peers_stage_closed(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_peers_apart apart = {{group->first, 0}, GT_PEERS_CLOSED};
	uint64_t packed = 0;
	int rc = gt_cuda_region_drop(engine, GT_CUDA_DATA, err);

	for (uint32_t p = 0; !packed && p < group->nprocesses; p++) {
		apart.pair.b = gt_process_group_begin(group, p);
		if (!engine->reachable[p])
			packed = gt_peers_pack(&apart);
	}
	if (!rc)
		rc = gt_peers_tell(engine, packed, &apart, err);
	return rc < 0 ? rc : gt_peers_stage(engine, &apart, err);
}

/* Try handles and, where a host's processes are out of reach then, files. */
static int gt_peers_try_all(struct gt_engine *engine, int may,
			    struct gt_err *err)
{
	int rc = gt_peers_alloc(engine, 0, err);

	if (rc || !engine->group.world)
		return rc;
	rc = gt_peers_try(engine, may, err);
	if (!rc && may)
		rc = gt_peers_lack(engine, err);
	if (rc > 0)
		rc = gt_peers_probe_files(engine, err);
	if (rc || engine->all_peers_reachable || !gt_peers_may_stage(engine))
		return rc;
	return gt_peers_stage_closed(engine, err);
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
	struct gt_peers_apart apart;
	int rc = gt_cuda_pinned_open(engine, err), are_apart;

	if (rc)
		return rc;
	engine->reachable = calloc(engine->group.nprocesses, 1);
	engine->same = calloc(engine->group.nprocesses, 1);
	if (!engine->reachable || !engine->same)
		return gt_err_nomem(err);
	engine->all_peers_reachable = 1;
	engine->data_bytes =
		gt_cuda_pages(engine->config.max_bytes + GT_CUDA_TAIL_BYTES);
	are_apart = gt_peers_find_apart(engine, &apart, err);
	if (are_apart < 0)
		return are_apart;
	if (are_apart && gt_peers_may_stage(engine))
		return gt_peers_stage(engine, &apart, err);
	if (are_apart && engine->group.end - engine->group.first > 1)
		return gt_peers_refuse(engine, &apart, err);
	rc = gt_peers_enable_all(engine, err);
	if (!rc)
		rc = gt_peers_try_all(engine, !are_apart, err);
	return rc || !engine->group.world ? rc
					  : gt_peers_count_same(engine, err);
}
