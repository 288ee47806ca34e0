/*
 * Prints routes between the GPUs of two nodes of a cluster.
 */
#ifndef GT_TOPO_VIEW_PRINT_CLUSTER_H
#define GT_TOPO_VIEW_PRINT_CLUSTER_H

#include <stdint.h>

struct gt_buf;
struct gt_internode;

/* Print the routes of all pairs of GPUs as a matrix. */
void gt_internode_print(const struct gt_internode *internode,
			struct gt_buf *buf);

/* Print one route, link by link. */
void gt_internode_print_route(const struct gt_internode *internode,
			      const uint32_t gpus[2], struct gt_buf *buf);

/* Print a JSON object of the route of two GPUs, or (gpus NULL) of all pairs. */
void gt_internode_print_json(const struct gt_internode *internode,
			     const uint32_t *gpus, struct gt_buf *buf);

#endif
