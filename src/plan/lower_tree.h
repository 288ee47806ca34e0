/*
 * Lowering of trees and chains: an all-gather's block goes down from its
 * owner, a reduce-scatter's comes up to it.  A forest of them, a root for
 * every block, is bandwidth optimal where rings are not (Edmonds, "Edge
 * disjoint branchings", 1973).
 */
#ifndef GT_PLAN_LOWER_TREE_H
#define GT_PLAN_LOWER_TREE_H

#include "plan/program.h"

struct gt_arena;
struct gt_err;
struct gt_plan;

/* Fills *program, of which rank and channel (of shape tree or chain) are set. */
int gt_lower_tree(const struct gt_plan *plan, enum gt_coll coll,
		  struct gt_arena *arena, struct gt_program *program,
		  struct gt_err *err);

#endif
