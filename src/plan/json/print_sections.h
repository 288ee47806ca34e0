/*
 * The sections of a plan's file that files of their own print; gt_plan_print()
 * (plan/json/json.h) is the way in.  What recurs stands one on a line, so that
 * plans diff well.
 */
#ifndef GT_PLAN_JSON_PRINT_SECTIONS_H
#define GT_PLAN_JSON_PRINT_SECTIONS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_json_writer;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_rank;

/* The demand, if there is one. */
void gt_print_demand(const struct gt_plan *plan, struct gt_json_writer *json);

/* An optional text: nothing is written when it is NULL. */
void gt_print_text(struct gt_json_writer *json, const char *key,
		   const char *text);

/* A fraction, as the text that gt_rat_print() makes of it. */
void gt_print_rat(struct gt_json_writer *json, const char *key,
		  struct gt_rat rat);

/* Arrays of numbers on one line. */
void gt_print_numbers(struct gt_json_writer *json, const char *key, uint32_t n,
		      const uint32_t *numbers);
void gt_print_parents(struct gt_json_writer *json, const char *key, uint32_t n,
		      const int32_t *parents);

/* An array of n ranks; those of a cluster's node do not name the node. */
void gt_print_ranks(struct gt_json_writer *json, uint32_t n,
		    const struct gt_plan_rank *ranks, int with_node);

/* An array of links' ids. */
void gt_print_links(const struct gt_plan *plan, struct gt_json_writer *json,
		    const char *key, uint32_t n, const uint32_t *links);

/* The factor of a hop or a route, unless it is 1. */
void gt_print_charge(struct gt_json_writer *json, struct gt_rat charge);

/* "cluster", which stands in place of "ranks". */
void gt_print_cluster(const struct gt_plan *plan, struct gt_json_writer *json);

/* The "trees" of a channel that is a template. */
void gt_print_templates(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_json_writer *json);

/* The "vertices" of a channel through switches. */
void gt_print_vertices(const struct gt_plan *plan,
		       const struct gt_plan_channel *channel,
		       struct gt_json_writer *json);

/* "proof", if there is one. */
void gt_print_proof(const struct gt_plan *plan, struct gt_json_writer *json);

/* The rows of "select", and "measurements", if there are any. */
void gt_print_select(const struct gt_plan *plan, struct gt_json_writer *json);
void gt_print_measurements(const struct gt_plan *plan,
			   struct gt_json_writer *json);

/* "programs", if there are any. */
void gt_print_programs(const struct gt_plan *plan, struct gt_json_writer *json);

#endif
