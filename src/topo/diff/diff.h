/*
 * What differs between two servers, one finding a fault.
 */
#ifndef GT_TOPO_DIFF_DIFF_H
#define GT_TOPO_DIFF_DIFF_H

#include <stdint.h>

#include "topo/diff/device_tree.h"

struct gt_arena;
struct gt_buf;
struct gt_err;

enum gt_diff_kind {
	GT_DIFF_MISSING, /* and all below it */
	GT_DIFF_EXTRA,
	GT_DIFF_MOVED,
	GT_DIFF_CHANGED, /* one property */
	GT_DIFF_NVLINK,
	GT_NDIFFKINDS
};

struct gt_diff_finding {
	enum gt_diff_kind kind;
	uint32_t dev_a, dev_b; /* GT_UNMATCHED: not there */
	enum gt_prop prop;     /* changed: which */
	uint32_t to_a, to_b;   /* NVLinks: to which GPU, 0: switches */
	const char *where;     /* "b.xml:14:5", of what is missing in a */
	const char *text;      /* with the device's name */
};

/* Findings and the match they follow from; memory is the arena's. */
struct gt_diff {
	const struct gt_device_tree *a, *b; /* a is the norm */
	uint32_t nfindings, size;
	struct gt_diff_finding *findings;
	uint32_t *image, *back; /* as struct gt_match */
};

/* Only memory can fail.  Both servers must outlive the result. */
int gt_diff_find(const struct gt_device_tree *a, const struct gt_device_tree *b,
		 struct gt_arena *arena, struct gt_diff *diff,
		 struct gt_err *err);

/* "missing", "extra", "moved", "nvlink", or the property's name. */
const char *gt_diff_name(const struct gt_diff_finding *finding);

#endif
