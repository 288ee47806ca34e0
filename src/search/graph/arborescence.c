/*
 * Edmonds' algorithm: every node takes its cheapest arc, cycles are shrunk to
 * single nodes, and in the end expanded again.
 */
#include "search/graph/graph.h"

#include <stdlib.h>
#include <string.h>

enum { GT_ARB_NONE = UINT32_MAX };

/*
 * The graph as it shrinks: cycles become single nodes.  Arcs keep the number
 * that they had at first, from * all + to, and each round remembers which arc
 * its nodes took, and which of its nodes each first node is in.
 */
struct gt_arb {
	uint32_t all, n, root, rounds;
	int64_t *w, *smaller;  /* [from * n + to], and of the next graph */
	uint32_t *arc, *fewer; /* likewise: which arc it is */
	int64_t *least;        /* node -> its cheapest arc's cost */
	uint32_t *into;        /* node -> where that comes from */
	uint32_t *walk;        /* node -> the walk that first met it */
	uint32_t *name;        /* node -> node of the next graph */
	uint32_t *took;        /* [round * all + node] -> arc */
	uint32_t *in;          /* [round * all + first node] -> node */
};

static void gt_arb_release(struct gt_arb *a)
{
	free(a->w);
	free(a->smaller);
	free(a->arc);
	free(a->fewer);
	free(a->least);
	free(a->into);
	free(a->walk);
	free(a->name);
	free(a->took);
	free(a->in);
}

static int gt_arb_init(struct gt_arb *a, uint32_t n)
{
	size_t nn = (size_t)n * n;

	a->all = a->n = n;
	a->w = malloc(nn * sizeof(*a->w));
	a->smaller = malloc(nn * sizeof(*a->smaller));
	a->arc = malloc(nn * sizeof(*a->arc));
	a->fewer = malloc(nn * sizeof(*a->fewer));
	a->least = calloc(n, sizeof(*a->least));
	a->into = calloc(n, sizeof(*a->into));
	a->walk = malloc(n * sizeof(*a->walk));
	a->name = malloc(n * sizeof(*a->name));
	a->took = malloc(nn * sizeof(*a->took));
	a->in = malloc(nn * sizeof(*a->in));
	return a->w && a->smaller && a->arc && a->fewer && a->least &&
	       a->into && a->walk && a->name && a->took && a->in;
}

static void gt_arb_begin(struct gt_arb *a, const int64_t *weights)
{
	memcpy(a->w, weights, (size_t)a->n * a->n * sizeof(*a->w));
	for (uint32_t i = 0; i < a->n * a->n; i++)
		a->arc[i] = i;
	for (uint32_t v = 0; v < a->n; v++)
		a->in[v] = v;
}

/* Every node but the root takes its cheapest arc; returns what they cost. */
static int64_t gt_arb_choose(struct gt_arb *a)
{
	uint32_t *took = a->took + (size_t)a->rounds * a->all;
	int64_t sum = 0;

	for (uint32_t v = 0; v < a->n; v++) {
		a->least[v] = v == a->root ? 0 : INT64_MAX;
		for (uint32_t u = 0; u < a->n; u++) {
			int64_t w = a->w[(size_t)u * a->n + v];

			if (u == v || w >= a->least[v])
				continue;
			a->least[v] = w;
			a->into[v] = u;
			took[v] = a->arc[(size_t)u * a->n + v];
		}
		sum += a->least[v];
	}
	return sum;
}

/*
 * Name the nodes of the next graph, cycles first; returns how many cycles there
 * are.
 */
static uint32_t gt_arb_name(struct gt_arb *a, uint32_t *count)
{
	uint32_t cycles = 0;

	memset(a->walk, 0xff, a->n * sizeof(*a->walk));
	memset(a->name, 0xff, a->n * sizeof(*a->name));
	for (uint32_t v = 0; v < a->n; v++) {
		uint32_t u = v;

		for (; u != a->root && a->walk[u] == GT_ARB_NONE;
		     u = a->into[u])
			a->walk[u] = v;
		if (u == a->root || a->walk[u] != v)
			continue;
		for (; a->name[u] == GT_ARB_NONE; u = a->into[u])
			a->name[u] = cycles;
		cycles++;
	}
	*count = cycles;
	for (uint32_t v = 0; v < a->n; v++)
		if (a->name[v] == GT_ARB_NONE)
			a->name[v] = (*count)++;
	return cycles;
}

/*
 * The arcs of the next graph cost what they cost beyond the cheapest arc into
 * their head.
 */
static void gt_arb_shrink(struct gt_arb *a, uint32_t count)
{
	uint32_t *in = a->in + (size_t)a->rounds * a->all;
	uint32_t *arc = a->fewer;
	int64_t *w = a->smaller;

	for (size_t i = 0; i < (size_t)count * count; i++)
		w[i] = INT64_MAX;
	for (uint32_t u = 0; u < a->n; u++)
		for (uint32_t v = 0; v < a->n; v++) {
			size_t at = (size_t)a->name[u] * count + a->name[v];
			size_t old = (size_t)u * a->n + v;
			int64_t more = a->w[old] - a->least[v];

			if (a->name[u] == a->name[v] || more >= w[at])
				continue;
			w[at] = more;
			arc[at] = a->arc[old];
		}
	for (uint32_t v = 0; v < a->all; v++)
		in[a->all + v] = a->name[in[v]];
	a->smaller = a->w;
	a->w = w;
	a->fewer = a->arc;
	a->arc = arc;
	a->root = a->name[a->root];
	a->n = count;
	a->rounds++;
}

/*
 * Round by round backwards: the arc that enters a cycle takes the place of
 * the cycle's own at the node it enters.
 */
static void gt_arb_expand(const struct gt_arb *a, uint32_t root,
			  uint32_t *parent)
{
	for (uint32_t round = a->rounds; round > 0; round--) {
		const uint32_t *later = a->took + (size_t)round * a->all;
		const uint32_t *in = a->in + (size_t)round * a->all;
		uint32_t *took = a->took + (size_t)(round - 1) * a->all;
		const uint32_t *at = in - a->all;

		for (uint32_t v = 0; v < a->all; v++) {
			uint32_t arc = later[in[v]];

			if (in[v] != in[root] && arc % a->all == v)
				took[at[v]] = arc;
		}
	}
	for (uint32_t v = 0; v < a->all; v++)
		if (v != root)
			parent[v] = a->took[v] / a->all;
}

int64_t gt_arborescence(uint32_t n, const int64_t *weights, uint32_t root,
			uint32_t *parent)
{
	struct gt_arb a = {.root = root};
	int64_t sum = 0;
	uint32_t count;

	if (!gt_arb_init(&a, n)) {
		gt_arb_release(&a);
		return -1;
	}
	gt_arb_begin(&a, weights);
	for (;;) {
		sum += gt_arb_choose(&a);
		if (!gt_arb_name(&a, &count))
			break;
		gt_arb_shrink(&a, count);
	}
	if (parent)
		gt_arb_expand(&a, root, parent);
	gt_arb_release(&a);
	return sum;
}
