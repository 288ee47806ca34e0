/* What is left of any plan, whichever ranks go, is a right plan. */
#include "unit/good_plan.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/ir/survivors.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"

enum { MOST = 256 };

/* The plan is right for all that the old one did, also when it is read. */
static void check_right(const struct gt_plan *old, const struct gt_plan *plan)
{
	struct gt_buf text = GT_BUF_INIT;
	struct gt_plan *again;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_plan_print(plan, &text, &err), 0);
	if (gt_plan_parse("left", text.text, text.len, &again, &err))
		fail_msg("%s", err.text);
	if (gt_plan_check(again, &err))
		fail_msg("%s", err.text);
	for (int coll = 0; coll < GT_NCOLLS; coll++) {
		if (!gt_plan_row(old, (enum gt_coll)coll, 0))
			continue;
		assert_non_null(gt_plan_row(again, (enum gt_coll)coll, 0));
		if (gt_simulate(again, (enum gt_coll)coll, &err))
			fail_msg("%s: %s", gt_coll_name((enum gt_coll)coll),
				 err.text);
	}
	gt_plan_free(again);
	gt_buf_release(&text);
}

/* Sums are wanted in one order of a plan that may keep none. */
static void check_in_order(const struct gt_plan *old, const uint8_t *gone)
{
	struct gt_plan *plan;

	assert_int_equal(gt_plan_survivors(old, gone, 1, &plan, NULL), 0);
	assert_true(plan->invariant);
	check_right(old, plan);
	gt_plan_free(plan);
}

static void check_same(const char *a, const char *b)
{
	assert_string_equal(a ? a : "", b ? b : "");
}

static void check_without(const struct gt_plan *old, const uint8_t *gone)
{
	struct gt_plan *plan;
	struct gt_err err;
	uint32_t n = 0;
	int rc;

	gt_err_init(&err);
	rc = gt_plan_survivors(old, gone, 0, &plan, &err);
	if (old->demand || gt_plan_uses_switches(old)) {
		assert_int_equal(rc, GT_EINPUT);
		return;
	}
	assert_int_equal(rc, GT_OK);
	for (uint32_t r = 0; r < old->nranks; r++) {
		if (gone[r])
			continue;
		assert_true(n < plan->nranks);
		check_same(plan->ranks[n].device, old->ranks[r].device);
		check_same(plan->ranks[n++].node, old->ranks[r].node);
	}
	assert_int_equal(n, plan->nranks);
	check_right(old, plan);
	gt_plan_free(plan);
	check_in_order(old, gone);
}

static void check_all(const struct gt_plan *old)
{
	uint8_t gone[MOST] = {0};
	uint32_t n = old->nranks;

	assert_true(n <= MOST);
	for (uint32_t r = 0; n > 1 && r < n; r++) {
		memset(gone, 0, sizeof(gone));
		gone[r] = 1;
		check_without(old, gone);
		memset(gone, 1, sizeof(gone));
		gone[r] = 0;
		check_without(old, gone);
	}
	for (uint32_t r = 0; n > 2 && r < n; r++)
		gone[r] = r % 3 == 1;
	check_without(old, gone);
}

static void check_left(const char *name, const char *path)
{
	struct gt_plan *plan;

	print_message("%s\n", name);
	assert_int_equal(gt_plan_read(path, &plan, NULL), 0);
	check_all(plan);
	gt_plan_free(plan);
}

static void test_what_is_left_is_right(void **state)
{
	(void)state;
	each_good_plan(check_left);
}

/* Where the routes are known the rings that are left use what links have. */
static void test_rates_are_the_links(void **state)
{
	static const uint8_t gone[8] = {0, 0, 1};
	struct gt_plan *old, *plan;
	char path[4096];

	(void)state;
	assert_int_equal(
		gt_plan_read(gt_test_path(path,
					  "tests/cases/plan/good/ring8-three/"
					  "plan.json"),
			     &old, NULL),
		0);
	assert_true(old->proof.nroutes > 0);
	assert_int_equal(gt_plan_survivors(old, gone, 0, &plan, NULL), 0);
	assert_int_equal(plan->nchannels, gt_plan_main_row(old)->nchannels);
	/* One that were a millionth faster would be too much for a link. */
	for (uint32_t i = 0; i < plan->nchannels; i++)
		assert_true(gt_rat_mul(plan->channels[i].gbs,
				       GT_RAT(1000001, 1000000),
				       &plan->channels[i].gbs));
	assert_int_equal(gt_plan_check(plan, NULL), GT_ENO);
	gt_plan_free(plan);
	gt_plan_free(old);
}

static void test_nobody_is_left(void **state)
{
	static const uint8_t gone[4] = {1, 1, 1, 1};
	struct gt_plan *old, *plan;
	char path[4096];

	(void)state;
	assert_int_equal(
		gt_plan_read(gt_test_path(path, "tests/cases/plan/good/ring4/"
						"plan.json"),
			     &old, NULL),
		0);
	assert_int_equal(gt_plan_survivors(old, gone, 0, &plan, NULL),
			 GT_EINPUT);
	gt_plan_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left_is_right),
		cmocka_unit_test(test_rates_are_the_links),
		cmocka_unit_test(test_nobody_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
