/*
 * The findings of what differs between two servers; each fault is one finding.
 */
#ifndef GT_TOPO_DIFF_DIFF_H
#define GT_TOPO_DIFF_DIFF_H

#include <stdint.h>

#include "topo/diff/device_tree.h"

struct gt_arena;
struct gt_buf;
struct gt_err;

enum gt_diff_kind {
	GT_DIFF_MISSING, /* the device and all below it */
	GT_DIFF_EXTRA,
	GT_DIFF_MOVED,
	GT_DIFF_CHANGED, /* one property differs */
	GT_DIFF_NVLINK,
	GT_NDIFFKINDS
};

struct gt_diff_finding {
	enum gt_diff_kind kind;
	uint32_t dev_a, dev_b; /* GT_UNMATCHED: not there */
	enum gt_prop prop;     /* which property has changed */
	uint32_t to_a, to_b; /* links to which GPU, as struct gt_device_link */
	/* "b.xml:14:5"; for a device that is missing, its place in a */
	const char *where;
	const char *text; /* begins with the device's name */
};

/* The findings, and the match that they follow from; memory is the arena's. */
struct gt_diff {
	const struct gt_device_tree *a, *b; /* a is the norm */
	uint32_t nfindings, size;
	struct gt_diff_finding *findings;
	uint32_t *image, *back; /* as in struct gt_match */
};

/* Compare two servers, which must outlive the result.  Only memory can fail. */
int gt_diff_find(const struct gt_device_tree *a, const struct gt_device_tree *b,
		 struct gt_arena *arena, struct gt_diff *diff,
		 struct gt_err *err);

/*
 * Returns "missing", "extra", "moved", "nvlink", or the name of the property
 * that has changed.
 */
const char *gt_diff_name(const struct gt_diff_finding *finding);

#endif
