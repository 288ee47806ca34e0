/*
 * Marks in a tree what lint finds wrong with the machine, as far as the tree
 * does not tell it itself.
 */
#ifndef GT_TOPO_VIEW_SHOW_LINT_H
#define GT_TOPO_VIEW_SHOW_LINT_H

struct gt_node;
struct gt_show;
struct gt_show_line;

/*
 * Add what is found of a node to the note of its line, which tells already
 * whether its link is slow.
 */
void gt_show_lint_node(const struct gt_show *show, const struct gt_node *node,
		       int is_slow, struct gt_show_line *line);

/* Write what is found of nothing in the tree, a line each. */
void gt_show_lint_rest(const struct gt_show *show);

#endif
