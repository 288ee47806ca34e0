/*
 * Whole templates (plan/ir/cluster.h): a home tree and an away tree for every
 * rank of a node, which together carry a share of all blocks.  Each becomes a
 * channel, which costs FIFOs and workers, so few of them are better than many,
 * and equal ones better than wide and narrow ones side by side.
 *
 * The trees of block_trees.h say what can be reached; which of a root's home
 * trees goes with which of its away trees is free.  Cut side by side, they make
 * as many templates as there are cuts.  But a machine that is all alike needs
 * no more than one or two templates, each rank's trees like the next one's.  So
 * such regular templates are tried beside the cut ones, and of those that reach
 * the same rate together, exactly, the fewest are taken.
 */
#ifndef GT_SEARCH_CLUSTER_BLOCK_TEMPLATES_H
#define GT_SEARCH_CLUSTER_BLOCK_TEMPLATES_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_block_trees;
struct gt_err;
struct gt_quotient;

struct gt_block_template {
	uint32_t *home, *away; /* by root, each a tree of gt_block_trees */
	int64_t weight;        /* over the denominator: what it carries */
	uint32_t parts;        /* channels that it is divided into, all alike */
};

struct gt_block_templates {
	struct gt_block_trees *trees;
	uint32_t n;
	struct gt_block_template *list;
	int64_t denominator;
	struct gt_rat rate; /* at which every rank's block moves */
};

/*
 * The templates of solved trees, to which some may be added.  Memory is the
 * arena's.  GT_EINPUT when the rate needs more than 64 bits, GT_ENO when shares
 * do.
 */
int gt_block_templates_find(const struct gt_quotient *q,
			    struct gt_block_trees *trees,
			    struct gt_arena *arena,
			    struct gt_block_templates *templates,
			    struct gt_err *err);

#endif
