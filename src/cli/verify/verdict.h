/*
 * This words what `gtopo verify` tells of a plan that was read, as text and as
 * JSON.
 */
#ifndef GT_CLI_VERIFY_VERDICT_H
#define GT_CLI_VERIFY_VERDICT_H

#include "plan/check/report.h"
#include "plan/ir/plan.h"

struct gt_buf;
struct gt_err;

struct gt_verdict {
	const struct gt_plan *plan;
	unsigned colls;       /* bit set */
	const char *topology; /* that has all this, or NULL */
	struct gt_plan_report report;
};

/* Append a right plan's verdict. */
void gt_verdict_text(const struct gt_verdict *verdict, struct gt_buf *out);

/* Append the verdict; a wrong plan has one too: what err says, and where. */
void gt_verdict_json(const struct gt_verdict *verdict, const struct gt_err *err,
		     struct gt_buf *out);

#endif
