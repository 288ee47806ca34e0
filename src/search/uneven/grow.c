/*
 * Growing is Prim's and Dijkstra's algorithm at once: of all ranks not in the
 * tree yet, the one that is nearest to it joins.  What it came by costs more
 * from then on.
 */
#include "search/uneven/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/uneven/nearest.h"

enum { NONE = UINT32_MAX };

/* Prices rise no more beyond e to this, as their sums would overflow. */
#define STEEPEST 300.0

struct gt_grower {
	const struct gt_ways *ways;
	double gbs, steepness, step;
	double *load, *price; /* by link */
	const double *worth;  /* likewise, or NULL: 1 */
	double *cost;         /* by way */
	struct gt_nearest *nearest;
	double *depth; /* by rank of the tree, in cost of steps */
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
	gt_nearest_free(g->nearest);
	free(g->depth);
	free(g->trail);
	free(g->begin);
	free(g->length);
	free(g);
}

struct gt_grower *gt_grower_new(const struct gt_ways *ways)
{
	struct gt_grower *g = calloc(1, sizeof(*g));
	size_t nlinks = ways->flat->fabric.nlinks + 1;

	if (!g)
		return NULL;
	g->ways = ways;
	g->load = calloc(nlinks, sizeof(*g->load));
	g->price = calloc(nlinks, sizeof(*g->price));
	g->cost = calloc(ways->nways + 1, sizeof(*g->cost));
	g->depth = calloc(ways->nranks, sizeof(*g->depth));
	g->begin = calloc(ways->nranks, sizeof(*g->begin));
	g->length = calloc(ways->nranks, sizeof(*g->length));
	g->nearest = g->cost ? gt_nearest_new(ways, g->cost) : NULL;
	if (g->load && g->price && g->cost && g->nearest && g->depth &&
	    g->begin && g->length)
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

/* ---- growing ----------------------------------------------------------- */

/* The ways over a link are dearer now. */
static void raise_link(struct gt_grower *g, uint32_t link)
{
	const struct gt_ways_lists *users = &g->ways->users;

	price_link(g, link);
	for (uint32_t k = users->first[link]; k < users->first[link + 1]; k++) {
		g->cost[users->list[k]] = price_way(g, users->list[k]);
		gt_nearest_raise(g->nearest, users->list[k]);
	}
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
		uint32_t way = gt_nearest_via(g->nearest, at);

		append(g, way);
		at = g->ways->ways[way].from;
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

static void join(struct gt_grower *g, uint32_t rank)
{
	const struct gt_ways_lists *uses = &g->ways->uses;
	uint32_t parent = trace(g, rank);

	g->tree->parent[rank] = parent;
	g->depth[rank] = g->depth[parent] + g->step * g->hop;
	g->joins++;
	gt_nearest_join(g->nearest, rank, g->depth[rank]);
	load_hop(g, &g->trail[g->begin[rank]], g->length[rank], 1);
	for (uint32_t i = 0; i < g->length[rank]; i++) {
		uint32_t way = g->trail[g->begin[rank] + i];

		for (uint32_t k = uses->first[way]; k < uses->first[way + 1];
		     k++)
			raise_link(g, uses->list[k]);
	}
	gt_nearest_repair(g->nearest);
}

static void begin(struct gt_grower *g, uint32_t root)
{
	for (uint32_t i = 0; i < g->ways->flat->fabric.nlinks; i++)
		price_link(g, i);
	for (uint32_t i = 0; i < g->ways->nways; i++)
		g->cost[i] = price_way(g, i);
	memset(g->length, 0, g->ways->nranks * sizeof(*g->length));
	g->ntrail = 0;
	g->joins = 1;
	g->depth[root] = 0;
	gt_nearest_begin(g->nearest);
	gt_nearest_join(g->nearest, root, 0);
}

static void spread(struct gt_grower *g)
{
	double sum = 0, far;
	uint32_t rank;

	while (g->joins < g->ways->nranks && !g->failed) {
		rank = gt_nearest_rank(g->nearest, &far);
		if (rank == NONE)
			break;
		sum += far;
		join(g, rank);
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
		if (i != root && !g->length[i]) {
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
