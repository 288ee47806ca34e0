/*
 * Plans of a job's groups.  Groups that sit alike, on the same GPUs of as many
 * nodes that are as far apart, have one plan, and its loads.
 */
#ifndef GT_SEARCH_JOB_PLANS_H
#define GT_SEARCH_JOB_PLANS_H

#include <stdint.h>

struct gt_arena;
struct gt_budget;
struct gt_err;
struct gt_group_place;
struct gt_group_plan;
struct gt_job_links;
struct gt_site;

/* The plans that are known so far; one thread at a time. */
struct gt_group_plans {
	struct gt_arena *arena;
	const struct gt_site *site;
	struct gt_job_links *links;
	const struct gt_budget *budget; /* of each search, or NULL */
	uint32_t n, room;
	struct gt_group_kept *list;
};

/* Borrows all of these; `budget` may be set afterwards. */
void gt_group_plans_init(struct gt_group_plans *plans,
			 const struct gt_site *site, struct gt_job_links *links,
			 struct gt_arena *arena);
void gt_group_plans_release(struct gt_group_plans *plans);

/*
 * The plan of a group, found now or before, which stays the plans'.  GT_ENO or
 * GT_EINPUT, and why, when there is none.
 */
int gt_group_plans_find(struct gt_group_plans *plans,
			const struct gt_group_place *place,
			const struct gt_group_plan **plan, struct gt_err *err);

/*
 * The seconds that one use of a plan takes for a buffer of so many bytes, as
 * the cost model has it (plan/cost/cost.h), found once; 0 where it has no
 * answer.  GT_ESYS when memory ran out.
 */
int gt_group_plans_price(struct gt_group_plans *plans,
			 const struct gt_group_plan *group, uint64_t bytes,
			 double *seconds, struct gt_err *err);

/*
 * The number of a plan, from 0 on, and the plans by number.  A place that
 * cannot be planned has a number too, and no plan in its group.
 */
uint32_t gt_group_plans_index(const struct gt_group_plans *plans,
			      const struct gt_group_plan *plan);
uint32_t gt_group_plans_count(const struct gt_group_plans *plans);
const struct gt_group_plan *gt_group_plans_at(
	const struct gt_group_plans *plans, uint32_t index);

#endif
