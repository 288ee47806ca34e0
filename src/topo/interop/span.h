/*
 * Runs of nodes below the switches of a level, whatever the rail, and names of
 * nodes as other programs take them.
 */
#ifndef GT_TOPO_INTEROP_SPAN_H
#define GT_TOPO_INTEROP_SPAN_H

#include <stdint.h>

#include "topo/cluster/cluster.h"

struct gt_buf;

enum { GT_SPAN_NAME = 32 };

/* Returns how many runs of nodes a level divides the cluster into. */
uint32_t gt_span_count(const struct gt_cluster *cluster,
		       enum gt_fabric_kind over, uint32_t level);

/* Writes how the switches above a run are called: "leaf3". */
const char *gt_span_name(uint32_t level, uint32_t span,
			 char text[GT_SPAN_NAME]);

/* Returns "leaf", "spine", "core", or "level3-". */
const char *gt_span_level_name(uint32_t level, char text[GT_SPAN_NAME]);

/* Append the names of nodes first .. end-1 as a list, "n[01-18],m1". */
void gt_span_nodes(const struct gt_cluster *cluster, uint32_t first,
		   uint32_t end, struct gt_buf *out);

/*
 * Check that names of nodes have letters, digits and .-_ only, with `is_lower`
 * those that Kubernetes takes; GT_EINPUT names one that has others.
 */
int gt_span_check_names(const struct gt_cluster *cluster, int is_lower,
			struct gt_err *err);

#endif
