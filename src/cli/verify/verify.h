/*
 * The parts of `gtopo verify`: what it tells of a plan that was read, as text
 * and as JSON, and whether a machine has what the plan says of it.
 */
#ifndef GT_CLI_VERIFY_VERIFY_H
#define GT_CLI_VERIFY_VERIFY_H

#include "plan/check/check.h"
#include "plan/ir/plan.h"

struct gt_buf;
struct gt_err;

struct gt_json_writer;

/* The machine that a plan is compared with, as the search was told of it. */
struct gt_verify_machine {
	const char *path; /* of its topology, or of a cluster; NULL: none */
	const char *exclude_link, *exclude_device, *p2p; /* or NULL */
};

/* A row of the plan's collective; of the last one no prediction is told. */
enum { GT_VERDICT_ROWS = 256 };
struct gt_verdict_row {
	const struct gt_plan_select *select;
	double busbw_gbs; /* predicted for its largest message */
	double of_bound;  /* as a part of what nothing exceeds */
};

struct gt_verdict {
	const struct gt_plan *plan;
	unsigned colls;                   /* bit set */
	struct gt_verify_machine machine; /* that has all this */
	struct gt_plan_report report;
	uint32_t nrows; /* 0 where there is but one */
	struct gt_verdict_row rows[GT_VERDICT_ROWS];
};

/*
 * make.c: judge a plan as `gtopo verify` does; coll NULL stands for what the
 * plan is for.  GT_ENO, and what is wrong, when it is not right; the verdict
 * can be told nevertheless.
 */
int gt_verdict_make(const struct gt_plan *plan, const char *coll,
		    const struct gt_verify_machine *machine,
		    struct gt_verdict *verdict, struct gt_err *err);

/* rows.c: fill in the rows of a plan that is right, and append them. */
int gt_verdict_rows(struct gt_verdict *verdict, struct gt_err *err);
void gt_verdict_rows_text(const struct gt_verdict *verdict, struct gt_buf *out);
void gt_verdict_rows_json(const struct gt_verdict *verdict,
			  struct gt_json_writer *json);

/* Append a right plan's verdict, coloured for a terminal or not. */
void gt_verdict_text(const struct gt_verdict *verdict, int colour,
		     struct gt_buf *out);

/* Append the verdict; a wrong plan has one too: what err says, and where. */
void gt_verdict_json(const struct gt_verdict *verdict, const struct gt_err *err,
		     struct gt_buf *out);

/*
 * topology.c: does a machine have what a plan says of it?  Plan and topology
 * do not know each other, so the command that has both compares them.  Read the
 * topology with the rates that the plan was made with, leave out what the
 * search was to leave out, and compare: the digest, the ranks' devices, the
 * links' capacities, and the routes of hops and proof.  GT_ENO with the place
 * in the plan that differs; GT_EINPUT for what no topology can show.
 */
int gt_verify_topology(const struct gt_plan *plan,
		       const struct gt_verify_machine *machine,
		       struct gt_err *err);

#endif
