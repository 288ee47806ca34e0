/*
 * Data of ranks whose sum depends on the order in which it is added and on
 * where it is rounded, and what the sum must be: each element added in the
 * order of ranks, in floats (in doubles for doubles), divided for avg, and
 * rounded to its type once, at the end.  One plain loop, which shares nothing
 * with the engines but the types' conversions.
 */
#ifndef GT_TESTS_SUMS_H
#define GT_TESTS_SUMS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "kernels/half.h"

struct sums {
	enum gt_dtype dtype; /* a real one */
	enum gt_redop op;    /* sum, avg or premul */
	uint32_t nranks;
	size_t count;              /* elements of a rank */
	char *data;                /* [rank][count] */
	char *want;                /* [count] */
	struct gt_scalar *scalars; /* of premul, [rank] */
};

/* A linear congruential generator (Knuth): the same sequence everywhere. */
static inline uint32_t sums_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

/*
 * Both signs, and magnitudes over 12 binades, so that every order differs: of
 * doubles only if all bits of the fraction are drawn.
 */
static inline double sums_draw(enum gt_dtype dtype, uint64_t *state)
{
	double value = (double)sums_random(state, 1 << 24) / (1 << 24);
	uint32_t binade = sums_random(state, 12);

	if (dtype == GT_DTYPE_DOUBLE)
		value += (double)sums_random(state, 1 << 29) / (1 << 24) /
			 (1 << 29);
	value *= (double)(1 << binade) / (1 << 6);
	return sums_random(state, 2) ? value : -value;
}

static inline uint64_t sums_encode(enum gt_dtype dtype, double value)
{
	uint64_t bits = 0;

	switch (dtype) {
	case GT_DTYPE_HALF:
		return gt_half_from_float((float)value);
	case GT_DTYPE_BF16:
		return gt_bf16_from_float((float)value);
	case GT_DTYPE_FP8_E4M3:
		return gt_e4m3_from_float((float)value);
	case GT_DTYPE_FP8_E5M2:
		return gt_e5m2_from_float((float)value);
	case GT_DTYPE_FLOAT:
		return gt_float_bits((float)value);
	default:
		memcpy(&bits, &value, sizeof(bits));
		return bits;
	}
}

static inline double sums_decode(enum gt_dtype dtype, uint64_t bits)
{
	double value;

	switch (dtype) {
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
	default:
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
}

/* What a rank adds at element i: of premul a product that is rounded. */
static inline double sums_input(const struct sums *sums, uint32_t rank,
				size_t i)
{
	size_t elem = gt_dtype_bytes(sums->dtype);
	uint64_t bits = 0;
	double value;

	memcpy(&bits, sums->data + (rank * sums->count + i) * elem, elem);
	value = sums_decode(sums->dtype, bits);
	if (sums->op != GT_REDOP_PREMUL)
		return value;
	value *= sums_decode(sums->dtype, sums->scalars[rank].bits);
	return sums_decode(sums->dtype, sums_encode(sums->dtype, value));
}

static inline uint64_t sums_output(const struct sums *sums, size_t i)
{
	int wide = sums->dtype == GT_DTYPE_DOUBLE;
	uint32_t n = sums->nranks;
	double total = sums_input(sums, 0, i);

	for (uint32_t r = 1; r < n; r++) {
		total += sums_input(sums, r, i);
		total = wide ? total : (double)(float)total;
	}
	if (sums->op == GT_REDOP_AVG)
		total = wide ? total / n : (double)((float)total / (float)n);
	return sums_encode(sums->dtype, total);
}

static inline void sums_free(struct sums *sums)
{
	free(sums->data);
	free(sums->want);
	free(sums->scalars);
}

/* Make the data of a type, an operator, ranks and a count; 0: no memory. */
static inline int sums_make(struct sums *sums, uint64_t *state)
{
	size_t elem = gt_dtype_bytes(sums->dtype), all;
	uint64_t bits;

	all = sums->nranks * sums->count;
	sums->data = malloc(all * elem);
	sums->want = malloc(sums->count * elem);
	sums->scalars = calloc(sums->nranks, sizeof(*sums->scalars));
	if (!sums->data || !sums->want || !sums->scalars) {
		sums_free(sums);
		return 0;
	}
	for (uint32_t r = 0; r < sums->nranks; r++)
		sums->scalars[r].bits =
			sums_encode(sums->dtype, sums_draw(sums->dtype, state));
	for (size_t i = 0; i < all; i++) {
		bits = sums_encode(sums->dtype, sums_draw(sums->dtype, state));
		memcpy(sums->data + i * elem, &bits, elem);
	}
	for (size_t i = 0; i < sums->count; i++) {
		bits = sums_output(sums, i);
		memcpy(sums->want + i * elem, &bits, elem);
	}
	return 1;
}

/* The types and operators that round. */
static const enum gt_dtype sums_dtypes[] = {
	GT_DTYPE_HALF,   GT_DTYPE_BF16,     GT_DTYPE_FLOAT,
	GT_DTYPE_DOUBLE, GT_DTYPE_FP8_E4M3, GT_DTYPE_FP8_E5M2};
static const enum gt_redop sums_ops[] = {GT_REDOP_SUM, GT_REDOP_AVG,
					 GT_REDOP_PREMUL};
enum { SUMS_DTYPES = 6, SUMS_OPS = 3 };

#endif
