/* The words for how far a bound could be proven. */
#include "plan/check/report.h"

const char *gt_bound_state_text(enum gt_bound_state state)
{
	static const char *const texts[GT_NBOUNDS] = {
		[GT_BOUND_ABSENT] = "not checked: no certificate",
		[GT_BOUND_NO_ROUTES] = "not checked: no routes",
		[GT_BOUND_TOO_MANY] = "not checked: too many ranks",
		[GT_BOUND_TOO_FINE] = "not checked: prices too fine",
		[GT_BOUND_PROVEN] = "proven",
	};

	return texts[state];
}
