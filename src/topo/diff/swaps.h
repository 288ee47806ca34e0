/*
 * Improves a match by swapping the matches of two devices as long as that makes
 * less differ, from a fixed number of starts.
 */
#ifndef GT_TOPO_DIFF_SWAPS_H
#define GT_TOPO_DIFF_SWAPS_H

struct gt_matcher;

/* GT_ESYS when memory ran out; the matcher's `failed` tells of that, too. */
int gt_match_search(struct gt_matcher *m);

#endif
