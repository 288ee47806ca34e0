/* Tells what a plan is worth, and draws what was predicted and measured. */
#include "cli/page/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/common/proof_text.h"
#include "cli/page/curve.h"
#include "cli/page/html.h"
#include "cli/page/table.h"
#include "cli/predict/predict.h"
#include "cli/verify/verify.h"
#include "plan/check/check.h"
#include "plan/json/json.h"

enum { GT_PLAN_ROWS = 64 };

static const struct gt_column predicted_columns[] = {
	{"bytes", "size", GT_CELL_BYTES},
	{"time_us", "time, us", GT_CELL_NUMBER},
	{"busbw_gbs", "busbw, GB/s", GT_CELL_NUMBER},
	{"algo", "algorithm", GT_CELL_TEXT},
	{"protocol", "protocol", GT_CELL_TEXT},
	{"link", "busiest link", GT_CELL_CODE},
};

static const struct gt_column measured_columns[] = {
	{"coll", "collective", GT_CELL_TEXT},
	{"bytes", "size", GT_CELL_BYTES},
	{"inplace", "in place", GT_CELL_TEXT},
	{"dtype", "type", GT_CELL_TEXT},
	{"time_us", "time, us", GT_CELL_NUMBER},
	{"busbw_gbs", "busbw, GB/s", GT_CELL_NUMBER},
	{"wrong", "wrong", GT_CELL_NUMBER},
};

/* What is drawn: the documents live as long as the curves. */
struct curves {
	struct gt_curves curves;
	struct gt_json_doc *predicted, *measured;
};

static void put_table(struct gt_page *page, const char *title,
		      const struct gt_table *table, const struct gt_json *rows)
{
	gt_buf_printf(page->out, "<details><summary>%s</summary>\n", title);
	gt_table(table, rows, page->out);
	gt_buf_puts(page->out, "</details>\n");
}

static int add_predicted(struct curves *all, const struct gt_plan *plan,
			 struct gt_err *err)
{
	struct gt_buf json = GT_BUF_INIT;
	struct gt_json root, rows;
	int rc = gt_predict_own(plan, &json, err);

	if (!rc)
		rc = gt_page_parse(&json, &all->predicted, err);
	gt_buf_release(&json);
	if (rc)
		return rc;
	root = gt_json_root(all->predicted);
	rc = gt_json_need(&root, "rows", &rows, err);
	if (!rc)
		gt_curves_add(&all->curves, &rows, "predicted");
	return rc;
}

/* Words and curve of a plan; one that is wrong is told as what it is. */
static int put_plan(struct gt_page *page, struct curves *all, const char *path,
		    struct gt_err *err)
{
	const struct gt_verify_machine machine = {.path = NULL};
	struct gt_verdict *verdict =
		gt_arena_alloc(page->arena, sizeof(*verdict));
	struct gt_buf words = GT_BUF_INIT;
	struct gt_plan *plan;
	int rc = verdict ? gt_plan_read(path, &plan, err) : gt_err_nomem(err);

	if (rc)
		return rc;
	rc = gt_verdict_make(plan, NULL, &machine, verdict, err);
	if (rc)
		goto plan;
	gt_verdict_text(verdict, 0, &words);
	gt_buf_puts(page->out, "<pre class=\"verdict\">");
	gt_html_text(page->out, words.failed ? "" : gt_buf_text(&words));
	gt_buf_puts(page->out, "</pre>\n");
	page->out->failed |= words.failed;
	gt_buf_release(&words);
	if (plan->has_proof)
		all->curves.bound = gt_plan_busbw(
			plan, plan->proof.has_any_bound ? plan->proof.any_bound
							: plan->proof.bound);
	if (plan->demand)
		gt_buf_puts(page->out,
			    "<p class=\"quiet\">Plans whose blocks are not all "
			    "alike are not drawn.</p>\n");
	rc = add_predicted(all, plan, err);
plan:
	gt_plan_free(plan);
	return rc;
}

int gt_page_plan_drawn(const char *path, const char **drawn, struct gt_err *err)
{
	struct gt_plan *plan;
	int rc;

	*drawn = path;
	if (!path)
		return GT_OK;
	rc = gt_plan_read(path, &plan, err);
	if (rc)
		return rc;
	if (plan->demand)
		*drawn = NULL;
	gt_plan_free(plan);
	return GT_OK;
}

static int is_report(const struct gt_json *root)
{
	const char *schema = gt_json_member_text(root, "schema");

	return schema && !strcmp(schema, "gtopo.report/1");
}

/* Writes what measured: the engine, the host, the ranks. */
static void put_report_head(struct gt_page *page, const struct gt_json *root)
{
	const char *engine = gt_json_member_text(root, "engine"), *host = NULL;
	struct gt_json machine, value;
	double ranks = 0;

	if (gt_json_get(root, "ranks", &value))
		gt_json_double(&value, &ranks, NULL);
	if (gt_json_get(root, "machine", &machine))
		host = gt_json_member_text(&machine, "host");
	gt_buf_printf(page->out,
		      "<p class=\"what\">Measured with %.0f ranks by the "
		      "engine ",
		      ranks);
	gt_html_text(page->out, engine ? engine : "?");
	gt_buf_puts(page->out, host ? " on " : "");
	gt_html_text(page->out, host ? host : "");
	gt_buf_puts(page->out, "</p>\n");
}

static int put_report(struct gt_page *page, struct curves *all,
		      const char *path, struct gt_err *err)
{
	struct gt_json root, rows;
	int rc = gt_json_open(path, &all->measured, err);

	if (rc)
		return rc;
	root = gt_json_root(all->measured);
	if (!is_report(&root))
		return gt_json_fault(&root, err,
				     "is not a report; 'gtopo run --json' "
				     "writes one");
	rc = gt_json_need(&root, "rows", &rows, err);
	if (rc)
		return rc;
	put_report_head(page, &root);
	gt_curves_add(&all->curves, &rows, "measured");
	return GT_OK;
}

static void put_tables(struct gt_page *page, const struct curves *all)
{
	const struct gt_table predicted = {
		.columns = predicted_columns,
		.ncolumns = GT_COLUMNS(predicted_columns),
		.max_rows = GT_PLAN_ROWS};
	const struct gt_table measured = {.columns = measured_columns,
					  .ncolumns =
						  GT_COLUMNS(measured_columns),
					  .max_rows = GT_PLAN_ROWS};
	struct gt_json root, rows;

	if (all->measured) {
		root = gt_json_root(all->measured);
		if (gt_json_get(&root, "rows", &rows))
			put_table(page, "Measured", &measured, &rows);
	}
	if (all->predicted) {
		root = gt_json_root(all->predicted);
		if (gt_json_get(&root, "rows", &rows))
			put_table(page, "Predicted", &predicted, &rows);
	}
}

int gt_page_plan(struct gt_page *page, const char *plan, const char *report,
		 struct gt_err *err)
{
	struct curves *all = gt_arena_alloc(page->arena, sizeof(*all));
	int rc = all ? GT_OK : gt_err_nomem(err);

	if (rc)
		return rc;
	gt_page_begin(page, plan ? "Plan" : "Measured", 0);
	if (plan)
		rc = put_plan(page, all, plan, err);
	if (!rc && report)
		rc = put_report(page, all, report, err);
	if (!rc) {
		gt_curves_draw(&all->curves, page->out);
		put_tables(page, all);
	}
	gt_page_end(page);
	gt_json_close(all->predicted);
	gt_json_close(all->measured);
	return rc;
}
