/*
 * The stages of gt_plan_check() for a cluster's plan, which is never expanded:
 * what holds for node 0 holds for all, since adding a vector of digits
 * (plan/ir/cluster.h) maps templates, links and switches to their like.
 *
 * `c` is the index of a channel.
 */
#ifndef GT_PLAN_CHECK_CLUSTER_H
#define GT_PLAN_CHECK_CLUSTER_H

#include <stdint.h>

#include "plan/check/check.h"

struct gt_err;
struct gt_link_graph;
struct gt_plan;
struct gt_plan_select;

/* In place of gt_check_channels(): levels, hops, and each channel's graph. */
int gt_check_templates(const struct gt_plan *plan, struct gt_err *err);

/* In place of gt_check_loads(): links of a node and uplinks of switches. */
int gt_check_cluster_loads(const struct gt_plan *plan, struct gt_err *err);

/* In place of gt_check_proof(): sets of vertices, and prices. */
int gt_check_cluster_proof(const struct gt_plan *plan,
			   struct gt_plan_report *report, struct gt_err *err);

/* The graph of one channel: a tree of nodes, a ring through them, or a flow. */
int gt_check_cluster_tree(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);
int gt_check_cluster_ring(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);
int gt_check_cluster_flow(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err);

/* Templates that lag: nothing waits in a circle with the slots there are. */
int gt_check_template_order(const struct gt_plan *plan, uint32_t c,
			    struct gt_err *err);

/* A row of trees puts no more on any node or switch than it carries. */
int gt_check_cluster_tree_row(const struct gt_plan *plan,
			      const struct gt_plan_select *row,
			      struct gt_err *err);

#endif
