/*
 * Exact rationals in 64 bits: shares, capacities and bounds of a plan.
 *
 * Always reduced, den > 0.  Arithmetic is done in 128 bits and fails (returns
 * 0 and leaves *out alone) when the reduced result does not fit, so nothing
 * is ever silently rounded; the search rounds down on purpose where it must.
 * Pure values: thread safe.
 */
#ifndef GT_BASE_RAT_H
#define GT_BASE_RAT_H

#include <stdint.h>

struct gt_rat {
	int64_t num;
	int64_t den;
};

#define GT_RAT(n, d)    ((struct gt_rat){(n), (d)})
#define GT_RAT_TEXT_MAX 48 /* room for any gt_rat_print, with its '\0' */

/* All return 1 when the exact result fits, else 0 (also division by 0). */
int gt_rat_make(int64_t num, int64_t den, struct gt_rat *out);
int gt_rat_add(struct gt_rat a, struct gt_rat b, struct gt_rat *out);
int gt_rat_sub(struct gt_rat a, struct gt_rat b, struct gt_rat *out);
int gt_rat_mul(struct gt_rat a, struct gt_rat b, struct gt_rat *out);
int gt_rat_div(struct gt_rat a, struct gt_rat b, struct gt_rat *out);

/* <0, 0, >0 as a is less than, equal to or greater than b; never fails. */
int gt_rat_cmp(struct gt_rat a, struct gt_rat b);

/* The lesser of two, the first where they are equal. */
struct gt_rat gt_rat_min(struct gt_rat a, struct gt_rat b);

/* floor(n * a) for n, a >= 0; saturates at INT64_MAX. */
int64_t gt_rat_floor_mul(struct gt_rat a, int64_t n);

/*
 * "1854/5", "12" and decimals such as "20.6" (exactly 103/5); the whole text
 * must be one number.  1 on success.
 */
int gt_rat_parse(const char *text, struct gt_rat *out);

/* "1854/5", or "12" when den is 1.  Returns text. */
char *gt_rat_print(struct gt_rat a, char text[GT_RAT_TEXT_MAX]);

double gt_rat_double(struct gt_rat a);

/* The greatest that divides both; the other where one is 0. */
uint64_t gt_rat_gcd(uint64_t a, uint64_t b);

#endif
