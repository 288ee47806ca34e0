#include "unit/test.h"

#include <math.h>

#include "kernels/pattern.h"

static const uint32_t sizes[] = {1, 2, 3, 7, 8, 16, 61, 256, 300, 1024};

enum {
	NSIZES = sizeof(sizes) / sizeof(sizes[0]),
	NELEMS = 4096, /* enough for every mistake to show somewhere */
};

static long double decode(enum gt_dtype dtype, uint64_t bits)
{
	double d;

	switch (dtype) {
	case GT_DTYPE_INT8:
		return (int8_t)bits;
	case GT_DTYPE_INT32:
		return (int32_t)bits;
	case GT_DTYPE_INT64:
		return (int64_t)bits;
	case GT_DTYPE_HALF:
		return gt_half_to_float((uint16_t)bits);
	case GT_DTYPE_BF16:
		return gt_bf16_to_float((uint16_t)bits);
	case GT_DTYPE_FP8_E4M3:
		return gt_e4m3_to_float((uint8_t)bits);
	case GT_DTYPE_FP8_E5M2:
		return gt_e5m2_to_float((uint8_t)bits);
	case GT_DTYPE_FLOAT:
		return gt_float_of((uint32_t)bits);
	case GT_DTYPE_DOUBLE:
		memcpy(&d, &bits, sizeof(d));
		return d;
	default:
		return bits;
	}
}

/* What the rank adds to the result. */
static long double part(const struct gt_pattern *p, uint32_t r, uint64_t i)
{
	long double value = decode(p->dtype, gt_pattern_input(p, r, i));
	struct gt_scalar times = gt_pattern_scalar(p->dtype, r);

	if (p->op == GT_REDOP_PREMUL)
		value *= decode(p->dtype, times.bits);
	return value;
}

static long double join(enum gt_redop op, long double a, long double b)
{
	switch (op) {
	case GT_REDOP_PROD:
		return a * b;
	case GT_REDOP_MIN:
		return fminl(a, b);
	case GT_REDOP_MAX:
		return fmaxl(a, b);
	default:
		return a + b;
	}
}

/* Does the type hold the value exactly? */
static int holds(enum gt_dtype dtype, long double v)
{
	switch (dtype) {
	case GT_DTYPE_HALF:
		return gt_half_to_float(gt_half_from_float((float)v)) == v;
	case GT_DTYPE_BF16:
		return gt_bf16_to_float(gt_bf16_from_float((float)v)) == v;
	case GT_DTYPE_FP8_E4M3:
		return gt_e4m3_to_float(gt_e4m3_from_float((float)v)) == v;
	case GT_DTYPE_FP8_E5M2:
		return gt_e5m2_to_float(gt_e5m2_from_float((float)v)) == v;
	case GT_DTYPE_FLOAT:
		return (float)v == v;
	case GT_DTYPE_DOUBLE:
		return 1;
	case GT_DTYPE_INT8:
		return v >= -128 && v <= 127;
	case GT_DTYPE_UINT8:
		return v >= 0 && v <= 255;
	case GT_DTYPE_INT32:
		return v >= -0x1p31 && v < 0x1p31;
	case GT_DTYPE_UINT32:
		return v >= 0 && v < 0x1p32;
	case GT_DTYPE_INT64:
		return v >= -0x1p63 && v < 0x1p63;
	default:
		return v >= 0 && v < 0x1p64;
	}
}

/* How far an average may be from the exact one: integers truncate. */
static long double roughly(enum gt_dtype dtype, uint32_t n)
{
	long double most;

	if (dtype != GT_DTYPE_FP8_E4M3 && dtype != GT_DTYPE_FP8_E5M2)
		return 1;
	most = (1 << gt_pattern_bits(dtype)) / (long double)n;
	return most * (dtype == GT_DTYPE_FP8_E4M3 ? 0x1p-4 : 0x1p-3);
}

/* Running results forwards and backwards stay exact, and agree. */
static void check_exact(enum gt_dtype dtype, enum gt_redop op, uint32_t n)
{
	struct gt_pattern p =
		gt_pattern_make(GT_COLL_ALLREDUCE, dtype, op, n, 7);
	long double up, down, want;

	for (uint64_t i = 0; i < 64; i++) {
		up = part(&p, 0, i);
		down = part(&p, n - 1, i);
		for (uint32_t r = 1; r < n; r++) {
			assert_true(holds(dtype, up));
			assert_true(holds(dtype, down));
			up = join(op, up, part(&p, r, i));
			down = join(op, down, part(&p, n - 1 - r, i));
		}
		want = decode(dtype, gt_pattern_output(&p, 1, i));
		if (op != GT_REDOP_AVG) {
			assert_true(holds(dtype, up));
			assert_true(up == want && down == want);
		} else {
			assert_true(fabsl(up / n - want) <= roughly(dtype, n) ||
				    fabsl(up / n - want) <= want * 0x1p-8);
		}
	}
}

static void test_exact(void **state)
{
	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++)
		for (int op = 0; op < GT_NREDOPS; op++)
			for (int k = 0; k < NSIZES; k++)
				check_exact(t, op, sizes[k]);
}

/* The result that a broken engine would deliver at index i. */
enum mistake { MISSING, DOUBLED, SHIFTED, SWAPPED, NMISTAKES, SCALED };

static long double broken(const struct gt_pattern *p, enum mistake what,
			  uint32_t rank, uint64_t i)
{
	uint64_t at = what == SHIFTED   ? i + 1
		      : what == SWAPPED ? (i + NELEMS / 2) % NELEMS
					: i;
	uint32_t first = what == MISSING && rank == 0;
	long double sum = part(p, first, at);

	for (uint32_t r = first + 1; r < p->nranks; r++)
		if (what != MISSING || r != rank)
			sum = join(p->op, sum, part(p, r, at));
	/* 2 times is then once, 3 times is by a neighbour's. */
	if (what == SCALED)
		sum -= decode(p->dtype, gt_pattern_input(p, rank, at));
	if (what == DOUBLED)
		sum = join(p->op, sum, part(p, rank, at));
	return sum;
}

static int is_caught(const struct gt_pattern *p, enum mistake what,
		     uint32_t rank)
{
	uint32_t n = p->op == GT_REDOP_AVG ? p->nranks : 1;
	uint64_t got;

	for (uint64_t i = 0; i < NELEMS; i++) {
		got = gt_pattern_encode(p->dtype,
					(int64_t)broken(p, what, rank, i), n);
		if (got != gt_pattern_output(p, 1, i))
			return 1;
	}
	return 0;
}

/* Doubling changes no minimum or maximum: nothing to catch there. */
static void test_mistakes_are_caught(void **state)
{
	struct gt_pattern p;
	int idempotent;

	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++)
		for (int op = 0; op < GT_NREDOPS; op++)
			for (int what = 0; what < NMISTAKES; what++) {
				idempotent = op == GT_REDOP_MIN ||
					     op == GT_REDOP_MAX;
				if (what == DOUBLED && idempotent)
					continue;
				p = gt_pattern_make(GT_COLL_ALLREDUCE, t, op, 8,
						    3);
				for (uint32_t r = 0; r < 8; r++)
					assert_true(is_caught(&p, what, r));
			}
}

/* Without its scalar, or with another one. */
static void test_scalars_are_caught(void **state)
{
	struct gt_pattern p;

	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++) {
		p = gt_pattern_make(GT_COLL_ALLREDUCE, t, GT_REDOP_PREMUL, 8,
				    3);
		for (uint32_t r = 0; r < 8; r++)
			assert_true(is_caught(&p, SCALED, r));
	}
}

static void test_many_ranks_are_caught(void **state)
{
	static const uint32_t some[] = {16, 64, 96};
	struct gt_pattern p;

	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++)
		for (int op = 0; op < GT_NREDOPS; op++)
			for (int k = 0; k < 3; k++) {
				if (op == GT_REDOP_AVG)
					continue;
				p = gt_pattern_make(GT_COLL_ALLREDUCE, t, op,
						    some[k], 5);
				for (uint32_t r = 0; r < some[k]; r++)
					assert_true(is_caught(&p, MISSING, r));
			}
}

/* All-gather: no two blocks or neighbours look alike. */
static void test_allgather(void **state)
{
	struct gt_pattern p;
	uint64_t a, mask;
	int same;

	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++) {
		mask = UINT64_MAX >> (64 - 8 * gt_dtype_bytes(t));
		p = gt_pattern_make(GT_COLL_ALLGATHER, t, GT_REDOP_SUM, 4, 1);
		same = 0;
		for (uint64_t i = 0; i < 64; i++) {
			a = gt_pattern_output(&p, 64, i) & mask;
			assert_true(a == (gt_pattern_input(&p, 0, i) & mask));
			same += a == (gt_pattern_output(&p, 64, i + 64) & mask);
			same += a == (gt_pattern_output(&p, 64, i + 1) & mask);
		}
		assert_true(same < 8);
	}
}

static void test_seed_changes_everything(void **state)
{
	struct gt_pattern p = gt_pattern_make(GT_COLL_ALLREDUCE, GT_DTYPE_FLOAT,
					      GT_REDOP_SUM, 4, 1);
	struct gt_pattern q = gt_pattern_make(GT_COLL_ALLREDUCE, GT_DTYPE_FLOAT,
					      GT_REDOP_SUM, 4, 2);
	int same = 0;

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		same += gt_pattern_input(&p, 1, i) ==
			gt_pattern_input(&q, 1, i);
	assert_true(same < 4);
}

/* Against values of IEEE 754's tables, not against another conversion. */
static void test_half(void **state)
{
	static const struct {
		float value;
		uint16_t half, bf16;
	} rows[] = {
		{0.0f, 0x0000, 0x0000},      {-0.0f, 0x8000, 0x8000},
		{1.0f, 0x3c00, 0x3f80},      {-2.0f, 0xc000, 0xc000},
		{65504.0f, 0x7bff, 0x4780},  {65520.0f, 0x7c00, 0x4780},
		{65519.0f, 0x7bff, 0x4780},  {0x1p-24f, 0x0001, 0x3380},
		{0x1p-25f, 0x0000, 0x3300},  {0x1.8p-25f, 0x0001, 0x3340},
		{0x1p-14f, 0x0400, 0x3880},  {0x1.ff8p-15f, 0x03ff, 0x3880},
		{2049.0f, 0x6800, 0x4500},   {2051.0f, 0x6802, 0x4500},
		{INFINITY, 0x7c00, 0x7f80},  {257.0f, 0x5c04, 0x4380},
		{-INFINITY, 0xfc00, 0xff80}, {259.0f, 0x5c0c, 0x4382},
	};
	float back;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(gt_half_from_float(rows[i].value),
				 rows[i].half);
		assert_int_equal(gt_bf16_from_float(rows[i].value),
				 rows[i].bf16);
	}
	for (uint32_t h = 0; h < 0x10000; h++) {
		back = gt_half_to_float((uint16_t)h);
		if (!isnan(back))
			assert_int_equal(gt_half_from_float(back), h);
		else
			assert_true((h & 0x7fff) > 0x7c00);
		back = gt_bf16_to_float((uint16_t)h);
		if (!isnan(back))
			assert_int_equal(gt_bf16_from_float(back), h);
	}
	assert_true(isnan(gt_half_to_float(gt_half_from_float(NAN))));
	assert_true(isnan(gt_bf16_to_float(gt_bf16_from_float(NAN))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_mistakes_are_caught),
		cmocka_unit_test(test_scalars_are_caught),
		cmocka_unit_test(test_many_ranks_are_caught),
		cmocka_unit_test(test_allgather),
		cmocka_unit_test(test_seed_changes_everything),
		cmocka_unit_test(test_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
