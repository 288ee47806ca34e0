/*
 * Lengths of an all-to-all's paths under prices of rows, and the shortest
 * paths: those that cross the network once, which a plan can have, and those
 * over any nodes, which a bound has to count.
 */
#include "search/cluster/alltoall_lengths.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/quotient.h"
#include "search/flow/assignment.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

/*
 * A path that leaves a node and comes back counts as one of this class: it uses
 * the switches that its ports have in common, whether other nodes hang there or
 * none.
 */
enum { GT_ALLTOALL_NEAREST = 1 };

/* ---- lengths of hops --------------------------------------------------- */

int gt_alltoall_lengths_init(struct gt_alltoall_lengths *l,
			     const struct gt_alltoall *a2a)
{
	uint32_t n = a2a->quotient->fabric->nranks;
	size_t nn = (size_t)n * n,
	       np = (size_t)n * a2a->quotient->cluster.nports;
	struct gt_arena *a = a2a->arena;

	*l = (struct gt_alltoall_lengths){.a2a = a2a};
	l->price = gt_arena_array(a, a2a->rows.n, sizeof(*l->price));
	l->local = gt_arena_array(a, nn, sizeof(*l->local));
	l->out = gt_arena_array(a, np, sizeof(*l->out));
	l->in = gt_arena_array(a, np, sizeof(*l->in));
	l->crossing =
		gt_arena_array(a, nn * a2a->nclasses, sizeof(*l->crossing));
	for (int i = 0; i < 2; i++) {
		l->crossing_ports[i] = gt_arena_array(
			a, nn * a2a->nclasses, sizeof(*l->crossing_ports[i]));
		if (!l->crossing_ports[i])
			return GT_ESYS;
	}
	l->weights = gt_arena_array(a, 4 * nn, sizeof(*l->weights));
	l->distance = gt_arena_array(a, 2 * nn, sizeof(*l->distance));
	l->parent = gt_arena_array(a, 2 * (size_t)n, sizeof(*l->parent));
	return l->price && l->local && l->out && l->in && l->crossing &&
			       l->weights && l->distance && l->parent
		       ? GT_OK
		       : GT_ESYS;
}

static int64_t route_length(const struct gt_alltoall_lengths *l,
			    const struct gt_fabric_route *route,
			    struct gt_rat charge)
{
	int64_t sum = 0;

	if (!route->nlinks)
		return GT_ALLTOALL_UNREACHABLE;
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		if (l->a2a->quotient->fabric->links[link].gbs.num <= 0)
			return GT_ALLTOALL_UNREACHABLE;
		sum += l->price[link] *
		       gt_alltoall_link_units(l->a2a, link, charge);
	}
	return sum;
}

static int64_t uplinks_length(const struct gt_alltoall_lengths *l,
			      uint32_t class_, uint32_t port, int in)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i + 1 < class_; i++)
		sum += l->price[gt_alltoall_uplink_row(l->a2a, i, port, in)];
	return sum * l->a2a->rows.unit;
}

int64_t gt_alltoall_lengths_uplinks(const struct gt_alltoall_lengths *l,
				    uint32_t class_, uint32_t out, uint32_t in)
{
	return uplinks_length(l, class_, out, 0) +
	       uplinks_length(l, class_, in, 1);
}

/*
 * The class whose switches join two ports of nodes that are class_ apart: a
 * higher one where rails meet higher up.  0 when nothing joins them.
 */
static uint32_t meeting_class(const struct gt_alltoall_lengths *l,
			      uint32_t class_, uint32_t out, uint32_t in)
{
	const struct gt_plan_cluster *cluster = &l->a2a->quotient->cluster;

	if (gt_quotient_ports_joined(l->a2a->quotient, out, in))
		return class_;
	while (class_ <= cluster->nlevels &&
	       cluster->levels[class_ - 1].by_rail)
		class_++;
	return l->relaxed && class_ <= cluster->nlevels ? class_ : 0;
}

/*
 * The shortest hop by any two ports, of equals by those of the ranks' own
 * numbers.
 */
static void set_crossing(struct gt_alltoall_lengths *l, uint32_t class_,
			 uint32_t from, uint32_t to)
{
	const struct gt_quotient *q = l->a2a->quotient;
	uint32_t nports = q->cluster.nports, n = q->fabric->nranks;
	size_t at = ((size_t)class_ * n + from) * n + to;

	l->crossing[at] = GT_ALLTOALL_UNREACHABLE;
	if (q->cluster.nnodes == 1)
		nports = 0;
	for (uint32_t i = 0; i < nports; i++)
		for (uint32_t j = 0; j < nports; j++) {
			uint32_t out = (i + from) % nports,
				 in = (j + to) % nports;
			int64_t length = l->out[from * nports + out] +
					 l->in[to * nports + in];
			uint32_t apart;

			if (length >= l->crossing[at])
				continue;
			apart = meeting_class(l, class_, out, in);
			length +=
				gt_alltoall_lengths_uplinks(l, apart, out, in);
			if (!apart)
				continue;
			if (length >= l->crossing[at])
				continue;
			l->crossing[at] = length;
			l->crossing_ports[0][at] = out;
			l->crossing_ports[1][at] = in;
		}
}

void gt_alltoall_lengths_set(struct gt_alltoall_lengths *l)
{
	const struct gt_quotient *q = l->a2a->quotient;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;

	for (uint32_t i = 0; i < n * n; i++)
		l->local[i] =
			i / n == i % n
				? 0
				: route_length(l, &q->fabric->routes[i],
					       q->fabric->routes[i].charge);
	for (uint32_t i = 0; i < n * nports; i++) {
		l->out[i] = route_length(l, &q->out[i], q->out[i].charge);
		l->in[i] = route_length(l, &q->in[i], GT_RAT(1, 1));
	}
	for (uint32_t c = 1; c < l->a2a->nclasses; c++)
		for (uint32_t i = 0; i < n * n; i++)
			set_crossing(l, c, i / n, i % n);
}

/* ---- paths that cross the network once ---------------------------------- */

/*
 * Weights of hops between a node's ranks and, of a class above 0, the ranks of
 * another node, whose numbers follow.  The result is how many there are.
 */
static uint32_t set_weights(struct gt_alltoall_lengths *l, uint32_t class_)
{
	uint32_t n = l->a2a->quotient->fabric->nranks,
		 size = class_ ? 2 * n : n;

	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j < size; j++) {
			int64_t *to = &l->weights[i * size + j];

			if (i / n == j / n)
				*to = l->local[i % n * n + j % n];
			else if (i < n)
				*to = l->crossing[((size_t)class_ * n + i) * n +
						  j - n];
			else
				*to = GT_ALLTOALL_UNREACHABLE;
		}
	return size;
}

/* The path to vertex `to`, which is found from its end backwards. */
static const struct gt_alltoall_path *trace_path(
	const struct gt_alltoall_lengths *l, uint32_t class_, uint32_t from,
	uint32_t to)
{
	uint32_t n = l->a2a->quotient->fabric->nranks, ranks[GT_SHORTEST_MAX];
	struct gt_alltoall_path path = {.class_ = class_};
	size_t at = (size_t)class_ * n;

	for (uint32_t up = to;; up = l->parent[up]) {
		ranks[GT_SHORTEST_MAX - ++path.nranks] = up % n;
		path.nout += up < n;
		if (up == from)
			break;
	}
	path.ranks = ranks + GT_SHORTEST_MAX - path.nranks;
	if (class_) {
		at = (at + path.ranks[path.nout - 1]) * n +
		     path.ranks[path.nout];
		path.out = l->crossing_ports[0][at];
		path.in = l->crossing_ports[1][at];
	}
	return gt_alltoall_path_new(l->a2a, &path);
}

int gt_alltoall_lengths_paths(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from,
			      const struct gt_alltoall_path **paths)
{
	uint32_t n = l->a2a->quotient->fabric->nranks;
	uint32_t size = set_weights(l, class_);

	gt_shortest_paths(size, l->weights, from, l->distance, l->parent);
	for (uint32_t to = 0; to < n; to++) {
		uint32_t place = class_ ? n + to : to;

		paths[to] = NULL;
		if (!class_ && to == from)
			continue;
		if (l->distance[place] >= GT_ALLTOALL_UNREACHABLE)
			return GT_ENO;
		paths[to] = trace_path(l, class_, from, place);
		if (!paths[to])
			return GT_ESYS;
	}
	return GT_OK;
}

/* ---- paths over any nodes ----------------------------------------------- */

static int64_t add_lengths(int64_t a, int64_t b)
{
	return a + b < GT_ALLTOALL_UNREACHABLE ? a + b
					       : GT_ALLTOALL_UNREACHABLE;
}

/*
 * Lengths through any rank in between: to[i, j] = least of a[i, k] + b[k, j].
 */
static void join_lengths(uint32_t n, const int64_t *a, const int64_t *b,
			 int64_t *to)
{
	for (uint32_t i = 0; i < n * n; i++) {
		to[i] = GT_ALLTOALL_UNREACHABLE;
		for (uint32_t k = 0; k < n; k++) {
			int64_t over =
				add_lengths(a[i / n * n + k], b[k * n + i % n]);

			if (over < to[i])
				to[i] = over;
		}
	}
}

/*
 * Lengths between a node's ranks, through any others, and also out of the node
 * and back.
 */
static void close_local(struct gt_alltoall_lengths *l, int64_t *near)
{
	uint32_t nn = l->a2a->quotient->fabric->nranks, n = nn;

	nn *= nn;
	memcpy(near, l->local, nn * sizeof(*near));
	for (uint32_t i = 0; i < nn; i++)
		if (l->crossing[GT_ALLTOALL_NEAREST * nn + i] < near[i])
			near[i] = l->crossing[GT_ALLTOALL_NEAREST * nn + i];
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < nn; i++) {
			int64_t over = add_lengths(near[i / n * n + k],
						   near[k * n + i % n]);

			if (over < near[i])
				near[i] = over;
		}
}

/*
 * Add the loads of the path to vertex `to`, hop by hop from its end, for all
 * nodes of the class.  GT_EINPUT when these do not fit.
 */
static int trace_loads(const struct gt_alltoall_lengths *l, uint32_t class_,
		       uint32_t from, uint32_t to, int32_t *loads)
{
	uint32_t n = l->a2a->quotient->fabric->nranks;
	int32_t times = (int32_t)l->a2a->nodes[class_], units;

	for (uint32_t up = to; up != from; up = l->parent[up]) {
		uint32_t ranks[2] = {l->parent[up] % n, up % n};
		uint32_t at = ranks[0] * n + ranks[1], c = class_;
		struct gt_alltoall_path hop = {
			.nranks = 2, .nout = 1, .ranks = ranks};
		const struct gt_alltoall_path *path;

		if (l->parent[up] / n == up / n)
			c = l->crossing[GT_ALLTOALL_NEAREST * n * n + at] <
					    l->local[at]
				    ? GT_ALLTOALL_NEAREST
				    : 0;
		hop.nout = c ? 1 : 2;
		hop.out = l->crossing_ports[0][(size_t)c * n * n + at];
		hop.in = l->crossing_ports[1][(size_t)c * n * n + at];
		if (c)
			hop.class_ = meeting_class(l, c, hop.out, hop.in);
		path = gt_alltoall_path_new(l->a2a, &hop);
		if (!path)
			return GT_ESYS;
		for (uint32_t k = 0; k < path->nloads; k++) {
			int32_t *load = &loads[path->loads[k].row];

			if (__builtin_mul_overflow(path->loads[k].units, times,
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
	uint32_t n = l->a2a->quotient->fabric->nranks;
	uint32_t size = set_weights(l, class_);
	int rc = GT_OK;

	for (uint32_t i = 0; i < size * size; i++) {
		uint32_t a = i / size, b = i % size;
		int64_t over =
			l->crossing[(GT_ALLTOALL_NEAREST * n + a % n) * n +
				    b % n];

		if (a / n == b / n && over < l->weights[i])
			l->weights[i] = over;
	}
	gt_shortest_paths(size, l->weights, from, l->distance, l->parent);
	for (uint32_t to = 0; to < n && !rc; to++) {
		uint32_t place = class_ ? n + to : to;

		if (!class_ && to == from)
			continue;
		if (l->distance[place] >= GT_ALLTOALL_UNREACHABLE)
			return GT_ENO;
		rc = trace_loads(l, class_, from, place, loads);
	}
	return rc;
}

/*
 * A path over another node is at least as long as one over a node below the
 * same switch, and to a node of a class a path has to cross at its level or
 * higher.
 */
int64_t gt_alltoall_lengths_total(struct gt_alltoall_lengths *l)
{
	uint32_t nn = l->a2a->quotient->fabric->nranks, n = nn;
	int64_t *near = l->weights, *half, *path;
	__int128 sum = 0;

	nn *= nn;
	half = near + nn;
	path = half + nn;
	close_local(l, near);
	for (uint32_t i = 0; i < nn; i++)
		sum += near[i];
	for (uint32_t c = 1; c < l->a2a->nclasses; c++) {
		if (!l->a2a->nodes[c])
			continue;
		join_lengths(n, near, l->crossing + (size_t)c * nn, half);
		join_lengths(n, half, near, path);
		for (uint32_t i = 0; i < nn; i++)
			sum += (__int128)path[i] * l->a2a->nodes[c];
	}
	return sum > 0 && sum <= INT64_MAX / 64 ? (int64_t)sum : -1;
}
