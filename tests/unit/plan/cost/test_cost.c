#include "unit/test.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/cost/cost.h"
#include "plan/cost/extrapolate.h"
#include "plan/cost/network.h"
#include "plan/ir/plan.h"
#include "unit/good_plan.h"

static struct gt_plan *read_plan(const char *name)
{
	struct gt_plan *plan = good_plan(name);

	/* So many that it is the links that limit. */
	plan->select[plan->nselect - 1].workers = 128;
	return plan;
}

static double price(const struct gt_plan *plan, enum gt_coll coll,
		    uint64_t bytes)
{
	struct gt_cost_model *model;
	struct gt_cost cost;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_cost_new(plan, coll, &model, &err), GT_OK);
	assert_int_equal(gt_cost_price(model, bytes, &cost, &err), GT_OK);
	gt_cost_free(model);
	return cost.time_us;
}

static void assert_near(double value, double wanted, double part)
{
	if (fabs(value / wanted - 1) > part)
		fail_msg("%g is not within %g of %g", value, part, wanted);
}

/* A ring passes each chunk on n - 1 times, all-reduce twice that. */
static void test_small_is_latency(void **state)
{
	struct gt_cost_params p = gt_cost_default(GT_PROTOCOL_LL);
	struct gt_plan *plan = read_plan("ring4");

	(void)state;
	assert_near(price(plan, GT_COLL_ALLREDUCE, 64),
		    p.base_us + 6 * p.hop_us[GT_COST_HOP_NVL], 0.01);
	assert_near(price(plan, GT_COLL_ALLGATHER, 64),
		    p.base_us + 3 * p.hop_us[GT_COST_HOP_NVL], 0.01);
	assert_near(price(plan, GT_COLL_ALLREDUCE, 0), p.base_us, 1e-9);
	gt_plan_free(plan);
}

/* Hops by the host's memory have a latency and a rate of their own. */
static void test_through_the_host(void **state)
{
	struct gt_cost_params p = gt_cost_default(GT_PROTOCOL_LL);
	struct gt_plan *plan = read_plan("ring4");
	double gbs = gt_rat_double(plan->proof.value) *
		     gt_cost_default(GT_PROTOCOL_SIMPLE).host_rate;

	(void)state;
	/* One of them is enough for all to go so. */
	plan->channels[0].hops[0].transport = GT_TRANSPORT_SHM;
	assert_near(price(plan, GT_COLL_ALLREDUCE, 64),
		    p.host_base_us + 6 * p.hop_us[GT_COST_HOP_HOST], 0.01);
	assert_near(price(plan, GT_COLL_ALLREDUCE, 4ull << 30),
		    1.5 * (double)(4ull << 30) / 1e3 / gbs, 0.02);
	for (uint32_t i = 0; i < plan->channels[0].nhops; i++)
		plan->channels[0].hops[i].transport = GT_TRANSPORT_SHM;
	assert_near(price(plan, GT_COLL_ALLREDUCE, 64),
		    p.host_base_us + 6 * p.hop_us[GT_COST_HOP_HOST], 0.01);
	assert_near(price(plan, GT_COLL_ALLREDUCE, 4ull << 30),
		    1.5 * (double)(4ull << 30) / 1e3 / gbs, 0.02);
	gt_plan_free(plan);
}

/* A mesh by copy engines, through the host's memory over PCIe. */
static struct gt_plan *read_copies(const char *name)
{
	struct gt_plan *plan = read_plan(name);

	for (uint32_t i = 0; i < plan->nlinks; i++)
		plan->links[i].kind = "PCI";
	for (uint32_t i = 0; i < plan->channels[0].nhops; i++) {
		plan->channels[0].hops[i].transport = GT_TRANSPORT_SHM;
		plan->channels[0].hops[i].charge = GT_RAT(1, 1);
	}
	for (uint32_t i = 0; i < plan->nselect; i++) {
		plan->select[i].protocol = GT_PROTOCOL_CE;
		if (plan->select[i].coll == GT_COLL_BROADCAST)
			plan->select[i].algo = GT_ALGO_ONE_SHOT;
	}
	return plan;
}

/*
 * Copies go chunk by chunk, with a meeting behind each and a step more than
 * chunks; out and in at once PCIe is slower than one way.
 */
static void test_copies_through_the_host(void **state)
{
	const struct {
		const char *name;
		enum gt_coll coll;
		double least; /* steps */
		uint64_t blocks;
		double rate;
	} cases[] = {
		{"mesh5-alltoall", GT_COLL_ALLTOALL, 2, 5,
		 gt_cost_default(GT_PROTOCOL_CE).host_rate},
		{"mesh5-broadcast", GT_COLL_BROADCAST, 2, 1,
		 gt_cost_default(GT_PROTOCOL_CE).host_one_way_rate},
		{"mesh4-two-shot", GT_COLL_ALLREDUCE, 6, 0, 0},
	};
	struct gt_cost_params p = gt_cost_default(GT_PROTOCOL_CE);
	double hop_us = p.hop_us[GT_COST_HOP_HOST], block = 24 << 20, us;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gt_plan *plan = read_copies(cases[i].name);

		assert_near(price(plan, cases[i].coll, 80),
			    p.host_base_us + cases[i].least * hop_us, 0.001);
		us = block / 1e3 / cases[i].rate /
		     gt_rat_double(plan->links[0].gbs);
		if (cases[i].blocks)
			assert_near(price(plan, cases[i].coll,
					  cases[i].blocks * (uint64_t)block),
				    p.host_base_us + 25 * (hop_us + us / 24),
				    0.001);
		gt_plan_free(plan);
	}
}

static void test_large_is_bandwidth(void **state)
{
	struct gt_plan *plan = read_plan("ring4");
	double gbs = gt_rat_double(plan->proof.value) *
		     gt_cost_default(GT_PROTOCOL_SIMPLE).rate;
	double fast, slow;

	(void)state;
	fast = price(plan, GT_COLL_ALLREDUCE, 4ull << 30);
	assert_near(fast, 1.5 * (double)(4ull << 30) / 1e3 / gbs, 0.02);
	plan->links[0].gbs.den *= 2;
	slow = price(plan, GT_COLL_ALLREDUCE, 4ull << 30);
	assert_near(slow, 2 * fast, 0.02);
	gt_plan_free(plan);
}

/* Two hops on one link wait for each other. */
static void test_contention(void **state)
{
	struct gt_plan *plan = read_plan("ring4");
	double alone = price(plan, GT_COLL_ALLREDUCE, 1ull << 30);

	(void)state;
	plan->channels[0].hops[1].route[0] = plan->channels[0].hops[0].route[0];
	assert_near(price(plan, GT_COLL_ALLREDUCE, 1ull << 30), 2 * alone,
		    0.02);
	gt_plan_free(plan);
}

static void test_grows_with_size(void **state)
{
	struct gt_plan *plan = read_plan("ring4");

	(void)state;
	for (int coll = 0; coll < GT_COLL_BROADCAST; coll++) {
		double last = 0;

		for (uint64_t bytes = 1; bytes < 1ull << 40; bytes *= 2) {
			double now = price(plan, coll, bytes);

			assert_true(now >= last * 0.999);
			last = now;
		}
	}
	gt_plan_free(plan);
}

/* What no price is below, and how near that is to what it is about. */
static void test_least(void **state)
{
	/* Of the last two workers limit large messages. */
	static const char *const names[] = {"auto4",
					    "ring4",
					    "ring8-three",
					    "tree5-allreduce",
					    "tree8-star-gather",
					    "mesh7-one-shot",
					    "flow4-alltoall",
					    "cluster3x2-alltoall",
					    "steps3-scratch",
					    "chain4-gather",
					    "mesh5-alltoall",
					    "ring2-pci-charge"};
	enum { NAMES = sizeof(names) / sizeof(*names) };
	struct gt_cost_model *model;
	struct gt_cost cost;
	struct gt_err err;
	double least_us;

	(void)state;
	gt_err_init(&err);
	for (size_t i = 0; i < NAMES; i++) {
		struct gt_plan *plan = read_plan(names[i]);
		uint32_t last = plan->nselect - 1;

		assert_int_equal(gt_cost_new(plan, plan->coll, &model, &err),
				 GT_OK);
		for (uint32_t k = 0; k < 36 * plan->nselect; k++) {
			uint32_t row = k / 36;
			uint64_t bytes = UINT64_C(1) << k % 36;

			assert_int_equal(gt_cost_lower_bound(model, row, bytes,
							     &least_us, &err),
					 GT_OK);
			assert_int_equal(gt_cost_price_row(model, row, bytes,
							   &cost, &err),
					 GT_OK);
			assert_true(least_us <= cost.time_us);
			if (row == last &&
			    (k % 36 == 0 || (k % 36 == 35 && i + 2 < NAMES)))
				assert_true(least_us > 0.9 * cost.time_us);
		}
		gt_cost_free(model);
		gt_plan_free(plan);
	}
}

/* 48 nodes of 2 GPUs, 2 below each leaf switch. */
static struct gt_plan *read_cluster(void)
{
	struct gt_plan *plan = read_plan("cluster8x2-rails");

	plan->cluster->levels[1].spread = GT_SPREAD_BINOMIAL;
	gt_nodes_resize(plan->cluster, 1, 24);
	plan->nranks = 96;
	return plan;
}

/*
 * The same of what is extrapolated, of which the bound knows what links serve.
 * A price that is not below what was asked for may be infinite.
 */
static void test_least_of_few_nodes(void **state)
{
	struct gt_plan *plan = read_cluster();
	struct gt_cost cost, below;
	struct gt_cost_model *model;
	struct gt_err err;
	double least_us;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_cost_new(plan, plan->coll, &model, &err), GT_OK);
	for (uint32_t k = 0; k < 36; k += 5) {
		uint64_t bytes = UINT64_C(1) << k;

		assert_int_equal(
			gt_cost_lower_bound(model, 0, bytes, &least_us, &err),
			GT_OK);
		assert_int_equal(
			gt_cost_price_row(model, 0, bytes, &cost, &err), GT_OK);
		assert_true(least_us <= cost.time_us);
		assert_int_equal(gt_cost_price_below(model, 0, bytes,
						     cost.time_us * 1.001,
						     &below, &err),
				 GT_OK);
		assert_true(below.time_us == cost.time_us);
	}
	assert_true(least_us > 0.3 * cost.time_us);
	assert_int_equal(gt_cost_price_below(model, 0, UINT64_C(1) << 35,
					     cost.time_us * 0.3, &below, &err),
			 GT_OK);
	assert_true(isinf(below.time_us));
	gt_cost_free(model);
	gt_plan_free(plan);
}

/* One loop of pieces of `bytes` on all nodes of the plan. */
static double run_whole(struct gt_plan *plan, enum gt_coll coll, double bytes,
			struct gt_cost_net *net, struct gt_arena *arena)
{
	struct gt_cost_params params = gt_cost_default(GT_PROTOCOL_SIMPLE);
	struct gt_cost_slicing cut = {1, 1, 1, bytes};
	struct gt_cost_run run = {
		.params = &params, .slicings = &cut, .ngroups = 1, .loops = 1};
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_cost_net_init(net, plan, 0, coll, arena, &err),
			 GT_OK);
	assert_int_equal(gt_cost_net_run(net, &run, &err), GT_OK);
	return run.end_us[0];
}

/* A few nodes stand for all: links exactly, time nearly. */
static void test_few_nodes(void **state)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER};
	struct gt_plan *plan = read_cluster();
	struct gt_cost_net whole, nets[2];
	struct gt_cost_extrapolation x;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	for (uint32_t i = 0; i < 6; i++) {
		struct gt_arena *arena = gt_arena_new();
		double bytes = i < 3 ? 1 : 65536, us, busy, most = 0, first[2];
		double deep = 14 * (colls[i % 3] == GT_COLL_ALLREDUCE ? 2 : 1);
		uint32_t link = UINT32_MAX;

		assert_int_equal(
			gt_cost_extrapolate_init(&x, plan, i % 2, arena, &err),
			GT_OK);
		assert_int_equal(x.n, 2);
		for (int k = 0; k < 2; k++)
			first[k] = run_whole(&x.samples[k].plan, colls[i % 3],
					     bytes, &nets[k], arena);
		us = run_whole(plan, colls[i % 3], bytes, &whole, arena);
		busy = gt_cost_extrapolate_busiest(&x, nets, &link);
		for (uint32_t l = 0; l < whole.nlinks; l++)
			most = fmax(most, whole.link_busy_us[l]);
		assert_near(busy, most, 1e-9);
		assert_true(link >= plan->nlinks); /* thin uplinks */
		assert_near(gt_cost_extrapolate_chain(&x, first, deep), us,
			    i < 3   ? 0.03
			    : i % 2 ? 0.4
				    : 0.3);
		gt_arena_free(arena);
	}
	gt_plan_free(plan);
}

/* The same of an all-to-all, of which uplinks have more for each node below. */
static void test_few_nodes_of_a_flow(void **state)
{
	struct gt_cost_net whole, nets[2];
	struct gt_cost_extrapolation x;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	for (uint32_t i = 0; i < 4; i++) {
		struct gt_plan *plan = read_plan("cluster4x2-alltoall");
		struct gt_arena *arena = gt_arena_new();
		double bytes = i < 2 ? 1 : 65536, us, busy, most = 0, first[2];
		uint32_t link = UINT32_MAX;

		/* many below a leaf switch, or many of these */
		gt_nodes_resize(plan->cluster, i % 2, 24);
		plan->nranks = 96;
		assert_int_equal(
			gt_cost_extrapolate_init(&x, plan, 0, arena, &err),
			GT_OK);
		assert_int_equal(x.n, 2);
		for (int k = 0; k < 2; k++)
			first[k] = run_whole(&x.samples[k].plan, plan->coll,
					     bytes, &nets[k], arena);
		us = run_whole(plan, plan->coll, bytes, &whole, arena);
		busy = gt_cost_extrapolate_busiest(&x, nets, &link);
		for (uint32_t l = 0; l < whole.nlinks; l++)
			most = fmax(most, whole.link_busy_us[l]);
		assert_near(busy, most, 1e-9);
		assert_true(link >= plan->nlinks); /* uplinks, both times */
		/* As gt_cost_price() has it: links may be busy for longer. */
		assert_near(fmax(gt_cost_extrapolate_linear(&x, first), busy),
			    us, 0.05);
		gt_arena_free(arena);
		gt_plan_free(plan);
	}
}

/* Clusters that are executed as they are. */
static void test_cluster_bandwidth(void **state)
{
	struct gt_plan *plan = read_plan("cluster8x2-rails");
	struct gt_cost_model *model;
	char name[GT_COST_LINK_MAX];
	struct gt_cost cost;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_cost_new(plan, plan->coll, &model, &err), GT_OK);
	assert_int_equal(gt_cost_price(model, 4ull << 30, &cost, &err), GT_OK);
	assert_string_equal(gt_cost_link_name(plan, cost.link, name),
			    "uplink of level 0, rail 0");
	/* The uplinks are full at the plan's value, and part of the time. */
	assert_near(cost.busy * cost.time_us,
		    (double)(4ull << 30) / 1e3 / 0.99 /
			    gt_rat_double(plan->proof.value),
		    1e-4);
	gt_cost_free(model);
	gt_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_is_latency),
		cmocka_unit_test(test_through_the_host),
		cmocka_unit_test(test_copies_through_the_host),
		cmocka_unit_test(test_large_is_bandwidth),
		cmocka_unit_test(test_contention),
		cmocka_unit_test(test_grows_with_size),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_least_of_few_nodes),
		cmocka_unit_test(test_few_nodes),
		cmocka_unit_test(test_few_nodes_of_a_flow),
		cmocka_unit_test(test_cluster_bandwidth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
