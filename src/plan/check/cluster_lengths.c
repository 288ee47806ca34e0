#include "plan/check/cluster_prices.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum { GT_NODE_LENGTH_BITS = 60, GT_NODE_LENGTH_RANKS = 256 };

/*
 * Lengths in whole multiples of 1 / unit.  What is not there, or longer than
 * 1, has length 1: that is enough for any proof.
 */
struct gt_cluster_lengths {
	const struct gt_cluster_prices *p;
	uint32_t n, nports;
	int64_t unit;
	int64_t *route; /* [from * (n + nports) + to], ranks and then ports */
	int64_t *up;    /* of gt_nodes_uplink(): what crossing one takes */
	int64_t *near;  /* [n * n] in a node, or over one next to it */
	int64_t *cross; /* [n * n] to a node of a class */
	int64_t *far;   /* [n * n] so, and on within the nodes */
	int64_t *out, *in; /* [n * nrails]: to and from the ports of a rail */
};

static int64_t gt_length_add(const struct gt_cluster_lengths *l, int64_t a,
			     int64_t b)
{
	return a + b < l->unit ? a + b : l->unit;
}

static void gt_length_least(int64_t *at, int64_t length)
{
	if (length < *at)
		*at = length;
}

/* Of routes, and of uplinks, each of which stands for all nodes below it. */
static int gt_lengths_rats(const struct gt_cluster_prices *p,
			   struct gt_rat *rats, uint32_t nroutes)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	int ok = 1;

	for (uint32_t i = 0; i < nroutes && ok; i++) {
		rats[i] = GT_RAT(1, 1);
		if (p->routes.table[i])
			ok = gt_check_route_cost(p->plan, p->routes.table[i],
						 p->prices, &rats[i]);
	}
	for (uint32_t i = 0; i < gt_nodes_nuplinks(cluster) && ok; i++) {
		uint32_t level = i / 2 / cluster->nrails;

		ok = gt_rat_mul(p->prices[p->plan->nlinks + i],
				GT_RAT(cluster->levels[level].nodes, 1),
				&rats[nroutes + i]);
	}
	return ok;
}

/* Up from ports of a rail to the switches of a level, or (1) down from them. */
static int64_t gt_lengths_uplinks(const struct gt_cluster_lengths *l,
				  uint32_t level, uint32_t rail, int in)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	int64_t sum = 0;

	for (uint32_t i = 0; i < level; i++)
		sum = gt_length_add(
			l, sum, l->up[gt_nodes_uplink(cluster, i, rail, in)]);
	return sum;
}

/* The shortest of each rail between ranks and the switches of a level. */
static void gt_lengths_rails(struct gt_cluster_lengths *l, uint32_t level)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	uint32_t n = l->n, m = n + l->nports;

	for (uint32_t i = 0; i < n * cluster->nrails; i++)
		l->out[i] = l->in[i] = l->unit;
	for (uint32_t i = 0; i < n * l->nports; i++) {
		uint32_t rank = i / l->nports, port = i % l->nports;
		uint32_t rail = cluster->ports[port].rail;
		uint32_t at = rank * cluster->nrails + rail;

		gt_length_least(
			&l->out[at],
			gt_length_add(l, l->route[rank * m + n + port],
				      gt_lengths_uplinks(l, level, rail, 0)));
		gt_length_least(
			&l->in[at],
			gt_length_add(l, l->route[(n + port) * m + rank],
				      gt_lengths_uplinks(l, level, rail, 1)));
	}
}

/* Over the network by way of a level, in one rail (1) or from any to any. */
static void gt_lengths_meet(struct gt_cluster_lengths *l, uint32_t level,
			    int by_rail)
{
	uint32_t n = l->n, rails = l->p->plan->cluster->nrails;

	gt_lengths_rails(l, level);
	for (uint32_t i = 0; i < n * n; i++) {
		const int64_t *out = &l->out[i / n * rails];
		const int64_t *in = &l->in[i % n * rails];
		int64_t leave = l->unit, enter = l->unit;

		for (uint32_t r = 0; r < rails; r++) {
			gt_length_least(&leave, out[r]);
			gt_length_least(&enter, in[r]);
			if (by_rail)
				gt_length_least(
					&l->cross[i],
					gt_length_add(l, out[r], in[r]));
		}
		if (!by_rail)
			gt_length_least(&l->cross[i],
					gt_length_add(l, leave, enter));
	}
}

/* From rails that are apart at a level, also by one where they are not. */
static void gt_lengths_network(struct gt_cluster_lengths *l, uint32_t level)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	uint32_t joined = level;

	for (uint32_t i = 0; i < l->n * l->n; i++)
		l->cross[i] = l->unit;
	while (joined < cluster->nlevels && cluster->levels[joined].by_rail)
		joined++;
	if (joined > level)
		gt_lengths_meet(l, level, 1);
	if (joined < cluster->nlevels)
		gt_lengths_meet(l, joined, 0);
}

/*
 * All ways between ranks of a node.  Those over other nodes are at least as
 * long as over the node's own switches, whether others hang there or none.
 */
static void gt_lengths_in_node(struct gt_cluster_lengths *l)
{
	uint32_t n = l->n;

	gt_lengths_network(l, 0);
	for (uint32_t i = 0; i < n * n; i++) {
		l->near[i] = l->route[i / n * (n + l->nports) + i % n];
		gt_length_least(&l->near[i], l->cross[i]);
		if (i / n == i % n)
			l->near[i] = 0;
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n * n; i++)
			gt_length_least(&l->near[i],
					gt_length_add(l, l->near[i / n * n + k],
						      l->near[k * n + i % n]));
}

/* One crossing at the level or above it has to be; the rest is near. */
static void gt_lengths_beyond(struct gt_cluster_lengths *l)
{
	uint32_t n = l->n;

	for (int pass = 0; pass < 2; pass++) {
		const int64_t *a = pass ? l->far : l->near;
		const int64_t *b = pass ? l->near : l->cross;
		int64_t *to = pass ? l->cross : l->far;

		for (uint32_t i = 0; i < n * n; i++) {
			to[i] = l->unit;
			for (uint32_t k = 0; k < n; k++)
				gt_length_least(
					&to[i],
					gt_length_add(l, a[i / n * n + k],
						      b[k * n + i % n]));
		}
	}
}

/* Of what one node sends: to itself, and to all nodes of each class. */
static int gt_cluster_lengths_prove(struct gt_cluster_lengths *l)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	__int128 sum = 0;

	gt_lengths_in_node(l);
	for (uint32_t c = 0; c <= cluster->nlevels; c++) {
		uint32_t times = gt_nodes_in_class(cluster, c);
		const int64_t *way = c ? l->cross : l->near;

		if (c && times) {
			gt_lengths_network(l, c - 1);
			gt_lengths_beyond(l);
		}
		for (uint32_t i = 0; i < l->n * l->n && times; i++)
			sum += (__int128)way[i] * times;
	}
	return sum >= l->unit;
}

static int gt_cluster_lengths_init(struct gt_cluster_lengths *l,
				   struct gt_arena *arena)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	size_t nn = (size_t)l->n * l->n, rails = (size_t)l->n * cluster->nrails;

	l->near = gt_arena_array(arena, nn, sizeof(*l->near));
	l->cross = gt_arena_array(arena, nn, sizeof(*l->cross));
	l->far = gt_arena_array(arena, nn, sizeof(*l->far));
	l->out = gt_arena_array(arena, rails, sizeof(*l->out));
	l->in = gt_arena_array(arena, rails, sizeof(*l->in));
	return l->near && l->cross && l->far && l->out && l->in ? GT_OK
								: GT_ESYS;
}

int gt_check_cluster_lengths(const struct gt_cluster_prices *p,
			     struct gt_arena *arena, enum gt_bound_state *state,
			     struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = p->plan->cluster;
	struct gt_cluster_lengths l = {
		.p = p, .n = cluster->nlocal, .nports = cluster->nports};
	uint32_t m = l.n + l.nports, size = m * m + gt_nodes_nuplinks(cluster);
	struct gt_hop_costs costs = {
		.most = 1, .unit_max = (int64_t)1 << GT_NODE_LENGTH_BITS};
	struct gt_rat *rats = gt_arena_array(arena, size, sizeof(*rats));

	costs.cost = gt_arena_array(arena, size, sizeof(*costs.cost));
	if (!rats || !costs.cost || gt_cluster_lengths_init(&l, arena))
		return gt_err_nomem(err);
	*state = GT_BOUND_TOO_MANY;
	if (l.n > GT_NODE_LENGTH_RANKS)
		return GT_OK;
	*state = GT_BOUND_TOO_FINE;
	if (gt_lengths_rats(p, rats, m * m))
		gt_check_scale(rats, size, &costs);
	if (!costs.unit)
		return GT_OK;
	l.unit = costs.unit;
	l.route = costs.cost;
	l.up = costs.cost + m * m;
	*state = GT_BOUND_PROVEN;
	if (gt_cluster_lengths_prove(&l))
		return GT_OK;
	return gt_plan_wrong(p->plan, gt_plan_at("proof.certificate.prices"),
			     err,
			     "prove nothing: the shortest ways from a node's "
			     "ranks together cost less than 1");
}
