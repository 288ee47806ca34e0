/*
 * The bound about trees: under the certificate's prices the cheapest spanning
 * tree of every root, found by Edmonds' algorithm, costs 1 or more on average.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/ir/plan.h"

/*
 * The sum over n roots of trees of n hops, each of them both ways and of cost
 * n, fits 64 bits below this.
 */
static const int64_t gt_tree_sum_max = (int64_t)1 << 60;

/*
 * The cheapest branching.  A cycle of cheapest arcs is contracted into its
 * first node: arcs out of it keep their cost, arcs into it cost what they
 * exceed the cost of the node's own arc by.
 */
struct gt_branching {
	uint32_t n, root;
	int64_t *cost;  /* [from * n + to] */
	uint32_t *from; /* node -> the tail of its cheapest arc */
	uint32_t *walk; /* node -> the node whose walk came here */
	unsigned char *gone;
};

static int64_t *gt_branching_at(const struct gt_branching *c, uint32_t from,
				uint32_t to)
{
	return &c->cost[(size_t)from * c->n + to];
}

/* Make v's cheapest arc free; the result is its cost. */
static int64_t gt_branching_pay(struct gt_branching *c, uint32_t v)
{
	int64_t least = INT64_MAX;

	for (uint32_t u = 0; u < c->n; u++)
		if (u != v && !c->gone[u] &&
		    *gt_branching_at(c, u, v) < least) {
			least = *gt_branching_at(c, u, v);
			c->from[v] = u;
		}
	for (uint32_t u = 0; u < c->n; u++)
		if (u != v && !c->gone[u])
			*gt_branching_at(c, u, v) -= least;
	return least;
}

/*
 * The result is a node on a cycle of free arcs, or the root when there is none.
 */
static uint32_t gt_branching_cycle(struct gt_branching *c)
{
	memset(c->walk, 0xff, c->n * sizeof(*c->walk));
	for (uint32_t v = 0; v < c->n; v++) {
		uint32_t u = v;

		if (c->gone[v])
			continue;
		while (u != c->root && c->walk[u] == UINT32_MAX) {
			c->walk[u] = v;
			u = c->from[u];
		}
		if (u != c->root && c->walk[u] == v)
			return u;
	}
	return c->root;
}

static void gt_branching_merge(struct gt_branching *c, uint32_t into,
			       uint32_t v)
{
	c->gone[v] = 1;
	for (uint32_t u = 0; u < c->n; u++) {
		if (c->gone[u] || u == into)
			continue;
		if (*gt_branching_at(c, v, u) < *gt_branching_at(c, into, u))
			*gt_branching_at(c, into, u) =
				*gt_branching_at(c, v, u);
		if (*gt_branching_at(c, u, v) < *gt_branching_at(c, u, into))
			*gt_branching_at(c, u, into) =
				*gt_branching_at(c, u, v);
		if (c->from[u] == v)
			c->from[u] = into;
	}
}

/* Join the cycle's nodes in `into`, which then pays for its next arc. */
static int64_t gt_branching_join(struct gt_branching *c, uint32_t into)
{
	uint32_t v = c->from[into], next;

	for (; v != into; v = next) {
		next = c->from[v];
		gt_branching_merge(c, into, v);
	}
	return gt_branching_pay(c, into);
}

static int64_t gt_branching_run(struct gt_branching *c)
{
	int64_t sum = 0;
	uint32_t at;

	for (uint32_t v = 0; v < c->n; v++)
		if (v != c->root)
			sum += gt_branching_pay(c, v);
	while ((at = gt_branching_cycle(c)) != c->root)
		sum += gt_branching_join(c, at);
	return sum;
}

int64_t gt_tree_cheapest(uint32_t n, const int64_t *cost, uint32_t root)
{
	struct gt_branching c = {.n = n, .root = root};
	size_t nn = (size_t)n * n;
	int64_t sum = -1;

	c.cost = malloc(nn * sizeof(*c.cost));
	c.from = calloc(n, sizeof(*c.from));
	c.walk = malloc(n * sizeof(*c.walk));
	c.gone = calloc(n, 1);
	if (c.cost && c.from && c.walk && c.gone) {
		memcpy(c.cost, cost, nn * sizeof(*c.cost));
		sum = gt_branching_run(&c);
	}
	free(c.cost);
	free(c.from);
	free(c.walk);
	free(c.gone);
	return sum;
}

/*
 * Fill edge[parent * n + child] with what the edge costs in the directions that
 * the collective uses it.
 */
static void gt_tree_edges(const struct gt_plan *plan, const int64_t *hops,
			  int64_t *edges)
{
	size_t n = plan->nranks;
	int down = gt_coll_goes_down(plan->coll);
	int up = gt_coll_goes_up(plan->coll);

	for (size_t p = 0; p < n; p++)
		for (size_t v = 0; v < n; v++)
			edges[p * n + v] = (down ? hops[p * n + v] : 0) +
					   (up ? hops[v * n + p] : 0);
}

/*
 * A tree that bytes go up and down costs the same whatever its root, so one
 * root is enough.
 */
static int gt_check_trees(const struct gt_plan *plan, const int64_t *edges,
			  int64_t unit, struct gt_err *err)
{
	uint32_t nroots = 1, first = 0;
	int64_t sum = 0, one;

	if (gt_coll_has_blocks(plan->coll))
		nroots = plan->nranks;
	else if (gt_coll_is_rooted(plan->coll))
		first = plan->root;
	for (uint32_t i = 0; i < nroots; i++) {
		one = gt_tree_cheapest(plan->nranks, edges, first + i);
		if (one < 0)
			return gt_err_nomem(err);
		sum += one;
	}
	if (sum >= unit * nroots)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("proof.certificate.prices"), err,
			     "prove nothing: trees cost less than 1 (%.6g)",
			     (double)sum / (double)unit / nroots);
}

int gt_check_tree_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err)
{
	size_t nn = (size_t)plan->nranks * plan->nranks;
	struct gt_hop_costs costs = {
		.cost = calloc(2 * nn, sizeof(*costs.cost)),
		.most = plan->nranks,
		.unit_max = gt_tree_sum_max / plan->nranks / plan->nranks /
			    plan->nranks,
	};
	int rc = GT_OK;

	if (!costs.cost)
		return gt_err_nomem(err);
	gt_check_costs(plan, table, prices, &costs);
	*state = costs.unit ? GT_BOUND_PROVEN : GT_BOUND_TOO_FINE;
	if (costs.unit) {
		gt_tree_edges(plan, costs.cost, costs.cost + nn);
		rc = gt_check_trees(plan, costs.cost + nn, costs.unit, err);
	}
	free(costs.cost);
	return rc;
}
