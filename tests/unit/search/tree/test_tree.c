/*
 * Trees of all collectives: they fit, and reach what prices or a cut allow, on
 * fabrics with fixed and open routes, on those with known answers, and on all
 * sets of GPUs of a DGX-1; equal trees are there as many as are asked for.
 */
#include "unit/test.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/problem/shape.h"
#include "search/ring/equal_shares.h"
#include "unit/search/every_cut.h"
#include "unit/search/fabrics.h"
#include "unit/search/known_bounds.h"

static const enum gt_coll colls[] = {GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER,
				     GT_COLL_REDUCESCATTER, GT_COLL_BROADCAST,
				     GT_COLL_REDUCE};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

static void search(const struct gt_shape_args *args, struct gt_proposal *p)
{
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_shape_forest.propose(args, p, &err);
	if (rc)
		fail_msg("%s", err.text);
}

/* A spanning tree, whose hops have routes the ways that are wanted. */
static void expect_tree(const struct gt_shape_args *args,
			const struct gt_proposal_channel *c,
			struct gt_rat *load)
{
	const struct gt_fabric *f = args->fabric;

	for (uint32_t v = 0; v < f->nranks; v++) {
		uint32_t steps = 0;

		for (uint32_t u = v; u != c->root; u = c->parent[u])
			assert_true(steps++ < f->nranks);
		if (v == c->root)
			continue;
		assert_int_equal(!!c->down[v], gt_coll_goes_down(args->coll));
		assert_int_equal(!!c->up[v], gt_coll_goes_up(args->coll));
		if (c->down[v])
			expect_route(f, c->down[v], c->parent[v], v);
		if (c->up[v])
			expect_route(f, c->up[v], v, c->parent[v]);
		if (c->down[v])
			add_load(f, c->down[v], c->gbs, load);
		if (c->up[v])
			add_load(f, c->up[v], c->gbs, load);
	}
}

/* What is rooted at each rank is equal; all of it is the value. */
static void expect_sums(const struct gt_shape_args *args,
			const struct gt_proposal *p)
{
	uint32_t n = args->fabric->nranks;
	struct gt_rat all = GT_RAT(0, 1), sum[64], share;

	for (uint32_t i = 0; i < n; i++)
		sum[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < p->nchannels; i++) {
		const struct gt_proposal_channel *c = &p->channels[i];

		assert_true(c->gbs.num > 0);
		assert_true(gt_rat_add(all, c->gbs, &all));
		assert_true(gt_rat_add(sum[c->root], c->gbs, &sum[c->root]));
	}
	expect_equal(all, p->value);
	assert_true(gt_rat_div(all, GT_RAT(n, 1), &share));
	for (uint32_t i = 0; gt_coll_has_blocks(args->coll) && i < n; i++)
		expect_equal(sum[i], share);
	if (gt_coll_is_rooted(args->coll))
		expect_equal(sum[args->root], all);
}

static void expect_fits(const struct gt_shape_args *args,
			const struct gt_proposal *p)
{
	const struct gt_fabric *f = args->fabric;
	struct gt_rat *load = calloc(f->nlinks, sizeof(*load));

	for (uint32_t i = 0; i < f->nlinks; i++)
		load[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < p->nchannels; i++)
		expect_tree(args, &p->channels[i], load);
	for (uint32_t i = 0; i < f->nlinks; i++)
		assert_true(gt_rat_cmp(load[i], f->links[i].gbs) <= 0);
	free(load);
	expect_sums(args, p);
}

/* From the unit of rings (search/bound/bound.h). */
static struct gt_rat in_trees(const struct gt_fabric *f, enum gt_coll coll,
			      struct gt_rat value)
{
	int64_t n = f->nranks, each = coll == GT_COLL_ALLREDUCE ? 2 : 1;

	if (!gt_coll_is_rooted(coll))
		assert_true(
			gt_rat_mul(value, GT_RAT(n, each * (n - 1)), &value));
	return value;
}

static struct gt_rat best_cut(const struct gt_fabric *f, enum gt_coll coll)
{
	struct gt_rat best = GT_RAT(INT64_MAX, 1);
	uint32_t part[8];
	int up = !gt_coll_goes_down(coll);

	if (coll == GT_COLL_ALLREDUCE)
		parts_bound(f, part, 0, 0, &best);
	else if (gt_coll_is_rooted(coll))
		best = rooted_bound(f, up);
	else
		best = spread_bound(f, up);
	return in_trees(f, coll, best);
}

/*
 * The prices prove the bound: they are worth it, and the roots' cheapest
 * trees cost 1 on average.
 */
static void expect_prices(const struct gt_shape_args *args,
			  const struct gt_proposal *p)
{
	const struct gt_fabric *f = args->fabric;
	uint32_t n = f->nranks, nroots = gt_coll_has_blocks(args->coll) ? n : 1;
	int64_t *cost = calloc((size_t)n * n, sizeof(*cost)), sum = 0;
	double worth = 0, one = 1e12,
	       *price = calloc(f->nlinks, sizeof(*price));

	for (uint32_t i = 0; i < p->nprices; i++) {
		uint32_t link = p->prices[i].link;

		price[link] = gt_rat_double(p->prices[i].price);
		worth += price[link] * gt_rat_double(f->links[link].gbs);
	}
	for (uint32_t i = 0; i < n * n; i++) {
		double c = 0;

		for (uint32_t k = 0; k < f->routes[i].nlinks; k++) {
			uint32_t link = f->routes[i].links[k];

			c += price[link] *
			     (f->links[link].charged
				      ? gt_rat_double(f->routes[i].charge)
				      : 1);
		}
		if (gt_coll_goes_down(args->coll))
			cost[i] += (int64_t)(c * one);
		if (gt_coll_goes_up(args->coll))
			cost[i % n * n + i / n] += (int64_t)(c * one);
	}
	for (uint32_t i = 0; i < nroots; i++)
		sum += gt_tree_cheapest(n, cost, nroots > 1 ? i : args->root);
	assert_true((double)sum / one / nroots > 1 - 1e-9);
	assert_true(worth < gt_rat_double(p->bound) * (1 + 1e-9));
	free(cost);
	free(price);
}

/* Links that no fixed route uses lead nowhere. */
static const struct gt_fabric *without_unused(const struct gt_fabric *f,
					      struct gt_arena *arena)
{
	struct gt_fabric *copy = gt_arena_alloc(arena, sizeof(*copy));

	*copy = *f;
	copy->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	for (uint32_t i = 0; i < f->nlinks; i++) {
		copy->links[i] = f->links[i];
		copy->links[i].to = f->links[i].from;
	}
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++) {
			uint32_t link = f->routes[i].links[k];

			copy->links[link].to = f->links[link].to;
		}
	return copy;
}

/* Where routes are fixed and charged trees reach what prices or a cut allow. */
static void expect_certified(struct gt_shape_args *args)
{
	struct gt_proposal p;

	search(args, &p);
	expect_fits(args, &p);
	assert_true(p.has_bound);
	expect_equal(p.value, p.bound);
	if (p.nprices)
		expect_prices(args, &p);
	else if (!args->root)
		expect_equal(p.bound,
			     best_cut(without_unused(args->fabric, args->arena),
				      args->coll));
}

static void test_fixed_routes(void **state)
{
	(void)state;
	fabrics_each(&(struct fabrics){random_fabric, 11, 200, colls, NCOLLS},
		     expect_certified);
}

/* Where routes are open trees reach the best of all cuts. */
static void expect_cut(struct gt_shape_args *args)
{
	struct gt_proposal p;

	args->root = 0;
	search(args, &p);
	expect_fits(args, &p);
	expect_equal(p.value, p.bound);
	if (args->coll != GT_COLL_ALLREDUCE || p.class_ != GT_PROOF_TREE)
		expect_equal(p.value, best_cut(args->fabric, args->coll));
}

static void test_open_routes(void **state)
{
	(void)state;
	fabrics_each(
		&(struct fabrics){random_open_fabric, 23, 150, colls, NCOLLS},
		expect_cut);
}

static void expect_row(const struct gt_fabric *f, struct gt_arena *arena,
		       enum gt_coll coll, const char *want)
{
	struct gt_shape_args args = {.fabric = f, .coll = coll, .arena = arena};
	char text[2][GT_RAT_TEXT_MAX];
	struct gt_proposal p;
	int64_t begin = gt_clock_ns();

	if (gt_coll_only_moves(coll))
		return;
	if ((int)coll < 0) {
		assert_string_equal(gt_rat_print(best_rings(f, arena), text[0]),
				    want);
		return;
	}
	/* a search would take long */
	if (f->nranks * f->nlinks > 5000) {
		struct gt_bound_query ask = {f, args.coll, 0};
		struct gt_bound bound;

		assert_int_equal(gt_bound_find(&ask, arena, &bound, NULL), 0);
		p.value = p.bound = in_trees(f, args.coll, bound.value);
	} else {
		search(&args, &p);
		expect_fits(&args, &p);
		assert_int_equal(p.class_, GT_PROOF_ANY);
		print_message(
			"%s: %u trees, %u columns in %u rounds, %.1f ms\n",
			gt_coll_name(coll), p.nchannels, p.ncolumns, p.nrounds,
			(double)(gt_clock_ns() - begin) / 1e6);
	}
	assert_string_equal(gt_rat_print(p.value, text[0]), want);
	assert_string_equal(gt_rat_print(p.bound, text[1]), want);
}

static void test_known(void **state)
{
	(void)state;
	bounds_each(expect_row);
}

/* NVLinks between the GPUs of a DGX-1 with V100, [i][j] with i > j. */
static const int64_t dgx1[8][8] = {
	{0},
	{1},
	{1, 2},
	{2, 1, 2},
	{2, 0, 0, 0},
	{0, 2, 0, 0, 1},
	{0, 0, 1, 0, 1, 2},
	{0, 0, 0, 1, 2, 1, 2},
};

/* NULL when NVLinks alone do not join all. */
static struct gt_fabric *dgx1_subset(struct gt_arena *arena, uint32_t set)
{
	struct gt_fabric *f =
		gt_fabric_bare(arena, (uint32_t)__builtin_popcount(set), 0);
	uint32_t at[8], n = 0, met = set & -set, before = 0;

	f->open = 1;
	for (uint32_t i = 0; i < 8; i++) {
		if (!(set >> i & 1))
			continue;
		at[i] = n++;
		for (uint32_t j = 0; j < i; j++)
			if (set >> j & 1 && dgx1[i][j])
				gt_fabric_both(f, at[i], at[j],
					       GT_RAT(25 * dgx1[i][j], 1));
	}
	while (met != before) {
		before = met;
		for (uint32_t i = 0; i < 8; i++)
			for (uint32_t j = 0; j < i; j++)
				if (dgx1[i][j] && set >> i & set >> j & 1 &&
				    (met >> i | met >> j) & 1)
					met |= 1u << i | 1u << j;
	}
	return met == set ? f : NULL;
}

/*
 * All 197 subsets that NVLinks join: how many of each size, how much faster an
 * all-reduce can be than a reduce-scatter and an all-gather, how many have no
 * ring, and how much faster than rings an all-gather can be where there are.
 */
static void test_subsets(void **state)
{
	static const uint32_t counts[9] = {0, 0, 16, 32, 56, 56, 28, 8, 1};
	static const struct gt_rat gains[9] = {
		[2] = {1, 1}, [3] = {4, 3}, [4] = {3, 2}, [5] = {8, 5},
		[6] = {5, 3}, [7] = {9, 7}, [8] = {1, 1}};
	static const uint32_t ringless[9] = {[3] = 24, [4] = 48, [5] = 32};
	static const struct gt_rat beats[9] = {
		[2] = {1, 1}, [3] = {3, 2}, [4] = {3, 2}, [5] = {3, 2},
		[6] = {3, 2}, [7] = {1, 1}, [8] = {1, 1}};
	uint32_t count[9] = {0}, none[9] = {0};
	struct gt_rat most[9] = {{0, 1}}, over[9] = {{0, 1}};

	(void)state;
	for (uint32_t n = 0; n < 9; n++)
		most[n] = over[n] = GT_RAT(0, 1);
	for (uint32_t set = 1; set < 256; set++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = dgx1_subset(arena, set);
		uint32_t n = (uint32_t)__builtin_popcount(set);
		struct gt_rat value[2], gain;

		for (int i = 0; f && n > 1 && i < 2; i++) {
			struct gt_shape_args args = {
				.fabric = f, .coll = colls[i], .arena = arena};
			struct gt_proposal p;

			search(&args, &p);
			expect_fits(&args, &p);
			expect_equal(p.value, p.bound);
			assert_int_equal(p.class_, GT_PROOF_ANY);
			value[i] = p.value;
		}
		if (f && n > 1) {
			count[n]++;
			assert_true(gt_rat_div(value[0], value[1], &gain) &&
				    gt_rat_mul(gain, GT_RAT(2, 1), &gain));
			if (gt_rat_cmp(gain, most[n]) > 0)
				most[n] = gain;
			gain = best_rings(f, arena);
			none[n] += !gain.num;
			if (gt_rat_div(value[1], gain, &gain) &&
			    gt_rat_cmp(gain, over[n]) > 0)
				over[n] = gain;
		}
		gt_arena_free(arena);
	}
	for (uint32_t n = 2; n < 9; n++) {
		assert_int_equal(count[n], counts[n]);
		expect_equal(most[n], gains[n]);
		assert_int_equal(none[n], ringless[n]);
		expect_equal(over[n], beats[n]);
	}
}

/* So many equal trees a root: what they reach, and at most do. */
static struct gt_rat equal(const struct gt_shape_args *args, uint32_t min,
			   uint32_t max, struct gt_rat *most)
{
	struct gt_equal_query ask = {args, &gt_shape_forest, 1, min, max, NULL};
	struct gt_proposal p;
	struct gt_err err;

	gt_err_init(&err);
	search(args, &p);
	if (gt_coll_has_blocks(args->coll))
		ask.groups = args->fabric->nranks;
	if (gt_equal_shares(&ask, &p, most, &err))
		fail_msg("%s", err.text);
	expect_fits(args, &p);
	assert_in_range(p.nchannels, min * ask.groups, max * ask.groups);
	for (uint32_t i = 0; i < p.nchannels; i++)
		expect_equal(p.channels[i].gbs, p.channels[0].gbs);
	assert_true(gt_rat_cmp(p.value, *most) <= 0);
	return p.value;
}

static struct gt_fabric *read_bounds(struct gt_arena *arena, const char *name)
{
	char path[4096], file[128];
	struct gt_fabric *f;
	FILE *in;

	snprintf(file, sizeof(file), "tests/cases/search/bounds/%s.txt", name);
	in = fopen(gt_test_path(path, file), "r");
	assert_non_null(in);
	f = bounds_table(in, arena, NULL);
	fclose(in);
	return f;
}

/* Trees a root, and what so many reach: not more with each, as is known. */
static void test_trees_per_root(void **state)
{
	static const struct {
		const char *name;
		uint32_t k;
		struct gt_rat value;
	} known[] = {
		{"dgx-1v", 1, {400, 3}},      {"dgx-1v", 2, {160, 1}},
		{"dgx-1v", 3, {150, 1}},      {"dgx-1v", 4, {160, 1}},
		{"dgx-1v", 5, {500, 3}},      {"dgx-1v", 6, {1200, 7}},
		{"dgx-a100-2", 1, {2400, 7}}, {"dgx-a100", 1, {2400, 7}},
		{"dual-die-16", 1, {800, 3}}, {"three-v100", 3, {225, 2}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = read_bounds(arena, known[i].name);
		struct gt_shape_args args = {.fabric = f,
					     .coll = GT_COLL_ALLGATHER,
					     .bare = 1,
					     .arena = arena};
		int64_t begin = gt_clock_ns();
		struct gt_rat most;

		expect_equal(equal(&args, known[i].k, known[i].k, &most),
			     known[i].value);
		expect_equal(most, known[i].value);
		print_message("%s, %u trees a root: %.1f ms\n", known[i].name,
			      known[i].k,
			      (double)(gt_clock_ns() - begin) / 1e6);
		gt_arena_free(arena);
	}
}

/* At random they fit, and without switches they are the best (Edmonds). */
static void test_equal_trees(void **state)
{
	struct gt_random c = {31};

	(void)state;
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = seed % 2 ? gt_fabric_random(arena, &c, 4)
					       : random_open_fabric(arena, &c);
		struct gt_shape_args args = {.fabric = f,
					     .coll = colls[seed % NCOLLS],
					     .bare = 1,
					     .arena = arena};
		struct gt_rat most, value = equal(&args, 1, 3, &most);

		if (f->open && f->nnodes == f->nranks &&
		    args.coll != GT_COLL_ALLREDUCE)
			expect_equal(value, most);
		gt_arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_routes),
		cmocka_unit_test(test_open_routes),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_subsets),
		cmocka_unit_test(test_trees_per_root),
		cmocka_unit_test(test_equal_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
