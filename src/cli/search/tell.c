/*
 * Words the note of `gtopo search -v` and the warnings that go with a plan; the
 * line of progress is written over itself, and cleared before anything else is
 * said.
 */
#include "cli/search/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/common/command.h"
#include "cli/common/proof_text.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/planner/planner.h"
#include "search/problem/budget.h"

static void tell_any_bound(const struct gt_cmd_args *args,
			   const struct gt_plan *plan)
{
	struct gt_buf text = GT_BUF_INIT;

	if (!plan->proof.has_any_bound)
		return;
	gt_proof_text_any(plan, &text);
	gt_cmd_note(args, "%s", gt_buf_text(&text));
	gt_buf_release(&text);
}

static void tell_equal(const struct gt_cmd_args *args,
		       const struct gt_plan *plan,
		       const struct gt_search_stats *stats)
{
	double value = gt_plan_busbw(plan, plan->proof.value);
	double most = gt_plan_busbw(plan, stats->equal_bound);

	if (!stats->max_equal || plan->proof.optimal)
		return;
	if (gt_rat_cmp(plan->proof.value, stats->equal_bound) < 0)
		gt_cmd_note(args,
			    "up to %u equal channel%s reach at most %g GB/s "
			    "busbw (%.3g%% more)",
			    stats->max_equal, gt_plural(stats->max_equal), most,
			    gt_proof_text_gap(value, most));
	else
		gt_cmd_note(args, "no %u or fewer equal channel%s reach more",
			    stats->max_equal, gt_plural(stats->max_equal));
}

/* Says which rate the plan claims, with `whose` to name the plan. */
static void tell_value(const struct gt_cmd_args *args,
		       const struct gt_plan *plan, const char *whose)
{
	uint32_t n = gt_plan_main_row(plan)->nchannels;
	char rate[GT_PROOF_RATE_MAX];

	gt_cmd_note(args, "%s: %s of %s in %" PRIu32 " channel%s", whose,
		    gt_proof_text_found(plan), gt_proof_text_value(plan, rate),
		    n, gt_plural(n));
}

static void tell_bound(const struct gt_cmd_args *args,
		       const struct gt_planner_result *result)
{
	const struct gt_plan *plan = result->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	char subject[GT_PROOF_SUBJECT_MAX];
	const struct gt_proof_text words = {
		gt_proof_text_subject(plan, subject),
		gt_plan_busbw(plan, proof->value),
		gt_plan_busbw(plan, proof->bound), proof->optimal};
	struct gt_buf text = GT_BUF_INIT;

	if (!plan->has_proof)
		return;
	gt_proof_text_proved(&words, &text);
	gt_cmd_note(args, "%s", gt_buf_text(&text));
	gt_buf_release(&text);
}

/* A mesh's bound comes of the search for something else. */
static const char *name_tried(const struct gt_plan *plan)
{
	enum gt_algo algo = gt_plan_main_row(plan)->algo;
	int mesh = algo == GT_ALGO_ONE_SHOT || algo == GT_ALGO_TWO_SHOT;

	if (mesh && !gt_coll_only_moves(plan->coll))
		return "rings";
	return mesh ? "flows" : gt_proof_text_found(plan);
}

static void tell_machine(const struct gt_cmd_args *args,
			 const struct gt_planner_result *result)
{
	const struct gt_plan *plan = result->plan;
	const struct gt_search_stats *stats = &result->stats;
	char whose[32];

	snprintf(whose, sizeof(whose), "%" PRIu32 " GPU%s", plan->nranks,
		 gt_plural(plan->nranks));
	tell_value(args, plan, whose);
	tell_bound(args, result);
	if (plan->proof.max_channels)
		gt_cmd_note(args,
			    "without --max-channels at most %g GB/s busbw",
			    gt_plan_busbw(plan, stats->unlimited));
	tell_equal(args, plan, stats);
	tell_any_bound(args, plan);
	if (plan->proof.class_ == GT_PROOF_SWITCH) {
		gt_cmd_note(args,
			    "switches multicast and add up in this plan, which "
			    "no engine of gtopo has them do; %.1f ms",
			    (double)result->search_ns / 1e6);
		return;
	}
	gt_cmd_note(args,
		    "%u limiting link%s, %u %s tried in %u round%s, %.1f ms",
		    stats->nrows, gt_plural(stats->nrows), stats->ncolumns,
		    name_tried(plan), stats->nrounds, gt_plural(stats->nrounds),
		    (double)result->search_ns / 1e6);
}

static void tell_cluster(const struct gt_cmd_args *args,
			 const struct gt_planner_result *result)
{
	const struct gt_plan *plan = result->plan;
	uint32_t nnodes = plan->cluster->nnodes, n = plan->cluster->nlocal;
	char whose[64];

	snprintf(whose, sizeof(whose),
		 "%" PRIu32 " node%s of %" PRIu32 " GPU%s", nnodes,
		 gt_plural(nnodes), n, gt_plural(n));
	tell_value(args, plan, whose);
	tell_bound(args, result);
	tell_any_bound(args, plan);
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

/* How near the plan is to what is proved, in a few words. */
static void say_proof(const struct gt_plan *plan, char *text, size_t size)
{
	const struct gt_plan_proof *proof = &plan->proof;
	int any = proof->class_ == GT_PROOF_ANY ||
		  (proof->has_any_bound &&
		   !gt_rat_cmp(proof->value, proof->any_bound));

	if (!plan->has_proof)
		snprintf(text, size, "not proven");
	else if (!proof->optimal)
		snprintf(text, size, "at most %.3g%% below the best",
			 100 * (1 - gt_rat_double(proof->value) /
					    gt_rat_double(proof->bound)));
	else
		snprintf(text, size, "proven best%s%s",
			 any                              ? ""
			 : proof->class_ == GT_PROOF_RING ? " of rings"
			 : proof->class_ == GT_PROOF_SWITCH
				 ? " through switches"
				 : " of trees",
			 gt_proof_text_routes(plan, any));
}

void gt_search_tell_written(const struct gt_cmd_args *args,
			    const struct gt_plan *plan)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	char proof[96];

	if (!args->out || args->quiet || args->verbose ||
	    !isatty(STDERR_FILENO))
		return;
	say_proof(plan, proof, sizeof(proof));
	fprintf(stderr, "%s, %" PRIu32 " channel%s, %g GB/s busbw, %s -> %s\n",
		gt_algo_name(row->algo), row->nchannels,
		gt_plural(row->nchannels),
		gt_plan_busbw(plan, plan->proof.value), proof, args->out);
}

/* A bound on a cluster, of the result or of a pair, as busbw. */
static double loss_bound(const struct gt_plan *plan, struct gt_rat bound)
{
	double pairs = gt_coll_only_moves(plan->coll) ? plan->nranks : 1;

	return gt_rat_double(bound) * pairs *
	       gt_coll_busbw_factor(plan->coll, plan->nranks);
}

int gt_search_tell_loss(const struct gt_cmd_args *args,
			const struct gt_planner *planner, struct gt_err *err)
{
	const struct gt_planner_result *result = gt_planner_result(planner);
	const struct gt_plan *plan = result->plan;
	double value = gt_plan_busbw(plan, plan->proof.value), most;
	const char *unlike = result->unlike;
	struct gt_rat bound;
	int found, rc;

	if (!result->homogenized)
		return GT_OK;
	gt_cmd_warn(args,
		    "nodes or switches are not all alike: planned with what "
		    "all have, %u port%s of each node",
		    plan->cluster->nports, gt_plural(plan->cluster->nports));
	for (int n; unlike; unlike = unlike[n] ? unlike + n + 1 : NULL) {
		n = (int)strcspn(unlike, "\n");
		gt_cmd_warn(args, "%.*s", n, unlike);
	}
	rc = gt_planner_union_bound(planner, &found, &bound, err);
	if (rc || !found)
		return rc;
	most = loss_bound(plan, bound);
	gt_cmd_warn(args,
		    "that reaches %g GB/s busbw; with what any has no schedule "
		    "over its routes reaches more than %g GB/s busbw (%.3g%% "
		    "more)",
		    value, most, gt_proof_text_gap(value, most));
	return GT_OK;
}

/* Not for searches that are over before anybody wonders. */
enum { GT_PROGRESS_FIRST_NS = 500000000, GT_PROGRESS_EVERY_NS = 100000000 };

static void gt_progress_tell(void *arg, const char *what, uint32_t round,
			     double busbw_gbs)
{
	struct gt_progress *progress = arg;
	int64_t now_ns = gt_clock_ns();
	char text[128] = "";

	if (what) {
		progress->what = what;
		progress->round = round;
		progress->busbw_gbs = busbw_gbs;
	}
	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + GT_PROGRESS_EVERY_NS;
	progress->shown = 1;
	if (progress->what)
		snprintf(text, sizeof(text), " %s: round %u, %g GB/s busbw",
			 progress->what, progress->round, progress->busbw_gbs);
	fprintf(stderr, "\rsearching%s, %.0f s\033[K", text,
		(double)(now_ns - progress->start_ns) / 1e9);
}

void gt_progress_start(struct gt_progress *progress, struct gt_budget *budget)
{
	*progress = (struct gt_progress){.start_ns = gt_clock_ns()};
	progress->next_ns = progress->start_ns + GT_PROGRESS_FIRST_NS;
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
