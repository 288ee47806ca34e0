/*
 * The sections of a plan's file that files of their own print; gt_plan_print()
 * (plan/json/print.h) is the way in.
 */
#ifndef GT_PLAN_JSON_PRINT_SECTIONS_H
#define GT_PLAN_JSON_PRINT_SECTIONS_H

#include <stdint.h>

struct gt_buf;
struct gt_plan;
struct gt_plan_channel;

/* The member "programs", if there are any, with the comma before it. */
void gt_print_programs(const struct gt_plan *plan, struct gt_buf *out);

/* The members "select" and "measurements", with the commas before them. */
void gt_print_select(const struct gt_plan *plan, struct gt_buf *out);
void gt_print_measurements(const struct gt_plan *plan, struct gt_buf *out);

/* The member "cluster", which stands in place of "ranks". */
void gt_print_cluster(const struct gt_plan *plan, struct gt_buf *out);

/* A template's "trees", and the certificate's "sets" and "unused". */
void gt_print_templates(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_buf *out);
void gt_print_sets(const struct gt_plan *plan, struct gt_buf *out);

/* The name of an uplink, as a price is listed by it. */
void gt_print_uplink(const struct gt_plan *plan, uint32_t link,
		     struct gt_buf *out);

#endif
