/*
 * Applies the rules about NVLinks and xGMI links: where they lead, and whether
 * both ends tell the same.
 */
#ifndef GT_TOPO_LINT_LINKS_H
#define GT_TOPO_LINT_LINKS_H

struct gt_lint_dev;
struct gt_lint_graph;

void gt_lint_links(struct gt_lint_graph *g);

/* Returns what the links of a GPU are called, "NVLink" or "xGMI link". */
const char *gt_lint_link_word(const struct gt_lint_dev *dev);

#endif
