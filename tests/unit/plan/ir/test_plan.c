#include "unit/good_plan.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/check/bounds.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

static void print_plan(const struct gt_plan *plan, struct gt_buf *out)
{
	assert_int_equal(gt_plan_print(plan, out, NULL), 0);
}

/* What was printed reads as the same plan and prints as the same text. */
static void check_round(const char *name, const char *path)
{
	struct gt_buf file = GT_BUF_INIT, once = GT_BUF_INIT,
		      again = GT_BUF_INIT;
	struct gt_plan *plan;

	assert_int_equal(gt_plan_read(path, &plan, NULL), 0);
	print_plan(plan, &once);
	gt_plan_free(plan);
	assert_int_equal(
		gt_plan_parse("again", once.text, once.len, &plan, NULL), 0);
	print_plan(plan, &again);
	gt_plan_free(plan);
	assert_string_equal(once.text, again.text);
	assert_int_equal(gt_file_read(path, 1 << 20, &file, NULL), 0);
	if (!strncmp(name, "ring", 4))
		assert_string_equal(once.text, file.text);
	gt_buf_release(&file);
	gt_buf_release(&once);
	gt_buf_release(&again);
}

static void test_round(void **state)
{
	(void)state;
	each_good_plan(check_round);
}

static void test_words(void **state)
{
	(void)state;
	for (int i = 0; i < GT_NCOLLS; i++)
		assert_int_equal(gt_coll_find(gt_coll_name(i)), i);
	for (int i = 0; i < GT_NSHAPES; i++)
		assert_int_equal(gt_shape_find(gt_shape_name(i)), i);
	for (int i = 0; i < GT_NTRANSPORTS; i++)
		assert_int_equal(gt_transport_find(gt_transport_name(i)), i);
	for (int i = 0; i < GT_NPROTOCOLS; i++)
		assert_int_equal(gt_protocol_find(gt_protocol_name(i)), i);
	for (int i = 0; i < GT_NPROOFS; i++)
		assert_int_equal(gt_proof_find(gt_proof_name(i)), i);
	assert_int_equal(gt_shape_find("rin"), -1);
	assert_string_equal(gt_op_name(GT_OP_RECV_REDUCE_COPY_SEND),
			    "recvReduceCopySend");
}

static int64_t ring_cost(uint32_t n, const int64_t *cost, const uint32_t *order)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += cost[order[i] * n + order[(i + 1) % n]];
	return sum;
}

/* The cheapest way through the rest by trying all. */
static int64_t try_all(uint32_t n, const int64_t *cost, uint32_t *order,
		       uint32_t done)
{
	int64_t least = INT64_MAX, sum;

	if (done == n)
		return ring_cost(n, cost, order);
	for (uint32_t i = done; i < n; i++) {
		uint32_t keep = order[done];

		order[done] = order[i];
		order[i] = keep;
		sum = try_all(n, cost, order, done + 1);
		if (sum < least)
			least = sum;
		order[i] = order[done];
		order[done] = keep;
	}
	return least;
}

static void test_cheapest_ring(void **state)
{
	int64_t cost[7 * 7], least;
	uint32_t order[7], all[7], seed = 1;

	(void)state;
	for (uint32_t n = 2; n <= 7; n++)
		for (int round = 0; round < 20; round++) {
			for (uint32_t i = 0; i < n * n; i++) {
				seed = seed * 1103515245 + 12345;
				cost[i] = seed >> 16 & 0xff;
			}
			for (uint32_t i = 0; i < n; i++)
				all[i] = i;
			least = gt_ring_cheapest(n, cost, order);
			assert_int_equal(least, ring_cost(n, cost, order));
			assert_int_equal(least, try_all(n, cost, all, 1));
		}
}

static void check_nvlink(const char *name, const char *path)
{
	struct gt_plan *plan;

	assert_int_equal(gt_plan_read(path, &plan, NULL), 0);
	if (!strcmp(name, "ring4") || !strcmp(name, "tuned4"))
		assert_true(gt_plan_allows_ll128(plan));
	if (!strcmp(name, "ring2-pci-charge"))
		assert_false(gt_plan_allows_ll128(plan));
	gt_plan_free(plan);
}

static void test_nvlink(void **state)
{
	(void)state;
	each_good_plan(check_nvlink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_cheapest_ring),
		cmocka_unit_test(test_nvlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
