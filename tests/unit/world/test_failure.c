/* Who tells the user when process 0 is gone, or silent. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "world/internal.h"

enum { SIZE = 12 };

/* Processes with these hosts' names, one letter each; '-': without one. */
static void world_make(struct gt_world *world, struct gt_member *members,
		       const char *hosts, int by_silence)
{
	memset(world, 0, sizeof(*world));
	memset(members, 0, SIZE * sizeof(*members));
	world->config.size = (uint32_t)strlen(hosts);
	world->members = members;
	world->orphan = 1;
	world->by_silence = by_silence;
	for (uint32_t r = 0; hosts[r]; r++)
		snprintf(members[r].called, sizeof(members[r].called),
			 hosts[r] == '-' ? "process %u" : "process %u (%c, 7)",
			 r, hosts[r]);
}

/* Which processes speak, '1' for each that does. */
static void assert_speak(const char *hosts, int by_silence, int has_parent,
			 const char *expect)
{
	struct gt_member members[SIZE];
	struct gt_world world;
	char speaks[SIZE + 1] = "";

	world_make(&world, members, hosts, by_silence);
	world.config.has_parent = has_parent;
	for (uint32_t r = 0; r < world.config.size; r++) {
		world.config.rank = r;
		speaks[r] = (char)('0' + gt_world_reports_failure(&world));
	}
	assert_string_equal(speaks, expect);
}

/* It may be the cable of a host, so each one's first speaks. */
static void test_silence_is_told_once_a_host(void **state)
{
	(void)state;
	assert_speak("aabbcb", 1, 0, "111010");
	assert_speak("abcab", 1, 0, "11110");
	/* Whose host is not known may be alone there. */
	assert_speak("a--b", 1, 0, "1111");
	assert_speak("aabbcb", 1, 1, "110000");
}

/* Whoever would speak may be gone with process 0. */
static void test_an_end_is_told_by_the_first_few(void **state)
{
	(void)state;
	assert_speak("aaaaaaaaaaaa", 0, 0, "111111110000");
	assert_speak("aaaaaaaaaabb", 0, 0, "111111110010");
	assert_speak("aaaaaaaaaabb", 0, 1, "110000000000");
}

/* While process 0 is there it speaks for all. */
static void test_process_0_speaks(void **state)
{
	struct gt_member members[SIZE];
	struct gt_world world;

	(void)state;
	world_make(&world, members, "ab", 0);
	world.orphan = 0;
	assert_int_equal(gt_world_reports_failure(&world), 1);
	world.config.rank = 1;
	assert_false(gt_world_reports_failure(&world));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence_is_told_once_a_host),
		cmocka_unit_test(test_an_end_is_told_by_the_first_few),
		cmocka_unit_test(test_process_0_speaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
