/*
 * A communicator is made on what is left of another one, and one process loses
 * its connection before it hears the end of a round, which the others are
 * behind then.  All are together in the end, whichever round it was.
 */
#include "unit/lib/deaf.h"
#include "unit/lib/shrink.h"

#include <sys/mman.h>

enum { PROCESSES = 4, LAST = PROCESSES - 1, TRIES = 4, ROUNDS_MOST = 32 };

/* Which round it is, and whether its end was not heard, as all see. */
static uint64_t round_number;
static _Atomic int *was_deaf;

/* What is not heard is that all have made it, or that they are about to. */
static int shrink_deaf(int me, int processes, int deaf)
{
	static const int excluded[] = {6, 7};
	struct gtopo_comm *line[TRIES + 1] = {NULL};
	struct want all = everybody(8), want = without(&all, 6, 8);
	int depth = 0, rc = 11;

	(void)processes;
	line[0] = create(GTOPO_LAUNCHED);
	if (!line[0] || is_right_twice(line, 0, &all))
		return 10;
	if (me == deaf)
		deaf_begin(round_number, 0);
	for (int i = 0; me != LAST && rc && i < TRIES; i++) {
		line[depth + 1] = depth ? shrink(line[depth], NULL, 0, 0)
					: shrink(line[0], excluded, 2, 0);
		depth += line[depth + 1] != NULL;
		if (me == deaf && !atomic_exchange(&deaf_round, 0))
			atomic_store(was_deaf, 1);
		rc = depth ? is_right_twice(line, depth, &want) : 11;
	}
	/* The other one works as before. */
	if (me == LAST || !rc)
		rc = is_right(line, 0, &all);
	for (int i = depth; i >= 0; i--)
		gtopo_comm_destroy(line[i]);
	return rc;
}

static void shrink_without(int deaf)
{
	int status[MOST];

	for (round_number = 1; round_number < ROUNDS_MOST; round_number++) {
		atomic_store(was_deaf, 0);
		launch(PROCESSES, shrink_deaf, deaf, status);
		for (int p = 0; p < PROCESSES; p++)
			assert_int_equal(status[p], 0);
		if (!atomic_load(was_deaf))
			break;
	}
	/* Two begin the world, and one compares the plans. */
	assert_true(round_number > 3 && round_number < ROUNDS_MOST);
}

static void test_one_hears_less(void **state)
{
	(void)state;
	shrink_without(1);
	shrink_without(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_hears_less),
	};

	was_deaf = mmap(NULL, sizeof(*was_deaf), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (was_deaf == MAP_FAILED)
		return 1;
	gt_test_path(plan_path, "tests/cases/plan/good/ring8-three/plan.json");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
