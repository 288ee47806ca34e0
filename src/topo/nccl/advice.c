/*
 * Words advice about logs.
 */
#include "topo/nccl/advice.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "topo/nccl/fill.h"
#include "topo/nccl/log.h"

struct gt_nccl_adviser {
	const struct gt_nccl_log *log;
	struct gt_arena *arena;
	struct gt_nccl_advice *list;
	uint32_t n;
	int failed;
};

static void gt_nccl_advise_one(struct gt_nccl_adviser *adviser,
			       const char *name, const char *text,
			       const char *remedy)
{
	adviser->failed |= !text || !remedy;
	adviser->list[adviser->n++] =
		(struct gt_nccl_advice){name, text, remedy};
}

/* Adds up connections whose means begin so; *first is the first such means. */
static uint64_t gt_nccl_count(const struct gt_nccl_log *log, const char *start,
			      const struct gt_nccl_means **first)
{
	uint64_t n = 0;

	*first = NULL;
	for (uint32_t i = 0; i < log->nmeans; i++)
		if (gt_starts_with(log->means[i].name, start)) {
			n += log->means[i].n;
			*first = *first ? *first : &log->means[i];
		}
	return n;
}

static int gt_nccl_is_set(const struct gt_nccl_log *log, const char *variable)
{
	const char *value = gt_nccl_log_env(log, variable);

	return value && strcmp(value, "0");
}

/* What helps depends on who refuses: the user, the driver or NCCL itself. */
static const char *gt_nccl_shm_remedy(const struct gt_nccl_log *log)
{
	if (gt_nccl_is_set(log, "NCCL_P2P_DISABLE"))
		return "leave out NCCL_P2P_DISABLE";
	if (log->no_peer_access)
		return "the driver refuses peer access, as the log says: gtopo "
		       "health looks for ACS and an IOMMU; the board may not "
		       "have it";
	return "where GPUs are farther apart than PCI switches, "
	       "NCCL_P2P_LEVEL=SYS lets them; gtopo nccl tells of a machine "
	       "which are";
}

static void gt_nccl_advise_shm(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_means *shm, *p2p;
	uint64_t n = gt_nccl_count(adviser->log, "SHM", &shm);
	uint64_t all = n + gt_nccl_count(adviser->log, "P2P", &p2p);

	if (!n)
		return;
	gt_nccl_advise_one(
		adviser, "shm",
		gt_arena_printf(adviser->arena,
				"%llu of %llu connections inside machines go "
				"through the host's memory (%s), such as from "
				"rank %u to rank %u",
				(unsigned long long)n, (unsigned long long)all,
				shm->name, shm->from, shm->to),
		gt_nccl_shm_remedy(adviser->log));
}

static void gt_nccl_advise_socket(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	const struct gt_nccl_means *socket;
	uint64_t n = gt_nccl_count(log, "NET/Socket", &socket);
	const char *remedy = "gtopo detect shows which RDMA ports there are; "
			     "NCCL_IB_HCA names those to use";

	if (!n && (log->nnodes < 2 || !log->network ||
		   strcmp(log->network, "Socket")))
		return;
	if (gt_nccl_is_set(log, "NCCL_IB_DISABLE"))
		remedy = "leave out NCCL_IB_DISABLE";
	else if (log->no_verbs)
		remedy = "NCCL did not find libibverbs: install rdma-core, in "
			 "the container, too";
	else if (log->no_rdma_device)
		remedy = "NCCL found no RDMA device: a container needs "
			 "/dev/infiniband; ibv_devinfo lists what there is";
	gt_nccl_advise_one(adviser, "socket",
			   "what goes between machines goes over TCP sockets, "
			   "not over RDMA",
			   remedy);
}

static void gt_nccl_advise_gdr(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	uint64_t with = 0, without = 0;

	for (uint32_t i = 0; i < log->nmeans; i++) {
		if (!gt_starts_with(log->means[i].name, "NET/") ||
		    gt_starts_with(log->means[i].name, "NET/Socket"))
			continue;
		if (strstr(log->means[i].name, "GDRDMA"))
			with += log->means[i].n;
		else
			without += log->means[i].n;
	}
	if (without)
		gt_nccl_advise_one(
			adviser, "gdr",
			gt_arena_printf(adviser->arena,
					"%llu of %llu connections between "
					"machines are without GPUDirect RDMA: "
					"bytes pass through the host's memory",
					(unsigned long long)without,
					(unsigned long long)(with + without)),
			"load nvidia-peermem, or use a kernel and driver with "
			"DMA-BUF; where GPU and card are farther apart than a "
			"PCI switch, NCCL_NET_GDR_LEVEL=PHB or SYS");
}

static void gt_nccl_advise_net(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_means *net;
	uint64_t n = gt_nccl_count(adviser->log, "NET/", &net);

	if (adviser->log->nnodes == 1 && n)
		gt_nccl_advise_one(
			adviser, "net",
			gt_arena_printf(adviser->arena,
					"%llu connections inside the machine "
					"go over the network, such as from "
					"rank %u to rank %u",
					(unsigned long long)n, net->from,
					net->to),
			"NCCL_NET_DISABLE_INTRA=1 keeps them off it");
}

static void gt_nccl_advise_fall_back(struct gt_nccl_adviser *adviser)
{
	if (adviser->log->fell_back)
		gt_nccl_advise_one(adviser, "fallback",
				   "NCCL found no rings or trees and took the "
				   "GPUs in their order",
				   "it misread the machine: gtopo lint on its "
				   "topology file, or on what gtopo detect "
				   "writes");
}

/*
 * Compares rings with those that NCCL would choose.  It doubles what it chose,
 * so that fewer than it chose are few.
 */
static void gt_nccl_advise_rings(struct gt_nccl_adviser *adviser,
				 const struct gt_nccl_set *rings)
{
	const struct gt_nccl_log *log = adviser->log;

	if (!rings || log->nnodes > 1 || log->nring_ranks != rings->ngpus ||
	    !log->nrings || log->nrings >= rings->nchannels)
		return;
	gt_nccl_advise_one(
		adviser, "channels",
		gt_arena_printf(adviser->arena,
				"the job has %u ring%s; on this machine NCCL "
				"would choose %u or more",
				log->nrings, gt_plural(log->nrings),
				rings->nchannels),
		gt_nccl_log_env(log, "NCCL_MAX_NCHANNELS")
			? "leave out NCCL_MAX_NCHANNELS"
			: "compare what NCCL_TOPO_DUMP_FILE had it write with "
			  "the file: gtopo diff");
}

int gt_nccl_advise(const struct gt_nccl_log *log,
		   const struct gt_nccl_set *rings, struct gt_arena *arena,
		   struct gt_nccl_advice list[GT_NCCL_MAX_ADVICE], uint32_t *n,
		   struct gt_err *err)
{
	struct gt_nccl_adviser adviser = {log, arena, list, 0, 0};

	gt_nccl_advise_fall_back(&adviser);
	gt_nccl_advise_socket(&adviser);
	gt_nccl_advise_gdr(&adviser);
	gt_nccl_advise_net(&adviser);
	gt_nccl_advise_shm(&adviser);
	gt_nccl_advise_rings(&adviser, rings);
	*n = adviser.n;
	return adviser.failed ? gt_err_nomem(err) : GT_OK;
}
