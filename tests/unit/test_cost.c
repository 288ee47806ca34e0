#include "unit/test.h"

#include <math.h>

#include "base/err.h"
#include "plan/cost.h"
#include "plan/plan.h"

static struct gt_plan *read_plan(const char *name)
{
	char path[4096], file[256];
	struct gt_plan *plan;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(file, sizeof(file), "tests/cases/plan/good/%s/plan.json",
		 name);
	assert_int_equal(gt_plan_read(gt_test_path(path, file), &plan, &err),
			 GT_OK);
	assert_int_equal(gt_plan_check(plan, &err), GT_OK);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_is_latency),
		cmocka_unit_test(test_large_is_bandwidth),
		cmocka_unit_test(test_contention),
		cmocka_unit_test(test_grows_with_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
