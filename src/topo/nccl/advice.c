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
#include "topo/nccl/limits.h"
#include "topo/nccl/log.h"

_Static_assert(GT_NCCL_MAX_ADVICE >= GT_NCCL_NLIMITS + 7,
	       "each limit and each of what follows is told at most once");

struct gt_nccl_adviser {
	const struct gt_nccl_log *log;
	struct gt_arena *arena;
	struct gt_nccl_advice *list;
	uint32_t n;
	int failed;
};

/* What goes by some means in all communicators that a question is about. */
struct gt_nccl_count {
	uint64_t n;
	const struct gt_nccl_means *first;
	const struct gt_nccl_log_comm *comm; /* of the first */
};

static void gt_nccl_advise_one(struct gt_nccl_adviser *adviser,
			       const char *name, const char *text,
			       const char *remedy)
{
	adviser->failed |= !text || !remedy;
	adviser->list[adviser->n++] =
		(struct gt_nccl_advice){name, text, remedy};
}

/* Says which communicator is meant, where there are several. */
static const char *gt_nccl_of_comm(struct gt_nccl_adviser *adviser,
				   const struct gt_nccl_log_comm *comm)
{
	char *text;

	if (adviser->log->ncomms < 2 || !comm->nranks)
		return "";
	text = gt_arena_printf(
		adviser->arena, " of the communicator of %u rank%s%s%s%s",
		comm->nranks, gt_plural(comm->nranks), comm->name ? " (" : "",
		comm->name ? comm->name : "", comm->name ? ")" : "");
	adviser->failed |= !text;
	return text ? text : "";
}

/* Which communicators a question is about. */
enum gt_nccl_where { ANYWHERE, INSIDE, BETWEEN };

static int gt_nccl_is_there(const struct gt_nccl_log_comm *comm,
			    enum gt_nccl_where where)
{
	return where == ANYWHERE || (where == INSIDE && comm->nnodes == 1) ||
	       (where == BETWEEN && comm->nnodes != 1);
}

/* Adds up connections whose means begin so and, with `has`, have that. */
static struct gt_nccl_count gt_nccl_count(const struct gt_nccl_log *log,
					  enum gt_nccl_where where,
					  const char *start, const char *has)
{
	struct gt_nccl_count count = {0};
	const struct gt_nccl_log_comm *comm;

	for (uint32_t c = 0; c < log->ncomms; c++) {
		comm = log->comms[c];
		if (!gt_nccl_is_there(comm, where))
			continue;
		for (uint32_t i = 0; i < comm->nmeans; i++) {
			if (!gt_starts_with(comm->means[i].name, start) ||
			    (has && !strstr(comm->means[i].name, has)))
				continue;
			count.n += comm->means[i].n;
			if (!count.first) {
				count.first = &comm->means[i];
				count.comm = comm;
			}
		}
	}
	return count;
}

/* What the user set comes first: what follows may be due to it. */
static void gt_nccl_advise_limits(struct gt_nccl_adviser *adviser)
{
	const char *variable, *set;

	for (int i = 0; i < GT_NCCL_NLIMITS; i++) {
		variable = gt_nccl_limits[i].variable;
		set = gt_nccl_limit_set(adviser->log, variable);
		if (!set)
			continue;
		gt_nccl_advise_one(
			adviser, "variable",
			gt_arena_printf(adviser->arena, "%s %s", set,
					gt_nccl_limits[i].what),
			gt_arena_printf(adviser->arena,
					"leave out %s, unless a measurement "
					"speaks for it",
					variable));
	}
}

/* What helps depends on who refuses: the user, the driver or NCCL itself. */
static const char *gt_nccl_shm_remedy(const struct gt_nccl_log *log)
{
	if (gt_nccl_limit_set(log, "NCCL_P2P_DISABLE"))
		return "leave out NCCL_P2P_DISABLE";
	if (gt_nccl_limit_set(log, "NCCL_P2P_LEVEL"))
		return "leave out NCCL_P2P_LEVEL";
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
	const struct gt_nccl_log *log = adviser->log;
	struct gt_nccl_count shm = gt_nccl_count(log, ANYWHERE, "SHM", NULL);
	struct gt_nccl_count p2p = gt_nccl_count(log, ANYWHERE, "P2P", NULL);

	if (!shm.n)
		return;
	gt_nccl_advise_one(
		adviser, "shm",
		gt_arena_printf(adviser->arena,
				"%llu of %llu connections inside machines go "
				"through the host's memory (%s), such as from "
				"rank %u to rank %u%s",
				(unsigned long long)shm.n,
				(unsigned long long)(shm.n + p2p.n),
				shm.first->name, shm.first->from, shm.first->to,
				gt_nccl_of_comm(adviser, shm.comm)),
		gt_nccl_shm_remedy(log));
}

static const char *gt_nccl_socket_remedy(const struct gt_nccl_log *log)
{
	if (gt_nccl_limit_set(log, "NCCL_IB_DISABLE"))
		return "leave out NCCL_IB_DISABLE";
	if (gt_nccl_limit_set(log, "NCCL_NET"))
		return "leave out NCCL_NET";
	if (log->no_verbs)
		return "NCCL did not find libibverbs: install rdma-core, in "
		       "the container, too";
	if (log->no_rdma_device)
		return "NCCL found no RDMA device: a container needs "
		       "/dev/infiniband; ibv_devinfo lists what there is";
	return "gtopo detect shows which RDMA ports there are; NCCL_IB_HCA "
	       "names those to use";
}

static void gt_nccl_advise_socket(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	int is_told = log->network && !strcmp(log->network, "Socket") &&
		      gt_nccl_log_nnodes(log) > 1;

	if (is_told || gt_nccl_count(log, BETWEEN, "NET/Socket", NULL).n)
		gt_nccl_advise_one(adviser, "socket",
				   "what goes between machines goes over TCP "
				   "sockets, not over RDMA",
				   gt_nccl_socket_remedy(log));
}

static const char *gt_nccl_gdr_remedy(const struct gt_nccl_log *log)
{
	if (gt_nccl_limit_set(log, "NCCL_NET_GDR_LEVEL"))
		return "leave out NCCL_NET_GDR_LEVEL";
	if (gt_nccl_limit_set(log, "NCCL_NET_GDR_READ"))
		return "leave out NCCL_NET_GDR_READ";
	return "load nvidia-peermem, or use a kernel and driver with DMA-BUF; "
	       "where GPU and card are farther apart than a PCI switch, "
	       "NCCL_NET_GDR_LEVEL=PHB or SYS";
}

static void gt_nccl_advise_gdr(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	uint64_t all = gt_nccl_count(log, BETWEEN, "NET/", NULL).n -
		       gt_nccl_count(log, BETWEEN, "NET/Socket", NULL).n;
	uint64_t without =
		all - gt_nccl_count(log, BETWEEN, "NET/", "GDRDMA").n;

	if (without)
		gt_nccl_advise_one(
			adviser, "gdr",
			gt_arena_printf(adviser->arena,
					"%llu of %llu connections between "
					"machines are without GPUDirect RDMA: "
					"bytes pass through the host's memory",
					(unsigned long long)without,
					(unsigned long long)all),
			gt_nccl_gdr_remedy(log));
}

static void gt_nccl_advise_net(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	struct gt_nccl_count net = gt_nccl_count(log, INSIDE, "NET/", NULL);

	if (net.n)
		gt_nccl_advise_one(
			adviser, "net",
			gt_arena_printf(
				adviser->arena,
				"%llu connections inside %s machine go over "
				"the network, such as from rank %u to rank "
				"%u%s",
				(unsigned long long)net.n,
				gt_nccl_log_nnodes(log) > 1 ? "one" : "the",
				net.first->from, net.first->to,
				gt_nccl_of_comm(adviser, net.comm)),
			gt_nccl_limit_set(log, "NCCL_SHM_DISABLE")
				? "leave out NCCL_SHM_DISABLE"
				: "NCCL_NET_DISABLE_INTRA=1 keeps them off it");
}

static void gt_nccl_advise_fall_back(struct gt_nccl_adviser *adviser)
{
	const struct gt_nccl_log *log = adviser->log;
	uint32_t c = 0;

	while (c < log->ncomms && !log->comms[c]->fell_back)
		c++;
	if (c < log->ncomms)
		gt_nccl_advise_one(
			adviser, "fallback",
			gt_arena_printf(
				adviser->arena,
				"NCCL found no rings or trees and took the "
				"GPUs%s in their order",
				gt_nccl_of_comm(adviser, log->comms[c])),
			"it misread the machine: gtopo lint on its topology "
			"file, or on what gtopo detect writes");
}

/*
 * Compares rings with those that NCCL would choose.  It doubles what it chose,
 * so that fewer than it chose are few.
 */
static void gt_nccl_advise_rings(struct gt_nccl_adviser *adviser,
				 const struct gt_nccl_set *rings)
{
	const struct gt_nccl_log *log = adviser->log;
	const struct gt_nccl_log_comm *comm = NULL;
	const char *remedy = "compare what NCCL_TOPO_DUMP_FILE had it write "
			     "with the file: gtopo diff";

	for (uint32_t c = 0; rings && !comm && c < log->ncomms; c++)
		if (log->comms[c]->nnodes < 2 && log->comms[c]->nrings &&
		    log->comms[c]->nranks == rings->ngpus &&
		    log->comms[c]->nrings < rings->nchannels)
			comm = log->comms[c];
	if (!comm)
		return;
	if (gt_nccl_limit_set(log, "NCCL_MAX_NCHANNELS"))
		remedy = "leave out NCCL_MAX_NCHANNELS";
	else if (gt_nccl_limit_set(log, "NCCL_MAX_CTAS"))
		remedy = "leave out NCCL_MAX_CTAS";
	gt_nccl_advise_one(
		adviser, "channels",
		gt_arena_printf(adviser->arena,
				"the job has %u ring%s%s; on this machine NCCL "
				"would choose %u or more",
				comm->nrings, gt_plural(comm->nrings),
				gt_nccl_of_comm(adviser, comm),
				rings->nchannels),
		remedy);
}

static int gt_nccl_same_ring(const uint32_t *a, const uint32_t *b, uint32_t n)
{
	uint32_t shift = 0, i = 0;

	while (shift < n && b[shift] != a[0])
		shift++;
	while (shift < n && i < n && a[i] == b[(shift + i) % n])
		i++;
	return i == n;
}

/* Counts rings that go round as none of the chosen; *first is one of them. */
static uint32_t gt_nccl_count_other(const struct gt_nccl_log_comm *comm,
				    const struct gt_nccl_set *rings,
				    const uint32_t **first)
{
	uint32_t n = 0, c;

	for (uint32_t i = comm->nrings; i-- > 0;) {
		for (c = 0; comm->rings[i] && c < rings->nchannels; c++)
			if (gt_nccl_same_ring(comm->rings[i],
					      rings->orders + c * rings->ngpus,
					      rings->ngpus))
				break;
		if (!comm->rings[i] || c < rings->nchannels)
			continue;
		*first = comm->rings[i];
		n++;
	}
	return n;
}

static const char *gt_nccl_order_words(struct gt_nccl_adviser *adviser,
				       const uint32_t *ring, uint32_t n)
{
	const char *words = "";

	for (uint32_t i = 0; words && i < n && i < 16; i++)
		words = gt_arena_printf(adviser->arena, "%s%s%u", words,
					i ? " " : "", ring[i]);
	if (words && n > 16)
		words = gt_arena_printf(adviser->arena, "%s ...", words);
	adviser->failed |= !words;
	return words ? words : "";
}

/* Compares the orders of a job on all GPUs, ranks in order of these. */
static void gt_nccl_advise_orders(struct gt_nccl_adviser *adviser,
				  const struct gt_nccl_set *rings)
{
	const struct gt_nccl_log *log = adviser->log;
	const struct gt_nccl_log_comm *comm = NULL;
	const uint32_t *ring = NULL;
	uint32_t n = 0;

	if (!rings || gt_nccl_limit_set(log, "NCCL_GRAPH_FILE"))
		return;
	for (uint32_t c = 0; !n && c < log->ncomms; c++) {
		comm = log->comms[c];
		if (comm->nnodes < 2 && comm->nranks == rings->ngpus)
			n = gt_nccl_count_other(comm, rings, &ring);
	}
	if (!n)
		return;
	gt_nccl_advise_one(
		adviser, "orders",
		gt_arena_printf(
			adviser->arena,
			"%u of %u rings%s are in another order than NCCL would "
			"choose on this machine, such as %s where it would "
			"choose %s",
			n, comm->nrings, gt_nccl_of_comm(adviser, comm),
			gt_nccl_order_words(adviser, ring, rings->ngpus),
			gt_nccl_order_words(adviser, rings->orders,
					    rings->ngpus)),
		"see whether ranks are on GPUs in order of numbers, as "
		"CUDA_VISIBLE_DEVICES may have it otherwise; else compare what "
		"NCCL_TOPO_DUMP_FILE had it write with the file: gtopo diff");
}

int gt_nccl_advise(const struct gt_nccl_log *log,
		   const struct gt_nccl_set *rings, struct gt_arena *arena,
		   struct gt_nccl_advice list[GT_NCCL_MAX_ADVICE], uint32_t *n,
		   struct gt_err *err)
{
	struct gt_nccl_adviser adviser = {log, arena, list, 0, 0};

	gt_nccl_advise_limits(&adviser);
	gt_nccl_advise_fall_back(&adviser);
	gt_nccl_advise_socket(&adviser);
	gt_nccl_advise_gdr(&adviser);
	gt_nccl_advise_net(&adviser);
	gt_nccl_advise_shm(&adviser);
	gt_nccl_advise_rings(&adviser, rings);
	gt_nccl_advise_orders(&adviser, rings);
	*n = adviser.n;
	return adviser.failed ? gt_err_nomem(err) : GT_OK;
}
