/*
 * The rows of `select` beside the proof, which is about the last one: up to
 * which size each is used, and how near to the bound the cost model sees it
 * there.
 */
#include "cli/verify/verify.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "plan/cost/cost.h"

/* The bound that holds for all rows, if there is one, else the proof's own. */
static double bound_busbw(const struct gt_plan *plan)
{
	const struct gt_plan_proof *proof = &plan->proof;

	return gt_plan_busbw(plan, proof->has_any_bound ? proof->any_bound
							: proof->bound);
}

/* The cost model prices blocks that are all alike. */
static int is_told(const struct gt_plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->nselect; i++)
		n += plan->select[i].coll == plan->coll;
	return n > 1 && n <= GT_VERDICT_ROWS && plan->has_proof &&
	       plan->nranks > 1 && plan->proof.bound.num > 0 && !plan->demand;
}

/* A row as it is predicted at the largest message that it is for. */
static int add_row(struct gt_verdict *verdict, struct gt_cost_model *model,
		   uint32_t i, struct gt_err *err)
{
	const struct gt_plan *plan = verdict->plan;
	struct gt_verdict_row *row = &verdict->rows[verdict->nrows++];
	uint64_t bytes = plan->select[i].max_bytes;
	struct gt_cost cost;
	int rc;

	*row = (struct gt_verdict_row){.select = &plan->select[i]};
	if (bytes == UINT64_MAX)
		return 0;
	rc = gt_cost_price_row(model, i, bytes, &cost, err);
	if (rc)
		return rc;
	row->busbw_gbs = (double)bytes / cost.time_us / 1e3 *
			 gt_coll_busbw_factor(plan->coll, plan->nranks);
	row->of_bound = row->busbw_gbs / bound_busbw(plan);
	return 0;
}

int gt_verdict_rows(struct gt_verdict *verdict, struct gt_err *err)
{
	const struct gt_plan *plan = verdict->plan;
	struct gt_cost_model *model;
	int rc;

	verdict->nrows = 0;
	if (!is_told(plan))
		return 0;
	rc = gt_cost_new(plan, plan->coll, &model, err);
	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		if (plan->select[i].coll == plan->coll)
			rc = add_row(verdict, model, i, err);
	if (!rc)
		gt_cost_free(model);
	return rc;
}

void gt_verdict_rows_text(const struct gt_verdict *verdict, struct gt_buf *out)
{
	int above = 0;

	for (uint32_t i = 0; i < verdict->nrows; i++) {
		const struct gt_verdict_row *row = &verdict->rows[i];

		gt_buf_printf(out, "%-10s%s", i ? "" : "rows",
			      gt_algo_name(row->select->algo));
		if (row->select->max_bytes == UINT64_MAX)
			gt_buf_puts(out, " for larger ones: the row that "
					 "value and bound are about\n");
		else
			gt_buf_printf(out,
				      " up to %" PRIu64
				      " bytes: %.4g GB/s busbw there, %.3g%% "
				      "of the bound, predicted\n",
				      row->select->max_bytes, row->busbw_gbs,
				      100 * row->of_bound);
		above |= row->of_bound > 1;
	}
	if (above)
		gt_buf_puts(out, "          (above 100%: the bound counts "
				 "NCCL's link rates, and copy engines were "
				 "measured to move more)\n");
}

void gt_verdict_rows_json(const struct gt_verdict *verdict,
			  struct gt_json_writer *json)
{
	if (!verdict->nrows)
		return;
	gt_json_open_array(json, "rows", GT_JSON_FLAT);
	for (uint32_t i = 0; i < verdict->nrows; i++) {
		const struct gt_verdict_row *row = &verdict->rows[i];
		int last = row->select->max_bytes == UINT64_MAX;

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "algo", gt_algo_name(row->select->algo));
		if (last)
			gt_json_put_null(json, "max_bytes");
		else
			gt_json_put_int(json, "max_bytes",
					(int64_t)row->select->max_bytes);
		gt_json_put_bool(json, "proof", last);
		if (!last) {
			gt_json_put_double(json, "predicted_busbw_gbs", "%.6g",
					   row->busbw_gbs);
			gt_json_put_double(json, "of_bound", "%.4g",
					   row->of_bound);
		}
		gt_json_end(json);
	}
	gt_json_end(json);
}
