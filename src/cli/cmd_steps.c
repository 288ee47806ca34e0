/* gtopo steps: what each rank of a plan does, step by step, in words. */
#include "cli/common/command.h"

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "cli/run/parse.h"
#include "cli/steps/words.h"
#include "plan/check/check.h"
#include "plan/json/json.h"

struct gt_steps_opts {
	const char *plan;
	const char *coll; /* NULL: the plan's own */
	uint64_t bytes;
	int64_t rank, channel; /* -1: all */
	int svg;
};

static const struct gt_steps_opts gt_steps_defaults = {
	.bytes = UINT64_MAX,
	.rank = -1,
	.channel = -1,
};

static const struct gt_opt gt_steps_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", offsetof(struct gt_steps_opts, plan),
	 "the plan; it may be an operand instead", 0, 0},
	{GT_OPT_TEXT, 0, "coll", "NAME", offsetof(struct gt_steps_opts, coll),
	 "tell this collective (default: the plan's own)", 0, 0},
	{GT_OPT_BYTES, 'b', "bytes", "SIZE",
	 offsetof(struct gt_steps_opts, bytes),
	 "of a message of this size (default: large)", 0, 0},
	{GT_OPT_INT, 0, "rank", "N", offsetof(struct gt_steps_opts, rank),
	 "of this rank only", 0, UINT32_MAX},
	{GT_OPT_INT, 0, "channel", "N", offsetof(struct gt_steps_opts, channel),
	 "on this channel only", 0, UINT32_MAX},
	{GT_OPT_FLAG, 0, "svg", NULL, offsetof(struct gt_steps_opts, svg),
	 "draw a picture: SVG", 0, 0},
	GT_OPT_END,
};

static int tell(const struct gt_steps_opts *opts, const struct gt_plan *plan,
		struct gt_buf *out, struct gt_err *err)
{
	int coll = (int)plan->coll;
	int rc = gt_plan_check(plan, err);

	if (!rc && opts->coll)
		rc = gt_run_parse_coll(opts->coll, &coll, err);
	if (!rc && coll < 0)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--coll 'all': steps takes one at a time");
	if (!rc && opts->svg && opts->rank >= 0)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--svg draws all ranks; leave --rank out");
	return rc ? rc
		  : gt_steps(&(struct gt_steps_query){plan, (enum gt_coll)coll,
						      opts->bytes, opts->rank,
						      opts->channel, opts->svg},
			     out, err);
}

static int cmd_steps(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_steps_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	struct gt_plan *plan;
	const char *file;
	int rc = gt_run_parse_plan(args, opts->plan, &file, err);

	if (!rc)
		rc = gt_plan_read(file, &plan, err);
	if (rc)
		return rc;
	rc = tell(opts, plan, &out, err);
	gt_plan_free(plan);
	return gt_cmd_write(args, &out, rc, err);
}

const struct gt_cmd gt_cmd_steps = {
	.name = "steps",
	.summary = "tell what each rank of a plan does, step by step",
	.operands = "[PLAN]",
	.operands_max = 1,
	.opts = gt_steps_opts,
	.defaults = &gt_steps_defaults,
	.opts_bytes = sizeof(struct gt_steps_opts),
	.run = cmd_steps,
};
