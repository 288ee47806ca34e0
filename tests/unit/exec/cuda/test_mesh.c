/*
 * What only moves, through FIFOs in the host's memory between all pairs of
 * ranks, on GPUs that do not reach each other: whatever the plan names, it
 * arrives.  The GPUs are SIMULATED (interp_world.h).
 */
#include "unit/exec/cuda/interp_world.h"

#include "plan/simulate/simulate.h"

static const enum gt_coll colls[] = {GT_COLL_ALLTOALL, GT_COLL_GATHER,
				     GT_COLL_SCATTER, GT_COLL_SENDRECV};
enum { NCOLLS = sizeof(colls) / sizeof(*colls) };

static const struct gt_algo_choice by_fifos = {.algo = GT_ALGO_ONE_SHOT,
					       .protocol = GT_PROTOCOL_SIMPLE};

/* GPUs that do not reach each other, on which the fastest is taken. */
static void open_world(const char *name)
{
	open_engine(name);
	world.engine.stages_in_host = world.engine.config.best = 1;
	assert_int_equal(gt_cuda_mesh_open(&world.engine, NULL), GT_OK);
	assert_int_equal(gt_cuda_sizes_choose(&world.engine, NULL), GT_OK);
}

/* Blocks of every length, from none on, in slices and parts of many kinds. */
static void expect_arrives(enum gt_coll coll)
{
	static const uint64_t counts[] = {0, 1, 9, 1000, 40961, 65536, 131072};

	for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		struct gt_exec_request req = {.coll = coll,
					      .dtype = k % 2 ? GT_DTYPE_FLOAT
							     : GT_DTYPE_UINT8,
					      .count = counts[k],
					      .root = world.engine.plan->root,
					      .choice = &by_fifos,
					      .seed = k};

		req.shift = draw(&world.state, MOST_SHIFT + 1);
		carry(&req, 1 + k % 3);
		expect_carried(&req);
		req.shift = 0;
		req.inplace = 1;
		carry(&req, 1);
		expect_carried(&req);
	}
}

static void test_arrives(void **state)
{
	static const char *const names[] = {"ring2-gather", "ring3-scatter",
					    "ring4", "ring8-two"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (uint32_t c = 0; c < NCOLLS; c++) {
			open_world(names[i]);
			world.engine.config.workers = c == 1 ? 3 : 0;
			world.engine.config.slice_bytes = c == 2 ? 4096 : 0;
			world.engine.config.slots = c == 3;
			gt_cuda_sizes_choose(&world.engine, NULL);
			expect_arrives(colls[c]);
			close_world();
		}
}

/* Its programs are right for every root, in place and out of place. */
static void test_is_proven(void **state)
{
	static const char *const names[] = {"ring2-gather",   "ring3-scatter",
					    "ring4",          "mesh5-alltoall",
					    "mesh7-one-shot", "ring8-two"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct gt_plan_select row;
		struct gt_plan plan;

		open_world(names[i]);
		plan = *world.engine.plan;
		row = *world.engine.mesh_row;
		plan.select = &row;
		plan.nselect = 1;
		for (uint32_t c = 0; c < NCOLLS; c++)
			for (plan.root = 0; plan.root < plan.nranks;
			     plan.root++) {
				plan.coll = row.coll = colls[c];
				assert_int_equal(
					gt_simulate(&plan, colls[c], NULL),
					GT_OK);
			}
		close_world();
	}
}

/* The largest request of so many bytes that leave a GPU goes so. */
static struct gt_algo_choice chosen(enum gt_coll coll, uint32_t root,
				    uint64_t bytes)
{
	const struct gt_exec_request req = {.coll = coll,
					    .dtype = GT_DTYPE_UINT8,
					    .count = bytes / (world.nranks - 1),
					    .root = root};
	struct gt_algo_choice choice;

	assert_int_equal(
		gt_cuda_choose_algo(&world.engine, &req, &choice, NULL), GT_OK);
	return choice;
}

static void expect_chosen(enum gt_coll coll, uint32_t root, uint64_t bytes,
			  enum gt_algo algo, enum gt_protocol protocol)
{
	struct gt_algo_choice choice = chosen(coll, root, bytes);

	assert_int_equal(choice.algo, algo);
	assert_int_equal(choice.protocol, protocol);
}

/* Between packets and copies; who has another root has no programs. */
static void test_is_chosen(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * NCOLLS; i++) {
		enum gt_coll coll = colls[i / 2];
		uint32_t root;

		open_world(i % 2 ? "ring4" : "ring2-pci-charge");
		root = world.plan->root;
		expect_chosen(coll, root, 64 << 10, GT_ALGO_ONE_SHOT,
			      GT_PROTOCOL_LL);
		expect_chosen(coll, root, 2 << 20, GT_ALGO_ONE_SHOT,
			      GT_PROTOCOL_SIMPLE);
		expect_chosen(coll, root, 1 << 30, GT_ALGO_ONE_SHOT,
			      GT_PROTOCOL_CE);
		if (gt_coll_is_rooted(coll)) {
			expect_chosen(coll, root ^ 1, 512 << 10,
				      GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL);
			expect_chosen(coll, root ^ 1, 4 << 20, GT_ALGO_ONE_SHOT,
				      GT_PROTOCOL_CE);
		}
		close_world();
	}
}

/* A plan's own flows come first, and blocks that differ have only those. */
static void test_flows_come_first(void **state)
{
	(void)state;
	open_world("flow4-alltoall");
	expect_chosen(GT_COLL_ALLTOALL, 0, 2 << 20, GT_ALGO_FLOW,
		      GT_PROTOCOL_SIMPLE);
	expect_chosen(GT_COLL_SENDRECV, 0, 2 << 20, GT_ALGO_ONE_SHOT,
		      GT_PROTOCOL_SIMPLE);
	assert_false(gt_cuda_row_serves(&world.engine, world.engine.mesh_row,
					GT_COLL_ALLTOALL));
	close_world();
	open_world("flow4-demand");
	world.engine.processors = 1;
	assert_false(gt_cuda_row_serves(&world.engine, world.engine.mesh_row,
					GT_COLL_ALLTOALL));
	close_world();
}

/* Rows of a plan stay what they are: the mesh has a channel that nobody had. */
static void test_is_beside_the_plan(void **state)
{
	const struct gt_plan *plan;

	(void)state;
	open_world("ring2-pci-charge");
	plan = world.engine.plan;
	assert_ptr_equal(plan->select, world.plan->select);
	assert_int_equal(plan->nchannels, world.plan->nchannels + 1);
	assert_int_equal(world.engine.mesh_row->channels[0],
			 world.plan->nchannels);
	assert_int_equal(plan->channels[1].id, plan->channels[0].id + 1);
	close_world();
}

static void expect_none(int staged, int best, uint32_t nchannels)
{
	struct gt_engine *engine = &world.engine;
	struct gt_plan plan;

	open_engine("ring4");
	plan = *world.plan;
	plan.nchannels = nchannels;
	engine->plan = &plan;
	engine->stages_in_host = staged;
	engine->config.best = best;
	assert_int_equal(gt_cuda_mesh_open(engine, NULL), GT_OK);
	assert_null(engine->mesh_row);
	assert_ptr_equal(engine->plan, &plan);
	assert_int_equal(gt_cuda_nrows(engine), plan.nselect);
	close_world();
}

/* Not where GPUs reach each other, nor for who takes the plan's rows alone. */
static void test_only_where_it_serves(void **state)
{
	(void)state;
	expect_none(0, 1, 1);
	expect_none(1, 0, 1);
	expect_none(1, 1, GT_KERNEL_CHANNELS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrives),
		cmocka_unit_test(test_is_proven),
		cmocka_unit_test(test_is_chosen),
		cmocka_unit_test(test_flows_come_first),
		cmocka_unit_test(test_is_beside_the_plan),
		cmocka_unit_test(test_only_where_it_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
