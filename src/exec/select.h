/* Which of a plan's channels carry a message of a given size. */
#ifndef GT_EXEC_SELECT_H
#define GT_EXEC_SELECT_H

#include <stdint.h>

struct gt_plan;

/*
 * The indices of the channels that the first fitting row of the plan's
 * `select` names, in `sel`, which has room for all channels.  bytes: of the
 * larger of input and output.  Returns how many; all of them when the plan
 * has no such row.
 */
uint32_t gt_select_channels(const struct gt_plan *plan, uint64_t bytes,
			    uint32_t *sel);

#endif
