/* Which links a group of processes has, by the hosts that they are on. */
#include "unit/job.h"

#include <stdlib.h>

#include "base/err.h"
#include "exec/link/process_group.h"
#include "world/world.h"

/*
 * Process 2 is on another host than 0 and 1.  All open what some pair of them
 * needs: whoever does not lets the others wait.
 */
static int apart_main(struct gt_world *world, struct gt_err *err)
{
	const struct gt_process_group_config config = {
		.world = world, .nranks = gt_world_size(world), .iface = "lo"};
	struct gt_process_group group = {.self = 0};
	int rc;

	setenv("GTOPO_HOSTID", gt_world_rank(world) == 2 ? "b" : "a", 1);
	rc = gt_process_group_open(&group, &config, err);
	if (!rc && group.nhere != (group.self == 2 ? 1 : 2))
		rc = gt_err_set(err, GT_ENO, NULL, "%u are here", group.nhere);
	if (!rc)
		rc = gt_process_group_link(&group, NULL, err);
	if (!rc && (!group.links[0].link || !group.links[1].link ||
		    group.links[2].link || group.nfar != 1))
		rc = gt_err_set(err, GT_ENO, NULL, "other links are open");
	if (!rc)
		rc = gt_world_allgather(world, NULL, 0, NULL, err);
	gt_process_group_close(&group);
	if (rc)
		gt_world_abort(world, err->text);
	return rc;
}

static void test_near_and_far(void **state)
{
	(void)state;
	job_all_end(3, 40000000000, apart_main, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_and_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
