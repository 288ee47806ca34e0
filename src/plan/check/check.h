/*
 * Static validity of a plan, down to the proof of its bound.  This is the way
 * in; the stages are in the other files of this folder.
 */
#ifndef GT_PLAN_CHECK_CHECK_H
#define GT_PLAN_CHECK_CHECK_H

#include <stdint.h>

struct gt_err;
struct gt_plan;

/*
 * The report of a check of a plan's proof says, besides yes or no, how far each
 * of its bounds could be proven.
 */
enum gt_bound_state {
	GT_BOUND_ABSENT,    /* no such bound, or no certificate for it */
	GT_BOUND_NO_ROUTES, /* a certificate, but no routes to apply it to */
	GT_BOUND_TOO_MANY,  /* more ranks than all rings can be searched for */
	GT_BOUND_TOO_FINE,  /* prices without a common 58-bit denominator */
	GT_BOUND_PROVEN,
	GT_NBOUNDS
};

struct gt_plan_report {
	enum gt_bound_state bound;
	enum gt_bound_state any_bound;
	enum gt_bound_state equal; /* the bound on rings of one share */
	uint32_t nopen; /* numbers of such rings for which nothing is proved */
};

/* "proven", "not checked: ..." */
const char *gt_bound_state_text(enum gt_bound_state state);

/*
 * Orders are permutations, shares sum to 1, hops match the order, routes exist,
 * link loads are within capacities, values add up, the proof's certificate
 * proves its bound, FIFO and select make sense.  GT_ENO with the JSON path when
 * the plan is wrong.
 */
int gt_plan_check(const struct gt_plan *plan, struct gt_err *err);

/*
 * Check as gt_plan_check() does; *report says how far the bounds could be
 * proven.
 */
int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err);

#endif
