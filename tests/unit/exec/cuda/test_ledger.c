/*
 * What processes write down of their operations, and what they find in each
 * other's ledgers: a difference is named, once and wherever it is.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/user_buffers.h"
#include "plan/ir/plan.h"
#include "world/world.h"

#define gt_world_name fake_name

static const char *fake_name(struct gt_world *world, uint32_t process);

#include "exec/cuda/ledger.c"

enum { PROCESSES = 3 };

static const int64_t LATE_NS = GT_LEDGER_LATE_S * INT64_C(1000000000);

static struct world {
	struct gt_plan plan;
	struct gt_engine engines[PROCESSES];
	uint8_t is_here[PROCESSES];
	struct gt_exchange_area *area;
} world;

static const char *fake_name(struct gt_world *world, uint32_t process)
{
	static const char *const names[] = {"process 0 (a, pid 5)",
					    "process 1 (a, pid 6)",
					    "process 2 (b, pid 5)"};

	(void)world;
	return names[process];
}

/* The last notice, and how many there were. */
static char told[GT_NOTICE_MAX];
static int ntold;

static void tell(void *arg, int warning, const char *text)
{
	(void)arg;
	assert_true(warning);
	snprintf(told, sizeof(told), "%s", text);
	ntold++;
}

static int open_world(void **state)
{
	size_t bytes = PROCESSES * sizeof(struct gt_exchange_slot);

	(void)state;
	memset(&world, 0, sizeof(world));
	world.area = calloc(1, bytes);
	world.plan.nranks = PROCESSES;
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct gt_engine *engine = &world.engines[p];

		world.is_here[p] = 1;
		engine->plan = &world.plan;
		engine->exchange = world.area;
		engine->group.world = (void *)engine; /* there is one */
		engine->group.nprocesses = PROCESSES;
		engine->group.config.nranks = PROCESSES;
		engine->group.self = engine->group.first = p;
		engine->group.end = p + 1;
		engine->group.is_here = world.is_here;
	}
	return world.area ? 0 : -1;
}

static int close_world(void **state)
{
	(void)state;
	free(world.area);
	return 0;
}

/* The k-th operation of all. */
static void call(uint32_t p, uint64_t k, uint64_t offset)
{
	struct gt_exec_request req = {.coll = GT_COLL_ALLREDUCE,
				      .dtype = GT_DTYPE_FLOAT,
				      .op = GT_REDOP_SUM,
				      .count = k + 1};
	struct gt_registered_place place = {{GT_OFFSET_NONE, 0}, {7, offset}};

	gt_ledger_add(&world.engines[p], &req, 1, &place);
}

static void expect(uint32_t p, const char *words)
{
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_ledger_compare(&world.engines[p], &err);
	assert_string_equal(err.text, words);
	assert_int_equal(rc, *words ? GT_EINPUT : GT_OK);
}

/* Who is ahead says nothing against who is behind. */
static void test_alike(void **state)
{
	(void)state;
	for (uint64_t k = 0; k < 3 * GT_LEDGER_LINES; k++) {
		call(0, k, 64);
		if (k % 100 == 0)
			expect(0, "");
	}
	expect(1, "");
	for (uint64_t k = 0; k < 3 * GT_LEDGER_LINES; k++)
		call(2, k, 64);
	for (uint32_t p = 0; p < PROCESSES; p++)
		expect(p, "");
}

static void test_differs(void **state)
{
	(void)state;
	for (uint64_t k = 0; k < 5 * GT_LEDGER_LINES; k++)
		for (uint32_t p = 0; p < PROCESSES; p++)
			call(p, k, 64);
	call(0, 9, 64);
	call(1, 9, 64);
	for (uint32_t p = 0; p < PROCESSES; p++)
		expect(p, "");
	call(2, 10, 64);
	expect(0, "operation 2560: rank 0 calls 'allreduce of 10 float, op "
		  "sum, root 0, output 64 bytes into registration 7', rank 2 "
		  "'allreduce of 11 float, op sum, root 0, output 64 bytes "
		  "into registration 7'");
	expect(2, "operation 2560: rank 2 calls 'allreduce of 11 float, op "
		  "sum, root 0, output 64 bytes into registration 7', rank 0 "
		  "'allreduce of 10 float, op sum, root 0, output 64 bytes "
		  "into registration 7'");
}

/* Buffers that lie elsewhere than the others take them to. */
static void test_elsewhere(void **state)
{
	(void)state;
	for (uint32_t p = 0; p < PROCESSES; p++)
		call(p, 0, p == 1 ? 4096 : 0);
	expect(0, "operation 0: rank 0 calls 'allreduce of 1 float, op sum, "
		  "root 0, output 0 bytes into registration 7', rank 1 "
		  "'allreduce of 1 float, op sum, root 0, output 4096 bytes "
		  "into registration 7'");
	/* Another host has a ledger of its own, not this memory. */
	world.is_here[1] = 0;
	expect(0, "");
}

/* Who has called nothing for long, while others have, is named once. */
static void test_late(void **state)
{
	static const struct gt_notice notice = {tell, NULL};
	int64_t now = 1;

	(void)state;
	ntold = 0;
	for (uint32_t p = 0; p < PROCESSES; p++) {
		world.engines[p].group.config.notice = &notice;
		call(p, 4, 0);
	}
	gt_ledger_warn(&world.engines[0], now);
	gt_ledger_warn(&world.engines[0], now += 2 * LATE_NS);
	assert_int_equal(ntold, 0); /* all idle */
	call(0, 5, 0);
	call(2, 5, 0);
	gt_ledger_warn(&world.engines[0], now);
	gt_ledger_warn(&world.engines[0], now + LATE_NS - 1);
	assert_int_equal(ntold, 0);
	for (int i = 0; i < 3; i++)
		gt_ledger_warn(&world.engines[0], now + LATE_NS + i);
	gt_ledger_warn(&world.engines[1], now + LATE_NS);
	assert_int_equal(ntold, 1);
	assert_string_equal(told, "of 3 ranks, rank 1 (process 1 (a, pid 6)) "
				  "has not called operation 1 for 30 s, which "
				  "rank 0 has: allreduce of 6 float, op sum, "
				  "root 0, output 0 bytes into registration 7");
	call(1, 5, 0);
	gt_ledger_warn(&world.engines[0], now += 3 * LATE_NS);
	assert_int_equal(ntold, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_alike, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_differs, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_elsewhere, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_late, open_world,
						close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
