/*
 * The report of a check of a plan's proof says, besides yes or no, how far each
 * of its bounds could be proven.
 */
#ifndef GT_PLAN_CHECK_REPORT_H
#define GT_PLAN_CHECK_REPORT_H

#include <stdint.h>

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

#endif
