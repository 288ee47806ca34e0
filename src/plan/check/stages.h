/*
 * The stages of gt_plan_check() for the plan of one machine, or of ranks that
 * are listed one by one.  Each relies on those before it.  A cluster's plan has
 * stages of its own in place of some of them (plan/check/cluster.h).
 */
#ifndef GT_PLAN_CHECK_STAGES_H
#define GT_PLAN_CHECK_STAGES_H

#include <stdint.h>

#include "plan/check/check.h"

struct gt_err;
struct gt_plan;
struct gt_plan_channel;

/* A demand is of an all-to-all by flows, and nothing else in the plan is. */
int gt_check_demand(const struct gt_plan *plan, struct gt_err *err);

/* Channels are graphs of the shape that they name, with hops to match. */
int gt_check_channels(const struct gt_plan *plan, struct gt_err *err);

/* The paths of a flow, whose hops are known to be distinct pairs of ranks. */
int gt_check_flow(const struct gt_plan *plan, uint32_t index,
		  struct gt_err *err);

/* Programs of explicit steps use connections and hops that exist. */
int gt_check_programs(const struct gt_plan *plan, struct gt_err *err);

/* The index of the channel's hop from one rank to another, or -1. */
int64_t gt_check_hop_find(const struct gt_plan_channel *channel, uint32_t from,
			  uint32_t to);

/* Shares sum to 1, rates to the value, and blocks have their roots. */
int gt_check_shares(const struct gt_plan *plan, struct gt_err *err);

/* No row of select puts more on a link than it carries. */
int gt_check_loads(const struct gt_plan *plan, struct gt_err *err);

/* Measurements are of uses that can be run, once each, at ascending sizes. */
int gt_check_measurements(const struct gt_plan *plan, struct gt_err *err);

/* The certificate proves the bound that the proof claims. */
int gt_check_proof(const struct gt_plan *plan, struct gt_plan_report *report,
		   struct gt_err *err);

#endif
