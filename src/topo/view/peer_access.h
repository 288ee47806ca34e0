/* GPUs without peer access in words: how many, why, and what it costs. */
#ifndef GT_TOPO_VIEW_PEER_ACCESS_H
#define GT_TOPO_VIEW_PEER_ACCESS_H

struct gt_buf;
struct gt_topo;

/*
 * Tell of pairs of GPUs that do not reach each other's memory: a line with
 * their number, one for each likely cause, and one for what access would bring
 * the pairs by themselves.  Nothing is printed if all have access.
 */
void gt_print_peer_access(const struct gt_topo *topo, struct gt_buf *buf);

#endif
