/*
 * Registering where a process fails before it has met the others: they hear of
 * it, by name, and do not wait for its next meeting.  GPUs are SIMULATED, the
 * processes are real.
 */
#include "unit/job.h"

#define cudaPointerGetAttributes fake_attributes
#define cudaGetLastError         fake_last
#define gt_registrations_open(engine, number, err)                             \
	fake_open(engine, number, err)

#include <cuda_runtime_api.h>

#include "exec/cuda/user_buffers.c"

enum { RANKS = 3, TIMEOUT_S = 60 };

cudaError_t fake_attributes(struct cudaPointerAttributes *is, const void *at)
{
	(void)at;
	*is = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice};
	return cudaSuccess;
}

cudaError_t fake_last(void)
{
	return cudaSuccess;
}

/* As the real one does where process 1 has no memory for what it needs. */
int fake_open(struct gt_engine *engine, uint64_t number, struct gt_err *err)
{
	struct gt_world_part parts[RANKS];

	(void)number;
	if (engine->group.self == 1)
		return gt_err_nomem(err);
	return gt_world_allgather(engine->group.world, "key", 3, parts, err);
}

static int part_registers(struct gt_world *world, struct gt_err *err)
{
	uint32_t self = gt_world_rank(world);
	struct gt_cuda_rank ranks[RANKS] = {{0}};
	struct gt_plan_rank named[RANKS] = {{0}};
	struct gt_plan plan = {.nranks = RANKS, .ranks = named};
	struct gt_engine engine = {.plan = &plan,
				   .ranks = ranks,
				   .reserved_bytes = 1,
				   .group = {.world = world,
					     .nprocesses = RANKS,
					     .self = self,
					     .first = self,
					     .end = self + 1}};
	int64_t start = gt_clock_ns();
	char buffer[64];

	assert_int_equal(
		gt_cuda_register(&engine, self, buffer, sizeof(buffer), err),
		GT_ESYS);
	assert_non_null(strstr(err->text, "out of memory"));
	assert_true(gt_clock_ns() - start < TIMEOUT_S * 500000000ll);
	gt_err_init(err);
	assert_int_equal(gt_world_failed(world, err), GT_ESYS);
	assert_non_null(strstr(err->text, "process 1"));
	free(ranks[self].registrations);
	return 0;
}

static void test_missed(void **state)
{
	(void)state;
	job_all_end(RANKS, TIMEOUT_S * 1000000000ll, part_registers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
