/* Words for a row's detour and its limit of thread blocks. */
#include "cli/common/use_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "plan/ir/plan.h"

const char *gt_use_text(const struct gt_plan_select *use,
			char text[GT_USE_TEXT_MAX])
{
	int n = 0;

	text[0] = '\0';
	if (use->detour_permille)
		n = snprintf(text, GT_USE_TEXT_MAX,
			     ", %" PRIu32 "/1000 through the host",
			     use->detour_permille);
	if (use->max_blocks)
		snprintf(text + n, (size_t)(GT_USE_TEXT_MAX - n),
			 ", at most %" PRIu32 " block%s", use->max_blocks,
			 use->max_blocks == 1 ? "" : "s");
	return text;
}
