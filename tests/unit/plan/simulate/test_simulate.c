#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "plan/simulate/simulate.h"

/*
 * All-gather of two ranks straight into each other's output: say that the own
 * output is ready; wait for the other's and write; wait for the other's data.
 * Connection 0 receives, 1 sends; what is announced has no slot.
 */
struct direct {
	struct gt_program programs[2];
	struct gt_conn conns[2][2];
	struct gt_step steps[2][4];
};

enum { WAIT = GT_OPERAND_WAIT, POST = GT_OPERAND_POST };

static struct gt_operand operand(int buf, int flags, int conn, uint32_t chunk)
{
	return (struct gt_operand){(uint8_t)buf, (uint8_t)flags, (uint16_t)conn,
				   chunk};
}

static struct gt_step *step_of(struct direct *d, uint32_t rank, uint32_t i,
			       int nsrc, int ndst)
{
	struct gt_step *step = &d->steps[rank][i];

	*step = (struct gt_step){.op = GT_OP_GENERIC,
				 .nsrc = (uint8_t)nsrc,
				 .ndst = (uint8_t)ndst,
				 .chunk = i == 1 ? rank : 1 - rank,
				 .id = i};
	return step;
}

static void make_direct(struct direct *d)
{
	struct gt_step *step;

	memset(d, 0, sizeof(*d));
	for (uint32_t r = 0; r < 2; r++) {
		d->conns[r][0] = (struct gt_conn){.peer = 1 - r};
		d->conns[r][1] = (struct gt_conn){.peer = 1 - r, .sends = 1};
		step = step_of(d, r, 0, 0, 1);
		step->operand[0] = operand(GT_BUF_NONE, POST, 1, 0);
		step = step_of(d, r, 1, 2, 2);
		step->operand[0] = operand(GT_BUF_NONE, WAIT | POST, 0, 0);
		step->operand[1] = operand(GT_BUF_INPUT, 0, 0, r);
		step->operand[2] = operand(GT_BUF_OUTPUT, 0, 0, r);
		step->operand[3] = operand(GT_BUF_PEER_OUTPUT, POST, 1, r);
		step = step_of(d, r, 2, 1, 0);
		step->operand[0] = operand(GT_BUF_NONE, WAIT | POST, 0, 0);
		d->programs[r] = (struct gt_program){.rank = r,
						     .nchunks = 2,
						     .nconns = 2,
						     .nsteps = 3,
						     .conns = d->conns[r],
						     .steps = d->steps[r]};
	}
}

static int simulate(const struct direct *d, int inplace, struct gt_err *err)
{
	struct gt_sim_args args = {.coll = GT_COLL_ALLGATHER,
				   .nranks = 2,
				   .slots = 4,
				   .inplace = inplace,
				   .programs = d->programs};

	gt_err_init(err);
	return gt_simulate_programs(&args, err);
}

static void expect(const struct direct *d, const char *where, const char *text)
{
	struct gt_err err;

	assert_int_equal(simulate(d, 0, &err), GT_ENO);
	assert_string_equal(err.where, where);
	assert_string_equal(err.text, text);
}

static void test_direct_is_right(void **state)
{
	struct direct d;
	struct gt_err err;

	(void)state;
	make_direct(&d);
	assert_int_equal(simulate(&d, 0, &err), 0);
	assert_int_equal(simulate(&d, 1, &err), 0);
}

/* A rank's second lane waits for the first one, over a FIFO to the own rank. */
static void test_lanes_of_a_rank_meet(void **state)
{
	struct gt_program programs[4];
	struct gt_conn conns[2][3], last[2];
	struct gt_step steps[2];
	struct gt_sim_args args = {.coll = GT_COLL_ALLGATHER,
				   .nranks = 2,
				   .nlanes = 2,
				   .slots = 4,
				   .programs = programs};
	struct direct d;
	struct gt_err err;

	(void)state;
	make_direct(&d);
	for (uint32_t r = 0; r < 2; r++) {
		memcpy(conns[r], d.conns[r], sizeof(d.conns[r]));
		conns[r][2] = (struct gt_conn){.peer = r, .tag = 1, .sends = 1};
		last[r] = (struct gt_conn){.peer = r, .tag = 1};
		step_of(&d, r, 3, 0, 1)->operand[0] =
			operand(GT_BUF_NONE, POST, 2, 0);
		steps[r] = (struct gt_step){.op = GT_OP_GENERIC, .nsrc = 1};
		steps[r].operand[0] = operand(GT_BUF_NONE, WAIT | POST, 0, 0);
		programs[2 * r] = d.programs[r];
		programs[2 * r].nconns = 3;
		programs[2 * r].nsteps = 4;
		programs[2 * r].conns = conns[r];
		programs[2 * r + 1] = (struct gt_program){.rank = r,
							  .lane = 1,
							  .nchunks = 2,
							  .nconns = 1,
							  .nsteps = 1,
							  .conns = &last[r],
							  .steps = &steps[r]};
	}
	gt_err_init(&err);
	assert_int_equal(gt_simulate_programs(&args, &err), 0);
	/* A fault in the second lane is told as one. */
	last[1].peer = 2;
	gt_err_init(&err);
	assert_int_equal(gt_simulate_programs(&args, &err), GT_ENO);
	assert_string_equal(err.where, "allgather: channel 0, rank 1, lane 1");
	assert_string_equal(err.text, "connection 0 leads to rank '2'");
	last[1].peer = 1;
	/* With one lane nobody is there to wait. */
	args.nlanes = 1;
	programs[1] = programs[2];
	gt_err_init(&err);
	assert_int_equal(gt_simulate_programs(&args, &err), GT_ENO);
	assert_string_equal(err.text, "connection 2 leads to rank '0'");
}

static void test_write_before_ready(void **state)
{
	struct direct d;

	(void)state;
	make_direct(&d);
	d.steps[0][1].operand[0].flags = POST;
	expect(&d, "allgather: channel 0, rank 0, step 1 (generic)",
	       "race: writes chunk 0 of rank 1, and nothing orders this "
	       "behind rank 1's access");
}

static void test_end_before_data(void **state)
{
	struct direct d;

	(void)state;
	make_direct(&d);
	d.steps[1][2].operand[0].flags = POST;
	expect(&d, "allgather: channel 0, rank 1",
	       "race: may end before rank 0's access to its chunk 0");
}

/*
 * The same by fetching: say that the own input stands; copy the own block;
 * fetch the other's and say so; wait until the own input was fetched.
 */
static void make_fetch(struct direct *d)
{
	struct gt_step *step;

	make_direct(d);
	for (uint32_t r = 0; r < 2; r++) {
		d->programs[r].nsteps = 4;
		step = step_of(d, r, 1, 1, 1);
		step->operand[0] = operand(GT_BUF_INPUT, 0, 0, r);
		step->operand[1] = operand(GT_BUF_OUTPUT, 0, 0, r);
		step = step_of(d, r, 2, 1, 2);
		step->operand[0] =
			operand(GT_BUF_PEER_INPUT, WAIT | POST, 0, 1 - r);
		step->operand[1] = operand(GT_BUF_OUTPUT, 0, 0, 1 - r);
		step->operand[2] = operand(GT_BUF_NONE, POST, 1, 0);
		step = step_of(d, r, 3, 1, 0);
		step->operand[0] = operand(GT_BUF_NONE, WAIT | POST, 0, 0);
	}
}

static void test_fetch_is_right(void **state)
{
	struct direct d;
	struct gt_err err;

	(void)state;
	make_fetch(&d);
	assert_int_equal(simulate(&d, 0, &err), 0);
	assert_int_equal(simulate(&d, 1, &err), 0);
}

static void test_end_before_fetch(void **state)
{
	struct direct d;

	(void)state;
	make_fetch(&d);
	d.steps[0][3].operand[0].flags = POST;
	expect(&d, "allgather: channel 0, rank 0",
	       "race: may end before rank 1's access to its chunk 0");
}

static void test_ends_do_not_match(void **state)
{
	struct direct d;

	(void)state;
	make_direct(&d);
	d.steps[1][2].operand[0].flags = WAIT;
	expect(&d, "allgather: channel 0, rank 0",
	       "sends 2 slices to rank 1, which takes 1");
	make_direct(&d);
	d.conns[1][0].tag = 1;
	expect(&d, "allgather: channel 0, rank 0",
	       "connection 1 has no other end at rank 1");
	make_direct(&d);
	d.conns[1][1].sends = 0;
	expect(&d, "allgather: channel 0, rank 1, step 0 (generic)",
	       "uses a connection the wrong way round");
	make_direct(&d);
	d.conns[1][1].peer = 2;
	expect(&d, "allgather: channel 0, rank 1",
	       "connection 1 leads to rank '2'");
}

static void test_deadlock_names_the_circle(void **state)
{
	struct direct d;

	(void)state;
	make_direct(&d);
	for (int r = 0; r < 2; r++) {
		struct gt_step first = d.steps[r][0];

		d.steps[r][0] = d.steps[r][1];
		d.steps[r][1] = first;
		d.steps[r][0].id = 0;
		d.steps[r][1].id = 1;
	}
	expect(&d, "allgather: channel 0, rank 0, step 0 (generic)",
	       "deadlock with 4 slots: waits for data from rank 1, which "
	       "waits for data from rank 0");
}

/*
 * A circle of more ranks than an error has room for is told as far as there is
 * room: all wait for the rank before them.
 */
static void test_deadlock_of_many(void **state)
{
	enum { RANKS = 40 };
	struct gt_program programs[RANKS];
	struct gt_conn conns[RANKS][2];
	struct gt_step steps[RANKS];
	const struct gt_sim_args args = {.coll = GT_COLL_ALLREDUCE,
					 .nranks = RANKS,
					 .slots = 4,
					 .programs = programs};
	struct gt_err err;
	char text[1024];
	int len;

	(void)state;
	for (uint32_t r = 0; r < RANKS; r++) {
		conns[r][0] = (struct gt_conn){.peer = (r + RANKS - 1) % RANKS};
		conns[r][1] =
			(struct gt_conn){.peer = (r + 1) % RANKS, .sends = 1};
		steps[r] = (struct gt_step){
			.op = GT_OP_GENERIC, .nsrc = 1, .ndst = 1};
		steps[r].operand[0] = operand(GT_BUF_FIFO, WAIT | POST, 0, 0);
		steps[r].operand[1] = operand(GT_BUF_FIFO, WAIT | POST, 1, 0);
		programs[r] = (struct gt_program){.rank = r,
						  .nchunks = 1,
						  .nconns = 2,
						  .nsteps = 1,
						  .conns = conns[r],
						  .steps = &steps[r]};
	}
	gt_err_init(&err);
	assert_int_equal(gt_simulate_programs(&args, &err), GT_ENO);
	len = snprintf(text, sizeof(text), "deadlock with 4 slots: ");
	for (int r = RANKS - 1; r >= RANKS - 14; r--)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"%swaits for data from rank %d",
				r < RANKS - 1 ? ", which " : "", r);
	assert_string_equal(err.text, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_is_right),
		cmocka_unit_test(test_lanes_of_a_rank_meet),
		cmocka_unit_test(test_write_before_ready),
		cmocka_unit_test(test_end_before_data),
		cmocka_unit_test(test_fetch_is_right),
		cmocka_unit_test(test_end_before_fetch),
		cmocka_unit_test(test_ends_do_not_match),
		cmocka_unit_test(test_deadlock_names_the_circle),
		cmocka_unit_test(test_deadlock_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
