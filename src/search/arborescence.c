#include "search/arborescence.h"

#include <stdlib.h>
#include <string.h>

enum { GT_ARB_NONE = UINT32_MAX };

/* The graph as it shrinks: cycles become single nodes. */
struct gt_arb {
	uint32_t n, root;
	int64_t *w, *smaller; /* [from * n + to], and of the next graph */
	int64_t *least;       /* node -> its cheapest arc's cost */
	uint32_t *into;       /* node -> where that comes from */
	uint32_t *walk;       /* node -> the walk that first met it */
	uint32_t *name;       /* node -> node of the next graph */
};

static void gt_arb_release(struct gt_arb *a)
{
	free(a->w);
	free(a->smaller);
	free(a->least);
	free(a->into);
	free(a->walk);
	free(a->name);
}

static int gt_arb_init(struct gt_arb *a, uint32_t n)
{
	a->n = n;
	a->w = malloc((size_t)n * n * sizeof(*a->w));
	a->smaller = malloc((size_t)n * n * sizeof(*a->smaller));
	a->least = calloc(n, sizeof(*a->least));
	a->into = calloc(n, sizeof(*a->into));
	a->walk = malloc(n * sizeof(*a->walk));
	a->name = malloc(n * sizeof(*a->name));
	return a->w && a->smaller && a->least && a->into && a->walk && a->name;
}

/* Every node but the root takes its cheapest arc; what they cost. */
static int64_t gt_arb_choose(struct gt_arb *a)
{
	int64_t sum = 0;

	for (uint32_t v = 0; v < a->n; v++) {
		a->least[v] = v == a->root ? 0 : INT64_MAX;
		for (uint32_t u = 0; u < a->n; u++) {
			int64_t w = a->w[(size_t)u * a->n + v];

			if (u == v || w >= a->least[v])
				continue;
			a->least[v] = w;
			a->into[v] = u;
		}
		sum += a->least[v];
	}
	return sum;
}

/* Name the nodes of the next graph, cycles first; how many cycles. */
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

/* What arcs cost beyond what their heads have paid already. */
static void gt_arb_shrink(struct gt_arb *a, uint32_t count)
{
	int64_t *w = a->smaller;

	for (size_t i = 0; i < (size_t)count * count; i++)
		w[i] = INT64_MAX;
	for (uint32_t u = 0; u < a->n; u++)
		for (uint32_t v = 0; v < a->n; v++) {
			size_t at = (size_t)a->name[u] * count + a->name[v];
			int64_t more = a->w[(size_t)u * a->n + v] - a->least[v];

			if (a->name[u] != a->name[v] && more < w[at])
				w[at] = more;
		}
	a->smaller = a->w;
	a->w = w;
	a->root = a->name[a->root];
	a->n = count;
}

int64_t gt_arborescence(uint32_t n, const int64_t *weights, uint32_t root)
{
	struct gt_arb a = {.root = root};
	int64_t sum = 0;
	uint32_t count;

	if (!gt_arb_init(&a, n)) {
		gt_arb_release(&a);
		return -1;
	}
	memcpy(a.w, weights, (size_t)n * n * sizeof(*a.w));
	for (;;) {
		sum += gt_arb_choose(&a);
		if (!gt_arb_name(&a, &count))
			break;
		gt_arb_shrink(&a, count);
	}
	gt_arb_release(&a);
	return sum;
}
