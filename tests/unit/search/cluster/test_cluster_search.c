/*
 * The search of clusters by their quotient: places in the tree of nodes,
 * bounds by classes against those of the flat cluster, and plans for real
 * machines.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"
#include "search/bound/bound.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"
#include "unit/search/cluster/cluster_plan.h"
#include "unit/search/cluster/small_cluster.h"
#include "unit/search/fabrics.h"

/* ---- places ---------------------------------------------------------- */

static void check_places(const struct gt_plan_cluster *cluster)
{
	uint32_t n = cluster->nnodes, fan = gt_nodes_fan(cluster), count = 0;
	uint32_t deepest = 0;
	uint32_t *children = calloc(fan, sizeof(*children));
	uint32_t most = gt_nodes_children(cluster, 0, children);

	for (uint32_t place = 0; place < n; place++) {
		uint32_t m = gt_nodes_children(cluster, place, children);

		assert_true(m <= most && m <= fan);
		for (uint32_t i = 0; i < m; i++) {
			assert_true(children[i] > place && children[i] < n);
			assert_int_equal(gt_nodes_parent(cluster, children[i]),
					 place);
		}
		count += m;
		for (uint32_t origin = 0; origin < n; origin++) {
			uint32_t node = gt_nodes_at(cluster, origin, place);

			assert_true(node < n);
			assert_int_equal(gt_nodes_place(cluster, origin, node),
					 place);
		}
	}
	assert_int_equal(count, n - 1); /* every place has one parent */
	for (uint32_t place = 0; place < n; place++) {
		uint32_t depth = 0;

		for (uint32_t at = place; at; depth++)
			at = gt_nodes_parent(cluster, at);
		deepest = depth > deepest ? depth : deepest;
	}
	assert_int_equal(gt_nodes_depth(cluster), deepest);
	free(children);
}

static void places_are_a_tree(void **state)
{
	(void)state;
	for (uint32_t a = 1; a <= 9; a++)
		for (uint32_t b = 1; b <= 5; b++)
			for (int s = 0; s < GT_NSPREADS * GT_NSPREADS; s++) {
				struct gt_plan_level levels[2] = {
					{.nodes = a,
					 .spread = (enum gt_spread)(
						 s % GT_NSPREADS)},
					{.nodes = a * b,
					 .spread = (enum gt_spread)(
						 s / GT_NSPREADS)},
				};
				struct gt_plan_cluster cluster = {
					.nnodes = a * b,
					.nlevels = 2,
					.levels = levels};

				check_places(&cluster);
			}
}

/* A block enters each switch once, whatever node it starts from. */
static void switches_are_entered_once(void **state)
{
	struct gt_plan_level levels[3] = {
		{.nodes = 3, .spread = GT_SPREAD_CHAIN},
		{.nodes = 12, .spread = GT_SPREAD_BINOMIAL},
		{.nodes = 24, .spread = GT_SPREAD_STAR}};
	struct gt_plan_cluster cluster = {
		.nnodes = 24, .nlevels = 3, .levels = levels};

	(void)state;
	check_places(&cluster);
	for (uint32_t origin = 0; origin < 24; origin++)
		for (uint32_t l = 0; l < 2; l++) {
			uint32_t entered[8] = {0}, size = levels[l].nodes;

			for (uint32_t place = 1; place < 24; place++) {
				uint32_t up = gt_nodes_at(
					&cluster, origin,
					gt_nodes_parent(&cluster, place));
				uint32_t at =
					gt_nodes_at(&cluster, origin, place);

				if (up / size != at / size)
					entered[at / size]++;
			}
			for (uint32_t i = 0; i < 24 / size; i++)
				assert_int_equal(entered[i],
						 i != origin / size);
		}
}

/* ---- clusters by hand ------------------------------------------------- */

/* The first switch of a level in expand()'s fabric; rails side by side. */
static uint32_t first_switch(const struct gt_quotient *q, uint32_t level)
{
	const struct gt_plan_cluster *c = &q->cluster;
	uint32_t at = c->nnodes * q->fabric->nnodes;

	for (uint32_t l = 0; l < level; l++)
		at += c->nnodes / c->levels[l].nodes * c->nrails;
	return at;
}

static uint32_t switch_above(const struct gt_quotient *q, uint32_t level,
			     uint32_t node, uint32_t rail)
{
	const struct gt_plan_level *l = &q->cluster.levels[level];

	return first_switch(q, level) + node / l->nodes * q->cluster.nrails +
	       (l->by_rail ? rail : 0);
}

/* The whole cluster, node by node, as the search of one machine sees it. */
static struct gt_fabric *expand(struct gt_arena *arena,
				const struct gt_quotient *q)
{
	const struct gt_fabric *box = q->fabric;
	const struct gt_plan_cluster *cluster = &q->cluster;
	uint32_t p = cluster->nnodes, n = box->nranks, last = cluster->nlevels;
	struct gt_fabric *f = gt_arena_alloc(arena, sizeof(*f));

	f->nnodes = first_switch(q, last);
	f->nranks = p * n;
	f->links = gt_arena_array(
		arena, p * (box->nlinks + 2 * cluster->nports) + 2 * f->nnodes,
		sizeof(*f->links));
	f->ranks = gt_arena_array(arena, f->nranks, sizeof(*f->ranks));
	for (uint32_t c = 0; c < p; c++) {
		for (uint32_t i = 0; i < n; i++)
			f->ranks[c * n + i] = c * box->nnodes + box->ranks[i];
		for (uint32_t i = 0; i < box->nlinks; i++)
			gt_fabric_link(f, c * box->nnodes + box->links[i].from,
				       c * box->nnodes + box->links[i].to,
				       box->links[i].gbs);
		for (uint32_t i = 0; i < cluster->nports; i++)
			gt_fabric_both(
				f, c * box->nnodes + q->ports[i],
				switch_above(q, 0, c, cluster->ports[i].rail),
				GT_RAT(100000, 1));
	}
	for (uint32_t l = 0; l + 1 < last; l++)
		for (uint32_t c = 0; c < p; c += cluster->levels[l].nodes)
			for (uint32_t r = 0; r < cluster->nrails; r++)
				if (!r || cluster->levels[l].by_rail)
					gt_fabric_both(
						f, switch_above(q, l, c, r),
						switch_above(q, l + 1, c, r),
						cluster->levels[l].gbs);
	return f;
}

static struct gt_rat bound_of(const struct gt_quotient *q, enum gt_coll coll,
			      struct gt_arena *arena)
{
	struct gt_quotient_bound_query ask = {.quotient = q, .coll = coll};
	struct gt_quotient_bound bound;

	assert_int_equal(gt_quotient_bound_find(&ask, arena, &bound, NULL),
			 GT_OK);
	assert_true(bound.found);
	return bound.value;
}

static struct gt_rat value_of(const struct gt_quotient *q,
			      struct gt_arena *arena)
{
	struct gt_block_trees trees;
	struct gt_rat x;

	assert_int_equal(
		gt_block_trees_solve(q, GT_COLL_ALLGATHER, arena, &trees, NULL),
		GT_OK);
	assert_true(gt_block_trees_rate(q, &trees, &x));
	assert_true(gt_rat_mul(
		x, GT_RAT(q->cluster.nnodes * q->fabric->nranks, 1), &x));
	return x;
}

/*
 * Rates that are known by hand: a GPU has 300 and 25 GB/s in a DGX A100, 450
 * and 50 in a DGX H100.
 */
static void known_clusters(void **state)
{
	static const struct {
		struct small_cluster machine;
		struct gt_rat allgather;
	} cases[] = {
		{{4, 72, 1, {900, 1}, {100, 1}}, {288000, 287}},
		{{2, 8, 1, {300, 1}, {25, 1}}, {1040, 3}},
		{{4, 8, 1, {300, 1}, {25, 1}}, {800, 3}},
		{{2, 8, 1, {450, 1}, {50, 1}}, {1600, 3}},
		{{4, 8, 1, {450, 1}, {50, 1}}, {16000, 31}},
		{{8, 8, 1, {450, 1}, {50, 1}}, {3200, 7}},
		{{16, 8, 1, {450, 1}, {50, 1}}, {1280, 3}},
		{{2, 8, 2, {300, 1}, {12, 1}}, {96, 1}},
	};
	const size_t ncases = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	for (size_t i = gt_test_is_brief(); i < ncases; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_quotient *q =
			small_cluster_quotient(arena, &cases[i].machine);

		check_rat(bound_of(q, GT_COLL_ALLGATHER, arena),
			  cases[i].allgather, "bound");
		check_rat(value_of(q, arena), cases[i].allgather, "value");
		gt_arena_free(arena);
	}
}

/* The sum over classes has the bound of the flat cluster. */
static void sums_bound_as_flat_ones_do(void **state)
{
	struct gt_random c = {7};

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct small_cluster box = {2 + gt_random(&c, 4),
					    2 + gt_random(&c, 3), 1,
					    GT_RAT(1 + gt_random(&c, 40), 1),
					    GT_RAT(1 + gt_random(&c, 30), 2)};
		struct gt_quotient *q = small_cluster_quotient(arena, &box);
		struct gt_fabric *f = (struct gt_fabric *)q->fabric;
		struct gt_bound_query ask = {0};
		struct gt_bound whole;
		enum gt_coll coll = gt_random(&c, 2) ? GT_COLL_ALLGATHER
						     : GT_COLL_REDUCESCATTER;
		int64_t n = (int64_t)box.nodes * box.gpus;
		struct gt_rat want;

		/* Links are not all alike, nor alike in both directions. */
		for (uint32_t l = 0; l < f->nlinks; l++)
			if (!gt_random(&c, 3))
				f->links[l].gbs =
					GT_RAT(1 + gt_random(&c, 50), 3);
		ask.fabric = expand(arena, q);
		ask.coll = coll;
		assert_int_equal(gt_bound_find(&ask, arena, &whole, NULL),
				 GT_OK);
		assert_true(gt_rat_mul(whole.value, GT_RAT(n, n - 1), &want));
		check_rat(bound_of(q, coll, arena), want, "bound");
		assert_true(gt_rat_cmp(value_of(q, arena), want) <= 0 ||
			    coll == GT_COLL_REDUCESCATTER);
		gt_arena_free(arena);
	}
}

/* Levels of switches at random: two or three, by rail or of all rails. */
static void random_levels(struct gt_random *c, struct gt_arena *arena,
			  struct gt_plan_cluster *cluster)
{
	uint32_t n = 1, by_rail = gt_random(c, 2);

	cluster->nlevels = 2 + gt_random(c, 2);
	cluster->levels = gt_arena_array(arena, cluster->nlevels,
					 sizeof(*cluster->levels));
	for (uint32_t l = 0; l < cluster->nlevels; l++) {
		n *= 2 + gt_random(c, 2);
		cluster->levels[l].nodes = n;
		cluster->levels[l].by_rail =
			by_rail && l + 1 < cluster->nlevels;
		cluster->levels[l].gbs = GT_RAT(1 + gt_random(c, 60), 2);
	}
	cluster->nnodes = n;
}

/*
 * The bound of a broadcast or reduce is exact where links are alike in both
 * directions, and valid elsewhere.
 */
static void roots_bound_as_flat_ones_do(void **state)
{
	struct gt_random c = {11};

	(void)state;
	for (int i = 0; i < 150; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct small_cluster box = {2, 1 + gt_random(&c, 3), 1,
					    GT_RAT(1 + gt_random(&c, 40), 1),
					    GT_RAT(1 + gt_random(&c, 60), 2)};
		struct gt_quotient *q = small_cluster_quotient(arena, &box);
		struct gt_fabric *f = (struct gt_fabric *)q->fabric;
		int skewed = i % 5 == 0, cmp;
		struct gt_bound_query ask = {.coll = i % 2 ? GT_COLL_BROADCAST
							   : GT_COLL_REDUCE};
		struct gt_quotient_bound_query of = {.quotient = q,
						     .coll = ask.coll};
		struct gt_quotient_bound bound;
		struct gt_bound whole;

		random_levels(&c, arena, &q->cluster);
		/* small_cluster_quotient() makes links in pairs */
		for (uint32_t l = 0; l < f->nlinks; l += 2)
			if (!gt_random(&c, 3)) {
				f->links[l].gbs =
					GT_RAT(1 + gt_random(&c, 50), 3);
				if (!skewed)
					f->links[l + 1].gbs = f->links[l].gbs;
			}
		ask.fabric = expand(arena, q);
		of.root = ask.root = gt_random(&c, ask.fabric->nranks);
		assert_int_equal(gt_bound_find(&ask, arena, &whole, NULL),
				 GT_OK);
		assert_int_equal(
			gt_quotient_bound_find(&of, arena, &bound, NULL),
			GT_OK);
		assert_true(bound.found && whole.found);
		cmp = gt_rat_cmp(bound.value, whole.value);
		assert_true(skewed ? cmp >= 0 : !cmp);
		gt_arena_free(arena);
	}
}

/* Links that no route crosses count for nothing, if the plan has all routes. */
static void links_without_routes_are_left_out(void **state)
{
	static const enum gt_coll all[] = {
		GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER, GT_COLL_ALLREDUCE,
		GT_COLL_BROADCAST, GT_COLL_REDUCE};
	struct gt_random c = {13};

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 2 + gt_random(&c, 3);
		struct small_cluster box = {2 + gt_random(&c, 4), n, n,
					    GT_RAT(1 + gt_random(&c, 40), 1),
					    GT_RAT(1 + gt_random(&c, 30), 2)};
		struct gt_quotient *q = small_cluster_quotient(arena, &box);
		struct gt_fabric *f = (struct gt_fabric *)q->fabric;
		struct gt_quotient_bound_query ask = {.quotient = q,
						      .coll = all[i % 5]};
		struct gt_quotient_bound before, with, without;
		uint32_t first;

		ask.all_routes = 1;
		assert_int_equal(
			gt_quotient_bound_find(&ask, arena, &before, NULL),
			GT_OK);
		assert_null(before.unused);
		first = f->nlinks;
		for (uint32_t k = 0; k < n; k++)
			gt_fabric_both(f, k, (k + 1) % n,
				       GT_RAT(1 + gt_random(&c, 40), 1));
		assert_int_equal(
			gt_quotient_bound_find(&ask, arena, &without, NULL),
			GT_OK);
		ask.all_routes = 0;
		assert_int_equal(
			gt_quotient_bound_find(&ask, arena, &with, NULL),
			GT_OK);
		check_rat(without.value, before.value, "left out");
		assert_null(with.unused);
		assert_int_equal(gt_rat_cmp(with.value, without.value) > 0,
				 !!without.unused);
		for (uint32_t l = 0; l < first && without.unused; l++)
			assert_int_equal(without.unused[l], 0);
		gt_arena_free(arena);
	}
}

/* ---- machines --------------------------------------------------------- */

static const enum gt_coll colls[] = {GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER,
				     GT_COLL_ALLREDUCE};

static void check_plan(struct gt_plan *plan, const char *name)
{
	struct gt_plan_report report;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_plan_check_report(plan, &report, &err) ||
	    gt_simulate(plan, plan->coll, &err))
		fail_msg("%s: %s: %s", name, err.where, err.text);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
}

static void reference_machines(void **state)
{
	static const char *const names[] = {"dgx-1v", "dgx-a100", "dgx-h100",
					    "pcie-8gpu"};
	static const uint32_t nodes[] = {2, 3, 16, 12500};
	char path[4096], file[64];

	(void)state;
	for (int m = 0; m < 4; m += gt_test_is_brief() ? 2 : 1)
		for (int i = 0; i < 4; i++)
			for (int c = 0; c < 3; c++) {
				struct gt_plan *plan;

				snprintf(file, sizeof(file), "share/xml/%s.xml",
					 names[m]);
				plan = cluster_plan(gt_test_path(path, file),
						    nodes[i], colls[c]);
				check_plan(plan, names[m]);
				if (!plan->proof.optimal)
					fail_msg("%s %u: not optimal", file,
						 nodes[i]);
				gt_plan_free(plan);
			}
}

/*
 * Both trees span all places, are binary and as deep as a logarithm; a place
 * has no more children in both together than a place inside one has.
 */
static void pairs_of_trees(void **state)
{
	uint32_t children[GT_DTREE_FAN];

	(void)state;
	for (uint32_t n = 2; n < 300; n++) {
		uint32_t log2 = 0;

		while (n >> (log2 + 1))
			log2++;
		for (uint32_t place = 0; place < n; place++) {
			uint32_t both = 0;

			for (int second = 0; second < 2; second++) {
				uint32_t m = gt_nodes_dtree_children(
					n, second, place, children);
				uint32_t depth = 0, up = place;

				both += m;
				for (uint32_t k = 0; k < m; k++)
					assert_int_equal(
						gt_nodes_dtree_parent(
							n, second, children[k]),
						place);
				while (up && depth++ <= log2)
					up = gt_nodes_dtree_parent(n, second,
								   up);
				assert_true(depth <= log2 + 1);
				assert_int_equal(up, 0);
			}
			assert_in_range(both, place ? 0 : 2, 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_a_tree),
		cmocka_unit_test(switches_are_entered_once),
		cmocka_unit_test(pairs_of_trees),
		cmocka_unit_test(known_clusters),
		cmocka_unit_test(sums_bound_as_flat_ones_do),
		cmocka_unit_test(roots_bound_as_flat_ones_do),
		cmocka_unit_test(links_without_routes_are_left_out),
		cmocka_unit_test(reference_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
