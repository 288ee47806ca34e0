/*
 * Writes a server as topology XML with one finding applied to it, to ask what
 * that finding alone costs.  Only what the graph is made from is written.
 */
#ifndef GT_TOPO_DIFF_APPLY_H
#define GT_TOPO_DIFF_APPLY_H

struct gt_buf;
struct gt_diff;
struct gt_diff_finding;

/* Write the norm (diff->a) with this finding; NULL writes it as it is. */
void gt_diff_apply(const struct gt_diff *diff,
		   const struct gt_diff_finding *finding, struct gt_buf *out);

/* Write the other server as it is. */
void gt_diff_print_other(const struct gt_diff *diff, struct gt_buf *out);

#endif
