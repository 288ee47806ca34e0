/*
 * A machine as NCCL sees it before it searches: its GPUs in its own
 * order, the one route that it fixed between every two, and what it knows of
 * speeds.
 *
 * It is made from a topology with NCCL's rates (GT_RATES_NCCL), which must
 * outlive it, and is only read.
 */
#ifndef GT_TOPO_NCCL_SYSTEM_H
#define GT_TOPO_NCCL_SYSTEM_H

#include <stdint.h>

#include "topo/graph/path_kind.h"
#include "topo/nccl/spread.h"

struct gt_err;
struct gt_nccl_system;
struct gt_topo;

/* More GPUs in one machine are refused. */
enum { GT_NCCL_MAX_GPUS = 128 };

/* The route between two GPUs. */
struct gt_nccl_path {
	enum gt_path_kind kind; /* GT_PATH_DIS: there is none */
	int64_t kbs;            /* of the narrowest link, in kB/s */
	uint32_t nhops;         /* counts the two within the GPUs, as NCCL */
	uint32_t nlinks;
	const uint32_t *links;
	int overhead; /* Its PCI links pay for Intel's 64-byte packets. */
};

struct gt_nccl_facts {
	const struct gt_nccl_links *links;
	uint32_t ngpus;
	/*
	 * Of its ordered pairs, those that go peer to peer, and those that NCCL
	 * joins by the network since both have a faster port: their kind is
	 * GT_PATH_NET.
	 */
	uint32_t ndirect, nnet;
	/*
	 * Those without peer access, and of these the ones that NVLinks join,
	 * at which NCCL gives up unless it is told not to.
	 */
	uint32_t ndenied, nrefused;
	/*
	 * The first GPU that NCCL takes for another machine's, since every way
	 * from GPU 0 to it leads over the network; or GT_NONE.
	 */
	uint32_t apart;
	uint32_t nports;   /* of the network */
	int sm;            /* the lowest of its GPUs */
	int amd;           /* Its first processor is by AMD. */
	int switches;      /* It has NVSwitches. */
	int split;         /* Its NVLinks make two islands. */
	int64_t max_kbs;   /* the widest route between GPUs */
	int64_t total_kbs; /* what a GPU's links carry together */
	enum gt_path_kind min_kind, max_kind; /* of routes between GPUs */
};

/*
 * Make it as NCCL's environment says: with `net_intra` 0 as with
 * NCCL_NET_DISABLE_INTRA=1, where no GPUs of one machine are joined by the
 * network.  GT_ENO, and why, where NCCL gives up on the machine.
 */
int gt_nccl_system_new(const struct gt_topo *topo, int net_intra,
		       struct gt_nccl_system **system, struct gt_err *err);
void gt_nccl_system_free(struct gt_nccl_system *system); /* NULL is allowed */

const struct gt_nccl_facts *gt_nccl_system_facts(
	const struct gt_nccl_system *system);

/* Returns its i-th GPU as a node of the topology. */
uint32_t gt_nccl_system_gpu(const struct gt_nccl_system *system, uint32_t i);

/* Returns the route between two GPUs; it is never NULL. */
const struct gt_nccl_path *gt_nccl_system_path(
	const struct gt_nccl_system *system, uint32_t from, uint32_t to);

#endif
