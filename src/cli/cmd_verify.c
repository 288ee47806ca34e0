#include "cli/cmd.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/opt.h"
#include "cli/verify_machine.h"
#include "plan/check.h"
#include "plan/plan.h"
#include "plan/simulate.h"

struct gt_verify_opts {
	int coll; /* -1: the plan's own */
	int json;
	const char *topology;
};

static const struct gt_verify_opts gt_verify_defaults = {.coll = -1};

static const struct gt_opt gt_verify_opts[] = {
	{GT_OPT_WORD, 0, "coll", "allreduce|allgather|reducescatter",
	 offsetof(struct gt_verify_opts, coll),
	 "verify this collective (default: the plan's own)", 0, 0},
	{GT_OPT_TEXT, 0, "topology", "FILE",
	 offsetof(struct gt_verify_opts, topology),
	 "also check that this machine has the plan's links", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_verify_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_END,
};

/* What is told about a plan that was read. */
struct gt_verdict {
	const struct gt_plan *plan;
	enum gt_coll coll;
	const char *topology; /* that has all this, or NULL */
	struct gt_plan_report report;
};

static void gt_verdict_rate(struct gt_buf *out, const char *label,
			    struct gt_rat gbs)
{
	char text[GT_RAT_TEXT_MAX];

	gt_buf_printf(out, "%-10s%.6g GB/s", label, gt_rat_double(gbs));
	if (gbs.den != 1)
		gt_buf_printf(out, " (%s)", gt_rat_print(gbs, text));
}

/* How near the value is to a bound, and whether the bound holds. */
static void gt_verdict_bound(struct gt_buf *out, struct gt_rat value,
			     struct gt_rat bound, enum gt_bound_state state)
{
	int proven = state == GT_BOUND_PROVEN;

	if (gt_rat_cmp(value, bound))
		gt_buf_printf(out, "%.4g%% reached",
			      100 * gt_rat_double(value) /
				      gt_rat_double(bound));
	else
		gt_buf_puts(out, proven ? "optimal" : "reached");
	gt_buf_printf(out, ", %s\n", gt_bound_state_text(state));
}

static void gt_verdict_proof(const struct gt_verdict *verdict,
			     struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &verdict->plan->proof;

	if (!verdict->plan->has_proof) {
		gt_buf_puts(out, "proof     none\n");
		return;
	}
	gt_verdict_rate(out, "value", proof->value);
	gt_buf_puts(out, "\n");
	gt_verdict_rate(out, "bound", proof->bound);
	gt_buf_puts(out, proof->class_ == GT_PROOF_RING
				 ? " for rings: "
				 : " for any schedule: ");
	gt_verdict_bound(out, proof->value, proof->bound,
			 verdict->report.bound);
	if (!proof->has_any_bound)
		return;
	gt_verdict_rate(out, "any bound", proof->any_bound);
	gt_buf_puts(out, " for any schedule: ");
	gt_verdict_bound(out, proof->value, proof->any_bound,
			 verdict->report.any_bound);
}

static void gt_verdict_text(const struct gt_verdict *verdict,
			    struct gt_buf *out)
{
	const struct gt_plan *plan = verdict->plan;

	gt_buf_printf(out,
		      "correct   %s of %" PRIu32 " rank%s over %" PRIu32
		      " channel%s\n",
		      gt_coll_name(verdict->coll), plan->nranks,
		      plan->nranks == 1 ? "" : "s", plan->nchannels,
		      plan->nchannels == 1 ? "" : "s");
	gt_verdict_proof(verdict, out);
	gt_buf_printf(out, "fifo      %" PRIu32 " slots of %" PRIu32 " bytes\n",
		      plan->fifo_slots, plan->fifo_slice_bytes);
	if (verdict->topology)
		gt_buf_printf(out, "machine   %s has these links and routes\n",
			      verdict->topology);
}

static void gt_verdict_json_bound(struct gt_buf *out, const char *key,
				  struct gt_rat bound,
				  enum gt_bound_state state)
{
	char text[GT_RAT_TEXT_MAX];

	gt_buf_printf(out,
		      ", \"%s\": {\"gbs\": \"%s\", \"proven\": %s, "
		      "\"state\": \"%s\"}",
		      key, gt_rat_print(bound, text),
		      state == GT_BOUND_PROVEN ? "true" : "false",
		      gt_bound_state_text(state));
}

/* A wrong plan is a product too: what is wrong, and where. */
static void gt_verdict_json(const struct gt_verdict *verdict,
			    const struct gt_err *err, struct gt_buf *out)
{
	const struct gt_plan *plan = verdict->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	char text[GT_RAT_TEXT_MAX];

	gt_buf_printf(out,
		      "{\"collective\": \"%s\", \"ranks\": %" PRIu32
		      ", \"channels\": %" PRIu32 ", \"slots\": %" PRIu32
		      ", \"correct\": %s",
		      gt_coll_name(verdict->coll), plan->nranks,
		      plan->nchannels, plan->fifo_slots,
		      err->code ? "false" : "true");
	if (!err->code && verdict->topology) {
		gt_buf_puts(out, ", \"topology\": ");
		gt_json_quote(out, verdict->topology);
	}
	if (err->code) {
		gt_buf_puts(out, ", \"where\": ");
		gt_json_quote(out, err->where);
		gt_buf_puts(out, ", \"fault\": ");
		gt_json_quote(out, err->text);
	} else if (plan->has_proof) {
		gt_buf_printf(out,
			      ", \"class\": \"%s\", \"value\": \"%s\", "
			      "\"optimal\": %s",
			      gt_proof_name(proof->class_),
			      gt_rat_print(proof->value, text),
			      proof->optimal ? "true" : "false");
		gt_verdict_json_bound(out, "bound", proof->bound,
				      verdict->report.bound);
		if (proof->has_any_bound)
			gt_verdict_json_bound(out, "any_bound",
					      proof->any_bound,
					      verdict->report.any_bound);
	}
	gt_buf_puts(out, "}\n");
}

static int gt_verify_write(const struct gt_cmd_args *args,
			   const struct gt_verdict *verdict, struct gt_err *err)
{
	const struct gt_verify_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	int rc = err->code;

	if (opts->json)
		gt_verdict_json(verdict, err, &out);
	else if (!rc)
		gt_verdict_text(verdict, &out);
	if (out.failed)
		rc = gt_err_nomem(err);
	else if (out.len && gt_file_write(args->out, out.text, out.len, err))
		rc = err->code;
	gt_buf_release(&out);
	return rc;
}

static void gt_verify_note(const struct gt_cmd_args *args,
			   const struct gt_plan *plan)
{
	char share[GT_RAT_TEXT_MAX], gbs[GT_RAT_TEXT_MAX];

	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		gt_cmd_note(args, "channel %" PRIu32 ": %s, share %s, %s GB/s",
			    channel->id, gt_shape_name(channel->shape),
			    gt_rat_print(channel->share, share),
			    gt_rat_print(channel->gbs, gbs));
	}
}

static int gt_verify_run(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_verify_opts *opts = args->opts;
	struct gt_verdict verdict;
	struct gt_plan *plan;
	int rc = gt_plan_read(args->operands[0], &plan, err);

	if (rc)
		return rc;
	gt_verify_note(args, plan);
	verdict.plan = plan;
	verdict.topology = opts->topology;
	verdict.coll = opts->coll < 0 ? plan->coll : (enum gt_coll)opts->coll;
	rc = gt_plan_check_report(plan, &verdict.report, err);
	if (!rc)
		rc = gt_simulate(plan, verdict.coll, err);
	if (!rc && opts->topology)
		rc = gt_verify_machine(plan, opts->topology, err);
	if (!rc || rc == GT_ENO)
		rc = gt_verify_write(args, &verdict, err);
	gt_plan_free(plan);
	return rc;
}

const struct gt_cmd gt_cmd_verify = {
	.name = "verify",
	.summary = "check that a plan is right, and what it claims",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_verify_opts,
	.defaults = &gt_verify_defaults,
	.opts_bytes = sizeof(struct gt_verify_opts),
	.run = gt_verify_run,
};
