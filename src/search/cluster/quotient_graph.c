/*
 * The network for maximum flows on the quotient: links of every class, and the
 * switches above them.
 */
#include "search/cluster/quotient_graph.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"

/* Capacities in whole numbers are at most this, so that their sums fit. */
#define GT_QUOTIENT_CAPACITY_MAX (INT64_C(1) << 40)

/* The capacity of an arc that never binds. */
#define GT_QUOTIENT_UNLIMITED (GT_MAXFLOW_INF / 64)

static void add_arc(struct gt_quotient_graph *g, uint32_t from, uint32_t to,
		    int64_t capacity)
{
	struct gt_quotient_arc *arc = &g->arcs[g->narcs++];

	*arc = (struct gt_quotient_arc){from, to, capacity};
	if (g->reverse) {
		arc->from = to;
		arc->to = from;
	}
}

static int64_t scaled_capacity(struct gt_quotient_graph *g, struct gt_rat gbs,
			       uint32_t count)
{
	__int128 n = (__int128)gbs.num * (g->scale / gbs.den) * count;

	if (n <= GT_QUOTIENT_CAPACITY_MAX)
		return (int64_t)n;
	g->fits = 0;
	return 0;
}

/* The least common denominator of all rates, or 0 if it is too large. */
static int64_t common_denominator(const struct gt_quotient *q)
{
	const struct gt_fabric *f = q->fabric;
	uint32_t n = f->nlinks + q->cluster.nlevels;
	int64_t scale = 1, den;
	struct gt_rat ratio;

	for (uint32_t i = 0; i < n; i++) {
		den = i < f->nlinks ? f->links[i].gbs.den
				    : q->cluster.levels[i - f->nlinks].gbs.den;
		if (!gt_rat_make(den, scale, &ratio) ||
		    __builtin_mul_overflow(scale, ratio.num, &scale) ||
		    scale > GT_QUOTIENT_CAPACITY_MAX)
			return 0;
	}
	return scale;
}

static void add_uplinks(struct gt_quotient_graph *g, uint32_t level,
			uint32_t class_)
{
	const struct gt_quotient *q = g->quotient;
	const struct gt_plan_level *l = &q->cluster.levels[level];
	uint32_t rails = l->by_rail ? q->cluster.nrails : 1, count = 1;
	int64_t capacity;

	if (class_ && class_ <= level + 1)
		return;
	if (class_)
		count = gt_nodes_in_class(&q->cluster, class_) / l->nodes;
	capacity = scaled_capacity(g, l->gbs, count);
	for (uint32_t r = 0; r < rails; r++) {
		uint32_t low = gt_quotient_switch(q, level, class_, r);
		uint32_t high = gt_quotient_switch(q, level + 1, class_, r);

		add_arc(g, low, high, capacity);
		add_arc(g, high, low, capacity);
	}
}

static void add_class(struct gt_quotient_graph *g, uint32_t class_)
{
	const struct gt_quotient *q = g->quotient;
	const struct gt_fabric *f = q->fabric;
	uint32_t base = class_ * f->nnodes;
	uint32_t count = gt_nodes_in_class(&q->cluster, class_);

	if (!count)
		return;
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (!g->unused || !g->unused[i])
			add_arc(g, base + f->links[i].from,
				base + f->links[i].to,
				scaled_capacity(g, f->links[i].gbs, count));
	for (uint32_t i = 0; i < q->cluster.nports; i++) {
		uint32_t port = base + q->ports[i];
		uint32_t leaf = gt_quotient_switch(q, 0, class_,
						   q->cluster.ports[i].rail);

		add_arc(g, port, leaf, -1);
		add_arc(g, leaf, port, -1);
	}
	for (uint32_t l = 0; l + 1 < q->cluster.nlevels; l++)
		add_uplinks(g, l, class_);
}

/*
 * The network's arcs in this order: those of the graph, one from the world to
 * every rank of every class, and one that ties each rank of node 0 to its
 * first.
 */
static void build_flow(struct gt_quotient_graph *g)
{
	const struct gt_fabric *f = g->quotient->fabric;
	uint32_t n = f->nranks;

	for (uint32_t i = 0; i < g->narcs; i++)
		gt_maxflow_add(g->flow, g->arcs[i].to, g->arcs[i].from);
	for (uint32_t i = 0; i < (g->quotient->cluster.nlevels + 1) * n; i++)
		gt_maxflow_add(g->flow, i / n * f->nnodes + f->ranks[i % n],
			       g->world);
	for (uint32_t i = 0; i < n; i++)
		gt_maxflow_add(g->flow, f->ranks[0], f->ranks[i]);
}

int gt_quotient_graph_init(struct gt_quotient_graph *g,
			   const struct gt_quotient *q, const uint8_t *unused,
			   int reverse)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	uint32_t classes = cluster->nlevels + 1, max;

	*g = (struct gt_quotient_graph){
		.quotient = q, .unused = unused, .reverse = reverse, .fits = 1};
	g->scale = common_denominator(q);
	g->world = gt_quotient_nvertices(q);
	max = classes * (q->fabric->nlinks + 2 * cluster->nports +
			 2 * cluster->nlevels * cluster->nrails);
	g->arcs = calloc((size_t)max + 1, sizeof(*g->arcs));
	g->flow = gt_maxflow_new(g->world + 1,
				 max + (classes + 1) * q->fabric->nranks);
	if (!g->arcs || !g->flow)
		return GT_ESYS;
	if (!g->scale) {
		g->fits = 0;
		return GT_OK;
	}
	for (uint32_t c = 0; c < classes; c++)
		add_class(g, c);
	build_flow(g);
	return GT_OK;
}

void gt_quotient_graph_release(struct gt_quotient_graph *g)
{
	gt_maxflow_free(g->flow);
	free(g->arcs);
}

void gt_quotient_graph_scale(struct gt_quotient_graph *g, int64_t factor)
{
	uint32_t n = g->quotient->fabric->nranks, i;

	for (i = 0; i < g->narcs; i++)
		gt_maxflow_set(g->flow, i,
			       g->arcs[i].capacity < 0
				       ? GT_QUOTIENT_UNLIMITED
				       : g->arcs[i].capacity * factor);
	for (; i < g->narcs + (g->quotient->cluster.nlevels + 2) * n; i++)
		gt_maxflow_set(g->flow, i, 0);
}

void gt_quotient_graph_feed(struct gt_quotient_graph *g, uint32_t class_,
			    uint32_t rank, int64_t capacity)
{
	gt_maxflow_set(g->flow,
		       g->narcs + class_ * g->quotient->fabric->nranks + rank,
		       capacity);
}

void gt_quotient_graph_tie(struct gt_quotient_graph *g, uint32_t rank)
{
	uint32_t first = (g->quotient->cluster.nlevels + 1) *
			 g->quotient->fabric->nranks;

	gt_maxflow_set(g->flow, g->narcs + first + rank, GT_QUOTIENT_UNLIMITED);
}

int64_t gt_quotient_graph_run(struct gt_quotient_graph *g, uint32_t rank,
			      uint32_t *outside)
{
	int64_t value = gt_maxflow_run(
		g->flow, g->quotient->fabric->ranks[rank], g->world);

	for (uint32_t v = 0; v < g->world; v++)
		outside[v] = (uint32_t)gt_maxflow_is_source_side(g->flow, v);
	return value;
}
