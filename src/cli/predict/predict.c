/* Prices a plan's collective size by size, and prints the rows. */
#include "cli/predict/predict.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/common/use_text.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"

/* The rows, as far as they are written. */
struct gt_predict {
	const struct gt_plan *plan;
	enum gt_coll coll;
	int json;
	struct gt_json_writer writer; /* of out, if json is set */
	struct gt_buf *out;
};

/*
 * Say that engines send all through the host's memory as soon as two GPUs have
 * no peer access.  How a rank gets there only its own hops tell; without them
 * it is priced as if it went to the others directly.
 */
static void gt_predict_mixed(const struct gt_predict *p)
{
	uint32_t n = 0;

	if (!gt_plan_is_mixed(p->plan) || p->plan->cluster)
		return;
	for (uint32_t r = 0; r < p->plan->nranks; r++)
		n += !gt_plan_stages_rank(p->plan, r);
	gt_buf_puts(p->out, "# some GPUs have no peer access, so all goes "
			    "through the host's memory; ");
	if (n)
		gt_buf_printf(p->out,
			      "%u of %u ranks have no hop there, and times are "
			      "too low: gtopo search --p2p off makes a plan "
			      "that tells\n",
			      n, p->plan->nranks);
	else
		gt_buf_printf(p->out,
			      "the plan's %g GB/s busbw count on access that "
			      "others have\n",
			      gt_plan_busbw(p->plan, p->plan->proof.value));
}

/* Say what another machine than the plan's own makes of it. */
static void gt_predict_apart(const struct gt_prediction *ask,
			     struct gt_buf *out)
{
	uint32_t n = ask->plan->nranks;

	if (ask->apart)
		gt_buf_printf(out,
			      "# %" PRIu32 " of %" PRIu32 " pairs of GPUs have "
			      "no peer access on %s, so all goes through the "
			      "host's memory\n",
			      ask->apart, n * (n - 1) / 2, ask->machine);
}

static void gt_predict_begin(const struct gt_prediction *ask,
			     struct gt_predict *p)
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
	gt_predict_apart(ask, p->out);
	gt_predict_mixed(p);
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
	char link[GT_COST_LINK_MAX], extra[GT_USE_TEXT_MAX];

	gt_buf_printf(p->out, " %12" PRIu64 " %13" PRIu64 " %8s %7s %6d", bytes,
		      gt_plan_block_count(plan, p->coll, bytes / 4), "float",
		      gt_coll_goes_up(p->coll) ? "sum" : "none",
		      gt_coll_is_rooted(p->coll) ? (int)plan->root : -1);
	gt_buf_printf(p->out, " %9.*f %8.3f %8.3f %8s %8s %8s",
		      cost->time_us < 100     ? 2
		      : cost->time_us < 10000 ? 1
					      : 0,
		      cost->time_us, algbw,
		      algbw * gt_plan_busbw_factor(plan, p->coll),
		      gt_algo_name(row->algo), gt_protocol_name(row->protocol),
		      cost->measured ? "measured" : "model");
	if (cost->link != UINT32_MAX)
		gt_buf_printf(p->out, "  %s %.0f%%",
			      gt_cost_link_name(plan, cost->link, link),
			      100 * cost->busy);
	gt_buf_printf(p->out, "%s\n", gt_use_text(row, extra));
}

static void gt_predict_json(struct gt_predict *p, uint64_t bytes,
			    const struct gt_cost *cost, double algbw)
{
	const struct gt_plan *plan = p->plan;
	const struct gt_plan_select *row = &plan->select[cost->row];
	double factor = gt_plan_busbw_factor(plan, p->coll);
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
	if (row->max_blocks)
		gt_json_put_int(json, "max_blocks", row->max_blocks);
	gt_json_end(json);
}

static int gt_predict_rows(const struct gt_prediction *ask,
			   struct gt_cost_model *model, struct gt_predict *p,
			   struct gt_err *err)
{
	uint64_t bytes = ask->begin_bytes;
	int rc = GT_OK;

	while (!rc) {
		struct gt_cost cost;
		double algbw;

		/* Who gives parameters wants to see what they lead to. */
		rc = ask->params ? gt_cost_price(model, bytes, &cost, err)
				 : gt_cost_expect(model, bytes, &cost, err);
		if (rc)
			break;
		algbw = (double)bytes / cost.time_us / 1e3;
		if (p->json)
			gt_predict_json(p, bytes, &cost, algbw);
		else
			gt_predict_text(p, bytes, &cost, algbw);
		if (!bytes || bytes > ask->end_bytes / ask->factor)
			break;
		bytes *= ask->factor;
	}
	return rc;
}

int gt_predict(const struct gt_prediction *ask, struct gt_buf *out,
	       struct gt_err *err)
{
	struct gt_predict p = {.plan = ask->plan,
			       .coll = ask->coll,
			       .json = ask->json,
			       .out = out};
	struct gt_cost_model *model;
	int rc = gt_cost_new(ask->plan, ask->coll, &model, err);

	if (rc)
		return rc;
	if (ask->params)
		rc = gt_cost_read(ask->params, model, err);
	gt_predict_begin(ask, &p);
	if (!rc)
		rc = gt_predict_rows(ask, model, &p, err);
	if (p.json) {
		gt_json_end(&p.writer);
		gt_json_end(&p.writer);
		gt_buf_puts(out, "\n");
	}
	gt_cost_free(model);
	return !rc && out->failed ? gt_err_nomem(err) : rc;
}

int gt_predict_own(const struct gt_plan *plan, struct gt_buf *out,
		   struct gt_err *err)
{
	const struct gt_prediction ask = {.plan = plan,
					  .coll = plan->coll,
					  .begin_bytes = 1 << 10,
					  .end_bytes = 1 << 30,
					  .factor = 2,
					  .json = 1};

	return gt_predict(&ask, out, err);
}
