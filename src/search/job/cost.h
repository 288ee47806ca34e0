/*
 * What a step's communication takes with ranks in given places: every group's
 * plan, all loads added up on every link.
 *
 * Phases go on one after the other.  All groups of all entries of a phase go on
 * at the same time, so a link has to carry what all of them put on it, and the
 * phase takes as long as the link that takes longest.  That is the time of its
 * bytes; what a message waits for before they move is in expected_s, by what
 * `gtopo predict` says of each group's plan.
 */
#ifndef GT_SEARCH_JOB_COST_H
#define GT_SEARCH_JOB_COST_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_group_plan;
struct gt_group_plans;
struct gt_job_links;
struct gt_site;
struct gt_workload;

struct gt_budget;
struct gt_job_query {
	const struct gt_workload *workload;
	const struct gt_site *site;
	struct gt_job_links *links;
	struct gt_group_plans *plans;
	const struct gt_budget *budget; /* of finding an assignment, or NULL */
	/* Ranks are numbered node after node in turn, rather than GPU after
	 * GPU: what gt_assign.by_number is. */
	int by_node;
};

struct gt_job_cost {
	double seconds; /* of all phases */
	/*
	 * A phase also takes what the uses of any of its groups' plans take one
	 * after the other, as if that group was alone.
	 */
	double expected_s;
	double *phase_s; /* by phase */
	size_t *full;    /* by phase: the link that takes longest */
	size_t nlinks;
	double *bytes; /* [entry * nlinks + link] */
	double *gbs;   /* by link; 0: not loaded */
	/* [entry]: by group; NULL for groups of one rank */
	const struct gt_group_plan ***plans;
};

/* Memory for the costs of a job's places, which may be found again and again.
 */
int gt_job_cost_init(struct gt_job_cost *cost, const struct gt_job_query *job,
		     struct gt_arena *arena, struct gt_err *err);

/*
 * Find the cost where rank r has place[r].  GT_ENO or GT_EINPUT, and why, when
 * there is no plan for one of the groups.
 */
int gt_job_cost_find(const struct gt_job_query *job, const uint32_t *place,
		     struct gt_job_cost *cost, struct gt_err *err);

/*
 * The seconds of all phases at least, which are phase_s[] at least, with ranks
 * where they are on one machine: what the plans of groups prove of each of them
 * by itself.
 */
double gt_job_cost_bound(const struct gt_job_query *job,
			 const struct gt_job_cost *cost, const double *phase_s);

/*
 * The kinds of links that take as long as a phase, or nearly (9/10): one of
 * each kind, into full[GT_JOB_MAX_FULL].  Their number.
 */
enum { GT_JOB_MAX_FULL = 8 };
uint32_t gt_job_cost_full(const struct gt_job_query *job,
			  const struct gt_job_cost *cost, uint32_t phase,
			  size_t *full);

/* The seconds that a link takes for what a phase puts on it. */
double gt_job_cost_link_s(const struct gt_job_query *job,
			  const struct gt_job_cost *cost, uint32_t phase,
			  size_t link);

/*
 * The seconds of a step if all links of the kinds that are full in a phase were
 * `times` as wide, with the plans as they are.
 */
int gt_job_cost_widened(const struct gt_job_query *job,
			const struct gt_job_cost *cost, uint32_t phase,
			double times, double *seconds, struct gt_err *err);

#endif
