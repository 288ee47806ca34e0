/*
 * Lowering of a cluster's flows: an all-to-all in rounds.  The steps are made
 * twice, first only to count them and the connections, then for good.
 */
#include "plan/lower/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/*
 * Tags tell FIFOs apart by who sends, the block's own rank or one on the way,
 * and by who takes, one on the way or the last one.
 */
enum { GT_TAG_RELAYED = 1, GT_TAG_FINAL = 2, GT_NTAGS = 4 };

struct gt_sendrecv {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t n, nlocal, rank, node;
	/* [(class * nlocal + from) * nlocal + to] */
	const struct gt_plan_path **paths;
	struct gt_program *program;
	uint16_t *conns; /* [(tag * 2 + sends) * n + peer]: 1 + number, or 0 */
	size_t nsteps, nconns; /* counted while `count` is set */
	int count, full;
};

/* The rank that a local rank of a node is. */
static uint32_t gt_exchange_rank(const struct gt_sendrecv *x, uint32_t node,
				 uint32_t local)
{
	return node * x->nlocal + local;
}

/*
 * The node that node 0 meets in a round.  Rounds next to each other are for
 * nodes that are as far apart as can be, so that at any time some blocks cross
 * each level.
 */
static uint32_t gt_exchange_node(const struct gt_sendrecv *x, uint32_t round)
{
	const struct gt_plan_cluster *cluster = x->plan->cluster;
	uint32_t node = 0, left = round % cluster->nnodes;

	for (uint32_t l = cluster->nlevels; l--;) {
		uint32_t radix = gt_nodes_radix(cluster, l);

		node += left % radix * (cluster->levels[l].nodes / radix);
		left /= radix;
	}
	return node;
}

/*
 * The rank with which a rank exchanges blocks in a round; the two are each
 * other's peers.
 */
static uint32_t gt_exchange_peer(const struct gt_sendrecv *x, uint32_t round,
				 uint32_t rank)
{
	const struct gt_plan_cluster *cluster = x->plan->cluster;
	uint32_t node = gt_nodes_place(cluster, rank / x->nlocal,
				       gt_exchange_node(x, round));
	uint32_t local = round / cluster->nnodes + x->nlocal - rank % x->nlocal;

	return gt_exchange_rank(x, node, local % x->nlocal);
}

static const struct gt_plan_path *gt_exchange_path(const struct gt_sendrecv *x,
						   uint32_t from, uint32_t to)
{
	uint32_t class_ = gt_nodes_class(x->plan->cluster, from / x->nlocal,
					 to / x->nlocal);

	return x->paths[(class_ * x->nlocal + from % x->nlocal) * x->nlocal +
			to % x->nlocal];
}

/* The connection for the path's k-th hop, which is made at first use. */
static uint16_t gt_exchange_conn(struct gt_sendrecv *x, uint32_t peer,
				 int sends, uint32_t k,
				 const struct gt_plan_path *path)
{
	uint32_t tag = (k ? GT_TAG_RELAYED : 0) +
		       (k + 1 == path->nhops ? GT_TAG_FINAL : 0);
	uint16_t *conn =
		&x->conns[((size_t)tag * 2 + (unsigned)sends) * x->n + peer];
	struct gt_program *program = x->program;

	if (*conn)
		return *conn - 1;
	if (x->nconns == UINT16_MAX) {
		x->full = 1;
		return 0;
	}
	*conn = (uint16_t)++x->nconns;
	if (!x->count)
		program->conns[program->nconns++] =
			(struct gt_conn){.peer = peer,
					 .tag = (uint16_t)tag,
					 .sends = (uint8_t)sends};
	return *conn - 1;
}

static void gt_exchange_add(struct gt_sendrecv *x, enum gt_op op,
			    struct gt_step_conns conns, uint32_t chunk)
{
	if (x->count)
		x->nsteps++;
	else
		gt_step_add(x->program, op, conns, chunk);
}

/*
 * Send the rank's own block of a round.  It is the first thing in the round:
 * nothing has come yet for where this block lies.
 */
static void gt_exchange_send(struct gt_sendrecv *x, uint32_t round)
{
	uint32_t peer = gt_exchange_peer(x, round, x->rank), first;
	const struct gt_plan_path *path;
	const struct gt_plan_hop *hop;
	struct gt_step_conns conns = {0};

	if (peer == x->rank) {
		gt_exchange_add(x, GT_OP_COPY, conns, peer);
		return;
	}
	path = gt_exchange_path(x, x->rank, peer);
	hop = &x->channel->hops[path->hops[0]];
	first = gt_exchange_rank(x, hop->network ? peer / x->nlocal : x->node,
				 hop->to);
	conns.send = gt_exchange_conn(x, first, 1, 0, path);
	gt_exchange_add(x, GT_OP_SEND, conns, peer);
}

/* Pass a block on where its path goes through this rank. */
static void gt_exchange_relay(struct gt_sendrecv *x, uint32_t from, uint32_t to)
{
	const struct gt_plan_path *path = gt_exchange_path(x, from, to);
	const struct gt_plan_hop *hops = x->channel->hops;
	uint32_t node = from / x->nlocal, at = from, next, before = 0;
	struct gt_step_conns conns;

	for (uint32_t k = 0; k < path->nhops; k++) {
		const struct gt_plan_hop *hop = &hops[path->hops[k]];

		if (hop->network)
			node = to / x->nlocal;
		next = gt_exchange_rank(x, node, hop->to);
		if (k && at == x->rank) {
			conns.recv =
				gt_exchange_conn(x, before, 0, k - 1, path);
			conns.send = gt_exchange_conn(x, next, 1, k, path);
			gt_exchange_add(x, GT_OP_RECV_SEND, conns, to);
		}
		before = at;
		at = next;
	}
}

/*
 * Pass on all blocks of a round that may go through this rank: those of this
 * node's ranks, and of the node that they meet.
 */
static void gt_exchange_relays(struct gt_sendrecv *x, uint32_t round)
{
	uint32_t other = gt_exchange_peer(x, round, x->rank) / x->nlocal;
	uint32_t nodes[2] = {x->node, other};

	if (other < x->node) {
		nodes[0] = other;
		nodes[1] = x->node;
	}
	for (uint32_t s = 0; s < (other == x->node ? 1 : 2); s++)
		for (uint32_t g = 0; g < x->nlocal; g++) {
			uint32_t from = gt_exchange_rank(x, nodes[s], g);
			uint32_t to = gt_exchange_peer(x, round, from);

			if (from != to)
				gt_exchange_relay(x, from, to);
		}
}

static void gt_exchange_take(struct gt_sendrecv *x, uint32_t round)
{
	uint32_t peer = gt_exchange_peer(x, round, x->rank), last;
	const struct gt_plan_path *path;
	const struct gt_plan_hop *hop;
	struct gt_step_conns conns = {0};

	if (peer == x->rank)
		return;
	path = gt_exchange_path(x, peer, x->rank);
	hop = &x->channel->hops[path->hops[path->nhops - 1]];
	last = gt_exchange_rank(x, hop->network ? peer / x->nlocal : x->node,
				hop->from);
	conns.recv = gt_exchange_conn(x, last, 0, path->nhops - 1, path);
	gt_exchange_add(x, GT_OP_RECV, conns, peer);
}

/*
 * Each channel begins with another round, so that not all meet the same node at
 * once.
 */
static void gt_sendrecv_steps(struct gt_sendrecv *x)
{
	uint64_t n = x->n;
	uint64_t first = (uint64_t)(x->channel - x->plan->channels) * n /
			 x->plan->nchannels;

	for (uint64_t i = 0; i < n + 2 * GT_EXCHANGE_LAG; i++) {
		uint64_t at = first + i;

		if (i < n)
			gt_exchange_send(x, (uint32_t)(at % n));
		at -= GT_EXCHANGE_LAG;
		if (i >= GT_EXCHANGE_LAG && i < n + GT_EXCHANGE_LAG)
			gt_exchange_relays(x, (uint32_t)(at % n));
		at -= GT_EXCHANGE_LAG;
		if (i >= 2 * GT_EXCHANGE_LAG)
			gt_exchange_take(x, (uint32_t)(at % n));
	}
}

static int gt_exchange_init(struct gt_sendrecv *x, const struct gt_lowering *l)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	uint32_t n = cluster->nlocal;
	size_t pairs = (size_t)(cluster->nlevels + 1) * n * n;

	x->paths = gt_arena_array(l->arena, pairs, sizeof(*x->paths));
	x->conns = calloc((size_t)x->n * GT_NTAGS * 2, sizeof(*x->conns));
	if (!x->paths || !x->conns)
		return GT_ESYS;
	for (uint32_t p = 0; p < x->channel->npaths; p++) {
		const struct gt_plan_path *path = &x->channel->paths[p];
		uint32_t from = x->channel->hops[path->hops[0]].from;
		uint32_t to = x->channel->hops[path->hops[path->nhops - 1]].to;

		x->paths[(path->class_ * n + from) * n + to] = path;
	}
	return GT_OK;
}

static void gt_exchange_forget(struct gt_sendrecv *x)
{
	memset(x->conns, 0, (size_t)x->n * GT_NTAGS * 2 * sizeof(*x->conns));
	x->nconns = 0;
}

int gt_lower_cluster_flow(const struct gt_lowering *l, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = l->plan->cluster;
	struct gt_sendrecv x = {.plan = l->plan,
				.channel = l->channel,
				.n = l->plan->nranks,
				.nlocal = cluster->nlocal,
				.rank = l->want->rank,
				.node = l->want->rank / cluster->nlocal,
				.program = l->program,
				.count = 1};
	int rc = GT_OK;

	if (gt_exchange_init(&x, l))
		rc = gt_err_nomem(err);
	if (!rc) {
		gt_sendrecv_steps(&x);
		rc = gt_lower_alloc(l, x.nsteps, x.nconns, err);
	}
	if (!rc && x.full)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"channel %u: rank %u has more than %d "
				"connections",
				l->channel->id, x.rank, UINT16_MAX);
	if (!rc) {
		x.count = 0;
		gt_exchange_forget(&x);
		gt_sendrecv_steps(&x);
	}
	free(x.conns);
	return rc;
}
