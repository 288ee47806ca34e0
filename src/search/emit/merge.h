/*
 * Alternatives side by side in one plan: channels of another plan for the same
 * ranks, and the mesh of all pairs.  What is added shares nothing with where
 * it came from, and is used by no row of `select` yet.
 */
#ifndef GT_SEARCH_EMIT_MERGE_H
#define GT_SEARCH_EMIT_MERGE_H

#include <stdint.h>

struct gt_err;
struct gt_plan;

/* Append all channels of `other`, and the links that they need. */
int gt_merge_channels(struct gt_plan *plan, const struct gt_plan *other,
		      struct gt_err *err);

/*
 * Append a mesh over the routes of the plan's proof.  Its rate is what every
 * ordered pair that has to can move while all others do: exact, the least over
 * all links of capacity by the routes that cross it.  GT_ENO when some pair has
 * no route, or the rate does not fit.
 */
int gt_merge_mesh(struct gt_plan *plan, struct gt_err *err);

/*
 * The mesh alone: the plan's channels are dropped, its bound on all schedules
 * becomes the mesh's.
 */
int gt_merge_mesh_only(struct gt_plan *plan, struct gt_err *err);

#endif
