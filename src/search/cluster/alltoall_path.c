#include "search/cluster/alltoall.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/graph/shortest_path.h"

/*
 * The class that a way has which leaves a node and comes back: by switches that
 * its ports have in common, whether other nodes hang there or none.
 */
enum { GT_HIER_NEAREST = 1 };

/* ---- what a way loads -------------------------------------------------- */

static int32_t gt_hier_units(const struct gt_alltoall *flow, uint32_t link,
			     struct gt_rat charge)
{
	if (!flow->hier->box->links[link].charged)
		return (int32_t)flow->rows.unit;
	return (int32_t)(charge.num * (flow->rows.unit / charge.den));
}

static uint32_t gt_hier_uplink_row(const struct gt_alltoall *flow,
				   uint32_t level, uint32_t port, int in)
{
	const struct gt_plan_cluster *cluster = &flow->hier->cluster;

	return flow->hier->box->nlinks +
	       gt_nodes_uplink(cluster, level, cluster->ports[port].rail, in);
}

static void gt_hier_way_route(const struct gt_alltoall *flow,
			      struct gt_alltoall_path *way,
			      const struct gt_fabric_route *route,
			      struct gt_rat charge)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		way->parts[way->nparts++] = (struct gt_alltoall_load){
			route->links[k],
			gt_hier_units(flow, route->links[k], charge)};
}

/* The hop from the k-th rank: its routes, the second behind the network. */
static uint32_t gt_hier_way_hop(const struct gt_alltoall *flow,
				const struct gt_alltoall_path *way, uint32_t k,
				const struct gt_fabric_route *routes[2])
{
	const struct gt_quotient *hier = flow->hier;
	uint32_t n = hier->box->nranks, nports = hier->cluster.nports;

	routes[0] = &hier->box->routes[way->ranks[k] * n + way->ranks[k + 1]];
	if (!way->class_ || k + 1 != way->nout)
		return 1;
	routes[0] = &hier->out[way->ranks[k] * nports + way->out];
	routes[1] = &hier->in[way->ranks[k + 1] * nports + way->in];
	return 2;
}

const struct gt_alltoall_path *gt_alltoall_path_new(
	const struct gt_alltoall *flow, const struct gt_alltoall_path *like)
{
	struct gt_alltoall_path *way =
		gt_arena_alloc(flow->arena, sizeof(*way));
	const struct gt_fabric_route *routes[2];
	uint32_t nparts = 2 * like->class_;

	if (!way)
		return NULL;
	*way = *like;
	way->nparts = 0;
	way->ranks =
		gt_arena_array(flow->arena, like->nranks, sizeof(*way->ranks));
	if (!way->ranks)
		return NULL;
	memcpy(way->ranks, like->ranks, like->nranks * sizeof(*way->ranks));
	for (uint32_t k = 0; k + 1 < way->nranks; k++)
		for (uint32_t r = gt_hier_way_hop(flow, way, k, routes); r--;)
			nparts += routes[r]->nlinks;
	way->parts = gt_arena_array(flow->arena, nparts, sizeof(*way->parts));
	if (!way->parts)
		return NULL;
	for (uint32_t k = 0; k + 1 < way->nranks; k++)
		for (uint32_t r = gt_hier_way_hop(flow, way, k, routes); r--;)
			gt_hier_way_route(flow, way, routes[r],
					  r ? GT_RAT(1, 1) : routes[0]->charge);
	for (uint32_t l = 0; l + 1 < way->class_; l++)
		for (int in = 0; in < 2; in++)
			way->parts[way->nparts++] = (struct gt_alltoall_load){
				gt_hier_uplink_row(flow, l,
						   in ? way->in : way->out, in),
				(int32_t)flow->rows.unit};
	return way;
}

/* ---- lengths ----------------------------------------------------------- */

int gt_alltoall_lengths_init(struct gt_alltoall_lengths *l,
			     const struct gt_alltoall *flow)
{
	uint32_t n = flow->hier->box->nranks;
	size_t nn = (size_t)n * n, np = (size_t)n * flow->hier->cluster.nports;
	struct gt_arena *a = flow->arena;

	*l = (struct gt_alltoall_lengths){.flow = flow};
	l->price = gt_arena_array(a, flow->rows.n, sizeof(*l->price));
	l->local = gt_arena_array(a, nn, sizeof(*l->local));
	l->out = gt_arena_array(a, np, sizeof(*l->out));
	l->in = gt_arena_array(a, np, sizeof(*l->in));
	l->cross = gt_arena_array(a, nn * flow->nclasses, sizeof(*l->cross));
	for (int i = 0; i < 2; i++) {
		l->by[i] = gt_arena_array(a, nn * flow->nclasses,
					  sizeof(*l->by[i]));
		if (!l->by[i])
			return GT_ESYS;
	}
	l->weights = gt_arena_array(a, 4 * nn, sizeof(*l->weights));
	l->far = gt_arena_array(a, 2 * nn, sizeof(*l->far));
	l->parent = gt_arena_array(a, 2 * (size_t)n, sizeof(*l->parent));
	return l->price && l->local && l->out && l->in && l->cross &&
			       l->weights && l->far && l->parent
		       ? GT_OK
		       : GT_ESYS;
}

static int64_t gt_hier_length(const struct gt_alltoall_lengths *l,
			      const struct gt_fabric_route *route,
			      struct gt_rat charge)
{
	int64_t sum = 0;

	if (!route->nlinks)
		return GT_ALLTOALL_UNREACHABLE;
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (l->flow->hier->box->links[link].gbs.num <= 0)
			return GT_ALLTOALL_UNREACHABLE;
		sum += l->price[link] * gt_hier_units(l->flow, link, charge);
	}
	return sum;
}

static int64_t gt_hier_climb(const struct gt_alltoall_lengths *l,
			     uint32_t class_, uint32_t port, int in)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i + 1 < class_; i++)
		sum += l->price[gt_hier_uplink_row(l->flow, i, port, in)];
	return sum * l->flow->rows.unit;
}

int64_t gt_alltoall_lengths_uplinks(const struct gt_alltoall_lengths *l,
				    uint32_t class_, uint32_t out, uint32_t in)
{
	return gt_hier_climb(l, class_, out, 0) +
	       gt_hier_climb(l, class_, in, 1);
}

/* The class that two ports are apart by, if it is more; 0: no way at all. */
static uint32_t gt_hier_apart(const struct gt_alltoall_lengths *l,
			      uint32_t class_, uint32_t out, uint32_t in)
{
	const struct gt_plan_cluster *cluster = &l->flow->hier->cluster;

	if (gt_quotient_ports_joined(l->flow->hier, out, in))
		return class_;
	while (class_ <= cluster->nlevels &&
	       cluster->levels[class_ - 1].by_rail)
		class_++;
	return l->all && class_ <= cluster->nlevels ? class_ : 0;
}

/* By the best pair of ports; of equals those at the ranks' own places. */
static void gt_hier_cross(struct gt_alltoall_lengths *l, uint32_t class_,
			  uint32_t from, uint32_t to)
{
	const struct gt_quotient *hier = l->flow->hier;
	uint32_t nports = hier->cluster.nports, n = hier->box->nranks;
	size_t at = ((size_t)class_ * n + from) * n + to;

	l->cross[at] = GT_ALLTOALL_UNREACHABLE;
	if (hier->cluster.nnodes == 1)
		nports = 0;
	for (uint32_t i = 0; i < nports; i++)
		for (uint32_t j = 0; j < nports; j++) {
			uint32_t p = (i + from) % nports, q = (j + to) % nports;
			int64_t length = l->out[from * nports + p] +
					 l->in[to * nports + q];
			uint32_t apart;

			if (length >= l->cross[at])
				continue;
			apart = gt_hier_apart(l, class_, p, q);
			length += gt_alltoall_lengths_uplinks(l, apart, p, q);
			if (!apart)
				continue;
			if (length >= l->cross[at])
				continue;
			l->cross[at] = length;
			l->by[0][at] = p;
			l->by[1][at] = q;
		}
}

void gt_alltoall_lengths_set(struct gt_alltoall_lengths *l)
{
	const struct gt_quotient *hier = l->flow->hier;
	uint32_t n = hier->box->nranks, nports = hier->cluster.nports;

	for (uint32_t i = 0; i < n * n; i++)
		l->local[i] =
			i / n == i % n
				? 0
				: gt_hier_length(l, &hier->box->routes[i],
						 hier->box->routes[i].charge);
	for (uint32_t i = 0; i < n * nports; i++) {
		l->out[i] =
			gt_hier_length(l, &hier->out[i], hier->out[i].charge);
		l->in[i] = gt_hier_length(l, &hier->in[i], GT_RAT(1, 1));
	}
	for (uint32_t c = 1; c < l->flow->nclasses; c++)
		for (uint32_t i = 0; i < n * n; i++)
			gt_hier_cross(l, c, i / n, i % n);
}

/* ---- shortest ways ----------------------------------------------------- */

/* A node's ranks, and where it leads to another node that one's behind them. */
static uint32_t gt_hier_weigh(struct gt_alltoall_lengths *l, uint32_t class_)
{
	uint32_t n = l->flow->hier->box->nranks, size = class_ ? 2 * n : n;

	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j < size; j++) {
			int64_t *to = &l->weights[i * size + j];

			if (i / n == j / n)
				*to = l->local[i % n * n + j % n];
			else if (i < n)
				*to = l->cross[((size_t)class_ * n + i) * n +
					       j - n];
			else
				*to = GT_ALLTOALL_UNREACHABLE;
		}
	return size;
}

/* Ranks of the way back from place `to`, turned round. */
static const struct gt_alltoall_path *gt_hier_trace(
	const struct gt_alltoall_lengths *l, uint32_t class_, uint32_t from,
	uint32_t to)
{
	uint32_t n = l->flow->hier->box->nranks, ranks[GT_SHORTEST_MAX];
	struct gt_alltoall_path way = {.class_ = class_};
	size_t at = (size_t)class_ * n;

	for (uint32_t up = to;; up = l->parent[up]) {
		ranks[GT_SHORTEST_MAX - ++way.nranks] = up % n;
		way.nout += up < n;
		if (up == from)
			break;
	}
	way.ranks = ranks + GT_SHORTEST_MAX - way.nranks;
	if (class_) {
		at = (at + way.ranks[way.nout - 1]) * n + way.ranks[way.nout];
		way.out = l->by[0][at];
		way.in = l->by[1][at];
	}
	return gt_alltoall_path_new(l->flow, &way);
}

int gt_alltoall_lengths_paths(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from,
			      const struct gt_alltoall_path **ways)
{
	uint32_t n = l->flow->hier->box->nranks;
	uint32_t size = gt_hier_weigh(l, class_);

	gt_shortest_paths(size, l->weights, from, l->far, l->parent);
	for (uint32_t to = 0; to < n; to++) {
		uint32_t place = class_ ? n + to : to;

		ways[to] = NULL;
		if (!class_ && to == from)
			continue;
		if (l->far[place] >= GT_ALLTOALL_UNREACHABLE)
			return GT_ENO;
		ways[to] = gt_hier_trace(l, class_, from, place);
		if (!ways[to])
			return GT_ESYS;
	}
	return GT_OK;
}

/* ---- all ways ---------------------------------------------------------- */

static int64_t gt_hier_sum(int64_t a, int64_t b)
{
	return a + b < GT_ALLTOALL_UNREACHABLE ? a + b
					       : GT_ALLTOALL_UNREACHABLE;
}

/* Through any rank: to[i, j] = least of a[i, k] + b[k, j]. */
static void gt_hier_join(uint32_t n, const int64_t *a, const int64_t *b,
			 int64_t *to)
{
	for (uint32_t i = 0; i < n * n; i++) {
		to[i] = GT_ALLTOALL_UNREACHABLE;
		for (uint32_t k = 0; k < n; k++) {
			int64_t over =
				gt_hier_sum(a[i / n * n + k], b[k * n + i % n]);

			if (over < to[i])
				to[i] = over;
		}
	}
}

/* Between ranks of a node, also by its own switches or over the next node. */
static void gt_hier_near(struct gt_alltoall_lengths *l, int64_t *near)
{
	uint32_t nn = l->flow->hier->box->nranks, n = nn;

	nn *= nn;
	memcpy(near, l->local, nn * sizeof(*near));
	for (uint32_t i = 0; i < nn; i++)
		if (l->cross[GT_HIER_NEAREST * nn + i] < near[i])
			near[i] = l->cross[GT_HIER_NEAREST * nn + i];
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < nn; i++) {
			int64_t over = gt_hier_sum(near[i / n * n + k],
						   near[k * n + i % n]);

			if (over < near[i])
				near[i] = over;
		}
}

/* Hop by hop back from a place: loads of one like it, as often as `times`. */
static int gt_hier_trace_loads(const struct gt_alltoall_lengths *l,
			       uint32_t class_, uint32_t from, uint32_t to,
			       int32_t *loads)
{
	uint32_t n = l->flow->hier->box->nranks;
	int32_t times = (int32_t)l->flow->nodes[class_], units;

	for (uint32_t up = to; up != from; up = l->parent[up]) {
		uint32_t ranks[2] = {l->parent[up] % n, up % n};
		uint32_t at = ranks[0] * n + ranks[1], c = class_;
		struct gt_alltoall_path hop = {
			.nranks = 2, .nout = 1, .ranks = ranks};
		const struct gt_alltoall_path *way;

		if (l->parent[up] / n == up / n)
			c = l->cross[GT_HIER_NEAREST * n * n + at] <
					    l->local[at]
				    ? GT_HIER_NEAREST
				    : 0;
		hop.nout = c ? 1 : 2;
		hop.out = l->by[0][(size_t)c * n * n + at];
		hop.in = l->by[1][(size_t)c * n * n + at];
		if (c)
			hop.class_ = gt_hier_apart(l, c, hop.out, hop.in);
		way = gt_alltoall_path_new(l->flow, &hop);
		if (!way)
			return GT_ESYS;
		for (uint32_t k = 0; k < way->nparts; k++) {
			int32_t *load = &loads[way->parts[k].row];

			if (__builtin_mul_overflow(way->parts[k].units, times,
						   &units) ||
			    __builtin_add_overflow(*load, units, load))
				return GT_EINPUT;
		}
	}
	return GT_OK;
}

int gt_alltoall_lengths_loads(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from, int32_t *loads)
{
	uint32_t n = l->flow->hier->box->nranks;
	uint32_t size = gt_hier_weigh(l, class_);
	int rc = GT_OK;

	for (uint32_t i = 0; i < size * size; i++) {
		uint32_t a = i / size, b = i % size;
		int64_t over =
			l->cross[(GT_HIER_NEAREST * n + a % n) * n + b % n];

		if (a / n == b / n && over < l->weights[i])
			l->weights[i] = over;
	}
	gt_shortest_paths(size, l->weights, from, l->far, l->parent);
	for (uint32_t to = 0; to < n && !rc; to++) {
		uint32_t place = class_ ? n + to : to;

		if (!class_ && to == from)
			continue;
		if (l->far[place] >= GT_ALLTOALL_UNREACHABLE)
			return GT_ENO;
		rc = gt_hier_trace_loads(l, class_, from, place, loads);
	}
	return rc;
}

/*
 * Over another node is at least as long as over one below the same switch, and
 * to a node of a class a crossing at its level, or higher, has to be.
 */
int64_t gt_alltoall_lengths_total(struct gt_alltoall_lengths *l)
{
	uint32_t nn = l->flow->hier->box->nranks, n = nn;
	int64_t *near = l->weights, *half, *way;
	__int128 sum = 0;

	nn *= nn;
	half = near + nn;
	way = half + nn;
	gt_hier_near(l, near);
	for (uint32_t i = 0; i < nn; i++)
		sum += near[i];
	for (uint32_t c = 1; c < l->flow->nclasses; c++) {
		if (!l->flow->nodes[c])
			continue;
		gt_hier_join(n, near, l->cross + (size_t)c * nn, half);
		gt_hier_join(n, half, near, way);
		for (uint32_t i = 0; i < nn; i++)
			sum += (__int128)way[i] * l->flow->nodes[c];
	}
	return sum > 0 && sum <= INT64_MAX / 64 ? (int64_t)sum : -1;
}
