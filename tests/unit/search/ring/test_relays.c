/*
 * Rings whose hops ranks may relay, on small random fabrics: every order of the
 * ranks and every rank between is tried to break what was proved.
 */
#include "unit/test.h"

#include "base/err.h"
#include "search/bound/bound.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"
#include "unit/search/fabrics.h"

enum { MAX_RANKS = 6 };

static struct gt_rat sum_of(struct gt_rat a, struct gt_rat b)
{
	struct gt_rat sum;

	assert_true(gt_rat_add(a, b, &sum));
	return sum;
}

static struct gt_rat product_of(struct gt_rat a, struct gt_rat b)
{
	struct gt_rat product;

	assert_true(gt_rat_mul(a, b, &product));
	return product;
}

/* What the route of a pair loads a link with. */
static struct gt_rat load_of(const struct gt_fabric *f, uint32_t from,
			     uint32_t to, uint32_t link)
{
	const struct gt_fabric_route *route = &f->routes[from * f->nranks + to];

	for (uint32_t i = 0; i < route->nlinks; i++)
		if (route->links[i] == link)
			return f->links[link].charged ? route->charge
						      : GT_RAT(1, 1);
	return GT_RAT(0, 1);
}

/* What a hop of a ring loads a link with. */
static struct gt_rat load_of_hop(const struct gt_fabric *f, uint32_t entry,
				 uint32_t next, uint32_t link)
{
	uint32_t from = gt_ring_place(entry), to = gt_ring_place(next);
	uint32_t via = gt_ring_via(entry);

	if (via == UINT32_MAX)
		return load_of(f, from, to, link);
	assert_true(via < f->nranks && via != from && via != to);
	return sum_of(load_of(f, from, via, link), load_of(f, via, to, link));
}

/* The rates add up to the value, and no link carries too much. */
static void expect_fits(const struct gt_fabric *f, const struct gt_proposal *p)
{
	struct gt_rat total = GT_RAT(0, 1), load, one;
	uint32_t n = f->nranks;

	for (uint32_t c = 0; c < p->nchannels; c++)
		total = sum_of(total, p->channels[c].gbs);
	assert_int_equal(gt_rat_cmp(total, p->value), 0);
	for (uint32_t link = 0; link < f->nlinks; link++) {
		load = GT_RAT(0, 1);
		for (uint32_t c = 0; c < p->nchannels; c++)
			for (uint32_t i = 0; i < n; i++) {
				const uint32_t *order = p->channels[c].order;

				one = load_of_hop(f, order[i],
						  order[(i + 1) % n], link);
				one = product_of(one, p->channels[c].gbs);
				load = sum_of(load, one);
			}
		assert_true(gt_rat_cmp(load, f->links[link].gbs) <= 0);
	}
}

static struct gt_rat price_of(const struct gt_fabric *f,
			      const struct gt_proposal *p, uint32_t from,
			      uint32_t to)
{
	struct gt_rat cost = GT_RAT(0, 1), one;

	for (uint32_t i = 0; i < p->nprices; i++) {
		one = load_of(f, from, to, p->prices[i].link);
		cost = sum_of(cost, product_of(one, p->prices[i].price));
	}
	return cost;
}

/* The cheapest way of a hop, of all. */
static struct gt_rat cost_of(const struct gt_fabric *f,
			     const struct gt_proposal *p, uint32_t from,
			     uint32_t to)
{
	struct gt_rat best = price_of(f, p, from, to);

	for (uint32_t via = 0; via < f->nranks; via++)
		if (via != from && via != to && from != to)
			best = gt_rat_min(best,
					  sum_of(price_of(f, p, from, via),
						 price_of(f, p, via, to)));
	return best;
}

/* The cost of the cheapest ring, by every order of the ranks from `at` on. */
static void cheapest(const struct gt_rat *cost, uint32_t n, uint32_t *order,
		     uint32_t at, struct gt_rat *best)
{
	struct gt_rat sum = GT_RAT(0, 1);

	for (uint32_t i = at; i < n; i++) {
		uint32_t t = order[at];

		order[at] = order[i];
		order[i] = t;
		cheapest(cost, n, order, at + 1, best);
		order[i] = order[at];
		order[at] = t;
	}
	for (uint32_t i = 0; at == n && i < n; i++)
		sum = sum_of(sum, cost[order[i] * n + order[(i + 1) % n]]);
	if (at == n)
		*best = gt_rat_min(*best, sum);
}

/* No ring costs less than 1, and all capacities cost the bound. */
static void expect_proof(const struct gt_fabric *f, const struct gt_proposal *p)
{
	struct gt_rat cost[MAX_RANKS * MAX_RANKS], sum = GT_RAT(0, 1);
	struct gt_rat best = GT_RAT(INT32_MAX, 1);
	uint32_t order[MAX_RANKS], n = f->nranks;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = 0; i < n * n; i++)
		cost[i] = cost_of(f, p, i / n, i % n);
	cheapest(cost, n, order, 1, &best);
	assert_true(gt_rat_cmp(best, GT_RAT(1, 1)) >= 0);
	for (uint32_t i = 0; i < p->nprices; i++)
		sum = sum_of(sum, product_of(p->prices[i].price,
					     f->links[p->prices[i].link].gbs));
	assert_int_equal(gt_rat_cmp(sum, p->bound), 0);
}

static void search(const struct gt_fabric *f, struct gt_arena *arena,
		   struct gt_proposal *p)
{
	struct gt_shape_args args = {.fabric = f, .arena = arena};
	struct gt_err err;

	gt_err_init(&err);
	if (gt_shape_ring.propose(&args, p, &err))
		fail_msg("%s", err.text);
}

static void test_random_fabrics(void **state)
{
	struct gt_random c = {9};
	int better = 0;

	(void)state;
	for (int seed = 0; seed < 200; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 3 + gt_random(&c, MAX_RANKS - 2);
		struct gt_fabric *f = gt_fabric_random(arena, &c, n);
		struct gt_bound_query ask = {f, GT_COLL_ALLREDUCE, 0};
		struct gt_proposal plain, relayed;
		struct gt_bound bound;

		search(f, arena, &plain);
		assert_false(plain.relays);
		f->relays = 1;
		search(f, arena, &relayed);
		assert_true(relayed.relays);
		expect_fits(f, &relayed);
		expect_proof(f, &relayed);
		assert_int_equal(gt_rat_cmp(relayed.value, relayed.bound), 0);
		assert_true(gt_rat_cmp(relayed.value, plain.value) >= 0);
		gt_bound_find_routed(&ask, arena, &bound, NULL);
		assert_true(gt_rat_cmp(bound.value, relayed.value) >= 0);
		better += gt_rat_cmp(relayed.value, plain.value) > 0;
		gt_arena_free(arena);
	}
	print_message("relays carry more on %d of 200\n", better);
	assert_true(better > 10);
}

/* On a line there is no ring without; with relays both ways are full. */
static void test_line(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 4, 0);
	struct gt_proposal p;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		gt_fabric_both(f, i, i + 1, GT_RAT(10, 1));
		gt_fabric_route(f, arena, i, i + 1, (uint32_t[]){2 * i}, 1);
		gt_fabric_route(f, arena, i + 1, i, (uint32_t[]){2 * i + 1}, 1);
	}
	f->relays = 1;
	search(f, arena, &p);
	expect_fits(f, &p);
	assert_int_equal(gt_rat_cmp(p.value, GT_RAT(10, 1)), 0);
	assert_int_equal(gt_rat_cmp(p.bound, p.value), 0);
	gt_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_fabrics),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests_name("relays", tests, NULL, NULL);
}
