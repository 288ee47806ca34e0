/* Parts of the checker that no plan file reaches, or with few numbers. */
#include "draw.h"
#include "unit/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/check.h"
#include "plan/check/stages.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

enum { MOST = 6, TRIES = 400 };

static uint64_t state;

/* The least cost of a ring that ends with ranks order[at..n-1] in any order. */
static int64_t cheapest(uint32_t n, const int64_t *cost, uint32_t *order,
			uint32_t at)
{
	int64_t least = INT64_MAX, rest;

	if (at == n)
		return cost[order[n - 1] * n + order[0]];
	for (uint32_t i = at; i < n; i++) {
		uint32_t last = order[at - 1], next = order[i];

		order[i] = order[at];
		order[at] = next;
		rest = cost[last * n + next] + cheapest(n, cost, order, at + 1);
		least = rest < least ? rest : least;
		order[at] = order[i];
		order[i] = next;
	}
	return least;
}

static void rings_are_cheapest(void **unused)
{
	int64_t cost[MOST * MOST], sum;
	uint32_t order[MOST], all[MOST], n;

	(void)unused;
	for (int try = 0; try < TRIES; try++) {
		n = 2 + draw(&state, MOST - 1);
		for (uint32_t i = 0; i < n * n; i++)
			cost[i] = draw(&state, 20);
		for (uint32_t i = 0; i < n; i++)
			all[i] = i;
		sum = gt_ring_cheapest(n, cost, order);
		assert_int_equal(sum, cheapest(n, cost, all, 1));
		for (uint32_t i = 0; i < n; i++)
			sum -= cost[order[i] * n + order[(i + 1) % n]];
		assert_int_equal(sum, 0);
	}
}

/* Do all parents lead to the root? */
static int is_tree(uint32_t n, const uint32_t *parent, uint32_t root)
{
	for (uint32_t v = 0; v < n; v++) {
		uint32_t at = v;

		for (uint32_t steps = 0; steps < n && at != root; steps++)
			at = parent[at];
		if (at != root)
			return 0;
	}
	return 1;
}

/* The least cost of a tree in which ranks before `v` have those parents. */
static int64_t cheapest_tree(uint32_t n, const int64_t *cost, uint32_t root,
			     uint32_t *parent, uint32_t v)
{
	int64_t least = INT64_MAX, rest;

	if (v == n)
		return is_tree(n, parent, root) ? 0 : INT64_MAX;
	if (v == root)
		return cheapest_tree(n, cost, root, parent, v + 1);
	for (uint32_t u = 0; u < n; u++) {
		parent[v] = u;
		rest = cheapest_tree(n, cost, root, parent, v + 1);
		if (rest < INT64_MAX && cost[u * n + v] + rest < least)
			least = cost[u * n + v] + rest;
	}
	return least;
}

static void trees_are_cheapest(void **unused)
{
	int64_t cost[MOST * MOST];
	uint32_t parent[MOST], n, root;

	(void)unused;
	for (int try = 0; try < TRIES; try++) {
		n = 1 + draw(&state, MOST - 1);
		root = draw(&state, n);
		for (uint32_t i = 0; i < n * n; i++)
			cost[i] = draw(&state, 20);
		assert_int_equal(gt_tree_cheapest(n, cost, root),
				 cheapest_tree(n, cost, root, parent, 0));
	}
}

/* What stands behind the hops of a channel is none of them. */
static void hops_end(void **unused)
{
	struct gt_plan_hop hops[] = {{.from = 0, .to = 1},
				     {.from = 1, .to = 0}};
	const struct gt_plan_channel channel = {.hops = hops, .nhops = 1};

	(void)unused;
	assert_int_equal(gt_check_hop_find(&channel, 0, 1), 0);
	assert_int_equal(gt_check_hop_find(&channel, 1, 0), -1);
}

/* A search in this process passes a plan on that no reader has looked at. */
static void routes_lead_to_ranks(void **unused)
{
	char path[4096];
	struct gt_plan *plan;
	struct gt_plan_route *route;
	struct gt_err err;

	(void)unused;
	gt_test_path(path, "tests/cases/plan/good/ring4/plan.json");
	for (int end = 0; end < 2; end++) {
		gt_err_init(&err);
		assert_int_equal(gt_plan_read(path, &plan, &err), 0);
		assert_true(plan->proof.nroutes > 0);
		route = &plan->proof.routes[1];
		*(end ? &route->to : &route->from) = plan->nranks;
		assert_int_equal(gt_plan_check(plan, &err), GT_ENO);
		assert_string_equal(err.text,
				    "does not lead from a rank to another");
		gt_plan_free(plan);
	}
}

/* So is a hop over a link that there is not, wherever on its route. */
static void hops_have_links(void **unused)
{
	char path[4096], text[64];
	uint32_t *route, link;
	struct gt_plan *plan;
	struct gt_err err;

	(void)unused;
	gt_test_path(path, "tests/cases/plan/good/ring4/plan.json");
	assert_int_equal(gt_plan_read(path, &plan, NULL), 0);
	snprintf(text, sizeof(text), "there is no link number '%u'",
		 plan->nlinks);
	assert_int_equal(plan->channels[0].hops[1].nroute, 2);
	route = (uint32_t *)(uintptr_t)plan->channels[0].hops[1].route;
	for (int i = 0; i < 2; i++) {
		link = route[i];
		route[i] = plan->nlinks;
		gt_err_init(&err);
		assert_int_equal(gt_plan_check(plan, &err), GT_ENO);
		assert_string_equal(err.text, text);
		route[i] = link;
	}
	assert_int_equal(gt_plan_check(plan, &err), 0);
	gt_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_cheapest),
		cmocka_unit_test(trees_are_cheapest),
		cmocka_unit_test(hops_end),
		cmocka_unit_test(routes_lead_to_ranks),
		cmocka_unit_test(hops_have_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
