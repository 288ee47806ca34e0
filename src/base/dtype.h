/* Element types and reduction operators; the table is dtype.def. */
#ifndef GT_BASE_DTYPE_H
#define GT_BASE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum gt_dtype {
#define GT_DTYPE(NAME, name, bytes) GT_DTYPE_##NAME,
#include "base/dtype.def"
	GT_NDTYPES
};

enum gt_redop {
#define GT_REDOP(NAME, name) GT_REDOP_##NAME,
#include "base/dtype.def"
	GT_NREDOPS
};

/*
 * What a rank's input is multiplied by before it is added, of the input's type:
 * its bits, the first in memory first, or where they are when it is read.
 */
struct gt_scalar {
	uint64_t bits;
	const void *at; /* NULL: bits */
};

const char *gt_dtype_name(enum gt_dtype dtype);
size_t gt_dtype_bytes(enum gt_dtype dtype);
const char *gt_redop_name(enum gt_redop op);

/* The type or operator of that name, or -1. */
int gt_dtype_find(const char *name);
int gt_redop_find(const char *name);

#endif
