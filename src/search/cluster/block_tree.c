/*
 * One tree of a node's blocks: what it loads, and the cheapest tree under
 * prices of rows, which is an arborescence.
 */
#include "search/cluster/block_tree.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

/* ---- loads ------------------------------------------------------------- */

static void load_route(const struct gt_quotient *q,
		       const struct gt_quotient_rows *rows,
		       const struct gt_fabric_route *route, int32_t *loads)
{
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat load = q->fabric->links[link].charged
					     ? route->charge
					     : GT_RAT(1, 1);

		loads[link] += (int32_t)(load.num * (rows->unit / load.den));
	}
}

/*
 * Blocks of all nodes that are not below a switch enter the switch once each.
 */
static void load_uplinks(const struct gt_quotient *q,
			 const struct gt_quotient_rows *rows,
			 const struct gt_network_hop *net, int32_t *loads)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		int rails = cluster->levels[l].by_rail;
		uint32_t out = rails ? cluster->ports[net->out].rail : 0;
		uint32_t in = rails ? cluster->ports[net->in].rail : 0;
		int32_t load =
			(int32_t)(rows->unit *
				  (cluster->nnodes - cluster->levels[l].nodes));

		loads[gt_quotient_uplink_row(q, l, out, 0)] += load;
		loads[gt_quotient_uplink_row(q, l, in, 1)] += load;
	}
}

void gt_block_tree_load(const struct gt_quotient *q,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree)
{
	const struct gt_fabric *f = q->fabric;
	uint32_t n = f->nranks, nports = q->cluster.nports;
	int away = tree->root == n;

	memset(tree->loads, 0, rows->n * sizeof(*tree->loads));
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_network_hop *net = &tree->net[i];

		if (tree->parent[i] >= 0) {
			load_route(
				q, rows,
				&f->routes[(uint32_t)tree->parent[i] * n + i],
				tree->loads);
			continue;
		}
		if (!away)
			continue;
		load_route(q, rows, &q->out[net->from * nports + net->out],
			   tree->loads);
		load_route(q, rows, &q->in[i * nports + net->in], tree->loads);
	}
	if (!away)
		return;
	for (uint32_t r = 0; r < f->nlinks; r++)
		tree->loads[r] *= (int32_t)(q->cluster.nnodes - 1);
	for (uint32_t i = 0; i < n; i++)
		if (tree->parent[i] < 0)
			load_uplinks(q, rows, &tree->net[i], tree->loads);
}

/* ---- pricing ----------------------------------------------------------- */

/*
 * The price of the dearest row, and a cost that no tree has: it is that of what
 * leads nowhere.
 */
#define GT_BLOCK_PRICE_MAX   (INT64_C(1) << 34)
#define GT_BLOCK_UNREACHABLE (INT64_C(1) << 56)

/*
 * Weights are costs times GT_BLOCK_TIE, and a little more to decide between
 * equals: a hop within the node is preferred to one over the network.
 */
enum { GT_BLOCK_TIE = 64, GT_BLOCK_TIE_LOCAL = 1, GT_BLOCK_TIE_REMOTE = 9 };

/*
 * The vertices are n ranks and, where trees are away, the network as number n.
 */
struct gt_block_pricing {
	const struct gt_quotient *quotient;
	const struct gt_quotient_rows *rows;
	int64_t *price;   /* of a row */
	int64_t *weights; /* [(n + 1) * (n + 1)] */
	struct gt_network_hop *net;
	uint32_t *parent, *depth;
};

static int pricing_init(struct gt_block_pricing *p, const double *prices,
			struct gt_arena *arena)
{
	uint32_t n = p->quotient->fabric->nranks + 1;
	double most = 0;

	p->price = gt_arena_array(arena, p->rows->n, sizeof(*p->price));
	p->weights = gt_arena_array(arena, (size_t)n * n, sizeof(*p->weights));
	p->net = gt_arena_array(arena, n, sizeof(*p->net));
	p->parent = gt_arena_array(arena, n, sizeof(*p->parent));
	p->depth = gt_arena_array(arena, n, sizeof(*p->depth));
	if (!p->price || !p->weights || !p->net || !p->parent || !p->depth)
		return GT_ESYS;
	for (uint32_t i = 0; i < p->rows->n; i++)
		if (prices[i] > most)
			most = prices[i];
	for (uint32_t i = 0; i < p->rows->n && most > 0; i++)
		p->price[i] = (int64_t)(prices[i] / most *
					(double)GT_BLOCK_PRICE_MAX);
	return GT_OK;
}

static int64_t route_cost(const struct gt_block_pricing *p,
			  const struct gt_fabric_route *route)
{
	int64_t cost = 0;

	if (!route->nlinks)
		return GT_BLOCK_UNREACHABLE;
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		int64_t load = p->rows->unit;

		if (p->quotient->fabric->links[link].gbs.num <= 0)
			return GT_BLOCK_UNREACHABLE;
		if (p->quotient->fabric->links[link].charged)
			load = route->charge.num *
			       (p->rows->unit / route->charge.den);
		cost += p->price[link] * load;
	}
	return cost;
}

static void set_weight(struct gt_block_pricing *p, uint32_t size, uint32_t from,
		       uint32_t to, int64_t cost)
{
	int tie = from < p->quotient->fabric->nranks ? GT_BLOCK_TIE_LOCAL
						     : GT_BLOCK_TIE_REMOTE;

	p->weights[from * size + to] = cost < GT_BLOCK_UNREACHABLE
					       ? cost * GT_BLOCK_TIE + tie
					       : GT_BLOCK_UNREACHABLE;
}

static void set_local_weights(struct gt_block_pricing *p, uint32_t size)
{
	uint32_t n = p->quotient->fabric->nranks;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			set_weight(
				p, size, i, j,
				i == j ? GT_BLOCK_UNREACHABLE
				       : route_cost(
						 p,
						 &p->quotient->fabric
							  ->routes[i * n + j]));
}

/* The cost of uplinks between two ports, for one of the other nodes. */
static double uplink_cost(const struct gt_block_pricing *p,
			  const struct gt_network_hop *net)
{
	const struct gt_plan_cluster *cluster = &p->quotient->cluster;
	const uint32_t ends[2] = {cluster->ports[net->out].rail,
				  cluster->ports[net->in].rail};
	double cost = 0;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		double nodes = cluster->nnodes - cluster->levels[l].nodes;

		for (uint32_t i = 0; i < 2; i++) {
			uint32_t rail =
				cluster->levels[l].by_rail ? ends[i] : 0;
			uint32_t row = p->quotient->fabric->nlinks + i +
				       2 * (l * cluster->nrails + rail);

			cost += nodes * (double)p->price[row];
		}
	}
	return cost * p->rows->unit / (cluster->nnodes - 1);
}

/*
 * The cost of the cheapest hop over the network to a rank, of equals from the
 * same rank of the other node; the hop goes to p->net.
 */
static int64_t cheapest_arrival(struct gt_block_pricing *p, uint32_t to)
{
	const struct gt_quotient *q = p->quotient;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;
	int64_t best = GT_BLOCK_UNREACHABLE, in, out, cost;

	for (uint32_t b = 0; b < nports; b++) {
		in = route_cost(p, &q->in[to * nports + b]);
		for (uint32_t i = 0; i < n * nports && in < best; i++) {
			struct gt_network_hop net = {(to + i / nports) % n,
						     (b + i) % nports, b};

			if (!gt_quotient_ports_joined(q, net.out, b))
				continue;
			out = route_cost(p,
					 &q->out[net.from * nports + net.out]);
			if (out >= best || in + out >= best)
				continue;
			cost = in + out + (int64_t)uplink_cost(p, &net);
			if (cost >= best)
				continue;
			best = cost;
			p->net[to] = net;
		}
	}
	return best;
}

/*
 * Bring ranks nearer to the root where that costs nothing: a rank hangs on the
 * nearest of those parents that are as cheap.
 */
static void flatten_tree(struct gt_block_pricing *p, uint32_t size,
			 uint32_t root)
{
	for (uint32_t round = 0; round < size; round++) {
		for (uint32_t i = 0; i < size; i++) {
			p->depth[i] = 0;
			for (uint32_t up = i; up != root; up = p->parent[up])
				p->depth[i]++;
		}
		for (uint32_t i = 0; i < size; i++) {
			uint32_t best = p->parent[i];

			if (i == root)
				continue;
			for (uint32_t j = 0; j < size; j++)
				if (p->weights[j * size + i] ==
					    p->weights[p->parent[i] * size +
						       i] &&
				    p->depth[j] < p->depth[best])
					best = j;
			if (best == p->parent[i])
				continue;
			p->parent[i] = best;
			break;
		}
	}
}

int gt_block_tree_cheapest(const struct gt_quotient *q,
			   const struct gt_quotient_rows *rows,
			   const double *prices, struct gt_arena *arena,
			   struct gt_block_tree *tree)
{
	uint32_t n = q->fabric->nranks, away = tree->root == n;
	uint32_t size = n + away;
	struct gt_block_pricing p = {.quotient = q, .rows = rows};

	tree->parent = gt_arena_array(arena, n, sizeof(*tree->parent));
	tree->net = gt_arena_array(arena, n, sizeof(*tree->net));
	tree->loads = gt_arena_array(arena, rows->n, sizeof(*tree->loads));
	if (!tree->parent || !tree->net || !tree->loads ||
	    pricing_init(&p, prices, arena))
		return GT_ESYS;
	set_local_weights(&p, size);
	for (uint32_t i = 0; away && i <= n; i++) {
		p.weights[i * size + n] = GT_BLOCK_UNREACHABLE;
		if (i < n)
			set_weight(&p, size, n, i, cheapest_arrival(&p, i));
	}
	if (size > 1 &&
	    gt_arborescence(size, p.weights, tree->root, p.parent) < 0)
		return GT_ESYS;
	for (uint32_t i = 0; i < size; i++)
		if (i != tree->root &&
		    p.weights[p.parent[i] * size + i] >= GT_BLOCK_UNREACHABLE)
			return GT_ENO;
	flatten_tree(&p, size, tree->root);
	for (uint32_t i = 0; i < n; i++)
		tree->parent[i] = i == tree->root || p.parent[i] == n
					  ? -1
					  : (int32_t)p.parent[i];
	memcpy(tree->net, p.net, n * sizeof(*tree->net));
	gt_block_tree_load(q, rows, tree);
	return GT_OK;
}
