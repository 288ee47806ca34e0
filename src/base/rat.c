/*
 * Fractions whose intermediate results have 128 bits and are checked to fit 64.
 */
#include "base/rat.h"

#include <inttypes.h>
#include <stdio.h>

typedef __int128 gt_wide;

static gt_wide gt_gcd(gt_wide a, gt_wide b)
{
	gt_wide t;

	if (a < 0)
		a = -a;
	if (b < 0)
		b = -b;
	while (b) {
		t = a % b;
		a = b;
		b = t;
	}
	return a;
}

static int gt_rat_fit(gt_wide num, gt_wide den, struct gt_rat *out)
{
	gt_wide g = gt_gcd(num, den);

	if (!den)
		return 0;
	num /= g;
	den /= g;
	if (den < 0) {
		num = -num;
		den = -den;
	}
	if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX)
		return 0;
	*out = GT_RAT((int64_t)num, (int64_t)den);
	return 1;
}

int gt_rat_make(int64_t num, int64_t den, struct gt_rat *out)
{
	return gt_rat_fit(num, den, out);
}

/*
 * a/b + c/d over the least common denominator.  With g = gcd(b, d) every
 * product below is under 2^126, their sum under 2^127.
 */
int gt_rat_add(struct gt_rat a, struct gt_rat b, struct gt_rat *out)
{
	int64_t g = (int64_t)gt_gcd(a.den, b.den);
	gt_wide num =
		(gt_wide)a.num * (b.den / g) + (gt_wide)b.num * (a.den / g);

	return gt_rat_fit(num, (gt_wide)a.den * (b.den / g), out);
}

int gt_rat_sub(struct gt_rat a, struct gt_rat b, struct gt_rat *out)
{
	return gt_rat_add(a, GT_RAT(-b.num, b.den), out);
}

int gt_rat_mul(struct gt_rat a, struct gt_rat b, struct gt_rat *out)
{
	return gt_rat_fit((gt_wide)a.num * b.num, (gt_wide)a.den * b.den, out);
}

int gt_rat_div(struct gt_rat a, struct gt_rat b, struct gt_rat *out)
{
	return gt_rat_fit((gt_wide)a.num * b.den, (gt_wide)a.den * b.num, out);
}

int gt_rat_cmp(struct gt_rat a, struct gt_rat b)
{
	gt_wide left = (gt_wide)a.num * b.den;
	gt_wide right = (gt_wide)b.num * a.den;

	return (left > right) - (left < right);
}

struct gt_rat gt_rat_min(struct gt_rat a, struct gt_rat b)
{
	return gt_rat_cmp(b, a) < 0 ? b : a;
}

int64_t gt_rat_floor_mul(struct gt_rat a, int64_t n)
{
	gt_wide whole = (gt_wide)a.num * n / a.den;

	return whole > INT64_MAX ? INT64_MAX : (int64_t)whole;
}

/* Digits to *value; the count of digits, or -1 when they do not fit. */
static int gt_digits(const char **text, int64_t *value)
{
	int n = 0;

	for (; **text >= '0' && **text <= '9'; ++*text, ++n)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, **text - '0', value))
			return -1;
	return n;
}

int gt_rat_parse(const char *text, struct gt_rat *out)
{
	int64_t num = 0, den = 1;
	int negative = *text == '-', n;

	text += negative;
	if (gt_digits(&text, &num) <= 0)
		return 0;
	if (*text == '/') {
		text++;
		den = 0;
		if (gt_digits(&text, &den) <= 0)
			return 0;
	} else if (*text == '.') {
		text++;
		n = gt_digits(&text, &num);
		if (n <= 0 || n > 18)
			return 0;
		while (n--)
			den *= 10;
	}
	return !*text && gt_rat_make(negative ? -num : num, den, out);
}

char *gt_rat_print(struct gt_rat a, char text[GT_RAT_TEXT_MAX])
{
	if (a.den == 1)
		snprintf(text, GT_RAT_TEXT_MAX, "%" PRId64, a.num);
	else
		snprintf(text, GT_RAT_TEXT_MAX, "%" PRId64 "/%" PRId64, a.num,
			 a.den);
	return text;
}

double gt_rat_double(struct gt_rat a)
{
	return (double)a.num / (double)a.den;
}

uint64_t gt_rat_gcd(uint64_t a, uint64_t b)
{
	return (uint64_t)gt_gcd(a, b);
}
