/*
 * Growing is Prim's and Dijkstra's algorithm at once: of all ranks not in the
 * tree yet, the one that is nearest to it joins, over places and switches that
 * are no ranks.  What it came by costs more from then on, so whatever was to
 * come the same way is looked for anew.
 */
#include "search/uneven/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"

enum { NONE = UINT32_MAX };

/* Prices rise no more beyond e to this, as their sums would overflow. */
#define STEEPEST 300.0

/* A vertex, and the distance that it had when it was put in the heap. */
struct near {
	double far;
	uint32_t vertex;
};

struct gt_grower {
	const struct gt_ways *ways;
	double gbs, steepness, step;
	double *load, *price; /* by link */
	const double *worth;  /* likewise, or NULL: 1 */
	double *cost;         /* by way */
	/* By vertex: how far it is from the tree, and the last way to it. */
	double *far;
	uint32_t *via;
	unsigned char *joined; /* is the rank in the tree? */
	unsigned char *lost;   /* has the way to the vertex become dearer? */
	uint32_t *lost_list, nlost;
	double *depth; /* by rank of the tree, in cost of steps */
	struct near *heap;
	size_t nheap, heap_room;
	/* The tree that grows; ways of ranks in order of joining. */
	struct gt_grown *tree;
	uint32_t *trail, ntrail, trail_room, *begin, *length, joins;
	double hop; /* what a hop of the tree before cost */
	int failed;
};

void gt_grower_free(struct gt_grower *g)
{
	if (!g)
		return;
	free(g->load);
	free(g->price);
	free(g->cost);
	free(g->far);
	free(g->via);
	free(g->joined);
	free(g->lost);
	free(g->lost_list);
	free(g->depth);
	free(g->heap);
	free(g->trail);
	free(g->begin);
	free(g->length);
	free(g);
}

struct gt_grower *gt_grower_new(const struct gt_ways *ways)
{
	struct gt_grower *g = calloc(1, sizeof(*g));
	size_t nlinks = ways->flat->fabric.nlinks + 1, nv = ways->nvertices;

	if (!g)
		return NULL;
	g->ways = ways;
	g->load = calloc(nlinks, sizeof(*g->load));
	g->price = calloc(nlinks, sizeof(*g->price));
	g->cost = calloc(ways->nways + 1, sizeof(*g->cost));
	g->far = calloc(nv, sizeof(*g->far));
	g->via = calloc(nv, sizeof(*g->via));
	g->joined = calloc(nv, 1);
	g->lost = calloc(nv, 1);
	g->lost_list = calloc(nv, sizeof(*g->lost_list));
	g->depth = calloc(ways->nranks, sizeof(*g->depth));
	g->begin = calloc(ways->nranks, sizeof(*g->begin));
	g->length = calloc(ways->nranks, sizeof(*g->length));
	if (g->load && g->price && g->cost && g->far && g->via && g->joined &&
	    g->lost && g->lost_list && g->depth && g->begin && g->length)
		return g;
	gt_grower_free(g);
	return NULL;
}

/* ---- prices ------------------------------------------------------------ */

static void price_link(struct gt_grower *g, uint32_t link)
{
	double gbs = gt_rat_double(g->ways->flat->fabric.links[link].gbs);
	double full = gbs > 0 ? g->load[link] * g->gbs / gbs : STEEPEST;

	g->price[link] = exp(fmin(g->steepness * full, STEEPEST)) / gbs *
			 (g->worth ? g->worth[link] : 1);
}

static double price_way(const struct gt_grower *g, uint32_t way)
{
	const struct gt_ways_lists *uses = &g->ways->uses;
	double cost = 0;

	for (uint32_t k = uses->first[way]; k < uses->first[way + 1]; k++)
		cost += (double)g->ways->loads[k].load *
			g->price[uses->list[k]];
	return cost;
}

void gt_grower_aim(struct gt_grower *g, double gbs, double steepness,
		   double step)
{
	g->gbs = gbs;
	g->steepness = steepness;
	g->step = step;
}

void gt_grower_begin_at(struct gt_grower *g, const double *worth)
{
	g->worth = worth;
	memset(g->load, 0, g->ways->flat->fabric.nlinks * sizeof(*g->load));
}

/* The charge of a hop over these ways: [1] there, [2] back. */
static void charge_hop(const struct gt_ways *w, const uint32_t *ways,
		       uint32_t n, double charge[3])
{
	charge[0] = charge[1] = charge[2] = 1;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t back = 0; back < 2; back++)
			charge[1 + back] = fmax(
				charge[1 + back],
				gt_rat_double(w->ways[ways[i] ^ back].charge));
}

/* Add what a hop over these ways loads links with, `sign` times. */
static void load_hop(struct gt_grower *g, const uint32_t *ways, uint32_t n,
		     double sign)
{
	const struct gt_ways_lists *uses = &g->ways->uses;
	double charge[3];

	charge_hop(g->ways, ways, n, charge);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = uses->first[ways[i]];
		     k < uses->first[ways[i] + 1]; k++)
			g->load[uses->list[k]] +=
				sign * charge[g->ways->loads[k].charged];
}

void gt_grown_load(const struct gt_ways *w, const struct gt_grown *tree,
		   float *load)
{
	for (uint32_t v = 0; v < w->nranks; v++) {
		uint32_t begin = tree->first[v], end = tree->first[v + 1];
		double charge[3];

		charge_hop(w, &tree->ways[begin], end - begin, charge);
		for (uint32_t i = begin; i < end; i++)
			for (uint32_t k = w->uses.first[tree->ways[i]];
			     k < w->uses.first[tree->ways[i] + 1]; k++)
				load[w->uses.list[k]] +=
					(float)charge[w->loads[k].charged];
	}
}

double gt_grower_busiest(const struct gt_grower *g)
{
	const struct gt_fabric *f = &g->ways->flat->fabric;
	double most = 0;

	for (uint32_t i = 0; i < f->nlinks; i++)
		if (g->load[i] > 1e-9)
			most = fmax(most,
				    g->load[i] /
					    gt_rat_double(f->links[i].gbs));
	return most;
}

/* ---- the heap of vertices ---------------------------------------------- */

static int is_nearer(const struct near *a, const struct near *b)
{
	if (a->far < b->far || a->far > b->far)
		return a->far < b->far;
	return a->vertex < b->vertex;
}

static int make_room(struct gt_grower *g)
{
	size_t room = g->heap_room ? 2 * g->heap_room : 1024;
	struct near *heap;

	if (g->nheap < g->heap_room)
		return 1;
	heap = realloc(g->heap, room * sizeof(*heap));
	g->failed |= !heap;
	if (!heap)
		return 0;
	g->heap = heap;
	g->heap_room = room;
	return 1;
}

static void push(struct gt_grower *g, uint32_t vertex)
{
	struct near new = {g->far[vertex], vertex};
	size_t at = g->nheap;

	if (!make_room(g))
		return;
	for (g->nheap++; at && is_nearer(&new, &g->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		g->heap[at] = g->heap[(at - 1) / 2];
	g->heap[at] = new;
}

static struct near pop(struct gt_grower *g)
{
	struct near top = g->heap[0], last = g->heap[--g->nheap];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < g->nheap) {
		if (below + 1 < g->nheap &&
		    is_nearer(&g->heap[below + 1], &g->heap[below]))
			below++;
		if (!is_nearer(&g->heap[below], &last))
			break;
		g->heap[at] = g->heap[below];
		at = below;
	}
	g->heap[at] = last;
	return top;
}

/* ---- growing ----------------------------------------------------------- */

static void relax(struct gt_grower *g, uint32_t way)
{
	const struct gt_way *w = &g->ways->ways[way];
	double far = g->far[w->from] + g->cost[way];

	if (g->joined[w->to] || far >= g->far[w->to])
		return;
	g->far[w->to] = far;
	g->via[w->to] = way;
	push(g, w->to);
}

static void relax_all(struct gt_grower *g, uint32_t vertex)
{
	const struct gt_ways_lists *out = &g->ways->out;

	for (uint32_t k = out->first[vertex]; k < out->first[vertex + 1]; k++)
		relax(g, out->list[k]);
}

static void lose(struct gt_grower *g, uint32_t vertex)
{
	if (g->lost[vertex] || g->joined[vertex])
		return;
	g->lost[vertex] = 1;
	g->lost_list[g->nlost++] = vertex;
}

/* The ways over a link are dearer now; who came by them has to look again. */
static void raise_link(struct gt_grower *g, uint32_t link)
{
	const struct gt_ways_lists *users = &g->ways->users;

	price_link(g, link);
	for (uint32_t k = users->first[link]; k < users->first[link + 1]; k++) {
		uint32_t way = users->list[k], to = g->ways->ways[way].to;

		g->cost[way] = price_way(g, way);
		if (g->via[to] == way)
			lose(g, to);
	}
}

/* Whoever came through a vertex that is lost is lost, too. */
static void lose_more(struct gt_grower *g)
{
	const struct gt_ways_lists *out = &g->ways->out;

	for (uint32_t i = 0; i < g->nlost; i++) {
		uint32_t v = g->lost_list[i];

		g->far[v] = HUGE_VAL;
		for (uint32_t k = out->first[v]; k < out->first[v + 1]; k++) {
			uint32_t way = out->list[k];

			if (g->via[g->ways->ways[way].to] == way)
				lose(g, g->ways->ways[way].to);
		}
	}
}

/* Can others be reached from the vertex?  From a rank only in the tree. */
static int is_open(const struct gt_grower *g, uint32_t vertex)
{
	return !g->lost[vertex] &&
	       (vertex >= g->ways->nranks || g->joined[vertex]);
}

/* Those that are lost are reached from the others again. */
static void find_again(struct gt_grower *g)
{
	const struct gt_ways_lists *in = &g->ways->in;

	for (uint32_t i = 0; i < g->nlost; i++)
		g->via[g->lost_list[i]] = NONE;
	for (uint32_t i = 0; i < g->nlost; i++) {
		uint32_t v = g->lost_list[i];

		for (uint32_t k = in->first[v]; k < in->first[v + 1]; k++)
			if (is_open(g, g->ways->ways[in->list[k]].from))
				relax(g, in->list[k]);
	}
	while (g->nlost)
		g->lost[g->lost_list[--g->nlost]] = 0;
}

static void append(struct gt_grower *g, uint32_t way)
{
	if (g->ntrail == g->trail_room) {
		uint32_t room = 2 * g->trail_room + g->ways->nranks;
		uint32_t *trail = realloc(g->trail, room * sizeof(*trail));

		g->failed |= !trail;
		if (!trail)
			return;
		g->trail = trail;
		g->trail_room = room;
	}
	g->trail[g->ntrail++] = way;
}

/* The ways by which a rank has come, from its parent on. */
static uint32_t trace(struct gt_grower *g, uint32_t rank)
{
	uint32_t at = rank, begin = g->ntrail, n;

	do {
		append(g, g->via[at]);
		at = g->ways->ways[g->via[at]].from;
	} while (at >= g->ways->nranks);
	n = g->ntrail - begin;
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t last = g->trail[begin + n - 1 - i];

		g->trail[begin + n - 1 - i] = g->trail[begin + i];
		g->trail[begin + i] = last;
	}
	g->begin[rank] = begin;
	g->length[rank] = n;
	return at;
}

static void enter(struct gt_grower *g, uint32_t rank)
{
	g->joined[rank] = 1;
	g->joins++;
	g->far[rank] = g->depth[rank];
	g->via[rank] = NONE;
	push(g, rank);
}

static void join(struct gt_grower *g, uint32_t rank)
{
	const struct gt_ways_lists *uses = &g->ways->uses;
	uint32_t parent = trace(g, rank);

	g->tree->parent[rank] = parent;
	g->depth[rank] = g->depth[parent] + g->step * g->hop;
	enter(g, rank);
	load_hop(g, &g->trail[g->begin[rank]], g->length[rank], 1);
	for (uint32_t i = 0; i < g->length[rank]; i++) {
		uint32_t way = g->trail[g->begin[rank] + i];

		for (uint32_t k = uses->first[way]; k < uses->first[way + 1];
		     k++)
			raise_link(g, uses->list[k]);
	}
	lose_more(g);
	find_again(g);
}

static void begin(struct gt_grower *g, uint32_t root)
{
	for (uint32_t i = 0; i < g->ways->flat->fabric.nlinks; i++)
		price_link(g, i);
	for (uint32_t i = 0; i < g->ways->nways; i++)
		g->cost[i] = price_way(g, i);
	for (uint32_t i = 0; i < g->ways->nvertices; i++) {
		g->far[i] = HUGE_VAL;
		g->via[i] = NONE;
		g->joined[i] = 0;
	}
	g->ntrail = g->joins = 0;
	g->nheap = 0;
	g->depth[root] = 0;
	g->length[root] = g->begin[root] = 0;
	enter(g, root);
}

static void spread(struct gt_grower *g)
{
	double sum = 0;

	while (g->nheap && g->joins < g->ways->nranks && !g->failed) {
		struct near top = pop(g);

		if (top.far < g->far[top.vertex] ||
		    top.far > g->far[top.vertex])
			continue;
		if (top.vertex < g->ways->nranks && !g->joined[top.vertex]) {
			sum += top.far;
			join(g, top.vertex);
		} else {
			relax_all(g, top.vertex);
		}
	}
	g->hop = sum / g->ways->nranks;
}

static int pack(struct gt_grower *g, struct gt_grown *tree)
{
	uint32_t n = g->ways->nranks, at = 0;

	tree->first = calloc((size_t)n + 1, sizeof(*tree->first));
	tree->ways = calloc((size_t)g->ntrail + 1, sizeof(*tree->ways));
	if (!tree->first || !tree->ways)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++) {
		tree->first[i] = at;
		for (uint32_t k = 0; k < g->length[i]; k++)
			tree->ways[at++] = g->trail[g->begin[i] + k];
	}
	tree->first[n] = at;
	return GT_OK;
}

int gt_grower_grow(struct gt_grower *g, uint32_t root, struct gt_grown *tree,
		   uint32_t *missing)
{
	uint32_t n = g->ways->nranks;

	*tree = (struct gt_grown){.root = root};
	tree->parent = calloc(n, sizeof(*tree->parent));
	if (!tree->parent)
		return GT_ESYS;
	g->tree = tree;
	tree->parent[root] = NONE;
	begin(g, root);
	spread(g);
	if (g->failed)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		if (!g->joined[i]) {
			*missing = i;
			return GT_ENO;
		}
	return pack(g, tree);
}

void gt_grower_forget(struct gt_grower *g, const struct gt_grown *tree)
{
	for (uint32_t v = 0; v < g->ways->nranks; v++)
		load_hop(g, &tree->ways[tree->first[v]],
			 tree->first[v + 1] - tree->first[v], -1);
}

void gt_grown_release(struct gt_grown *tree)
{
	free(tree->parent);
	free(tree->first);
	free(tree->ways);
	*tree = (struct gt_grown){.root = 0};
}
