/* Reads the rows of two files and matches those that are about the same. */
#include "cli/compare/compare.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/predict/predict.h"
#include "plan/check/check.h"
#include "plan/json/json.h"

enum {
	/* The most rows of a file, as each is compared with each. */
	GT_COMPARE_ROWS = 8192,
	GT_COMPARE_BYTES = 64 << 20,
};

static int number_of(const struct gt_json *object, const char *key,
		     double *number)
{
	struct gt_json value;

	return gt_json_get(object, key, &value) &&
	       !gt_json_double(&value, number, NULL);
}

/* Sets a row; 0 for one that says nothing, as of 0 bytes. */
static int read_row(const struct gt_json *at, struct gt_arena *arena,
		    struct gt_compare_row *row)
{
	const char *coll = gt_json_member_text(at, "coll"),
		   *dtype = gt_json_member_text(at, "dtype");
	double bytes, wrong = 0;
	struct gt_json value;

	if (!coll || !number_of(at, "bytes", &bytes) ||
	    !number_of(at, "time_us", &row->time_us) ||
	    !number_of(at, "busbw_gbs", &row->busbw_gbs) || bytes < 1 ||
	    bytes > 1e18 || !(row->time_us > 0) || !(row->busbw_gbs > 0))
		return 0;
	row->bytes = (uint64_t)bytes;
	row->coll = gt_arena_strdup(arena, coll);
	row->dtype = dtype ? gt_arena_strdup(arena, dtype) : NULL;
	row->inplace = gt_json_get(at, "inplace", &value) &&
		       !gt_json_bool(&value, &row->inplace, NULL) &&
		       row->inplace;
	number_of(at, "wrong", &wrong);
	row->wrong = wrong > 0 && wrong < 1e18 ? (uint64_t)wrong : 0;
	return row->coll != NULL;
}

static int read_rows(const struct gt_json *root, struct gt_arena *arena,
		     struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_json rows, at;
	uint32_t n = 0;
	int rc = gt_json_need(root, "rows", &rows, err);

	if (!rc)
		rc = gt_json_array(&rows, &n, err);
	if (rc)
		return rc;
	if (n > GT_COMPARE_ROWS)
		return gt_json_fault(&rows, err, "has more than %d rows",
				     GT_COMPARE_ROWS);
	side->rows = gt_arena_array(arena, n, sizeof(*side->rows));
	if (!side->rows)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		double ranks = 0;

		gt_json_item(&rows, i, &at);
		if (!side->ranks && number_of(&at, "ranks", &ranks) &&
		    ranks >= 1 && ranks < 1e9)
			side->ranks = (uint32_t)ranks;
		side->n += (uint32_t)read_row(&at, arena, &side->rows[side->n]);
	}
	return GT_OK;
}

static int read_report(const struct gt_json *root, struct gt_arena *arena,
		       struct gt_compare_side *side, struct gt_err *err)
{
	const char *engine = gt_json_member_text(root, "engine");

	side->engine = engine ? gt_arena_strdup(arena, engine) : NULL;
	if (engine && !side->engine)
		return gt_err_nomem(err);
	return read_rows(root, arena, side, err);
}

/* A plan's rows are those of gtopo predict. */
static int price_plan(const struct gt_plan *plan, struct gt_arena *arena,
		      struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_buf json = GT_BUF_INIT;
	struct gt_json_doc *doc;
	struct gt_json root;
	int rc = gt_predict_own(plan, &json, err);

	if (!rc)
		rc = gt_json_parse(side->file, gt_buf_text(&json), json.len,
				   &doc, err);
	gt_buf_release(&json);
	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = read_rows(&root, arena, side, err);
	gt_json_close(doc);
	return rc;
}

static int read_plan(const struct gt_buf *text, struct gt_arena *arena,
		     struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_plan *plan;
	int rc = gt_plan_parse(side->file, gt_buf_text(text), text->len, &plan,
			       err);

	if (rc)
		return rc;
	side->is_plan = 1;
	rc = gt_plan_check(plan, err);
	if (!rc)
		rc = price_plan(plan, arena, side, err);
	gt_plan_free(plan);
	return rc;
}

/* Reads what a text holds, by its schema. */
static int read_text(const struct gt_buf *text, struct gt_arena *arena,
		     struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_json_doc *doc;
	struct gt_json root;
	const char *schema;
	int is_plan = 0;
	int rc = gt_json_parse(side->file, gt_buf_text(text), text->len, &doc,
			       err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	schema = gt_json_member_text(&root, "schema");
	if (schema && !strcmp(schema, "gtopo.report/1"))
		rc = read_report(&root, arena, side, err);
	else if (schema && !strcmp(schema, "gtopo.job-report/1"))
		rc = gt_compare_read_job(&root, arena, side, err);
	else if (schema && !strcmp(schema, "gtopo.plan/1"))
		is_plan = 1;
	else
		rc = gt_json_fault(
			&root, err,
			"is neither a plan nor a report; 'gtopo run "
			"--json' writes reports, 'gtopo search --job "
			"JOB --json' those of jobs");
	gt_json_close(doc);
	return is_plan ? read_plan(text, arena, side, err) : rc;
}

/* A file is read once, since it may be a pipe. */
static int read_side(const char *path, struct gt_arena *arena,
		     struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_file_read(path, GT_COMPARE_BYTES, &text, err);

	side->file = strcmp(path, "-") ? path : "standard input";
	if (!rc)
		rc = read_text(&text, arena, side, err);
	gt_buf_release(&text);
	return rc;
}

static int is_same(const struct gt_compare_row *a,
		   const struct gt_compare_row *b)
{
	return a->bytes == b->bytes && a->inplace == b->inplace &&
	       !strcmp(a->coll, b->coll) &&
	       (!a->dtype || !b->dtype || !strcmp(a->dtype, b->dtype));
}

static int match(struct gt_arena *arena, struct gt_comparison *comparison,
		 struct gt_err *err)
{
	struct gt_compare_side *a = &comparison->sides[0];
	struct gt_compare_side *b = &comparison->sides[1];

	comparison->pairs =
		gt_arena_array(arena, a->n, sizeof(*comparison->pairs));
	if (!comparison->pairs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++) {
			if (b->rows[k].is_matched ||
			    !is_same(&a->rows[i], &b->rows[k]))
				continue;
			a->rows[i].is_matched = b->rows[k].is_matched = 1;
			comparison->pairs[comparison->n++] =
				(struct gt_compare_pair){
					{&a->rows[i], &b->rows[k]}};
			break;
		}
	if (!comparison->n)
		return gt_err_set(err, GT_EINPUT, b->file,
				  "has no collective, size and type in common "
				  "with '%s'",
				  a->file);
	return GT_OK;
}

int gt_compare(const char *const files[2], struct gt_arena *arena,
	       struct gt_comparison *comparison, struct gt_err *err)
{
	int rc = GT_OK;

	*comparison = (struct gt_comparison){.n = 0};
	if (!strcmp(files[0], "-") && !strcmp(files[1], "-"))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "only one of the two can be standard input");
	for (int i = 0; i < 2 && !rc; i++)
		rc = read_side(files[i], arena, &comparison->sides[i], err);
	if (rc)
		return rc;
	if (comparison->sides[0].is_job != comparison->sides[1].is_job)
		return gt_err_set(
			err, GT_EINPUT,
			comparison->sides[comparison->sides[1].is_job].file,
			"is neither a plan nor a run's report, as "
			"the other is, but a job's; compare it with "
			"another job's");
	return comparison->sides[0].is_job ? GT_OK
					   : match(arena, comparison, err);
}

const char *gt_compare_device(const struct gt_compare_side *side)
{
	if (side->is_plan)
		return "GPUs";
	if (!side->engine)
		return NULL;
	return strcmp(side->engine, "host") ? "GPUs" : "CPU ranks";
}

double gt_compare_ratio(const struct gt_compare_pair *pair)
{
	return pair->sides[1]->busbw_gbs / pair->sides[0]->busbw_gbs;
}

double gt_compare_mean(const struct gt_comparison *comparison)
{
	double sum = 0;

	for (uint32_t i = 0; i < comparison->n; i++)
		sum += log(gt_compare_ratio(&comparison->pairs[i]));
	return exp(sum / comparison->n);
}
