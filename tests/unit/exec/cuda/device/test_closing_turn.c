/* One process at a time has the turn, and its end gives it back. */
#include "unit/test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/cuda/device/closing_turn.h"

/* Other tests may have the turn for a moment. */
static const int64_t LONG_NS = INT64_C(30000000000), SHORT_NS = 50000000;

static void nobody_else_has_it(void **state)
{
	int turn = gt_closing_turn_take(LONG_NS);
	int64_t begin = gt_clock_ns();

	(void)state;
	assert_true(turn >= 0);
	assert_int_equal(gt_closing_turn_take(0), GT_CLOSING_TURN_BUSY);
	assert_int_equal(gt_closing_turn_take(SHORT_NS), GT_CLOSING_TURN_BUSY);
	assert_true(gt_clock_ns() - begin >= SHORT_NS);
	gt_closing_turn_give(turn);
	turn = gt_closing_turn_take(LONG_NS);
	assert_true(turn >= 0);
	gt_closing_turn_give(turn);
	gt_closing_turn_give(GT_CLOSING_TURN_BUSY);
}

/* A process that has it tells by a byte, and ends when it is told to. */
static void ends_with_a_process(void **state)
{
	int told[2], go[2], status, turn;
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(told) | pipe(go), 0);
	pid = fork();
	if (!pid) {
		byte = gt_closing_turn_take(LONG_NS) >= 0;
		if (write(told[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(0); /* without giving it back */
	}
	assert_true(pid > 0);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	assert_int_equal(gt_closing_turn_take(0), GT_CLOSING_TURN_BUSY);
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	turn = gt_closing_turn_take(LONG_NS);
	assert_true(turn >= 0);
	gt_closing_turn_give(turn);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(go[i]);
	}
}

/* A child that was forked meanwhile, and lives on, has not got it. */
static void is_not_inherited(void **state)
{
	int go[2], status, turn = gt_closing_turn_take(LONG_NS);
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_true(turn >= 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid)
		_exit(read(go[0], &byte, 1) != 1);
	assert_true(pid > 0);
	gt_closing_turn_give(turn);
	turn = gt_closing_turn_take(LONG_NS);
	assert_true(turn >= 0);
	gt_closing_turn_give(turn);
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_else_has_it),
		cmocka_unit_test(ends_with_a_process),
		cmocka_unit_test(is_not_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
