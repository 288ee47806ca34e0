/* Recorded steps, and the link that is named. */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "exec/trace/trace.h"
#include "exec/trace/p2p.h"
#include "exec/trace/marks.h"

static struct gt_trace_step step_of(uint64_t bytes, int64_t begin, int64_t end)
{
	return (struct gt_trace_step){.since_ns = begin - 5,
				      .begin_ns = begin,
				      .end_ns = end,
				      .bytes = bytes,
				      .from = GT_TRACE_NONE,
				      .to = GT_TRACE_NONE};
}

static void test_slowest(void **state)
{
	struct gt_trace_step fast = step_of(1000, 0, 100);
	struct gt_trace_step slow = step_of(300, 100, 200);
	struct gt_trace_step empty = step_of(0, 200, 900);
	uint32_t from = 9, to = 9;
	struct gt_trace *trace;

	(void)state;
	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	assert_false(gt_trace_slowest(trace, &from, &to));
	assert_int_equal(from, 9);
	gt_trace_add_sent(trace, 0, 1, &fast);
	gt_trace_add_sent(trace, 1, 2, &fast);
	gt_trace_add_sent(trace, 1, 2, &slow);
	gt_trace_add_sent(trace, 2, 0, &empty);
	assert_true(gt_trace_slowest(trace, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
	assert_true(gt_trace_gbs(&trace->ranks[1].links[2]) == 6.5);
	assert_true(gt_trace_gbs(&trace->ranks[2].links[1]) == 0);
	gt_trace_free(trace);
	gt_trace_free(NULL);
}

/* All steps stay in order, and waits add up by whom they were for. */
static void test_steps(void **state)
{
	struct gt_trace *trace;

	(void)state;
	assert_int_equal(gt_trace_new(2, &trace, NULL), GT_OK);
	for (uint32_t i = 0; i < 5000; i++) {
		struct gt_trace_step step = step_of(i, 10 * i, 10 * i + 1);

		step.from = i % 2 ? 1 : GT_TRACE_NONE;
		gt_trace_add(trace, 0, &step);
	}
	assert_int_equal(trace->ranks[0].nsteps, 5000);
	assert_int_equal(trace->ranks[0].ndropped, 0);
	assert_int_equal(trace->ranks[1].nsteps, 0);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(trace->ranks[0].steps[i].bytes, i);
	assert_int_equal(trace->ranks[0].waits_ns[1], 2500 * 5);
	gt_trace_free(trace);
}

enum { MARKS_LOOPS = 3, MARKS_STEPS = 2, MARKS_WORKERS = 2 };

/* Rank 1 of 3: it takes from rank 0, adds, and sends to rank 2; then takes. */
static struct gt_conn marked_conns[] = {{.peer = 0}, {.peer = 2, .sends = 1}};
static struct gt_step marked_steps[] = {
	{.op = GT_OP_RECV_REDUCE_SEND,
	 .nsrc = 2,
	 .ndst = 1,
	 .operand = {{.buf = GT_BUF_FIFO},
		     {.buf = GT_BUF_INPUT},
		     {.buf = GT_BUF_FIFO, .conn = 1}}},
	{.op = GT_OP_RECV,
	 .id = 1,
	 .nsrc = 1,
	 .ndst = 1,
	 .operand = {{.buf = GT_BUF_FIFO}, {.buf = GT_BUF_OUTPUT}}},
};

/* A slice waits 4 longer than the one before moves, moves 10, is posted 1. */
static void mark_slices(struct gt_kernel_mark *marks, uint32_t n, uint64_t at)
{
	for (uint32_t i = 0; i < n; i++, at += 14)
		marks[i] = (struct gt_kernel_mark){
			{at - (i ? 8 : 0), at + 4, at + 14, at + 15}};
}

/* Turns of two loops: steps 0 0 1 1, then 0 1. */
static void test_marks(void **state)
{
	static const uint32_t loops[] = {0, 1, 0, 1, 2, 2};
	enum { ALL = MARKS_LOOPS * MARKS_STEPS };
	struct gt_kernel_mark marks[MARKS_WORKERS * ALL];
	struct gt_program program = {.rank = 1,
				     .channel = 7,
				     .nconns = 2,
				     .nsteps = MARKS_STEPS,
				     .conns = marked_conns,
				     .steps = marked_steps};
	/* 20 elements a worker in slices of 8: the last has 4. */
	struct gt_layout layout = {.block_elems = 40,
				   .hi = 40,
				   .nchunks = 1,
				   .per_block = 1,
				   .nworkers = MARKS_WORKERS,
				   .align_elems = 4,
				   .slice_elems = 8,
				   .loops = MARKS_LOOPS};
	struct gt_trace_launch launch = {.programs = &program,
					 .layouts = &layout,
					 .marks = marks,
					 .nprograms = 1,
					 .nlanes = 1,
					 .nworkers = MARKS_WORKERS,
					 .nmarks = ALL,
					 .rank = 1,
					 .turn = 2,
					 .elem_bytes = 4,
					 .ahead_ns = 1000};
	const struct gt_trace_rank *me;
	struct gt_trace *trace;

	(void)state;
	mark_slices(marks, ALL, 2000);
	mark_slices(marks + ALL, ALL, 2003);
	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	assert_int_equal(gt_trace_add_launch(&launch, trace, NULL), GT_OK);
	me = &trace->ranks[1];
	assert_int_equal(me->nsteps, MARKS_WORKERS * ALL);
	assert_int_equal(me->ndropped, 0);
	for (uint32_t i = 0; i < me->nsteps; i++) {
		const struct gt_trace_step *step = &me->steps[i];
		int64_t at = 1000 + 14 * (i / 2) + 3 * (i % 2);

		assert_int_equal(step->worker, i % 2);
		assert_int_equal(step->loop, loops[i / 2]);
		assert_int_equal(step->step,
				 i / 2 == 2 || i / 2 == 3 || i / 2 == 5);
		assert_int_equal(step->channel, 7);
		assert_int_equal(step->from, 0);
		assert_int_equal(step->to, step->step ? GT_TRACE_NONE : 2);
		assert_int_equal(step->bytes, step->loop < 2 ? 32 : 16);
		assert_int_equal(step->since_ns, at);
		assert_int_equal(step->begin_ns, at + 4);
		assert_int_equal(step->end_ns, at + 14);
		assert_int_equal(step->post_ns, 1);
	}
	/* Both workers at once; a slice is busy until it is posted. */
	assert_int_equal(me->links[2].bytes, 160);
	assert_int_equal(me->links[2].busy_ns, 3 * 11);
	assert_int_equal(me->waits_ns[0], ALL * 4);
	gt_trace_free(trace);
}

/* Where blocks differ a slice has what its channel's pair has. */
static void test_marks_differ(void **state)
{
	enum { CHANNELS = 2, SLICES = CHANNELS * MARKS_STEPS };
	struct gt_kernel_mark marks[SLICES];
	struct gt_step steps[MARKS_STEPS] = {marked_steps[0], marked_steps[1]};
	struct gt_program programs[CHANNELS];
	struct gt_layout layouts[CHANNELS];
	/* Of step 0 pair 1 of 9, of step 1 pair 5. */
	struct gt_layout_span spans[CHANNELS * 9] = {
		[1] = {0, 3}, [5] = {0, 7}, [10] = {3, 8}, [14] = {7, 7}};
	static const uint64_t bytes[] = {3, 7, 5, 0};
	struct gt_trace_launch launch = {.programs = programs,
					 .layouts = layouts,
					 .spans = spans,
					 .marks = marks,
					 .nprograms = CHANNELS,
					 .nlanes = 1,
					 .nworkers = 1,
					 .nmarks = MARKS_STEPS,
					 .turn = 1,
					 .elem_bytes = 1};
	struct gt_trace *trace;

	(void)state;
	steps[0].pair = 1;
	steps[1].pair = 5;
	mark_slices(marks, SLICES, 2000);
	for (uint32_t c = 0; c < CHANNELS; c++) {
		programs[c] = (struct gt_program){.channel = c,
						  .nconns = 2,
						  .nsteps = MARKS_STEPS,
						  .conns = marked_conns,
						  .steps = steps};
		layouts[c] = (struct gt_layout){.block_elems = 8,
						.hi = 8,
						.nchunks = 1,
						.per_block = 1,
						.nworkers = 1,
						.align_elems = 1,
						.slice_elems = 8,
						.loops = 1};
	}
	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	assert_int_equal(gt_trace_add_launch(&launch, trace, NULL), GT_OK);
	assert_int_equal(trace->ranks[0].nsteps, SLICES);
	for (uint32_t i = 0; i < SLICES; i++)
		assert_int_equal(trace->ranks[0].steps[i].bytes, bytes[i]);
	gt_trace_free(trace);
}

/* Without room for all, or in a run that ended early, the rest is dropped. */
static void test_marks_dropped(void **state)
{
	struct gt_kernel_mark marks[2] = {{{10, 20, 30, 40}}, {{50, 60, 0, 0}}};
	struct gt_program program = {.nconns = 2,
				     .nsteps = MARKS_STEPS,
				     .conns = marked_conns,
				     .steps = marked_steps};
	struct gt_layout layout = {.block_elems = 8,
				   .hi = 8,
				   .nchunks = 1,
				   .per_block = 1,
				   .nworkers = 1,
				   .align_elems = 4,
				   .slice_elems = 4,
				   .loops = 2};
	struct gt_trace_launch launch = {.programs = &program,
					 .layouts = &layout,
					 .marks = marks,
					 .nprograms = 1,
					 .nlanes = 1,
					 .nworkers = 1,
					 .nmarks = 2,
					 .turn = 1,
					 .elem_bytes = 1};
	struct gt_trace *trace;

	(void)state;
	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	assert_int_equal(gt_trace_add_launch(&launch, trace, NULL), GT_OK);
	assert_int_equal(trace->ranks[0].nsteps, 1);
	assert_int_equal(trace->ranks[0].ndropped, 3);
	gt_trace_free(trace);
}

enum { FLOW_KERNELS = 2, FLOW_BLOCKS = 2 };

static struct gt_kernel_mark flow_marks[FLOW_KERNELS][FLOW_BLOCKS]
				       [GT_P2P_STAGES][GT_P2P_RANKS];
static const struct gt_trace_transfer flow_moved = {
	.bytes = 101, .from = 1, .to = 0};
static const struct gt_trace_transfer flow_copy = {
	.bytes = 50, .begin_ns = 100, .end_ns = 110, .from = 1, .to = 2};

static struct gt_trace *flow_trace(const struct gt_trace_p2p *flow)
{
	struct gt_trace *trace;

	assert_int_equal(gt_trace_new(3, &trace, NULL), GT_OK);
	gt_trace_add_p2p(flow, trace);
	return trace;
}

/* Two blocks wait for rank 2, move 101 bytes, and wait for rank 0. */
static void test_flow(void **state)
{
	struct gt_trace_p2p flow = {.marks = &flow_marks[0][0][0][0],
				    .nkernels = 1,
				    .nblocks = FLOW_BLOCKS,
				    .rank = 1,
				    .nranks = 3,
				    .ahead_ns = 1000,
				    .moved = &flow_moved,
				    .nmoved = 1,
				    .copies = &flow_copy,
				    .ncopies = 1};
	const struct gt_trace_rank *me;
	struct gt_trace *trace;

	(void)state;
	memset(flow_marks, 0, sizeof(flow_marks));
	for (int b = 0; b < FLOW_BLOCKS; b++) {
		struct gt_kernel_mark(*marks)[GT_P2P_RANKS] = flow_marks[0][b];

		marks[0][1] = (struct gt_kernel_mark){{1200, 1221, 1230}};
		marks[0][0].at_ns[GT_MARK_READY] = 1205;
		marks[0][2].at_ns[GT_MARK_READY] = 1220;
		marks[1][1].at_ns[GT_MARK_DONE] = 1240;
		marks[1][0].at_ns[GT_MARK_READY] = 1238;
	}
	trace = flow_trace(&flow);
	me = &trace->ranks[1];
	assert_int_equal(me->nsteps, 1 + 2 * FLOW_BLOCKS);
	assert_int_equal(me->steps[0].op, GT_OP_SEND);
	assert_int_equal(me->steps[0].to, 2);
	assert_int_equal(me->links[2].bytes, 50);
	assert_int_equal(me->links[2].busy_ns, 10);
	for (int b = 0; b < FLOW_BLOCKS; b++) {
		const struct gt_trace_step *step = &me->steps[1 + 2 * b];

		assert_int_equal(step->worker, b);
		assert_int_equal(step->lane, 1);
		assert_int_equal(step->since_ns, 200);
		assert_int_equal(step->begin_ns, 220);
		assert_int_equal(step->end_ns, 230);
		assert_int_equal(step->from, 2);
		assert_int_equal(step[1].step, 1);
		assert_int_equal(step[1].since_ns, 230);
		assert_int_equal(step[1].begin_ns, 238);
		assert_int_equal(step[1].end_ns, 240);
		assert_int_equal(step[1].from, 0);
	}
	assert_int_equal(me->links[0].bytes, 101);
	assert_int_equal(me->links[0].busy_ns, 10);
	/* Means over blocks. */
	assert_int_equal(me->waits_ns[2], 20);
	assert_int_equal(me->waits_ns[0], 8);
	gt_trace_free(trace);
}

/* Of packets the second kernel saw the first: both parts of rank 0's. */
static void test_packets(void **state)
{
	struct gt_trace_p2p flow = {.marks = &flow_marks[0][0][0][0],
				    .nkernels = FLOW_KERNELS,
				    .nblocks = FLOW_BLOCKS,
				    .watched = 1,
				    .rank = 1,
				    .nranks = 3,
				    .moved = &flow_moved,
				    .nmoved = 1};
	const struct gt_trace_rank *me;
	struct gt_trace *trace;

	(void)state;
	memset(flow_marks, 0, sizeof(flow_marks));
	for (int b = 0; b < FLOW_BLOCKS; b++)
		flow_marks[0][b][0][1] =
			(struct gt_kernel_mark){{1200, 0, 1230}};
	flow_marks[1][0][0][0].at_ns[GT_MARK_READY] = 1206;
	flow_marks[1][0][1][0].at_ns[GT_MARK_READY] = 1209;
	trace = flow_trace(&flow);
	me = &trace->ranks[1];
	assert_int_equal(me->nsteps, FLOW_BLOCKS + 2);
	assert_int_equal(me->steps[1].from, 0);
	assert_int_equal(me->steps[1].begin_ns, 1206);
	assert_int_equal(me->steps[1].end_ns, 1230);
	assert_int_equal(me->steps[2].lane, 2);
	assert_int_equal(me->steps[2].since_ns, 1200);
	assert_int_equal(me->steps[2].end_ns, 1206);
	assert_int_equal(me->steps[3].since_ns, 1206);
	assert_int_equal(me->steps[3].end_ns, 1209);
	assert_int_equal(me->links[0].busy_ns, 24);
	assert_int_equal(me->waits_ns[0], 6);
	gt_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slowest),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_marks_differ),
		cmocka_unit_test(test_marks_dropped),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
