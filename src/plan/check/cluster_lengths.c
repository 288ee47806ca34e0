/*
 * A cluster's bound on collectives that only move blocks, by lengths of links:
 * the shortest paths from all ranks of one node to all other ranks are summed
 * up, class by class of nodes.
 */
#include "plan/check/cluster_prices.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

enum { GT_LENGTH_BITS = 60, GT_LENGTH_RANKS = 256 };

/*
 * Lengths are whole multiples of 1 / unit.  A length that is missing or is
 * above 1 counts as 1, which is enough for any proof.
 */
struct gt_cluster_lengths {
	const struct gt_cluster_prices *p;
	uint32_t n, nports;
	int64_t unit;
	int64_t *route;    /* [from * (n + nports) + to]: ranks, then ports */
	int64_t *uplinks;  /* by gt_nodes_uplink(): the length of crossing it */
	int64_t *in_node;  /* [n * n]: between ranks of one node */
	int64_t *network;  /* [n * n]: over the network to a node of a class */
	int64_t *beyond;   /* [n * n]: from inside a node, over the network */
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

/*
 * The lengths as fractions: of the routes, then of uplinks, each of which
 * stands for all nodes below it.
 */
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

/*
 * The length from the ports of a rail up to the switches of a level or, with
 * `in`, from those down to the ports.
 */
static int64_t gt_lengths_uplinks(const struct gt_cluster_lengths *l,
				  uint32_t level, uint32_t rail, int in)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	int64_t sum = 0;

	for (uint32_t i = 0; i < level; i++)
		sum = gt_length_add(
			l, sum,
			l->uplinks[gt_nodes_uplink(cluster, i, rail, in)]);
	return sum;
}

/*
 * For each rank and rail, the shortest way out to the switches of a level, and
 * in from them.
 */
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

/*
 * Shorten l->network by paths that turn at a level: within one rail or, unless
 * by_rail, from any rail to any.
 */
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
					&l->network[i],
					gt_length_add(l, out[r], in[r]));
		}
		if (!by_rail)
			gt_length_least(&l->network[i],
					gt_length_add(l, leave, enter));
	}
}

/*
 * The shortest crossings of the network to nodes that share a switch of this
 * level.  Rails may be apart at the level and joined at a higher one.
 */
static void gt_lengths_network(struct gt_cluster_lengths *l, uint32_t level)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	uint32_t joined = level;

	for (uint32_t i = 0; i < l->n * l->n; i++)
		l->network[i] = l->unit;
	while (joined < cluster->nlevels && cluster->levels[joined].by_rail)
		joined++;
	if (joined > level)
		gt_lengths_meet(l, level, 1);
	if (joined < cluster->nlevels)
		gt_lengths_meet(l, joined, 0);
}

/*
 * The shortest paths between ranks of a node (Floyd 1962).  A path over other
 * nodes is at least as long as one over the node's own switches, whether other
 * nodes hang there or not.
 */
static void gt_lengths_in_node(struct gt_cluster_lengths *l)
{
	uint32_t n = l->n;

	gt_lengths_network(l, 0);
	for (uint32_t i = 0; i < n * n; i++) {
		l->in_node[i] = l->route[i / n * (n + l->nports) + i % n];
		gt_length_least(&l->in_node[i], l->network[i]);
		if (i / n == i % n)
			l->in_node[i] = 0;
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t from = 0; from < n; from++)
			for (uint32_t to = 0; to < n; to++)
				gt_length_least(
					&l->in_node[from * n + to],
					gt_length_add(l,
						      l->in_node[from * n + k],
						      l->in_node[k * n + to]));
}

/*
 * The shortest paths to another node: within the own node, one crossing of the
 * network, within the other node.
 */
static void gt_lengths_beyond(struct gt_cluster_lengths *l)
{
	uint32_t n = l->n;

	for (int pass = 0; pass < 2; pass++) {
		const int64_t *a = pass ? l->beyond : l->in_node;
		const int64_t *b = pass ? l->in_node : l->network;
		int64_t *to = pass ? l->network : l->beyond;

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

/*
 * Do the paths from one node's ranks cost 1 or more together: those to itself
 * and those to all nodes of each class?
 */
static int gt_cluster_lengths_prove(struct gt_cluster_lengths *l)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	__int128 sum = 0;

	gt_lengths_in_node(l);
	for (uint32_t c = 0; c <= cluster->nlevels; c++) {
		uint32_t times = gt_nodes_in_class(cluster, c);
		const int64_t *path = c ? l->network : l->in_node;

		if (c && times) {
			gt_lengths_network(l, c - 1);
			gt_lengths_beyond(l);
		}
		for (uint32_t i = 0; i < l->n * l->n && times; i++)
			sum += (__int128)path[i] * times;
	}
	return sum >= l->unit;
}

static int gt_cluster_lengths_init(struct gt_cluster_lengths *l,
				   struct gt_arena *arena)
{
	const struct gt_plan_cluster *cluster = l->p->plan->cluster;
	size_t nn = (size_t)l->n * l->n, rails = (size_t)l->n * cluster->nrails;

	l->in_node = gt_arena_array(arena, nn, sizeof(*l->in_node));
	l->network = gt_arena_array(arena, nn, sizeof(*l->network));
	l->beyond = gt_arena_array(arena, nn, sizeof(*l->beyond));
	l->out = gt_arena_array(arena, rails, sizeof(*l->out));
	l->in = gt_arena_array(arena, rails, sizeof(*l->in));
	return l->in_node && l->network && l->beyond && l->out && l->in
		       ? GT_OK
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
	struct gt_hop_costs costs = {.most = 1,
				     .unit_max = (int64_t)1 << GT_LENGTH_BITS};
	struct gt_rat *rats = gt_arena_array(arena, size, sizeof(*rats));

	costs.cost = gt_arena_array(arena, size, sizeof(*costs.cost));
	if (!rats || !costs.cost || gt_cluster_lengths_init(&l, arena))
		return gt_err_nomem(err);
	*state = GT_BOUND_TOO_MANY;
	if (l.n > GT_LENGTH_RANKS)
		return GT_OK;
	*state = GT_BOUND_TOO_FINE;
	if (gt_lengths_rats(p, rats, m * m))
		gt_check_scale(rats, size, &costs);
	if (!costs.unit)
		return GT_OK;
	l.unit = costs.unit;
	l.route = costs.cost;
	l.uplinks = costs.cost + m * m;
	*state = GT_BOUND_PROVEN;
	if (gt_cluster_lengths_prove(&l))
		return GT_OK;
	return gt_plan_wrong(p->plan, gt_plan_at("proof.certificate.prices"),
			     err,
			     "prove nothing: the shortest ways from a node's "
			     "ranks together cost less than 1");
}
