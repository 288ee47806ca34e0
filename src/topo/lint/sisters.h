/*
 * Applies the rules about cards and ports that are slower than their sisters:
 * others of the same model in places like theirs.
 */
#ifndef GT_TOPO_LINT_SISTERS_H
#define GT_TOPO_LINT_SISTERS_H

struct gt_lint_graph;

void gt_lint_sisters(struct gt_lint_graph *g);

#endif
