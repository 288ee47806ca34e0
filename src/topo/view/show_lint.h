/*
 * Marks in trees and pictures what is wrong with the machine: what the file
 * tells of a device, and what lint finds.
 */
#ifndef GT_TOPO_VIEW_SHOW_LINT_H
#define GT_TOPO_VIEW_SHOW_LINT_H

#include <stddef.h>
#include <stdint.h>

struct gt_node;
struct gt_show;
struct gt_show_line;

/*
 * Fill in the note of a node's line: what is odd of the link above it, or all
 * that is wrong with it.
 */
void gt_show_notes(const struct gt_show *show, const struct gt_node *node,
		   struct gt_show_line *line);

/*
 * Write the i-th finding, with the device it names, if that is about the
 * machine but about no node of it; 0 if it is not.
 */
int gt_show_lint_rest_text(const struct gt_show *show, uint32_t i, char *text,
			   size_t size);

/* Write what is found of nothing in the tree, a line each. */
void gt_show_lint_rest(const struct gt_show *show);

#endif
