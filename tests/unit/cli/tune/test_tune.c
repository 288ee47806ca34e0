/*
 * Measurements of a plan: the table that follows from them, and how they are
 * taken, on an engine that only pretends.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/tune/knee.h"
#include "cli/tune/measure.h"
#include "cli/tune/sweep.h"
#include "plan/check/check.h"
#include "plan/cost/cost.h"
#include "plan/ir/envelope.h"
#include "plan/ir/measured.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "unit/good_plan.h"

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-6 * wanted))
		fail_msg("%g is not %g", value, wanted);
}

static void test_a_change_has_to_be_worth_it(void **state)
{
	const double time_us[] = {10, 9.8, 9.9};
	const double clear_us[] = {10, 9.6, INFINITY};
	const double none_us[] = {INFINITY, INFINITY, INFINITY};

	(void)state;
	assert_int_equal(gt_envelope_choose(time_us, 3, 3, 0), 0);
	assert_int_equal(gt_envelope_choose(time_us, 3, 3, 2), 2);
	/* Where home is as good as any, it is taken at once. */
	assert_int_equal(gt_envelope_choose(time_us, 3, 2, 0), 2);
	assert_int_equal(gt_envelope_choose(clear_us, 3, 3, 0), 1);
	assert_int_equal(gt_envelope_choose(clear_us, 3, 2, 0), 1);
	assert_int_equal(gt_envelope_choose(clear_us, 3, 3, 2), 1);
	assert_int_equal(gt_envelope_choose(none_us, 3, 3, 1), 1);
	assert_int_equal(gt_envelope_choose(time_us, 3, 3, 3), 1);
}

static void test_where_times_cross(void **state)
{
	const uint64_t bytes[] = {1 << 20, 4 << 20};
	/* A constant, and a line of which the double is in the middle. */
	const double middle[2][2] = {{10, 40}, {20, 20}};
	const double early[2][2] = {{20, 40}, {20, 20}};
	const double late[2][2] = {{10, 20}, {20, 20}};
	const double cannot[2][2] = {{10, INFINITY}, {20, 20}};
	const double could_not[2][2] = {{10, 40}, {INFINITY, 20}};

	(void)state;
	assert_int_equal(gt_envelope_crossover(middle, bytes), 2 << 20);
	assert_int_equal(gt_envelope_crossover(early, bytes), 1 << 20);
	assert_int_equal(gt_envelope_crossover(late, bytes), (4 << 20) - 1);
	assert_int_equal(gt_envelope_crossover(cannot, bytes), 1 << 20);
	assert_int_equal(gt_envelope_crossover(could_not, bytes), 1 << 20);
}

static void test_between_sizes(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	const struct gt_plan_measured *ring = &plan->measured[2];

	(void)state;
	assert_ptr_equal(gt_plan_measured_find(plan, &ring->use), ring);
	assert_near(gt_plan_measured_time(ring, 1 << 20), 32);
	assert_near(gt_plan_measured_time(ring, 4 << 20), sqrt(32 * 120.5));
	assert_true(isinf(gt_plan_measured_time(ring, 65535)));
	assert_true(isinf(gt_plan_measured_time(ring, (16 << 20) + 1)));
	gt_plan_free(plan);
}

static void test_predictions_follow(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	struct gt_cost_model *model;
	struct gt_cost cost, modelled, known;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_cost_new(plan, GT_COLL_ALLREDUCE, &model, &err), 0);
	assert_int_equal(gt_cost_expect(model, 16384, &cost, &err), 0);
	assert_near(cost.time_us, 4.2);
	assert_true(cost.measured && cost.busy > 0 && cost.busy <= 1);
	/* A row that nobody measured. */
	assert_int_equal(gt_cost_expect(model, 65536, &cost, &err), 0);
	assert_int_equal(gt_cost_price(model, 65536, &modelled, &err), 0);
	assert_false(cost.measured);
	assert_near(cost.time_us, modelled.time_us);
	/* Beyond all measurements, in proportion. */
	assert_int_equal(gt_cost_expect(model, 1 << 30, &cost, &err), 0);
	assert_int_equal(gt_cost_price(model, 1 << 30, &modelled, &err), 0);
	assert_int_equal(gt_cost_price(model, 16 << 20, &known, &err), 0);
	assert_true(cost.measured);
	assert_near(cost.time_us, 120.5 * modelled.time_us / known.time_us);
	gt_cost_free(model);
	gt_plan_free(plan);
}

static void assert_row(const struct gt_plan_select *row, enum gt_algo algo,
		       uint64_t max_bytes)
{
	assert_int_equal(row->algo, algo);
	assert_int_equal(row->max_bytes, max_bytes);
}

static void test_rows_follow(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	/* allreduce 3, broadcast 1, alltoall as it was */
	assert_int_equal(plan->nselect, 5);
	assert_row(&plan->select[0], GT_ALGO_ONE_SHOT, 65536);
	assert_row(&plan->select[1], GT_ALGO_TWO_SHOT, 1 << 20);
	assert_row(&plan->select[2], GT_ALGO_RING, UINT64_MAX);
	assert_row(&plan->select[3], GT_ALGO_TREE, UINT64_MAX);
	assert_int_equal(plan->select[3].coll, GT_COLL_BROADCAST);
	assert_int_equal(plan->select[4].coll, GT_COLL_ALLTOALL);
	assert_int_equal(gt_plan_check(plan, &err), 0);

	/* Two shots are quickest to the end; the proof is about the ring. */
	plan->measured[1].bytes[2] = 16 << 20;
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	assert_int_equal(plan->nselect, 5);
	assert_row(&plan->select[1], GT_ALGO_TWO_SHOT, UINT64_C(1) << 40);
	assert_row(&plan->select[2], GT_ALGO_RING, UINT64_MAX);
	assert_int_equal(gt_plan_check(plan, &err), 0);
	gt_plan_free(plan);
}

/* The same channels with a detour are another use of them. */
static void test_detours_are_uses(void **state)
{
	struct gt_plan *plan = good_plan("tuned4-detour");
	const struct gt_plan_measured *ring = &plan->measured[2];
	const struct gt_plan_measured *detour = &plan->measured[3];
	struct gt_buf text = GT_BUF_INIT;
	struct gt_cost_model *model;
	struct gt_cost cost;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(ring->use.detour_permille, 0);
	assert_int_equal(detour->use.detour_permille, 85);
	assert_ptr_equal(gt_plan_measured_find(plan, &ring->use), ring);
	assert_ptr_equal(gt_plan_measured_find(plan, &detour->use), detour);
	assert_int_equal(gt_cost_new(plan, GT_COLL_ALLREDUCE, &model, &err), 0);
	assert_int_equal(gt_cost_expect(model, 16 << 20, &cost, &err), 0);
	assert_near(cost.time_us, 120.5);
	assert_int_equal(gt_cost_expect(model, 64 << 20, &cost, &err), 0);
	assert_near(cost.time_us, 402);
	gt_cost_free(model);

	/* The proof is about its channels: it stands for the last row. */
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	assert_row(&plan->select[2], GT_ALGO_RING, 16 << 20);
	assert_int_equal(plan->select[2].detour_permille, 0);
	assert_row(&plan->select[3], GT_ALGO_RING, UINT64_MAX);
	assert_int_equal(plan->select[3].detour_permille, 85);
	assert_int_equal(plan->select[4].coll, GT_COLL_BROADCAST);
	assert_int_equal(gt_plan_check(plan, &err), 0);
	assert_int_equal(gt_plan_print(plan, &text, &err), 0);
	assert_non_null(strstr(text.text, ", \"detour_permille\": 85}"));
	assert_non_null(strstr(text.text, ", \"detour_permille\": 85,\n"));
	assert_null(strstr(text.text, "\"detour_permille\": 0"));
	gt_buf_release(&text);
	gt_plan_free(plan);
}

/* The engine that pretends: what it is asked for, it has done. */
struct gt_engine {
	const struct gt_plan *plan;
	int opened, nopened;
	int poor; /* has no memory for detours, which the first one finds */
	int detoured;
	uint32_t wrong_blocks; /* with as many or fewer nothing is right */
};

static struct gt_engine pretender;

static const struct gt_plan_select *row_of(const struct gt_exec_request *req)
{
	assert_true(pretender.opened);
	return gt_plan_row(pretender.plan, req->coll, req->count * 4);
}

static int pretend_open(const struct gt_engine_config *config,
			struct gt_engine **engine, struct gt_err *err)
{
	(void)err;
	assert_false(pretender.opened);
	pretender.plan = config->plan;
	pretender.opened = 1;
	pretender.detoured = 1;
	pretender.nopened++;
	*engine = &pretender;
	return 0;
}

static void pretend_close(struct gt_engine *engine)
{
	engine->opened = 0;
}

static int pretend_fill(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err)
{
	(void)engine;
	(void)req;
	(void)err;
	return 0;
}

/*
 * Two shots: 2 us; one: 1 us and 1 a KiB; the ring: 9 us; all 1 us a MiB, and
 * what detours take from that is welcome up to 80 thousandths.  Up to 7 blocks
 * take half as long again, up to 16 take 2% longer.
 */
static int pretend_run(struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t iters,
		       int64_t *elapsed_ns, struct gt_err *err)
{
	const struct gt_plan_select *row = row_of(req);
	int64_t bytes = (int64_t)req->count * 4;
	int64_t ns = row->algo == GT_ALGO_TWO_SHOT   ? 2000
		     : row->algo == GT_ALGO_ONE_SHOT ? 1000 + bytes
						     : 9000;
	int64_t spared = row->detour_permille <= 80 ? row->detour_permille : 0;

	(void)err;
	engine->detoured &= !(engine->poor && row->detour_permille);
	ns += bytes / 1000 * (1000 - spared) / 1000;
	if (row->max_blocks && row->max_blocks <= 16)
		ns += row->max_blocks < 8 ? ns / 2 : ns / 50;
	*elapsed_ns = iters * ns;
	return 0;
}

/* Copy engines are wrong in one shot from 1 MiB on. */
static int pretend_check(struct gt_engine *engine,
			 const struct gt_exec_request *req, uint64_t *wrong,
			 struct gt_err *err)
{
	const struct gt_plan_select *row = row_of(req);
	int few = row->max_blocks && row->max_blocks <= engine->wrong_blocks;

	(void)err;
	*wrong = few || (row->protocol == GT_PROTOCOL_CE &&
			 row->algo == GT_ALGO_ONE_SHOT &&
			 req->count * 4 >= 1 << 20)
			 ? 7
			 : 0;
	return 0;
}

/*
 * Packets end at 64 KiB, then it goes directly; meshes have no FIFOs.  Detours
 * begin at 4 MiB.
 */
static int pretend_choice(struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  struct gt_algo_choice *way, struct gt_err *err)
{
	const struct gt_plan_select *row = row_of(req);

	(void)err;
	*way = (struct gt_algo_choice){.algo = (uint8_t)row->algo,
				       .protocol = (uint8_t)row->protocol};
	if (row->algo == GT_ALGO_RING || row->algo == GT_ALGO_TREE)
		way->protocol = GT_PROTOCOL_SIMPLE;
	else if (row->protocol == GT_PROTOCOL_SIMPLE ||
		 (row->protocol <= GT_PROTOCOL_LL128 && req->count * 4 > 65536))
		way->protocol = GT_PROTOCOL_DIRECT;
	if (req->count * 4 >= 4 << 20 && engine->detoured && !row->max_blocks)
		way->detour_permille = row->detour_permille;
	return 0;
}

static const struct gt_engine_ops pretend_ops = {
	.name = "pretender",
	.open = pretend_open,
	.close = pretend_close,
	.fill = pretend_fill,
	.run = pretend_run,
	.algo_choice = pretend_choice,
	.check = pretend_check,
};

static void count_refusal(void *arg, const struct gt_plan_select *way,
			  uint64_t bytes, uint64_t wrong)
{
	int *count = arg;

	assert_int_equal(way->algo, GT_ALGO_ONE_SHOT);
	assert_int_equal(way->protocol, GT_PROTOCOL_CE);
	assert_int_equal(bytes, 1 << 20);
	assert_int_equal(wrong, 7);
	++*count;
}

static const struct gt_plan_measured *measurement(const struct gt_plan *plan,
						  enum gt_algo algo,
						  enum gt_protocol protocol,
						  uint32_t detour_permille)
{
	for (uint32_t i = 0; i < plan->nmeasured; i++)
		if (plan->measured[i].use.coll == GT_COLL_ALLREDUCE &&
		    plan->measured[i].use.algo == algo &&
		    plan->measured[i].use.detour_permille == detour_permille &&
		    plan->measured[i].use.protocol == protocol)
			return &plan->measured[i];
	return NULL;
}

static void check_measured(const struct gt_plan *plan, const char *machine)
{
	const struct gt_plan_measured *m;

	assert_null(measurement(plan, GT_ALGO_ONE_SHOT, GT_PROTOCOL_CE, 0));
	assert_null(measurement(plan, GT_ALGO_TWO_SHOT, GT_PROTOCOL_SIMPLE, 0));
	m = measurement(plan, GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL, 0);
	assert_int_equal(m->npoints, 4); /* 1, 4, 16, 64 KiB */
	assert_near(m->time_us[3], 2.065);
	m = measurement(plan, GT_ALGO_RING, GT_PROTOCOL_SIMPLE, 0);
	assert_int_equal(m->npoints, 8);
	assert_string_equal(m->machine, machine);
	m = measurement(plan, GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE, 50);
	assert_int_equal(m->npoints, 2); /* 4, 16 MiB */
	assert_int_equal(m->bytes[0], 4 << 20);
	assert_near(m->time_us[0], 5.984);
}

static struct gt_tune_sweep sweep_of(struct gt_plan *plan, int *refusals)
{
	return (struct gt_tune_sweep){.ops = &pretend_ops,
				      .plan = plan,
				      .machine = "pretender: 4 x nothing",
				      .begin_bytes = 1024,
				      .end_bytes = 16 << 20,
				      .factor = 4,
				      .refuse = count_refusal,
				      .arg = refusals};
}

static void test_sweep(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	int refusals = 0;
	struct gt_tune_sweep sweep = sweep_of(plan, &refusals);
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	pretender.nopened = 0;
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 1, plan->arena,
						 &sweep.candidates, &err),
			 0);
	/*
	 * Two algorithms with five protocols; the tree; the ring.  Two shots by
	 * copy engines have three detours, on the same engine.
	 */
	assert_int_equal(sweep.candidates.n, 12 + 3);
	assert_int_equal(gt_tune_sweep(&sweep, &err), 0);
	assert_false(pretender.opened);
	assert_int_equal(pretender.nopened, 12);
	assert_int_equal(sweep.refused, 1);
	assert_int_equal(refusals, 1);
	check_measured(plan, sweep.machine);
	/* The broadcast's is still there. */
	assert_int_equal(plan->measured[plan->nmeasured - 1].use.coll,
			 GT_COLL_BROADCAST);
	assert_int_equal(gt_plan_check(plan, &err), 0);
	/* Two shots, by packets, directly, with a detour; last the ring. */
	assert_row(&plan->select[0], GT_ALGO_TWO_SHOT, 65536);
	assert_int_equal(plan->select[0].protocol, GT_PROTOCOL_LL);
	assert_row(&plan->select[1], GT_ALGO_TWO_SHOT, 1 << 20);
	assert_int_equal(plan->select[1].protocol, GT_PROTOCOL_DIRECT);
	assert_int_equal(plan->select[1].detour_permille, 0);
	assert_row(&plan->select[2], GT_ALGO_TWO_SHOT, UINT64_C(1) << 40);
	assert_int_equal(plan->select[2].protocol, GT_PROTOCOL_CE);
	assert_int_equal(plan->select[2].detour_permille, 80);
	assert_row(&plan->select[3], GT_ALGO_RING, UINT64_MAX);
	assert_int_equal(plan->select[3].detour_permille, 0);

	/* A plan that has rows and measurements with detours has no more. */
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 1, plan->arena,
						 &sweep.candidates, &err),
			 0);
	assert_int_equal(sweep.candidates.n, 12 + 3);
	/* On CPUs there are none. */
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 0, plan->arena,
						 &sweep.candidates, &err),
			 0);
	assert_int_equal(sweep.candidates.n, 4);
	for (uint32_t i = 0; i < sweep.candidates.n; i++)
		assert_int_equal(sweep.candidates.rows[i].detour_permille, 0);
	gt_plan_free(plan);
}

/* What went without its detour is no measurement of it. */
static void test_no_memory_for_detours(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	int refusals = 0;
	struct gt_tune_sweep sweep = sweep_of(plan, &refusals);
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	pretender.poor = 1;
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 1, plan->arena,
						 &sweep.candidates, &err),
			 0);
	assert_int_equal(gt_tune_sweep(&sweep, &err), 0);
	pretender.poor = 0;
	assert_true(plan->nmeasured > 1);
	for (uint32_t i = 0; i < plan->nmeasured; i++)
		assert_int_equal(plan->measured[i].use.detour_permille, 0);
	gt_plan_free(plan);
}

/* Sweep all-reduces of a plan, and look for few blocks. */
static struct gt_plan *find_knees(uint32_t max_blocks, int *refusals)
{
	struct gt_plan *plan = good_plan("tuned4");
	struct gt_tune_sweep sweep = sweep_of(plan, refusals);
	struct gt_err err;

	gt_err_init(&err);
	sweep.knees = 1;
	sweep.max_blocks = max_blocks;
	pretender.nopened = 0;
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 1, plan->arena,
						 &sweep.candidates, &err),
			 0);
	assert_int_equal(gt_tune_sweep(&sweep, &err), 0);
	assert_int_equal(sweep.refused, *refusals);
	assert_false(pretender.opened);
	assert_int_equal(gt_plan_check(plan, &err), 0);
	return plan;
}

static void count_all(void *arg, const struct gt_plan_select *way,
		      uint64_t bytes, uint64_t wrong)
{
	(void)way;
	(void)bytes;
	(void)wrong;
	++*(int *)arg;
}

/* Rows of small messages, and those with a detour, keep all blocks. */
static void assert_knees(const struct gt_plan *plan, uint32_t blocks)
{
	assert_row(&plan->select[0], GT_ALGO_TWO_SHOT, 65536);
	assert_int_equal(plan->select[0].max_blocks, 0);
	assert_row(&plan->select[1], GT_ALGO_TWO_SHOT, 1 << 20);
	assert_int_equal(plan->select[1].protocol, GT_PROTOCOL_DIRECT);
	assert_int_equal(plan->select[1].max_blocks, blocks);
	assert_row(&plan->select[2], GT_ALGO_TWO_SHOT, UINT64_C(1) << 40);
	assert_int_equal(plan->select[2].detour_permille, 80);
	assert_int_equal(plan->select[2].max_blocks, 0);
	assert_row(&plan->select[3], GT_ALGO_RING, UINT64_MAX);
	assert_int_equal(plan->select[3].max_blocks, 0);
}

static void test_knees(void **state)
{
	int refusals = 0;
	struct gt_plan *plan = find_knees(0, &refusals);
	const struct gt_plan_measured *m;
	struct gt_cost_model *model;
	struct gt_cost cost;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(pretender.nopened, 12 + 5); /* 64 to 4 */
	assert_knees(plan, 8);
	/* Its times are there from one end of the row to the other. */
	m = gt_plan_measured_find(plan, &plan->select[1]);
	assert_int_equal(m->npoints, 3);
	assert_int_equal(m->bytes[0], 65536 + 16);
	assert_int_equal(m->bytes[1], 256 << 10);
	assert_int_equal(m->bytes[2], 1 << 20);
	assert_near(m->time_us[2], 3.108);
	assert_int_equal(gt_cost_new(plan, GT_COLL_ALLREDUCE, &model, &err), 0);
	assert_int_equal(gt_cost_expect(model, 100 << 10, &cost, &err), 0);
	assert_true(cost.measured);
	gt_cost_free(model);
	/* Rows follow from the measurements alone, in whatever order. */
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	assert_knees(plan, 8);
	gt_plan_free(plan);
}

/* What is wrong with few blocks is told, and not chosen. */
static void test_knees_are_right(void **state)
{
	struct gt_plan *plan = good_plan("tuned4");
	int refusals = 0;
	struct gt_tune_sweep sweep = sweep_of(plan, &refusals);
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	pretender.wrong_blocks = 16;
	sweep.knees = 1;
	sweep.refuse = count_all;
	assert_int_equal(gt_tune_candidates_find(plan, 1u << GT_COLL_ALLREDUCE,
						 1, plan->arena,
						 &sweep.candidates, &err),
			 0);
	assert_int_equal(gt_tune_sweep(&sweep, &err), 0);
	pretender.wrong_blocks = 0;
	assert_int_equal(refusals, 1 + 1); /* copy engines; 16 blocks */
	assert_knees(plan, 32);
	gt_plan_free(plan);
}

/* What carries two ranges of sizes has one measurement with few blocks. */
static void test_two_rows_alike(void **state)
{
	static double two_us[] = {2.262, 3.048, 6.194, 18.777};
	static double ring_us[] = {5, 5, 3, 50};
	static uint64_t sizes[] = {256 << 10, 1 << 20, 4 << 20, 16 << 20};
	struct gt_plan *plan = good_plan("tuned4");
	struct gt_tune_sweep sweep = sweep_of(plan, NULL);
	struct gt_tuning on = {.sweep = &sweep};
	struct gt_plan_measured all[2] = {{.machine = sweep.machine},
					  {.machine = sweep.machine}};
	const struct gt_plan_measured *m;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	all[0].use = plan->select[2]; /* two shots, directly */
	all[1].use = *gt_plan_main_row(plan);
	for (int i = 0; i < 2; i++) {
		all[i].use.max_bytes = UINT64_MAX;
		all[i].npoints = 4;
		all[i].bytes = sizes;
		all[i].time_us = i ? ring_us : two_us;
	}
	assert_int_equal(all[0].use.algo, GT_ALGO_TWO_SHOT);
	assert_int_equal(all[0].use.protocol, GT_PROTOCOL_DIRECT);
	plan->measured = all;
	plan->nmeasured = 2;
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	assert_int_equal(gt_tune_knees(&on, &err), 0);
	assert_int_equal(plan->nmeasured, 3);
	m = &plan->measured[2];
	assert_int_equal(m->use.max_blocks, 8);
	assert_int_equal(m->npoints, 2 + 1 + 1 + 1); /* an end each */
	for (uint32_t i = 1; i < m->npoints; i++)
		assert_true(m->bytes[i - 1] < m->bytes[i]);
	assert_int_equal(plan->select[0].max_blocks, 8);
	assert_row(&plan->select[1], GT_ALGO_RING, plan->select[1].max_bytes);
	assert_int_equal(plan->select[1].max_blocks, 0);
	assert_row(&plan->select[2], GT_ALGO_TWO_SHOT, UINT64_C(1) << 40);
	assert_int_equal(plan->select[2].max_blocks, 8);
	assert_int_equal(gt_plan_check(plan, &err), 0);
	gt_plan_free(plan);
}

/* All rows have the caller's limit, or fewer; none has a detour. */
static void test_limited_knees(void **state)
{
	int refusals = 0;
	struct gt_plan *plan = find_knees(16, &refusals);

	(void)state;
	for (uint32_t i = 0; i < plan->nmeasured; i++) {
		const struct gt_plan_select *use = &plan->measured[i].use;

		if (use->coll != GT_COLL_ALLREDUCE)
			continue;
		assert_in_range(use->max_blocks, 8, 16);
		assert_int_equal(use->detour_permille, 0);
	}
	assert_int_equal(plan->select[0].max_blocks, 16);
	assert_int_equal(plan->select[1].max_blocks, 8);
	gt_plan_free(plan);
	refusals = 0;
	plan = find_knees(1, &refusals);
	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].max_bytes < UINT64_MAX &&
		    plan->select[i].coll == GT_COLL_ALLREDUCE)
			assert_int_equal(plan->select[i].max_blocks, 1);
	gt_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_change_has_to_be_worth_it),
		cmocka_unit_test(test_where_times_cross),
		cmocka_unit_test(test_between_sizes),
		cmocka_unit_test(test_predictions_follow),
		cmocka_unit_test(test_rows_follow),
		cmocka_unit_test(test_detours_are_uses),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_no_memory_for_detours),
		cmocka_unit_test(test_knees),
		cmocka_unit_test(test_knees_are_right),
		cmocka_unit_test(test_two_rows_alike),
		cmocka_unit_test(test_limited_knees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
