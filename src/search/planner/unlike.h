/*
 * Which nodes of a cluster are not like the others, what they lack, and what
 * that costs, in lines of text.  The norm is the kind of nodes of which a
 * cluster all of that kind reaches most; of equal ones that of most nodes.
 */
#ifndef GT_SEARCH_PLANNER_UNLIKE_H
#define GT_SEARCH_PLANNER_UNLIKE_H

#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_cluster;
struct gt_err;

/* Append "node 'x7'", "nodes 'x7' and 2 more": those of a kind. */
void gt_unlike_put_nodes(const struct gt_cluster *cluster, uint32_t kind,
			 struct gt_buf *out);

/*
 * Set *words, the arena's, to a line for each kind that is not the norm:
 * "node 'x7' of sick.xml: port mlx5_3: link of 200000 Mb/s instead of 400000
 * ('gtopo diff good.xml sick.xml' tells all); all-reduce of 200 nodes all like
 * it reaches at most 362.6 GB/s, like 'x0' 385.7".  NULL where all nodes are of
 * one kind.
 */
int gt_unlike_words(const struct gt_cluster *cluster, struct gt_arena *arena,
		    const char **words, struct gt_err *err);

#endif
