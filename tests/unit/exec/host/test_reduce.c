#include "unit/ring_plan.h"

#include <math.h>
#include <string.h>

#include "exec/host/reduce.h"
#include "kernels/half.h"
#include "sums.h"

enum { MAX_ELEMS = 5000, MAX_OPERANDS = 4 };

static uint64_t load(const char *at, enum gt_dtype dtype)
{
	uint64_t bits = 0;

	memcpy(&bits, at, gt_dtype_bytes(dtype));
	return bits;
}

static int64_t to_int(enum gt_dtype dtype, uint64_t bits)
{
	switch (dtype) {
	case GT_DTYPE_INT8:
		return (int8_t)bits;
	case GT_DTYPE_INT32:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static int is_fp8(enum gt_dtype dtype)
{
	return dtype == GT_DTYPE_FP8_E4M3 || dtype == GT_DTYPE_FP8_E5M2;
}

static int is_real(enum gt_dtype dtype)
{
	return dtype == GT_DTYPE_HALF || dtype == GT_DTYPE_BF16 ||
	       dtype == GT_DTYPE_FLOAT || dtype == GT_DTYPE_DOUBLE ||
	       is_fp8(dtype);
}

/* Integers wrap: the low bits of the exact result. */
static uint64_t join_int(enum gt_dtype dtype, enum gt_redop op, uint64_t a,
			 uint64_t b)
{
	int is_signed = dtype == GT_DTYPE_INT8 || dtype == GT_DTYPE_INT32 ||
			dtype == GT_DTYPE_INT64;
	int less = is_signed ? to_int(dtype, a) < to_int(dtype, b) : a < b;
	uint64_t mask = UINT64_MAX >> (64 - 8 * gt_dtype_bytes(dtype));

	switch (op) {
	case GT_REDOP_PROD:
		return a * b & mask;
	case GT_REDOP_MIN:
		return less ? a : b;
	case GT_REDOP_MAX:
		return less ? b : a;
	default:
		return (a + b) & mask;
	}
}

/*
 * Half and bf16 to the nearest, even when halfway: the exact result, which a
 * double holds, is nowhere nearer to a neighbour.
 */
static int is_nearest(enum gt_dtype dtype, uint64_t got, double exact)
{
	double here = sums_decode(dtype, got), gap;

	if (isnan(exact))
		return isnan(here);
	if (isinf(here)) /* what would round to the next power of two */
		return fabs(exact) >=
		       (dtype == GT_DTYPE_HALF ? 65520.0 : 0x1.ffp127);
	gap = fabs(here - exact);
	for (int d = -1; d <= 1; d += 2) {
		double there = sums_decode(dtype, (got + (uint64_t)d) & 0xffff);
		double other = fabs(there - exact);

		if ((got & 0x7fff) == 0 && signbit(there) != signbit(here))
			continue;
		if (other < gap || (other == gap && here != there && got & 1))
			return 0;
	}
	return 1;
}

static void check_real(enum gt_dtype dtype, enum gt_redop op, double a,
		       double b, uint64_t got)
{
	double want = op == GT_REDOP_PROD  ? a * b
		      : op == GT_REDOP_MIN ? (a < b ? a : b)
		      : op == GT_REDOP_MAX ? (a > b ? a : b)
					   : a + b;
	double have = sums_decode(dtype, got);

	if (dtype == GT_DTYPE_FLOAT)
		want = (float)want;
	if (is_fp8(dtype)) /* exactly: test_fp8.c */
		assert_true(isnan(want) == isnan(have));
	else if (dtype == GT_DTYPE_HALF || dtype == GT_DTYPE_BF16)
		assert_true(is_nearest(dtype, got, want));
	else
		assert_true(have == want || (isnan(have) && isnan(want)));
}

static void random_bytes(char *at, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)draw(seed, 256);
}

/* Without NaNs in any type: which NaN a processor passes on is open. */
static void random_numbers(char *at, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)(draw(seed, 256) & 0xbf);
}

/* Two operands of random bits: NaNs, infinities and subnormals included. */
static void check_table(const struct gt_reduce_ops *ops, enum gt_dtype dtype,
			enum gt_redop op)
{
	static _Alignas(64) char a[8 * 1000], b[8 * 1000], d[8 * 1000];
	size_t elem = gt_dtype_bytes(dtype);
	uint64_t seed = dtype * 8 + op, x, y;

	random_bytes(a, sizeof(a), &seed);
	random_bytes(b, sizeof(b), &seed);
	ops->reduce[dtype][op](d, a, b, 999);
	for (size_t i = 0; i < 999; i++) {
		x = load(a + i * elem, dtype);
		y = load(b + i * elem, dtype);
		if (is_real(dtype))
			check_real(dtype, op, sums_decode(dtype, x),
				   sums_decode(dtype, y),
				   load(d + i * elem, dtype));
		else
			assert_true(load(d + i * elem, dtype) ==
				    join_int(dtype, op, x, y));
	}
}

static void test_every_type_and_operator(void **state)
{
	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++)
		for (int op = 0; op < GT_NREDOPS; op++) {
			check_table(&gt_reduce_plain, t, op);
			check_table(gt_reduce_best(), t, op);
		}
}

/* No vector width changes a bit. */
static void test_builds_agree(void **state)
{
	static _Alignas(64) char a[8 * 1000], b[8 * 1000], d[8 * 1000];
	const struct gt_reduce_ops *best = gt_reduce_best();
	uint64_t seed = 5;

	(void)state;
	for (int t = 0; t < GT_NDTYPES; t++)
		for (size_t n = 0; n < 70; n++) {
			memset(b, 0, sizeof(b));
			memset(d, 0, sizeof(d));
			random_numbers(a, sizeof(a), &seed);
			gt_reduce_plain.reduce[t][GT_REDOP_SUM](b, a, a + 64,
								n);
			best->reduce[t][GT_REDOP_SUM](d, a, a + 64, n);
			gt_reduce_plain.divide[t](b, 7, n);
			best->divide[t](d, 7, n);
			assert_memory_equal(b, d, sizeof(b));
		}
}

/* Integers truncate, also where the divisor does not fit the type. */
static void test_divide(void **state)
{
	int8_t i8[] = {-7, 7, 127, -128};
	uint64_t u64[] = {UINT64_MAX, 10, 2};
	float f[] = {1, 2, -7.5f};
	uint16_t half[] = {gt_half_from_float(1), gt_half_from_float(10)};

	(void)state;
	gt_reduce_best()->divide[GT_DTYPE_INT8](i8, 2, 4);
	assert_int_equal(i8[0], -3);
	assert_int_equal(i8[1], 3);
	gt_reduce_best()->divide[GT_DTYPE_INT8](i8, 300, 4);
	assert_int_equal(i8[2], 0);
	gt_reduce_best()->divide[GT_DTYPE_UINT64](u64, 3, 3);
	assert_true(u64[0] == UINT64_MAX / 3);
	assert_true(u64[1] == 3 && u64[2] == 0);
	gt_reduce_best()->divide[GT_DTYPE_FLOAT](f, 3, 3);
	assert_true(f[0] == 1.0f / 3 && f[2] == -2.5f);
	gt_reduce_best()->divide[GT_DTYPE_HALF](half, 3, 2);
	assert_int_equal(half[0], 0x3555);
	assert_int_equal(half[1], gt_half_from_float(10.0f / 3));
}

/* Element i of a source, multiplied: a product of the type, rounded. */
static void expect_source(const struct gt_move *move, uint32_t s, size_t i,
			  char *to)
{
	size_t elem = gt_dtype_bytes(move->dtype);

	memcpy(to, move->src[s] + i * elem, elem);
	if (move->by && move->by[s])
		gt_reduce_plain.reduce[move->dtype][GT_REDOP_PROD](
			to, to, move->by[s], 1);
}

/* Is the move a sum of what is narrower than a float? */
static int is_rounded_once(const struct gt_move *move)
{
	return (move->op == GT_REDOP_SUM || move->op == GT_REDOP_AVG ||
		move->op == GT_REDOP_PREMUL) &&
	       (move->dtype == GT_DTYPE_HALF || move->dtype == GT_DTYPE_BF16 ||
		is_fp8(move->dtype));
}

/* Element i of all sources, added up in floats and rounded once. */
static void expect_total(const struct gt_move *move, size_t i, char *to)
{
	char source[8] = {0};
	float total = -0.0f;
	uint16_t bits;

	for (uint32_t s = 0; s < move->nsrc; s++) {
		expect_source(move, s, i, source);
		total += (float)sums_decode(move->dtype,
					    load(source, move->dtype));
	}
	if (move->divide)
		total /= (float)move->divide;
	bits = move->dtype == GT_DTYPE_HALF       ? gt_half_from_float(total)
	       : move->dtype == GT_DTYPE_BF16     ? gt_bf16_from_float(total)
	       : move->dtype == GT_DTYPE_FP8_E4M3 ? gt_e4m3_from_float(total)
						  : gt_e5m2_from_float(total);
	memcpy(to, &bits, gt_dtype_bytes(move->dtype));
}

/* What gt_move_run must leave in each destination, one element at a time. */
static void expect_move(const struct gt_move *move, char *want)
{
	size_t elem = gt_dtype_bytes(move->dtype);
	const struct gt_reduce_ops *ops = &gt_reduce_plain;
	char source[8];

	for (size_t i = 0; i < move->count; i++) {
		char *at = want + i * elem;

		if (is_rounded_once(move)) {
			expect_total(move, i, at);
			continue;
		}
		expect_source(move, 0, i, at);
		for (uint32_t s = 1; s < move->nsrc; s++) {
			expect_source(move, s, i, source);
			ops->reduce[move->dtype][move->op](at, at, source, 1);
		}
		if (move->divide)
			ops->divide[move->dtype](at, move->divide, 1);
	}
}

/* Random sources and destinations, some of them the same memory. */
static void check_move(uint64_t seed)
{
	static char memory[2 * MAX_OPERANDS][8 * MAX_ELEMS + 16];
	static char want[8 * MAX_ELEMS];
	const void *by[MAX_OPERANDS];
	const char *src[MAX_OPERANDS];
	char *dst[MAX_OPERANDS], times[8];
	struct gt_move move = {.src = src, .dst = dst};
	size_t bytes;

	move.dtype = draw(&seed, GT_NDTYPES);
	move.op = draw(&seed, GT_NREDOPS);
	move.divide = draw(&seed, 3) ? 0 : 5;
	move.nsrc = 1 + draw(&seed, MAX_OPERANDS);
	move.ndst = 1 + draw(&seed, MAX_OPERANDS);
	move.count = draw(&seed, draw(&seed, 2) ? 40 : MAX_ELEMS);
	bytes = move.count * gt_dtype_bytes(move.dtype);
	for (uint32_t i = 0; i < move.nsrc; i++) {
		random_numbers(memory[i], bytes + 16, &seed);
		src[i] = memory[i] + 8;
	}
	for (uint32_t i = 0; i < move.ndst; i++)
		dst[i] = memory[MAX_OPERANDS + i] + 8;
	if (draw(&seed, 2)) {
		uint32_t same = draw(&seed, move.nsrc);

		dst[draw(&seed, move.ndst)] = memory[same] + 8;
	}
	random_numbers(times, sizeof(times), &seed);
	for (uint32_t i = 0; i < move.nsrc; i++)
		by[i] = draw(&seed, 2) ? times : NULL;
	move.by = draw(&seed, 3) ? NULL : by;
	expect_move(&move, want);
	gt_move_run(&move);
	for (uint32_t i = 0; i < move.ndst; i++)
		assert_memory_equal(dst[i], want, bytes);
}

static void test_moves(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++)
		check_move(seed);
}

/* Nothing to reduce, nowhere to write: nothing happens. */
static void test_empty_moves(void **state)
{
	struct gt_move move = {.dtype = GT_DTYPE_INT8, .count = 3};
	const char *src[] = {"abc"};
	char dst[] = "xyz", *to[] = {dst};

	(void)state;
	gt_move_run(&move);
	move.src = src;
	move.nsrc = 1;
	gt_move_run(&move);
	move.dst = to;
	move.ndst = 1;
	move.count = 0;
	gt_move_run(&move);
	assert_string_equal(dst, "xyz");
	move.count = 2;
	gt_move_run(&move);
	assert_string_equal(dst, "abz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_and_operator),
		cmocka_unit_test(test_builds_agree),
		cmocka_unit_test(test_divide),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_empty_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
