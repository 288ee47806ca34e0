/*
 * fp8 against its definition: every value, and every sum, product, minimum and
 * maximum of two.
 */
#include "unit/test.h"

#include <math.h>

#include "exec/host/reduce.h"
#include "kernels/half.h"

struct kind {
	enum gt_dtype dtype;
	int fraction, bias; /* bits of the fraction */
	uint8_t most;       /* the largest number's bits */
	double (*decode)(uint8_t bits);
	uint8_t (*encode)(float value);
};

static double decode_e4m3(uint8_t bits)
{
	return gt_e4m3_to_float(bits);
}

static double decode_e5m2(uint8_t bits)
{
	return gt_e5m2_to_float(bits);
}

static const struct kind kinds[2] = {
	{GT_DTYPE_FP8_E4M3, 3, 7, 0x7e, decode_e4m3, gt_e4m3_from_float},
	{GT_DTYPE_FP8_E5M2, 2, 15, 0x7b, decode_e5m2, gt_e5m2_from_float},
};

/* By the definition's words. */
static double value_of(const struct kind *kind, uint8_t bits)
{
	int rest = bits & 0x7f, exponent = rest >> kind->fraction;
	int one = 1 << kind->fraction, fraction = rest & (one - 1);
	double value;

	if (rest > kind->most)
		value = kind->most == 0x7b && rest == 0x7c ? INFINITY : NAN;
	else if (exponent)
		value = ldexp(one + fraction,
			      exponent - kind->bias - kind->fraction);
	else
		value = ldexp(fraction, 1 - kind->bias - kind->fraction);
	return bits & 0x80 ? -value : value;
}

/* The nearest number, the even one of two; the largest beyond it. */
static uint8_t nearest(const struct kind *kind, double exact)
{
	uint8_t sign = signbit(exact) ? 0x80 : 0, low = 0, high = kind->most;
	double down, up;

	if (isnan(exact))
		return 0x7f;
	exact = fabs(exact);
	if (exact >= value_of(kind, high))
		return sign | high;
	while (high - low > 1) {
		uint8_t middle = (uint8_t)((low + high) / 2);

		if (value_of(kind, middle) <= exact)
			low = middle;
		else
			high = middle;
	}
	down = exact - value_of(kind, low);
	up = value_of(kind, high) - exact;
	if (down == up)
		return sign | (low & 1 ? high : low);
	return sign | (down < up ? low : high);
}

static void test_every_value(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++)
		for (int bits = 0; bits < 256; bits++) {
			double want = value_of(&kinds[k], (uint8_t)bits);
			double got = kinds[k].decode((uint8_t)bits);

			assert_true(got == want || (isnan(got) && isnan(want)));
			if (!isnan(want))
				assert_true(signbit(got) == signbit(want));
			assert_int_equal(kinds[k].encode((float)want),
					 nearest(&kinds[k], want));
			if (isfinite(want))
				assert_int_equal(kinds[k].encode((float)want),
						 bits);
		}
}

/* All exponents, all roundings: the upper 20 bits of a float and one below. */
static void test_every_rounding(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < 1 << 21; i++) {
			float value = gt_float_of(i >> 1 << 12 | (i & 1));

			if (kinds[k].encode(value) != nearest(&kinds[k], value))
				fail_msg("%a", value);
		}
}

static void test_edges(void **state)
{
	static const struct {
		float value;
		uint8_t e4m3, e5m2;
	} rows[] = {
		{0.0f, 0x00, 0x00},        {-0.0f, 0x80, 0x80},
		{1.0f, 0x38, 0x3c},        {-2.0f, 0xc0, 0xc0},
		{448.0f, 0x7e, 0x5f},      {449.0f, 0x7e, 0x5f},
		{1e9f, 0x7e, 0x7b},        {-1e9f, 0xfe, 0xfb},
		{57344.0f, 0x7e, 0x7b},    {INFINITY, 0x7e, 0x7b},
		{-INFINITY, 0xfe, 0xfb},   {0x1p-9f, 0x01, 0x18},
		{0x1p-10f, 0x00, 0x14},    {0x1.8p-10f, 0x01, 0x16},
		{0x1p-16f, 0x00, 0x01},    {0x1p-17f, 0x00, 0x00},
		{-0x1.8p-17f, 0x80, 0x81}, {NAN, 0x7f, 0x7f},
		{-NAN, 0x7f, 0x7f},        {17.0f, 0x58, 0x4c},
		{19.0f, 0x5a, 0x4d},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(gt_e4m3_from_float(rows[i].value),
				 rows[i].e4m3);
		assert_int_equal(gt_e5m2_from_float(rows[i].value),
				 rows[i].e5m2);
	}
}

static double join(enum gt_redop op, double a, double b)
{
	switch (op) {
	case GT_REDOP_PROD:
		return a * b;
	case GT_REDOP_MIN:
		return a < b ? a : b;
	case GT_REDOP_MAX:
		return a > b ? a : b;
	default:
		return a + b;
	}
}

/*
 * All pairs, by the host's loops and as GPUs do it, rounded to a half on the
 * way.  A double holds each exact result.
 */
static void check_pairs(const struct kind *kind, enum gt_redop op)
{
	static uint8_t a[65536], b[65536], plain[65536], best[65536];

	for (int i = 0; i < 65536; i++) {
		a[i] = (uint8_t)(i >> 8);
		b[i] = (uint8_t)i;
	}
	gt_reduce_plain.reduce[kind->dtype][op](plain, a, b, 65536);
	gt_reduce_best()->reduce[kind->dtype][op](best, a, b, 65536);
	assert_memory_equal(plain, best, sizeof(plain));
	for (int i = 0; i < 65536; i++) {
		double exact =
			join(op, value_of(kind, a[i]), value_of(kind, b[i]));
		float half = gt_half_to_float(gt_half_from_float((float)exact));

		assert_int_equal(plain[i], nearest(kind, exact));
		assert_int_equal(nearest(kind, half), nearest(kind, exact));
	}
}

static void test_every_pair(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++)
		for (int op = 0; op < GT_NREDOPS; op++)
			check_pairs(&kinds[k], (enum gt_redop)op);
}

/* By every number of ranks that a byte holds, and some more. */
static void test_every_quotient(void **state)
{
	uint8_t at[256];

	(void)state;
	for (int k = 0; k < 2; k++)
		for (uint32_t n = 1; n < 300; n++) {
			for (int i = 0; i < 256; i++)
				at[i] = (uint8_t)i;
			gt_reduce_best()->divide[kinds[k].dtype](at, n, 256);
			for (int i = 0; i < 256; i++)
				assert_int_equal(at[i],
						 nearest(&kinds[k],
							 value_of(&kinds[k],
								  (uint8_t)i) /
								 n));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value),
		cmocka_unit_test(test_every_rounding),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_every_quotient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
