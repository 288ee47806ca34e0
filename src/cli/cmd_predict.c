/* gtopo predict: how long a plan's collectives take by the cost model. */
#include "cli/common/command.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/common/opt.h"
#include "cli/run/parse.h"
#include "plan/check/check.h"
#include "plan/cost/cost.h"
#include "plan/ir/detour.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

struct gt_predict_opts {
	const char *coll; /* NULL: the plan's own */
	uint64_t begin_bytes, end_bytes;
	int64_t factor;
	const char *params;
	int json;
};

static const struct gt_predict_opts gt_predict_defaults = {
	.begin_bytes = 1 << 10,
	.end_bytes = 1ull << 30,
	.factor = 2,
};

#define GT_PREDICT_AT(member) offsetof(struct gt_predict_opts, member)

static const struct gt_opt gt_predict_opts[] = {
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
	GT_OPT_END,
};

/* The state of a prediction, for one plan and collective. */
struct gt_predict {
	const struct gt_plan *plan;
	enum gt_coll coll;
	int json;
	struct gt_json_writer writer; /* of out, if json is set */
	struct gt_buf *out;
};

static void gt_predict_begin(struct gt_predict *p)
{
	if (p->json) {
		gt_json_begin(&p->writer, p->out);
		gt_json_open_object(&p->writer, NULL, GT_JSON_LINES);
		gt_json_put_text(&p->writer, "schema", "gtopo.prediction/1");
		gt_json_open_array(&p->writer, "rows", GT_JSON_LINES);
		return;
	}
	gt_buf_printf(p->out, "# prediction for %s of %" PRIu32 " rank%s\n",
		      gt_coll_name(p->coll), p->plan->nranks,
		      gt_plural(p->plan->nranks));
	gt_buf_printf(p->out,
		      "#%12s %13s %8s %7s %6s %9s %8s %8s %8s %8s %8s  %s\n",
		      "size", "count", "type", "redop", "root", "time", "algbw",
		      "busbw", "algo", "protocol", "source", "busiest link");
	gt_buf_printf(p->out, "#%12s %13s %8s %7s %6s %9s %8s %8s\n", "(B)",
		      "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)");
}

static void gt_predict_text(const struct gt_predict *p, uint64_t bytes,
			    const struct gt_cost *cost, double algbw)
{
	const struct gt_plan *plan = p->plan;
	const struct gt_plan_select *row = &plan->select[cost->row];
	uint32_t blocks = gt_coll_has_blocks(p->coll) ? plan->nranks : 1;
	char link[GT_COST_LINK_MAX], detour[GT_DETOUR_TEXT_MAX];

	gt_buf_printf(p->out, " %12" PRIu64 " %13" PRIu64 " %8s %7s %6d", bytes,
		      bytes / 4 / blocks, "float",
		      gt_coll_goes_up(p->coll) ? "sum" : "none",
		      gt_coll_is_rooted(p->coll) ? (int)plan->root : -1);
	gt_buf_printf(p->out, " %9.*f %8.3f %8.3f %8s %8s %8s",
		      cost->time_us < 100     ? 2
		      : cost->time_us < 10000 ? 1
					      : 0,
		      cost->time_us, algbw,
		      algbw * gt_coll_busbw_factor(p->coll, plan->nranks),
		      gt_algo_name(row->algo), gt_protocol_name(row->protocol),
		      cost->measured ? "measured" : "model");
	if (cost->link != UINT32_MAX)
		gt_buf_printf(p->out, "  %s %.0f%%",
			      gt_cost_link_name(plan, cost->link, link),
			      100 * cost->busy);
	gt_buf_printf(p->out, "%s\n",
		      gt_detour_text(row->detour_permille, detour));
}

static void gt_predict_json(struct gt_predict *p, uint64_t bytes,
			    const struct gt_cost *cost, double algbw)
{
	const struct gt_plan *plan = p->plan;
	const struct gt_plan_select *row = &plan->select[cost->row];
	double factor = gt_coll_busbw_factor(p->coll, plan->nranks);
	struct gt_json_writer *json = &p->writer;
	char link[GT_COST_LINK_MAX];

	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_int(json, "ranks", plan->nranks);
	gt_json_put_text(json, "coll", gt_coll_name(p->coll));
	gt_json_put_int(json, "bytes", (int64_t)bytes);
	gt_json_put_double(json, "time_us", "%.6g", cost->time_us);
	gt_json_put_double(json, "algbw_gbs", "%.6g", algbw);
	gt_json_put_double(json, "busbw_gbs", "%.6g", algbw * factor);
	gt_json_put_text(json, "algo", gt_algo_name(row->algo));
	gt_json_put_text(json, "protocol", gt_protocol_name(row->protocol));
	gt_json_put_int(json, "row", cost->row);
	gt_json_put_bool(json, "measured", cost->measured);
	if (cost->link == UINT32_MAX)
		gt_json_put_null(json, "link");
	else
		gt_json_put_text(json, "link",
				 gt_cost_link_name(plan, cost->link, link));
	gt_json_put_double(json, "busy", "%.4g", cost->busy);
	if (row->detour_permille)
		gt_json_put_int(json, "detour_permille", row->detour_permille);
	gt_json_end(json);
}

static int gt_predict_rows(const struct gt_predict_opts *opts,
			   struct gt_cost_model *model, struct gt_predict *p,
			   struct gt_err *err)
{
	uint64_t bytes = opts->begin_bytes;
	uint64_t factor = (uint64_t)opts->factor;
	int rc = GT_OK;

	while (!rc) {
		struct gt_cost cost;
		double algbw;

		/* Who gives parameters wants to see what they lead to. */
		rc = opts->params ? gt_cost_price(model, bytes, &cost, err)
				  : gt_cost_expect(model, bytes, &cost, err);
		if (rc)
			break;
		algbw = (double)bytes / cost.time_us / 1e3;
		if (p->json)
			gt_predict_json(p, bytes, &cost, algbw);
		else
			gt_predict_text(p, bytes, &cost, algbw);
		if (!bytes || bytes > opts->end_bytes / factor)
			break;
		bytes *= factor;
	}
	return rc;
}

static int gt_predict_plan(const struct gt_cmd_args *args,
			   const struct gt_plan *plan, struct gt_buf *out,
			   struct gt_err *err)
{
	const struct gt_predict_opts *opts = args->opts;
	struct gt_predict p = {.plan = plan, .json = opts->json, .out = out};
	struct gt_cost_model *model;
	int coll = (int)plan->coll, rc = GT_OK;

	if (opts->coll)
		rc = gt_run_parse_coll(opts->coll, &coll, err);
	if (rc)
		return rc;
	if (coll < 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--coll 'all': predict takes one at a time");
	p.coll = (enum gt_coll)coll;
	rc = gt_cost_new(plan, p.coll, &model, err);
	if (rc)
		return rc;
	if (opts->params)
		rc = gt_cost_read(opts->params, model, err);
	gt_predict_begin(&p);
	if (!rc)
		rc = gt_predict_rows(opts, model, &p, err);
	if (p.json) {
		gt_json_end(&p.writer);
		gt_json_end(&p.writer);
		gt_buf_puts(out, "\n");
	}
	gt_cost_free(model);
	if (!rc && out->failed)
		rc = gt_err_nomem(err);
	return rc ? rc : gt_file_write(args->out, out->text, out->len, err);
}

static int cmd_predict(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_predict_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	struct gt_plan *plan;
	int rc;

	if (opts->begin_bytes > opts->end_bytes)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-b '%" PRIu64 "' is larger than -e "
				  "'%" PRIu64 "'",
				  opts->begin_bytes, opts->end_bytes);
	rc = gt_plan_read(args->operands[0], &plan, err);
	if (rc)
		return rc;
	rc = gt_plan_need_even(plan, "gtopo predict", err);
	if (!rc)
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
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_predict_opts,
	.defaults = &gt_predict_defaults,
	.opts_bytes = sizeof(struct gt_predict_opts),
	.run = cmd_predict,
};
