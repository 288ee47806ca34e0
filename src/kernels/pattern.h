/*
 * Test data of a collective whose result is known: what rank r holds at
 * element i, and what must come out, as pure functions of both, of the type,
 * the operator and a seed.  Usable from C and CUDA; a struct gt_pattern is
 * plain data that a kernel takes by value.
 *
 * Results are exact whatever the order of reduction, so a check compares
 * bits:
 * - sum, avg: whole numbers >= 0 whose total the type holds exactly (half
 *   2^11, bf16 2^8, 8-bit integers 2^7 and 2^8, fp8 2^4 and 2^3);
 * - prod: powers of two with signs, whose product the type holds;
 * - premul: the same, each rank's twice or three times, by gt_pattern_scalar();
 * - min, max: whole numbers over the range that the type holds exactly;
 * - avg is sum, then one division by the number of ranks: integers truncate,
 *   as in NCCL; half, bf16, fp8 and float divide as floats and round once to
 *   the type; double divides as double.  Engines must do the same at the step
 *   that carries GT_STEP_FINAL;
 * - what is not reduced is any bits, NaNs as well.
 *
 * A value depends on rank and index through a hash, so that a contribution
 * that is missing, doubled, from another place or of another rank shows.  When
 * there are more ranks than the type has room for (with fp8 more than 15 and
 * 7), only every `stride`-th rank, from a place that depends on the index,
 * holds a value other than the operator's neutral one: each rank at some.
 *
 * Indices count in the whole buffer's space of plan/ir/program.h.
 */
#ifndef GT_KERNELS_PATTERN_H
#define GT_KERNELS_PATTERN_H

#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "kernels/half.h"
#include "plan/ir/program.h"

struct gt_pattern {
	uint64_t seed;
	uint64_t mask;   /* of one rank's value; prod: of its exponent */
	uint64_t common; /* min, max: of the part that all ranks share */
	uint64_t lowest; /* min, max: subtracted, to reach below 0 */
	uint32_t nranks;
	uint32_t root; /* of broadcast and scatter; the caller's to set */
	uint32_t rank; /* whose output, of all-to-all, send and receive */
	uint32_t stride;
	uint8_t dtype; /* enum gt_dtype */
	uint8_t op;    /* enum gt_redop */
	uint8_t coll;  /* enum gt_coll */
	uint8_t signs; /* prod: values may be negative */
};

enum {
	GT_PATTERN_SPREAD = 16, /* ranks that compete for min or max */
	GT_PATTERN_TIMES = 3,   /* premul's largest scalar */
};

/* Whole numbers up to 2^this are exact in the type. */
GT_HD static inline uint32_t gt_pattern_bits(uint32_t dtype)
{
	switch (dtype) {
	case GT_DTYPE_FP8_E5M2:
		return 3;
	case GT_DTYPE_FP8_E4M3:
		return 4;
	case GT_DTYPE_INT8:
		return 7;
	case GT_DTYPE_UINT8:
	case GT_DTYPE_BF16:
		return 8;
	case GT_DTYPE_HALF:
		return 11;
	case GT_DTYPE_FLOAT:
		return 24;
	case GT_DTYPE_INT32:
		return 31;
	case GT_DTYPE_UINT32:
		return 32;
	case GT_DTYPE_DOUBLE:
		return 53;
	case GT_DTYPE_INT64:
		return 62;
	default:
		return 63;
	}
}

GT_HD static inline int gt_pattern_signed(uint32_t dtype)
{
	return dtype != GT_DTYPE_UINT8 && dtype != GT_DTYPE_UINT32 &&
	       dtype != GT_DTYPE_UINT64;
}

GT_HD static inline int gt_pattern_reduces(uint32_t coll)
{
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER ||
	       coll == GT_COLL_REDUCE;
}

/* The largest 2^k - 1 that is at most n. */
GT_HD static inline uint64_t gt_pattern_mask(uint64_t n)
{
	uint64_t mask = 0;

	while (mask * 2 + 1 <= n)
		mask = mask * 2 + 1;
	return mask;
}

/* Divide `room` among at most that many ranks. */
GT_HD static inline void gt_pattern_share(struct gt_pattern *p, uint64_t room)
{
	uint64_t slots = p->nranks < room ? p->nranks : room;

	p->stride = (uint32_t)((p->nranks + slots - 1) / slots);
	p->mask = gt_pattern_mask(room / slots);
}

/* Exponents that a product may reach. */
GT_HD static inline uint32_t gt_pattern_exponent(uint32_t dtype)
{
	switch (dtype) {
	case GT_DTYPE_INT8:
	case GT_DTYPE_UINT8:
		return 6;
	case GT_DTYPE_FP8_E4M3:
		return 8;
	case GT_DTYPE_HALF:
	case GT_DTYPE_FP8_E5M2:
		return 14;
	default:
		return 24;
	}
}

GT_HD static inline struct gt_pattern gt_pattern_make(enum gt_coll coll,
						      enum gt_dtype dtype,
						      enum gt_redop op,
						      uint32_t nranks,
						      uint64_t seed)
{
	uint32_t bits = gt_pattern_bits(dtype), spread;
	struct gt_pattern p;

	memset(&p, 0, sizeof(p));
	p.seed = seed;
	p.nranks = nranks;
	p.dtype = (uint8_t)dtype;
	p.coll = (uint8_t)coll;
	p.op = (uint8_t)op;
	if (p.op == GT_REDOP_PROD) {
		gt_pattern_share(&p, gt_pattern_exponent(dtype));
		p.signs = (uint8_t)gt_pattern_signed(dtype);
	} else if (p.op == GT_REDOP_SUM || p.op == GT_REDOP_AVG) {
		/* A signed integer's largest is one less than 2^bits. */
		gt_pattern_share(&p, ((uint64_t)1 << bits) - 1);
	} else if (p.op == GT_REDOP_PREMUL) {
		gt_pattern_share(&p, (((uint64_t)1 << bits) - 1) /
					     GT_PATTERN_TIMES);
	} else {
		p.mask = ((uint64_t)1 << (bits - 1)) - 1;
		/*
		 * These are so few that one of them is often alone at the end.
		 */
		spread = GT_PATTERN_SPREAD;
		if (p.mask < spread)
			spread = (uint32_t)p.mask + 1;
		p.stride = nranks > spread ? nranks / spread : 1;
		p.common = p.mask;
		p.lowest = gt_pattern_signed(dtype) ? p.mask : 0;
	}
	return p;
}

/* Multiply and fold: every input bit reaches the low bits that are used. */
GT_HD static inline uint64_t gt_pattern_hash(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

/* Returns what the index adds, which is the same for all ranks. */
GT_HD static inline uint64_t gt_pattern_place(const struct gt_pattern *p,
					      uint64_t index)
{
	return gt_pattern_hash(index + p->seed * 0x9e3779b97f4a7c15u);
}

GT_HD static inline uint64_t gt_pattern_mix(uint64_t place, uint32_t rank)
{
	return gt_pattern_hash(place + (rank + 1) * 0xa0761d6478bd642fu);
}

GT_HD static inline int gt_pattern_speaks(const struct gt_pattern *p,
					  uint64_t place, uint32_t rank)
{
	return p->stride == 1 ||
	       (rank + (uint32_t)(place >> 40)) % p->stride == 0;
}

/* A rank's value as a whole number; all types hold it. */
GT_HD static inline int64_t gt_pattern_value(const struct gt_pattern *p,
					     uint64_t place, uint32_t rank)
{
	int speaks = gt_pattern_speaks(p, place, rank);
	uint64_t mix = gt_pattern_mix(place, rank), part = mix & p->mask;
	int64_t value;

	if (p->op == GT_REDOP_SUM || p->op == GT_REDOP_AVG ||
	    p->op == GT_REDOP_PREMUL)
		return speaks ? (int64_t)part : 0;
	if (p->op == GT_REDOP_PROD) {
		value = (int64_t)1 << (speaks ? part : 0);
		return p->signs && mix >> 63 ? -value : value;
	}
	if (!speaks)
		part = p->op == GT_REDOP_MIN ? p->mask : 0;
	part += (place & p->common) - p->lowest;
	return (int64_t)part;
}

GT_HD static inline int64_t gt_pattern_join(const struct gt_pattern *p,
					    int64_t a, int64_t b)
{
	switch (p->op) {
	case GT_REDOP_PROD:
		return a * b;
	case GT_REDOP_MIN:
		return b < a ? b : a;
	case GT_REDOP_MAX:
		return b > a ? b : a;
	default:
		return a + b;
	}
}

/* The scalar is never 1, and differs from the neighbours'. */
GT_HD static inline int64_t gt_pattern_times(uint32_t rank)
{
	return GT_PATTERN_TIMES - rank % 2;
}

/* Returns a rank's part of the result. */
GT_HD static inline int64_t gt_pattern_part(const struct gt_pattern *p,
					    uint64_t place, uint32_t rank)
{
	int64_t value = gt_pattern_value(p, place, rank);

	return p->op == GT_REDOP_PREMUL ? value * gt_pattern_times(rank)
					: value;
}

/* The bits of a whole number in the type, divided by n for avg. */
GT_HD static inline uint64_t gt_pattern_encode(uint32_t dtype, int64_t value,
					       uint32_t n)
{
	uint64_t bits;
	double d;

	switch (dtype) {
	case GT_DTYPE_HALF:
		return gt_half_from_float((float)value / (float)n);
	case GT_DTYPE_BF16:
		return gt_bf16_from_float((float)value / (float)n);
	case GT_DTYPE_FP8_E4M3:
		return gt_e4m3_from_float((float)value / (float)n);
	case GT_DTYPE_FP8_E5M2:
		return gt_e5m2_from_float((float)value / (float)n);
	case GT_DTYPE_FLOAT:
		return gt_float_bits((float)value / (float)n);
	case GT_DTYPE_DOUBLE:
		d = (double)value / (double)n;
		memcpy(&bits, &d, sizeof(bits));
		return bits;
	case GT_DTYPE_INT8:
	case GT_DTYPE_UINT8:
		return (uint8_t)(value / n);
	case GT_DTYPE_INT32:
	case GT_DTYPE_UINT32:
		return (uint32_t)(value / n);
	default:
		return (uint64_t)(value / n);
	}
}

/* Returns the scalar that premul multiplies a rank's input by. */
static inline struct gt_scalar gt_pattern_scalar(enum gt_dtype dtype,
						 uint32_t rank)
{
	return (struct gt_scalar){
		gt_pattern_encode(dtype, gt_pattern_times(rank), 1), NULL};
}

/*
 * The bits that rank `rank` holds at `index` before the collective: the low
 * ones, where the type has fewer.
 */
GT_HD static inline uint64_t gt_pattern_input(const struct gt_pattern *p,
					      uint32_t rank, uint64_t index)
{
	uint64_t place = gt_pattern_place(p, index);

	if (!gt_pattern_reduces(p->coll))
		return gt_pattern_mix(place, rank);
	return gt_pattern_encode(p->dtype, gt_pattern_value(p, place, rank), 1);
}

/* What is not reduced comes from here: a rank's input, and its index there. */
GT_HD static inline uint64_t gt_pattern_moved(const struct gt_pattern *p,
					      uint64_t block_elems,
					      uint64_t index)
{
	uint64_t block = index / block_elems;

	switch (p->coll) {
	case GT_COLL_BROADCAST:
	case GT_COLL_SCATTER:
		return gt_pattern_input(p, p->root, index);
	case GT_COLL_SENDRECV:
		return gt_pattern_input(
			p, (p->rank + p->nranks - 1) % p->nranks, index);
	case GT_COLL_ALLTOALL:
		return gt_pattern_input(p, (uint32_t)block,
					index % block_elems +
						p->rank * block_elems);
	default:
		return gt_pattern_input(p, (uint32_t)block, index);
	}
}

/*
 * The bits that an output must hold at `index` afterwards: where something is
 * reduced, on every rank whose output has that index.  block_elems: elements
 * of a block (plan/ir/program.h).
 */
GT_HD static inline uint64_t gt_pattern_output(const struct gt_pattern *p,
					       uint64_t block_elems,
					       uint64_t index)
{
	uint64_t place = gt_pattern_place(p, index);
	int64_t value;

	if (!gt_pattern_reduces(p->coll))
		return gt_pattern_moved(p, block_elems, index);
	value = gt_pattern_part(p, place, 0);
	for (uint32_t r = 1; r < p->nranks; r++)
		value = gt_pattern_join(p, value, gt_pattern_part(p, place, r));
	return gt_pattern_encode(p->dtype, value,
				 p->op == GT_REDOP_AVG ? p->nranks : 1);
}

#endif
