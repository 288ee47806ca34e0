/*
 * Nodes that are not alike.  Those too many to be planned for one by one are
 * planned with what all have: what of it cannot be, and what to do then, in
 * words.
 */
#ifndef GT_SEARCH_PLANNER_MIXED_H
#define GT_SEARCH_PLANNER_MIXED_H

struct gt_arena;
struct gt_cluster;
struct gt_err;
struct gt_flat_cluster;

/* GT_EINPUT, and which nodes, where some have no GPUs to plan for. */
int gt_mixed_need_gpus(const struct gt_cluster *cluster, struct gt_err *err);

/*
 * Make the cluster that has what all nodes of another have (topo/cluster), for
 * GPUs of a list such as "0-3", or all when that is NULL.  GT_EINPUT where
 * there is none, where a node lacks one of them, or where a number means
 * another GPU in some nodes than in others; the words name the nodes, what each
 * kind of them is worth, and what can be planned.
 */
int gt_mixed_even(const struct gt_cluster *cluster, const char *gpus,
		  struct gt_arena *arena, struct gt_cluster **even,
		  struct gt_err *err);

/*
 * Do fixed routes leave out what trees along any links may use: is there a pair
 * of ranks that only others between them join, or, where all GPUs have ranks,
 * are there nodes of more ports than GPUs, whose routes take one each?
 */
int gt_mixed_needs_open(const struct gt_flat_cluster *flat);

#endif
