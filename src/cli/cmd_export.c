/* gtopo export: a plan as a file for other libraries, or as a picture. */
#include "cli/common/command.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/common/opt.h"
#include "plan/check/check.h"
#include "plan/interop/export.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

struct gt_export_opts {
	int to; /* -1: not said */
};

static const struct gt_export_opts gt_export_defaults = {.to = -1};

/* The writers stand in the order of the option's words. */
static int (*const gt_exports[])(const struct gt_plan *plan, struct gt_buf *out,
				 struct gt_err *err) = {
	gt_export_nccl,
	gt_export_msccl,
	gt_export_mscclpp,
	gt_export_dot,
};

static const struct gt_opt gt_export_opts[] = {
	{GT_OPT_WORD, 0, "to", "nccl-graph|msccl|mscclpp|dot",
	 offsetof(struct gt_export_opts, to), "the format to write", 0, 0},
	GT_OPT_END,
};

/* A loss that the file's digits explain is none. */
#define GT_EXPORT_LOSS_PART 1e-5

/*
 * NCCL's channels are all alike, so that not all of a plan may fit into them.
 */
static void gt_export_tell_loss(const struct gt_cmd_args *args,
				const struct gt_plan *plan)
{
	struct gt_export_nccl_loss loss;
	double busbw = gt_plan_busbw(plan, plan->proof.value);

	gt_export_nccl_loss(plan, &loss);
	gt_cmd_note(args, "%" PRIu32 " channel%s of %g GB/s", loss.nchannels,
		    gt_plural(loss.nchannels), loss.channel_gbs);
	if (loss.part < GT_EXPORT_LOSS_PART)
		return;
	if (plan->has_proof)
		gt_cmd_warn(
			args,
			"of %g GB/s busbw the graph file carries %g (%.2g%% "
			"less): NCCL's channels are all alike, and 16 at "
			"most",
			busbw, busbw * (1 - loss.part), 100 * loss.part);
	else
		gt_cmd_warn(args,
			    "the graph file carries %.2g%% less than the plan: "
			    "NCCL's channels are all alike, and 16 at most; "
			    "'gtopo search --algo ring --equal --max-channels "
			    "16' plans such",
			    100 * loss.part);
}

static int cmd_export(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	struct gt_plan *plan;
	int rc;

	if (opts->to < 0)
		return gt_err_set(err, GT_EINPUT, NULL, "--to is missing");
	rc = gt_plan_read(args->operands[0], &plan, err);
	if (rc)
		return rc;
	rc = gt_plan_need_even(plan, "gtopo export", err);
	if (!rc)
		rc = gt_plan_check(plan, err);
	if (!rc)
		rc = gt_exports[opts->to](plan, &out, err);
	if (!rc && gt_exports[opts->to] == gt_export_nccl)
		gt_export_tell_loss(args, plan);
	gt_plan_free(plan);
	return gt_cmd_write(args, &out, rc, err);
}

const struct gt_cmd gt_cmd_export = {
	.name = "export",
	.summary = "write a plan in the format of another program",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_export_opts,
	.defaults = &gt_export_defaults,
	.opts_bytes = sizeof(struct gt_export_opts),
	.run = cmd_export,
};
