/*
 * Where other ranks' registered buffers are, as a rank finds from its own: no
 * GPU takes part, as nobody is asked.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/cuda/user_buffers.h"
#include "plan/ir/plan.h"

enum { BYTES = 4096, OWN = 3, OTHER = 5 /* numbers of registrations */ };

static struct world {
	struct gt_plan plan;
	struct gt_engine engine;
	struct gt_cuda_rank ranks[2];
	struct gt_registration regs[2][2];
	struct gt_buffers views[2];
	char memory[2][2][BYTES]; /* of each rank, for each number */
	char elsewhere[BYTES];
	char *data[2];
} world;

/* Rank 0 is here, rank 1 in another process, whose memory is open. */
static int open_world(void **state)
{
	static const uint64_t numbers[] = {OWN, OTHER};

	(void)state;
	memset(&world, 0, sizeof(world));
	world.plan.nranks = 2;
	world.engine.plan = &world.plan;
	world.engine.ranks = world.ranks;
	world.engine.views = world.views;
	world.engine.group.end = 1;
	world.engine.regions[GT_CUDA_DATA].at = world.data;
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < 2; i++) {
			struct gt_registration *reg = &world.regs[r][i];

			reg->number = numbers[i];
			reg->bytes = BYTES;
			reg->at[0] = world.memory[r][i];
			reg->base = r ? NULL : reg->at[0];
			reg->next = world.ranks[r].registrations;
			world.ranks[r].registrations = reg;
		}
	return 0;
}

/* Is it found, and then where? */
static int find(enum gt_coll coll, char *input, char *output, uint64_t count)
{
	struct gt_buffers buffers[2] = {{input, output}, {NULL, NULL}};
	struct gt_exec_request req = {.coll = coll,
				      .dtype = GT_DTYPE_INT8,
				      .count = count,
				      .buffers = buffers};
	struct gt_registered_place place;
	int opened = -1;

	assert_int_equal(gt_user_buffers_find(&world.engine, &req, &place,
					      &opened, NULL),
			 GT_OK);
	if (opened) {
		assert_ptr_equal(world.views[0].input, input);
		assert_ptr_equal(world.views[0].output, output);
	}
	return opened;
}

/*
 * An all-to-all in place says where its input lies as well, so that a rank that
 * is not in place differs from the others.
 */
static void test_in_place(void **state)
{
	char *at = world.memory[0][0] + 64;
	struct gt_buffers buffers[2] = {{at, at}, {NULL, NULL}};
	struct gt_exec_request req = {.coll = GT_COLL_ALLTOALL,
				      .dtype = GT_DTYPE_INT8,
				      .count = 100,
				      .buffers = buffers};
	struct gt_registered_place place;
	int opened;

	(void)state;
	for (req.inplace = 0; req.inplace < 2; req.inplace++) {
		assert_int_equal(gt_user_buffers_find(&world.engine, &req,
						      &place, &opened, NULL),
				 GT_OK);
		assert_true(opened);
		assert_int_equal(place.output.offset, 64);
		assert_int_equal(place.input.number == GT_OFFSET_NONE,
				 !req.inplace);
	}
	assert_memory_equal(&place.input, &place.output, sizeof(place.input));
}

static void test_found(void **state)
{
	char *in = world.memory[0][0] + 64, *out = world.memory[0][1] + 512;
	const struct gt_buffers *other = &world.views[1];

	(void)state;
	assert_true(find(GT_COLL_ALLREDUCE, in, out, 1000));
	assert_ptr_equal(other->input, world.memory[1][0] + 64);
	assert_ptr_equal(other->output, world.memory[1][1] + 512);
	assert_true(find(GT_COLL_ALLGATHER, in, out, 1000));
	/* Only the root has the other buffer, wherever it is. */
	assert_true(find(GT_COLL_BROADCAST, world.elsewhere, out, 1000));
	assert_ptr_equal(other->output, world.memory[1][1] + 512);
	assert_true(find(GT_COLL_REDUCE, in, world.elsewhere, 1000));
	assert_ptr_equal(other->input, world.memory[1][0] + 64);
}

/* Then it goes through the engine's buffers, in all processes. */
static void test_not_found(void **state)
{
	char *in = world.memory[0][0] + 64, *out = world.memory[0][1] + 512;

	(void)state;
	assert_false(find(GT_COLL_ALLREDUCE, in, world.elsewhere, 1000));
	assert_false(find(GT_COLL_ALLREDUCE, world.elsewhere, out, 1000));
	assert_false(find(GT_COLL_GATHER, in, out, 1000));
	/* Two blocks of so many are more than what is left. */
	assert_false(find(GT_COLL_ALLGATHER, in, out, 1800));
	world.regs[1][1].bytes = 1511;
	assert_false(find(GT_COLL_ALLREDUCE, in, out, 1000));
	assert_true(find(GT_COLL_ALLREDUCE, in, out, 999));
	world.regs[1][0].refused = 1;
	assert_false(find(GT_COLL_ALLREDUCE, in, out, 999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_found, open_world),
		cmocka_unit_test_setup(test_in_place, open_world),
		cmocka_unit_test_setup(test_not_found, open_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
