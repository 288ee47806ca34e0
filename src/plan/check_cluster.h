/*
 * gt_plan_check() of a cluster's plan, which is never expanded: what holds for
 * node 0 holds for all, since adding a vector of digits (plan/cluster.h) maps
 * templates, links and switches to their like.
 */
#ifndef GT_PLAN_CHECK_CLUSTER_H
#define GT_PLAN_CHECK_CLUSTER_H

struct gt_arena;
struct gt_err;
struct gt_plan;
struct gt_plan_report;
struct gt_vertices;

/* In place of gt_check_channels(), gt_check_loads() and gt_check_proof(). */
int gt_check_templates(const struct gt_plan *plan, struct gt_err *err);
int gt_check_cluster_loads(const struct gt_plan *plan, struct gt_err *err);
int gt_check_cluster_proof(const struct gt_plan *plan,
			   struct gt_plan_report *report, struct gt_err *err);

#endif
