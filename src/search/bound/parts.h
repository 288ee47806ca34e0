/* The all-reduce part of search/bound/bound.h: the best partition of the ranks. */
#ifndef GT_SEARCH_BOUND_PARTS_H
#define GT_SEARCH_BOUND_PARTS_H

struct gt_arena;
struct gt_bound;
struct gt_cut;
struct gt_err;

/* At least two ranks; `cut` is not reversed. */
int gt_bound_partition(struct gt_cut *cut, struct gt_arena *arena,
		       struct gt_bound *bound, struct gt_err *err);

#endif
