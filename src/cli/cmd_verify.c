/* gtopo verify: a plan is checked and simulated, and its claims are judged. */
#include "cli/common/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/common/proof_text.h"
#include "cli/run/parse.h"
#include "cli/verify/verify.h"
#include "plan/ir/detour.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

struct gt_verify_opts {
	const char *plan;
	const char *coll; /* NULL: those that the plan is for */
	int json;
	int colour;
	struct gt_verify_machine machine;
};

static const struct gt_verify_opts gt_verify_defaults = {.json = 0};

static const struct gt_opt gt_verify_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", offsetof(struct gt_verify_opts, plan),
	 "the plan; it may be an operand instead", 0, 0},
	{GT_OPT_TEXT, 0, "coll", "NAME", offsetof(struct gt_verify_opts, coll),
	 "verify this, or all (default: what the plan is for)", 0, 0},
	{GT_OPT_TOPO, 0, "topology", "FILE",
	 offsetof(struct gt_verify_opts, machine.path),
	 "also check that this machine has the plan's links", 0, 0},
	{GT_OPT_TEXT, 0, "exclude-link", "LIST",
	 offsetof(struct gt_verify_opts, machine.exclude_link),
	 "leave these links out of it, as in gtopo search", 0, 0},
	{GT_OPT_TEXT, 0, "exclude-device", "LIST",
	 offsetof(struct gt_verify_opts, machine.exclude_device),
	 "leave these devices out of it, as in gtopo search", 0, 0},
	{GT_OPT_TEXT, 0, "p2p", "off|PAIRS",
	 offsetof(struct gt_verify_opts, machine.p2p),
	 "its GPUs have no peer access, as in gtopo search", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_verify_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_COLOUR(struct gt_verify_opts, colour),
	GT_OPT_END,
};

static int gt_verify_write(const struct gt_cmd_args *args,
			   const struct gt_verdict *verdict, struct gt_err *err)
{
	const struct gt_verify_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	int rc = err->code;

	if (opts->json)
		gt_verdict_json(verdict, err, &out);
	else if (!rc)
		gt_verdict_text(
			verdict,
			gt_colour((enum gt_colour_when)opts->colour, args),
			&out);
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
	char share[GT_RAT_TEXT_MAX];

	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		double busbw = gt_plan_channel_busbw(plan, i);
		char rate[GT_PROOF_RATE_MAX] = "";

		if (busbw > 0)
			snprintf(rate, sizeof(rate), ", %g GB/s busbw", busbw);
		gt_cmd_note(args, "channel %" PRIu32 ": %s, share %s%s",
			    channel->id, gt_shape_name(channel->shape),
			    gt_rat_print(channel->share, share), rate);
	}
}

/* Warn of a detour that a row will not have: it is not wrong. */
static void gt_verify_warn(const struct gt_cmd_args *args,
			   const struct gt_plan *plan)
{
	for (uint32_t i = 0; i < plan->nselect; i++) {
		const struct gt_plan_select *row = &plan->select[i];

		if (row->detour_permille && row->max_blocks)
			gt_cmd_warn(args,
				    "select[%" PRIu32 "].detour_permille: "
				    "there is no detour beside max_blocks; all "
				    "of it goes over the channels",
				    i);
		else if (row->detour_permille &&
			 !gt_detour_is_possible(row->algo, row->protocol,
						row->coll))
			gt_cmd_warn(args,
				    "select[%" PRIu32 "].detour_permille: %s "
				    "by '%s' with '%s' has no detour; all of "
				    "it goes over the channels",
				    i, gt_coll_name(row->coll),
				    gt_algo_name(row->algo),
				    gt_protocol_name(row->protocol));
	}
}

static int cmd_verify(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_verify_opts *opts = args->opts;
	struct gt_verdict verdict;
	struct gt_plan *plan;
	const char *file;
	int rc = gt_run_parse_plan(args, opts->plan, &file, err);

	if (!rc)
		rc = gt_plan_read(file, &plan, err);
	if (rc)
		return rc;
	gt_verify_note(args, plan);
	rc = gt_verdict_make(plan, opts->coll, &opts->machine, &verdict, err);
	if (!rc)
		gt_verify_warn(args, plan);
	if (!rc || rc == GT_ENO)
		rc = gt_verify_write(args, &verdict, err);
	gt_plan_free(plan);
	return rc;
}

const struct gt_cmd gt_cmd_verify = {
	.name = "verify",
	.summary = "check that a plan is correct and as good as it claims",
	.operands = "[PLAN]",
	.operands_max = 1,
	.opts = gt_verify_opts,
	.defaults = &gt_verify_defaults,
	.opts_bytes = sizeof(struct gt_verify_opts),
	.run = cmd_verify,
};
