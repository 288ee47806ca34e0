#include "unit/test.h"

#include <dirent.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/check.h"
#include "plan/plan.h"
#include "search/bound.h"
#include "search/shape.h"
#include "unit/cuts.h"
#include "unit/fabrics.h"

static const enum gt_coll colls[] = {GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER,
				     GT_COLL_REDUCESCATTER, GT_COLL_BROADCAST,
				     GT_COLL_REDUCE};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]), ROUTE_MAX = 64 };

static void expect_equal(struct gt_rat a, struct gt_rat b)
{
	char text[2][GT_RAT_TEXT_MAX];

	assert_string_equal(gt_rat_print(a, text[0]), gt_rat_print(b, text[1]));
}

static void search(const struct gt_shape_args *args, struct gt_proposal *p)
{
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_shape_forest.propose(args, p, &err);
	if (rc)
		fail_msg("%s", err.text);
}

/* A hop's route leads from rank to rank through nodes that are no ranks. */
static void expect_route(const struct gt_fabric *f,
			 const struct gt_fabric_route *route, uint32_t from,
			 uint32_t to)
{
	uint32_t at = f->ranks[from];

	assert_true(route->nlinks > 0);
	for (uint32_t k = 0; k < route->nlinks; k++) {
		assert_int_equal(f->links[route->links[k]].from, at);
		at = f->links[route->links[k]].to;
		if (k + 1 < route->nlinks)
			assert_true(at >= f->nranks);
	}
	assert_int_equal(at, f->ranks[to]);
}

static void add_load(const struct gt_fabric *f,
		     const struct gt_fabric_route *route, struct gt_rat gbs,
		     struct gt_rat *load)
{
	struct gt_rat part;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		part = gbs;
		if (f->links[link].charged)
			assert_true(gt_rat_mul(part, route->charge, &part));
		assert_true(gt_rat_add(load[link], part, &load[link]));
	}
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

/* From the unit of rings (search/bound.h). */
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

/* What no fixed route uses leads nowhere. */
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

/* Routes fixed and charged: trees reach what prices or a cut allow. */
static void test_fixed_routes(void **state)
{
	struct gt_chance c = {11};

	(void)state;
	for (uint32_t seed = 0; seed < 200; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 2 + gt_chance(&c, 5);
		struct gt_fabric *f = gt_fabric_chance(arena, &c, n);

		for (int i = 0; i < NCOLLS; i++) {
			struct gt_shape_args args = {.fabric = f,
						     .coll = colls[i],
						     .root = seed % n,
						     .arena = arena};
			struct gt_proposal p;

			search(&args, &p);
			expect_fits(&args, &p);
			assert_true(p.has_bound);
			expect_equal(p.value, p.bound);
			if (p.nprices)
				expect_prices(&args, &p);
			else if (!args.root)
				expect_equal(p.bound,
					     best_cut(without_unused(f, arena),
						      colls[i]));
		}
		gt_arena_free(arena);
	}
}

/* Ranks and switches at random, links both ways, some of them broken. */
static struct gt_fabric *open_fabric(struct gt_arena *arena,
				     struct gt_chance *c)
{
	uint32_t n = 2 + gt_chance(c, 5), more = gt_chance(c, 4);
	struct gt_fabric *f = gt_fabric_bare(arena, n, more);
	uint32_t dense = 20 + gt_chance(c, 80);

	f->open = 1;
	for (uint32_t i = 1; i < n + more; i++)
		gt_fabric_both(f, i, gt_chance(c, i),
			       GT_RAT(1 + gt_chance(c, 20), 1));
	for (uint32_t i = 0; i < n + more; i++)
		for (uint32_t j = 0; j < i; j++)
			if (gt_chance(c, 100) < dense)
				gt_fabric_both(f, i, j,
					       GT_RAT(gt_chance(c, 20), 1));
	return f;
}

/* Routes open: trees reach the best of all cuts. */
static void test_open_routes(void **state)
{
	struct gt_chance c = {23};

	(void)state;
	for (uint32_t seed = 0; seed < 150; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = open_fabric(arena, &c);

		for (int i = 0; i < NCOLLS; i++) {
			struct gt_shape_args args = {
				.fabric = f, .coll = colls[i], .arena = arena};
			struct gt_proposal p;

			search(&args, &p);
			expect_fits(&args, &p);
			expect_equal(p.value, p.bound);
			if (colls[i] == GT_COLL_ALLREDUCE &&
			    p.class_ == GT_PROOF_TREE)
				continue;
			expect_equal(p.value, best_cut(f, colls[i]));
		}
		gt_arena_free(arena);
	}
}

/* "5" or "0-7" */
static void read_range(const char *word, uint32_t *first, uint32_t *count)
{
	uint32_t last;
	int n = sscanf(word, "%u-%u", first, &last);

	assert_true(n > 0);
	*count = n > 1 ? last - *first + 1 : 1;
}

static void read_links(struct gt_fabric *f, const char *a, const char *b,
		       const char *gbs)
{
	uint32_t from, to, nfrom, nto;
	struct gt_rat rat;

	read_range(a, &from, &nfrom);
	read_range(b, &to, &nto);
	assert_true(gt_rat_parse(gbs, &rat));
	assert_true(nto == 1 || nto == nfrom);
	for (uint32_t i = 0; i < nfrom; i++)
		gt_fabric_both(f, from + i, nto > 1 ? to + i : to, rat);
}

static void expect_row(const struct gt_fabric *f, struct gt_arena *arena,
		       const char *coll, const char *want)
{
	struct gt_shape_args args = {.fabric = f,
				     .coll = (enum gt_coll)gt_coll_find(coll),
				     .arena = arena};
	char text[2][GT_RAT_TEXT_MAX];
	struct gt_proposal p;
	int64_t begin = gt_clock_ns();

	if (f->nranks > 32) {
		struct gt_bound_ask ask = {f, args.coll, 0};
		struct gt_bound bound;

		assert_int_equal(gt_bound_find(&ask, arena, &bound, NULL), 0);
		p.value = p.bound = in_trees(f, args.coll, bound.value);
	} else {
		search(&args, &p);
		expect_fits(&args, &p);
		assert_int_equal(p.class_, GT_PROOF_ANY);
		print_message(
			"%s: %u trees, %u columns in %u rounds, %.1f ms\n",
			coll, p.nchannels, p.ncolumns, p.nrounds,
			(double)(gt_clock_ns() - begin) / 1e6);
	}
	assert_string_equal(gt_rat_print(p.value, text[0]), want);
	assert_string_equal(gt_rat_print(p.bound, text[1]), want);
}

static void expect_table(FILE *file)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = NULL;
	char line[256], word[4][64];
	uint32_t ranks = 0, nodes;

	while (fgets(line, sizeof(line), file)) {
		int n = sscanf(line, "%63s %63s %63s %63s", word[0], word[1],
			       word[2], word[3]);

		if (n < 1 || word[0][0] == '#')
			continue;
		if (!strcmp(word[0], "ranks")) {
			ranks = (uint32_t)atoi(word[1]);
		} else if (!strcmp(word[0], "nodes")) {
			nodes = (uint32_t)atoi(word[1]);
			f = gt_fabric_bare(arena, ranks, nodes - ranks);
			f->open = 1;
		} else if (!strcmp(word[0], "both")) {
			read_links(f, word[1], word[2], word[3]);
		} else {
			expect_row(f, arena, word[0], word[1]);
		}
	}
	gt_arena_free(arena);
}

/* tests/cases/search/bounds: link lists and what they are known to allow. */
static void test_known(void **state)
{
	char path[4096], name[8192];
	DIR *dir = opendir(gt_test_path(path, "tests/cases/search/bounds"));
	struct dirent *entry;
	int count = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		print_message("%s\n", entry->d_name);
		file = fopen(name, "r");
		assert_non_null(file);
		expect_table(file);
		fclose(file);
		count++;
	}
	closedir(dir);
	assert_true(count > 0);
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
 * All 197 subsets that NVLinks join: how many of each size, and how much
 * faster an all-reduce can be than a reduce-scatter and an all-gather.
 */
static void test_subsets(void **state)
{
	static const uint32_t counts[9] = {0, 0, 16, 32, 56, 56, 28, 8, 1};
	static const struct gt_rat gains[9] = {
		[2] = {1, 1}, [3] = {4, 3}, [4] = {3, 2}, [5] = {8, 5},
		[6] = {5, 3}, [7] = {9, 7}, [8] = {1, 1}};
	uint32_t count[9] = {0};
	struct gt_rat most[9] = {{0, 1}};

	(void)state;
	for (uint32_t n = 0; n < 9; n++)
		most[n] = GT_RAT(0, 1);
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
		}
		gt_arena_free(arena);
	}
	for (uint32_t n = 2; n < 9; n++) {
		assert_int_equal(count[n], counts[n]);
		expect_equal(most[n], gains[n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_routes),
		cmocka_unit_test(test_open_routes),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_subsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
