/* libgtopo's operators of a rank's own: the pre-multiplied sum. */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "gtopo.h"
#include "kernels/half.h"

enum { COUNT = 3001, RANKS = 4 };

struct fixture {
	struct gtopo_comm *comm;
	enum gtopo_op op[RANKS];
	float in[RANKS][COUNT * RANKS], out[RANKS][COUNT];
	float scalar[RANKS];
};

static void open_comm(struct fixture *f)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], message[256] = "";

	config.plan =
		gt_test_path(path, "tests/cases/plan/good/ring4/plan.json");
	if (gtopo_comm_create(&config, &f->comm, message, sizeof(message)))
		fail_msg("%s", message);
	for (int r = 0; r < RANKS; r++) {
		f->scalar[r] = 0.25f * (float)(r + 3);
		for (int i = 0; i < COUNT * RANKS; i++)
			f->in[r][i] = (float)((i * 7 + r) % 1000);
	}
}

/* Ranks 0 and 2 give a number, 1 and 3 a place. */
static void make_ops(struct fixture *f)
{
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(
			gtopo_op_create_premul(
				f->comm, r, &f->scalar[r], GTOPO_FLOAT,
				r % 2 ? GTOPO_SCALAR_DEVICE : GTOPO_SCALAR_HOST,
				&f->op[r]),
			GTOPO_OK);
}

static float want(const struct fixture *f, int i)
{
	float sum = 0;

	for (int r = 0; r < RANKS; r++)
		sum += f->in[r][i] * f->scalar[r];
	return sum;
}

static void finish(struct fixture *f)
{
	assert_int_equal(gtopo_wait(f->comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
}

/* Quarters of whole numbers: any order is exact. */
static void test_allreduce(void **state)
{
	static struct fixture f;

	(void)state;
	open_comm(&f);
	make_ops(&f);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(gtopo_allreduce(f.comm, r, f.in[r], f.out[r],
						 COUNT, GTOPO_FLOAT, f.op[r]),
				 GTOPO_OK);
	/* A call has what it needs of its operator. */
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(gtopo_op_destroy(f.comm, r, f.op[r]),
				 GTOPO_OK);
	finish(&f);
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < COUNT; i++)
			assert_true(f.out[r][i] == want(&f, i));
	gtopo_comm_destroy(f.comm);
}

static void test_in_place_and_blocks(void **state)
{
	static struct fixture f, was;

	(void)state;
	open_comm(&f);
	make_ops(&f);
	was = f;
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(gtopo_reducescatter(f.comm, r, f.in[r],
						     f.in[r] + r * COUNT, COUNT,
						     GTOPO_FLOAT, f.op[r]),
				 GTOPO_OK);
	finish(&f);
	for (int r = 0; r < RANKS; r++)
		for (int i = r * COUNT; i < (r + 1) * COUNT; i++)
			assert_true(f.in[r][i] == want(&was, i));
	gtopo_comm_destroy(f.comm);
}

/* What lies at a place is read by each operation; a number is not. */
static void test_residence(void **state)
{
	static struct fixture f;

	(void)state;
	open_comm(&f);
	make_ops(&f);
	f.scalar[0] = 1e9f;
	for (int times = 1; times < 3; times++) {
		f.scalar[1] = (float)times;
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(gtopo_allreduce(f.comm, r, f.in[r],
							 f.out[r], COUNT,
							 GTOPO_FLOAT, f.op[r]),
					 GTOPO_OK);
		finish(&f);
		f.scalar[0] = 0.75f;
		for (int i = 0; i < COUNT; i++)
			assert_true(f.out[2][i] == want(&f, i));
		f.scalar[0] = 1e9f;
	}
	gtopo_comm_destroy(f.comm);
}

/* The product is rounded to the type before it is added. */
static void test_rounds(void **state)
{
	static struct fixture f;
	uint16_t in[RANKS] = {0}, out[RANKS], scalar, one;

	(void)state;
	open_comm(&f);
	scalar = gt_half_from_float(1 + 0x1p-10f);
	one = gt_half_from_float(1);
	in[0] = scalar; /* squared 1 + 2^-9 + 2^-20 */
	in[1] = gt_half_from_float(1 - 0x1p-10f);
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(
			gtopo_op_create_premul(f.comm, r, r ? &one : &scalar,
					       GTOPO_HALF, GTOPO_SCALAR_HOST,
					       &f.op[r]),
			GTOPO_OK);
		assert_int_equal(gtopo_allreduce(f.comm, r, &in[r], &out[r], 1,
						 GTOPO_HALF, f.op[r]),
				 GTOPO_OK);
	}
	finish(&f);
	/* 2 + 2^-10 is half way, and goes to even; with 2^-20 it would not. */
	assert_int_equal(out[0], gt_half_from_float(2));
	gtopo_comm_destroy(f.comm);
}

static void test_refused(void **state)
{
	static struct fixture f;
	enum gtopo_op op;

	(void)state;
	open_comm(&f);
	make_ops(&f);
	assert_int_equal(gtopo_op_create_premul(f.comm, RANKS, f.scalar,
						GTOPO_FLOAT, GTOPO_SCALAR_HOST,
						&op),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_op_create_premul(f.comm, 0, NULL, GTOPO_FLOAT,
						GTOPO_SCALAR_HOST, &op),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_op_create_premul(f.comm, 0, f.scalar,
						(enum gtopo_type)99,
						GTOPO_SCALAR_HOST, &op),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_op_create_premul(f.comm, 0, f.scalar,
						GTOPO_FLOAT,
						(enum gtopo_residence)7, &op),
			 GTOPO_EINPUT);
	/* Of another type, destroyed, never made; of no rank. */
	assert_int_equal(gtopo_allreduce(f.comm, 0, f.in[0], f.out[0], COUNT,
					 GTOPO_HALF, f.op[0]),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_op_destroy(f.comm, 0, f.op[0]), GTOPO_OK);
	assert_int_equal(gtopo_op_destroy(f.comm, 0, f.op[0]), GTOPO_EINPUT);
	assert_int_equal(gtopo_op_destroy(f.comm, 0, GTOPO_SUM), GTOPO_EINPUT);
	for (int number = GTOPO_AVG + 1; number < 400; number += 13)
		assert_int_equal(gtopo_allreduce(f.comm, 0, f.in[0], f.out[0],
						 COUNT, GTOPO_FLOAT,
						 (enum gtopo_op)number),
				 GTOPO_EINPUT);
	assert_int_equal(gtopo_op_destroy(f.comm, RANKS, f.op[1]),
			 GTOPO_EINPUT);
	gtopo_comm_destroy(f.comm);
}

/* A number is given again when its operator has ended; more than a few live. */
static void test_many(void **state)
{
	static struct fixture f;
	enum gtopo_op ops[100];

	(void)state;
	open_comm(&f);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(
			gtopo_op_create_premul(f.comm, 1, f.scalar, GTOPO_FLOAT,
					       GTOPO_SCALAR_HOST, &ops[i]),
			GTOPO_OK);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(ops[k], ops[i]);
	}
	assert_int_equal(gtopo_op_destroy(f.comm, 1, ops[40]), GTOPO_OK);
	assert_int_equal(gtopo_op_create_premul(f.comm, 1, f.scalar,
						GTOPO_FLOAT, GTOPO_SCALAR_HOST,
						&f.op[1]),
			 GTOPO_OK);
	assert_int_equal(f.op[1], ops[40]);
	gtopo_comm_destroy(f.comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allreduce),
		cmocka_unit_test(test_in_place_and_blocks),
		cmocka_unit_test(test_residence),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
