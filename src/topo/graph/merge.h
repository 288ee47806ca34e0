/*
 * Of machines that are one but for how wide their links are, such as a server
 * with a link that is down beside its like: what both can do, or what either
 * can.
 */
#ifndef GT_TOPO_GRAPH_MERGE_H
#define GT_TOPO_GRAPH_MERGE_H

struct gt_err;
struct gt_topo;

/* Each link is as wide as in the narrower machine, or in the wider one. */
enum gt_merge { GT_MERGE_LEAST, GT_MERGE_MOST };

/*
 * Make a machine with the nodes of `a`, which has to outlive it, and its
 * digests.  Nodes are the same where their ids are.  A link that one of the two
 * lacks is left out for GT_MERGE_LEAST, and taken for GT_MERGE_MOST.
 *
 * GT_EINPUT, and why, where they have no GPU in common, or their GPUs may not
 * reach the same memory; and for GT_MERGE_MOST, where a link of `b` ends at a
 * node that `a` lacks.
 */
int gt_topo_merge(const struct gt_topo *a, const struct gt_topo *b,
		  enum gt_merge how, struct gt_topo **merged,
		  struct gt_err *err);

#endif
