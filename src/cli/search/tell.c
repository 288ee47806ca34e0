/*
 * Words the note of `gtopo search -v` and the warnings that go with a plan; the
 * line of progress is written over itself, and cleared before anything else is
 * said.
 */
#include "cli/search/tell.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/common/command.h"
#include "cli/common/proof_text.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/planner/planner.h"
#include "search/problem/budget.h"

static void tell_any_bound(const struct gt_cmd_args *args,
			   const struct gt_plan_proof *proof)
{
	struct gt_buf text = GT_BUF_INIT;

	if (!proof->has_any_bound)
		return;
	gt_proof_text_any(proof, &text);
	gt_cmd_note(args, "%s", gt_buf_text(&text));
	gt_buf_release(&text);
}

static void tell_equal(const struct gt_cmd_args *args,
		       const struct gt_plan *plan,
		       const struct gt_search_stats *stats)
{
	double value = gt_rat_double(plan->proof.value);
	double most = gt_rat_double(stats->equal_bound);

	if (!stats->max_equal || plan->proof.optimal)
		return;
	if (gt_rat_cmp(plan->proof.value, stats->equal_bound) < 0)
		gt_cmd_note(args,
			    "up to %u equal channels reach at most %g GB/s "
			    "(%.3g%% more)",
			    stats->max_equal, most,
			    gt_proof_text_gap(value, most));
	else
		gt_cmd_note(args, "no %u or fewer equal channels reach more",
			    stats->max_equal);
}

static void tell_machine(const struct gt_cmd_args *args,
			 const struct gt_planner_result *result)
{
	const struct gt_plan *plan = result->plan;
	const struct gt_search_stats *stats = &result->stats;
	const struct gt_plan_proof *proof = &plan->proof;
	const char *found = gt_proof_text_found(plan);
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);
	char text[GT_PROOF_SUBJECT_MAX];
	const char *subject = gt_proof_text_subject(plan, text);

	gt_cmd_note(args, "%u GPUs: %s of %g GB/s%s in %u channels",
		    plan->nranks, found, value,
		    gt_coll_only_moves(plan->coll) ? " a pair" : "",
		    gt_plan_main_row(plan)->nchannels);
	if (proof->optimal)
		gt_cmd_note(args, "proved: no %s more", subject);
	else
		gt_cmd_note(args, "%s at most %g GB/s (%.3g%% more)", subject,
			    bound, gt_proof_text_gap(value, bound));
	if (proof->max_channels)
		gt_cmd_note(args, "without --max-channels at most %g GB/s",
			    gt_rat_double(stats->unlimited));
	tell_equal(args, plan, stats);
	tell_any_bound(args, proof);
	gt_cmd_note(args,
		    "%u limiting links, %u %s tried in %u rounds, %.1f ms",
		    stats->nrows, stats->ncolumns, found, stats->nrounds,
		    (double)result->search_ns / 1e6);
}

static void tell_cluster(const struct gt_cmd_args *args,
			 const struct gt_planner_result *result)
{
	const struct gt_plan *plan = result->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);
	char text[GT_PROOF_SUBJECT_MAX];
	const char *subject = gt_proof_text_subject(plan, text);

	gt_cmd_note(args, "%u nodes of %u GPUs: %s of %g GB/s%s in %u channels",
		    plan->cluster->nnodes, plan->cluster->nlocal,
		    gt_proof_text_found(plan), value,
		    gt_coll_only_moves(plan->coll) ? " a pair" : "",
		    gt_plan_main_row(plan)->nchannels);
	if (plan->has_proof && proof->optimal)
		gt_cmd_note(args, "proved: no %s more", subject);
	else if (plan->has_proof)
		gt_cmd_note(args, "no %s more than %g GB/s (%.3g%% more)",
			    subject, bound, gt_proof_text_gap(value, bound));
	tell_any_bound(args, proof);
	gt_cmd_note(args, "%.1f ms", (double)result->search_ns / 1e6);
}

void gt_search_tell(const struct gt_cmd_args *args,
		    const struct gt_planner *planner)
{
	const struct gt_planner_result *result = gt_planner_result(planner);

	if (result->by_quotient)
		tell_cluster(args, result);
	else
		tell_machine(args, result);
}

int gt_search_tell_loss(const struct gt_cmd_args *args,
			const struct gt_planner *planner, struct gt_err *err)
{
	const struct gt_planner_result *result = gt_planner_result(planner);
	const struct gt_plan *plan = result->plan;
	double value = gt_rat_double(plan->proof.value), most;
	struct gt_rat bound;
	int found, flows = gt_coll_only_moves(plan->coll), rc;

	if (!result->homogenized)
		return GT_OK;
	gt_cmd_warn(args,
		    "nodes or switches are not all alike: planned with what "
		    "all have, %u ports of each node",
		    plan->cluster->nports);
	if (!flows)
		value *= gt_rat_double(gt_plan_algbw_factor(plan));
	rc = gt_planner_union_bound(planner, &found, &bound, err);
	if (rc || !found)
		return rc;
	most = gt_rat_double(bound);
	gt_cmd_warn(args,
		    "that reaches %g GB/s%s; with what any has no schedule "
		    "reaches more than %g GB/s (%.3g%% more)",
		    value, flows ? " a pair" : "", most,
		    gt_proof_text_gap(value, most));
	return GT_OK;
}

/* Not for searches that are over before anybody wonders. */
enum { GT_PROGRESS_FIRST_NS = 500000000, GT_PROGRESS_EVERY_NS = 100000000 };

static void gt_progress_tell(void *arg, const char *what, uint32_t round,
			     double value_gbs)
{
	struct gt_progress *progress = arg;
	int64_t now_ns = gt_clock_ns();

	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + GT_PROGRESS_EVERY_NS;
	progress->shown = 1;
	fprintf(stderr, "\rsearching %s: round %u, %g GB/s\033[K", what, round,
		value_gbs);
}

void gt_progress_start(struct gt_progress *progress, struct gt_budget *budget)
{
	progress->shown = 0;
	progress->next_ns = gt_clock_ns() + GT_PROGRESS_FIRST_NS;
	if (!isatty(STDERR_FILENO))
		return;
	budget->tell = gt_progress_tell;
	budget->arg = progress;
}

void gt_progress_end(const struct gt_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
