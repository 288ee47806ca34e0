/*
 * What a row of select, or a measurement, has beside its algorithm and
 * protocol, for people.
 */
#ifndef GT_CLI_COMMON_USE_TEXT_H
#define GT_CLI_COMMON_USE_TEXT_H

struct gt_plan_select;

/*
 * ", 85/1000 through the host", ", at most 16 blocks", or "" for what is plain.
 */
enum { GT_USE_TEXT_MAX = 80 };
const char *gt_use_text(const struct gt_plan_select *use,
			char text[GT_USE_TEXT_MAX]);

#endif
