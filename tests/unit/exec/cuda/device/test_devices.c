/* Which of a host's GPUs a rank has where ranks share them. */
#include "unit/test.h"

#include "exec/cuda/device/devices.c"

/* The GPU of a process's i-th rank: it is the place-th on its host. */
static int of(uint32_t ranks, uint32_t place, uint32_t i, uint32_t had)
{
	struct gt_engine engine = {
		.config = {.map = GT_DEVICE_SHARED, .had_device = had},
		.group = {.end = ranks, .place = place}};

	return gt_devices_shared(&engine, i, 2);
}

static void test_shared(void **state)
{
	(void)state;
	/* In order, from the first again. */
	assert_int_equal(of(1, 0, 0, 0), 0);
	assert_int_equal(of(1, 1, 0, 0), 1);
	assert_int_equal(of(1, 2, 0, 0), 0);
	assert_int_equal(of(2, 1, 0, 0), 1);
	assert_int_equal(of(2, 1, 1, 0), 0);
	/* The third of those that are left stays where it was. */
	assert_int_equal(of(1, 2, 0, 2), 1);
	assert_int_equal(of(1, 1, 0, 1), 0);
	/* What is not there, or was one of several ranks', is not kept. */
	assert_int_equal(of(1, 2, 0, 3), 0);
	assert_int_equal(of(2, 1, 1, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
