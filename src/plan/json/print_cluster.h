/* The part of gt_plan_print() that is about clusters. */
#ifndef GT_PLAN_JSON_PRINT_CLUSTER_H
#define GT_PLAN_JSON_PRINT_CLUSTER_H

#include <stdint.h>

struct gt_buf;
struct gt_plan;
struct gt_plan_channel;

/* "cluster", in place of "ranks". */
void gt_print_cluster(const struct gt_plan *plan, struct gt_buf *out);

/* A channel's "trees", and the proof's "outside" or "sets". */
void gt_print_templates(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_buf *out);
void gt_print_sets(const struct gt_plan *plan, struct gt_buf *out);

/* What a price of an uplink is called by. */
void gt_print_uplink(const struct gt_plan *plan, uint32_t link,
		     struct gt_buf *out);

#endif
