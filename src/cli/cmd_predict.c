/* gtopo predict: how long a plan's collectives take by the cost model. */
#include "cli/common/command.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/predict/predict.h"
#include "cli/predict/staged.h"
#include "cli/run/parse.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

struct gt_predict_opts {
	const char *plan;
	const char *coll; /* NULL: the plan's own */
	uint64_t begin_bytes, end_bytes;
	int64_t factor;
	const char *params;
	int json;
	struct gt_predict_machine machine;
};

static const struct gt_predict_opts gt_predict_defaults = {
	.begin_bytes = 1 << 10,
	.end_bytes = 1ull << 30,
	.factor = 2,
};

#define GT_PREDICT_AT(member) offsetof(struct gt_predict_opts, member)

static const struct gt_opt gt_predict_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", offsetof(struct gt_predict_opts, plan),
	 "the plan; it may be an operand instead", 0, 0},
	{GT_OPT_TEXT, 0, "coll", "NAME", GT_PREDICT_AT(coll),
	 "predict this collective (default: the plan's own)", 0, 0},
	{GT_OPT_BYTES, 'b', "begin", "SIZE", GT_PREDICT_AT(begin_bytes),
	 "smallest size in bytes (default: 1K)", 0, 0},
	{GT_OPT_BYTES, 'e', "end", "SIZE", GT_PREDICT_AT(end_bytes),
	 "largest size (default: 1G)", 0, 0},
	{GT_OPT_INT, 'f', "factor", "N", GT_PREDICT_AT(factor),
	 "from one size to the next (default: 2)", 2, INT64_MAX},
	{GT_OPT_TEXT, 0, "params", "FILE", GT_PREDICT_AT(params),
	 "alpha, beta and gamma as bench/fit prints them", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, GT_PREDICT_AT(json), "write JSON", 0, 0},
	{GT_OPT_TOPO, 0, "topology", "FILE", GT_PREDICT_AT(machine.path),
	 "as on this machine, whose GPUs may lack peer access", 0, 0},
	GT_OPT_P2P(struct gt_predict_opts, machine.p2p),
	GT_OPT_END,
};

static int gt_predict_plan(const struct gt_cmd_args *args, struct gt_plan *plan,
			   struct gt_buf *out, struct gt_err *err)
{
	const struct gt_predict_opts *opts = args->opts;
	int coll = (int)plan->coll, rc = GT_OK;
	uint32_t apart = 0;

	if (opts->machine.path)
		rc = gt_predict_stage(&opts->machine, plan, &apart, err);
	if (!rc && opts->coll)
		rc = gt_run_parse_coll(opts->coll, &coll, err);
	if (!rc && coll < 0)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--coll 'all': predict takes one at a time");
	if (!rc)
		rc = gt_predict(
			&(struct gt_prediction){
				.plan = plan,
				.coll = (enum gt_coll)coll,
				.begin_bytes = opts->begin_bytes,
				.end_bytes = opts->end_bytes,
				.factor = (uint64_t)opts->factor,
				.params = opts->params,
				.machine = opts->machine.path,
				.apart = apart,
				.json = opts->json},
			out, err);
	return rc ? rc : gt_file_write(args->out, out->text, out->len, err);
}

static int cmd_predict(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_predict_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	struct gt_plan *plan;
	const char *file;
	int rc;

	if (opts->begin_bytes > opts->end_bytes)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-b '%" PRIu64 "' is larger than -e "
				  "'%" PRIu64 "'",
				  opts->begin_bytes, opts->end_bytes);
	if (opts->machine.p2p && !opts->machine.path)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--p2p needs --topology: without access all "
				  "goes through the host's memory, and how "
				  "GPUs get there the machine's file tells");
	rc = gt_run_parse_plan(args, opts->plan, &file, err);
	if (!rc)
		rc = gt_plan_read(file, &plan, err);
	if (rc)
		return rc;
	rc = gt_plan_check(plan, err);
	if (!rc)
		rc = gt_predict_plan(args, plan, &out, err);
	gt_plan_free(plan);
	gt_buf_release(&out);
	return rc;
}

const struct gt_cmd gt_cmd_predict = {
	.name = "predict",
	.summary = "predict how long a plan's collective takes, by size",
	.operands = "[PLAN]",
	.operands_max = 1,
	.opts = gt_predict_opts,
	.defaults = &gt_predict_defaults,
	.opts_bytes = sizeof(struct gt_predict_opts),
	.run = cmd_predict,
};
