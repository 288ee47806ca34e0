/* What all ranks of a team make of what each of them has told. */
#include "unit/test.h"

#include <string.h>

#include "nccl/team.h"

enum { RANKS = 4 };

static struct gt_team_member members[RANKS];
static struct gt_team team = {.size = RANKS, .members = members};

/* The strictest limit of thread blocks is everybody's. */
static void test_max_ctas(void **state)
{
	(void)state;
	memset(members, 0, sizeof(members));
	assert_int_equal(gt_team_max_ctas(&team), 0);
	members[3].max_ctas = 16;
	assert_int_equal(gt_team_max_ctas(&team), 16);
	members[1].max_ctas = 40;
	assert_int_equal(gt_team_max_ctas(&team), 16);
	members[0].max_ctas = 4;
	assert_int_equal(gt_team_max_ctas(&team), 4);
}

/* Two ranks have one GPU: on one host, and not on two. */
static void test_find_pair(void **state)
{
	uint32_t one, other;

	(void)state;
	memset(members, 0, sizeof(members));
	assert_int_equal(gt_team_find_pair(&team, &one, &other), 0);
	for (int r = 0; r < RANKS; r++) {
		strcpy(members[r].host, r < 2 ? "a" : "b");
		strcpy(members[r].bus_id,
		       r % 2 ? "0000:01:00.0" : "0000:02:00.0");
		members[r].pid = 7; /* of threads, which is no fault */
	}
	assert_int_equal(gt_team_find_pair(&team, &one, &other), 0);
	strcpy(members[3].bus_id, "0000:02:00.0");
	assert_int_equal(gt_team_find_pair(&team, &one, &other), 1);
	assert_int_equal(one, 2);
	assert_int_equal(other, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_max_ctas),
		cmocka_unit_test(test_find_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
