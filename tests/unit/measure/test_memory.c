#include "unit/test.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "measure/memory.h"
#include "topo/xml/measured.h"

/* Is the mask refused, and named? */
static void refused(const char *mask)
{
	struct gt_err err;
	double gbs = -1;

	gt_err_init(&err);
	assert_int_equal(gt_measure_memory(mask, &gbs, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, mask));
	assert_true(gbs == 0);
}

static void test_masks(void **state)
{
	(void)state;
	refused("");
	refused("x");
	refused("0000000g");
	refused(",00000001");
	refused("1,1");
	refused("000000001");
	refused("0-3");
}

static double measured(const char *mask)
{
	struct gt_err err;
	double gbs;

	gt_err_init(&err);
	assert_int_equal(gt_measure_memory(mask, &gbs, &err), GT_OK);
	return gbs;
}

/* With no processor, or one, nothing is told. */
static void test_few(void **state)
{
	char mask[16];
	cpu_set_t mine;
	int first = 0;

	(void)state;
	assert_true(measured("00000000") == 0);
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	while (first < 31 && !CPU_ISSET((size_t)first, &mine))
		first++;
	snprintf(mask, sizeof(mask), "%08x", 1u << first);
	assert_true(measured(mask) == 0);
}

/* All processors: a rate that memory may have, unless it is they that limit. */
static void test_here(void **state)
{
	char mask[9 * 32] = "";
	double gbs;

	(void)state;
	for (int i = 0; i < 31; i++)
		strcat(mask, i ? ",ffffffff" : "ffffffff");
	gbs = measured(mask);
	print_message("all processors: %.1f GB/s\n", gbs);
	assert_true(gbs == 0 || (gbs > 1 && gbs < 10000));
}

/* A machine whose second node is told of, by its mask. */
static int made_up(const char *affinity, double *gbs, struct gt_err *err)
{
	if (!strcmp(affinity, "000000f0"))
		return gt_err_set(err, GT_ESYS, NULL, "no second node");
	*gbs = strcmp(affinity, "0000000f") ? 0 : 250.04;
	return GT_OK;
}

static void test_write(void **state)
{
	static const char before[] =
		"<system version=\"1\">"
		"<cpu numaid=\"0\" affinity=\"0000000f\" "
		"gt_memory_gbs=\"307.2\" gt_assumed=\"gt_memory_gbs:dmi\"/>"
		"<cpu numaid=\"1\" affinity=\"00000f00\" "
		"gt_memory_gbs=\"307.2\"/><cpu numaid=\"2\"/></system>";
	struct gt_buf xml = GT_BUF_INIT;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	gt_buf_puts(&xml, before);
	assert_int_equal(gt_measured_write_memory(made_up, &xml, &err), GT_OK);
	assert_non_null(
		strstr(xml.text, "0000000f\" gt_memory_gbs=\"250.0\"/>"));
	assert_non_null(
		strstr(xml.text, "00000f00\" gt_memory_gbs=\"307.2\"/>"));
	assert_null(strstr(xml.text, "dmi"));
	gt_buf_release(&xml);
	/* What fails leaves the file as it was. */
	gt_buf_puts(&xml, "<system><cpu affinity=\"000000f0\"/></system>");
	assert_int_equal(gt_measured_write_memory(made_up, &xml, &err),
			 GT_ESYS);
	assert_string_equal(xml.text,
			    "<system><cpu affinity=\"000000f0\"/></system>");
	gt_buf_release(&xml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_here),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
