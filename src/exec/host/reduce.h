/*
 * The data movement of one step on the host: reduce the sources in their
 * order, write the result to every destination, reading each source once.
 *
 * Integers wrap; half, bf16 and fp8 are added up as floats, whose total is
 * divided for avg and then rounded once, fp8 to the largest number where it is
 * too large; products are rounded after every operation; the minimum or maximum
 * with a NaN may be either operand.  avg is a sum whose last step divides
 * (kernels/pattern.h says how).  GPUs do the same with one step's sources.  The
 * result depends on nothing but the operands and their order: no vector width
 * changes a bit, except which NaN comes of two.
 */
#ifndef GT_EXEC_HOST_REDUCE_H
#define GT_EXEC_HOST_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

/*
 * The sources and destinations of one movement.  A destination may be the very
 * same memory as a source (in place), but may not overlap one otherwise.
 */
struct gt_move {
	enum gt_dtype dtype;
	enum gt_redop op;
	uint32_t divide; /* the result is divided by this; 0: it is not */
	uint32_t nsrc;
	uint32_t ndst;
	/*
	 * NULL, or for each source NULL or an element by which it is multiplied
	 * first.
	 */
	const void *const *by;
	const char *const *src;
	char *const *dst;
	size_t count; /* elements */
};

void gt_move_run(const struct gt_move *move);

/* dst[i] = a[i] op b[i]; dst may be a or b. */
typedef void gt_reduce_fn(void *dst, const void *a, const void *b, size_t n);

/* dst[i] = dst[i] / divisor. */
typedef void gt_divide_fn(void *dst, uint32_t divisor, size_t n);

/* dst[i] = a[i] * *by, rounded; dst may be a. */
typedef void gt_scale_fn(void *dst, const void *a, const void *by, size_t n);

/* Totals of a type that is narrower than a float, n of them. */
struct gt_total_ops {
	void (*begin)(float *totals, const void *a, size_t n);
	void (*add)(float *totals, const void *a, size_t n);
	/* The divisor may be 0, for none. */
	void (*end)(void *dst, const float *totals, uint32_t divisor, size_t n);
};

/* One build of the loops, for one instruction set. */
struct gt_reduce_ops {
	gt_reduce_fn *reduce[GT_NDTYPES][GT_NREDOPS];
	gt_divide_fn *divide[GT_NDTYPES];
	gt_scale_fn *scale[GT_NDTYPES];
	struct gt_total_ops totals[GT_NDTYPES]; /* NULLs: added as they are */
};

extern const struct gt_reduce_ops gt_reduce_plain;
#ifdef __x86_64__
extern const struct gt_reduce_ops gt_reduce_avx2;
#endif

/* The fastest build that this processor runs. */
const struct gt_reduce_ops *gt_reduce_best(void);

#endif
