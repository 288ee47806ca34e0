/* Prints a comparison: a line a row, then the mean and what is left over. */
#include "cli/compare/compare.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/text.h"

static const char *what(const struct gt_compare_side *side)
{
	return side->is_plan ? "predicted" : "measured";
}

/* Returns how many rows of a side the other has not. */
static uint32_t left_over(const struct gt_comparison *comparison, int side)
{
	return comparison->sides[side].n - comparison->n;
}

static void put_head(const struct gt_comparison *comparison, struct gt_buf *out)
{
	for (int i = 0; i < 2; i++) {
		const struct gt_compare_side *side = &comparison->sides[i];

		gt_buf_printf(out, "# %c: ", 'A' + i);
		gt_buf_put_plain(out, side->file);
		gt_buf_printf(out, ", %s", what(side));
		if (gt_compare_device(side))
			gt_buf_printf(out, " %s %s",
				      side->is_plan ? "for" : "on",
				      gt_compare_device(side));
		gt_buf_printf(out, ", %" PRIu32 " rank%s\n", side->ranks,
			      gt_plural(side->ranks));
	}
	gt_buf_printf(out, "#%12s %13s %8s %6s %10s %10s %9s %9s %8s\n", "size",
		      "coll", "type", "place", "A time", "B time", "A busbw",
		      "B busbw", "B/A");
	gt_buf_printf(out, "#%12s %13s %8s %6s %10s %10s %9s %9s %8s\n", "(B)",
		      "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)", "");
}

static void put_pair(const struct gt_compare_pair *pair, struct gt_buf *out)
{
	const struct gt_compare_row *a = pair->sides[0], *b = pair->sides[1];
	const char *dtype = a->dtype ? a->dtype : b->dtype;

	gt_buf_printf(out, " %12" PRIu64 " ", a->bytes);
	gt_buf_printf(out, "%13s %8s %6s ", a->coll, dtype ? dtype : "any",
		      a->inplace ? "in" : "out");
	gt_buf_printf(out, "%10.2f %10.2f %9.3f %9.3f %8.3f%s", a->time_us,
		      b->time_us, a->busbw_gbs, b->busbw_gbs,
		      gt_compare_ratio(pair),
		      a->wrong || b->wrong ? "  wrong data" : "");
}

void gt_compare_text(const struct gt_comparison *comparison, struct gt_buf *out)
{
	struct gt_buf line = GT_BUF_INIT;

	put_head(comparison, out);
	for (uint32_t i = 0; i < comparison->n; i++) {
		line.len = 0;
		put_pair(&comparison->pairs[i], &line);
		/* Names in reports are any text. */
		gt_buf_put_plain(out, line.failed ? "" : line.text);
		gt_buf_puts(out, "\n");
	}
	gt_buf_printf(out,
		      "# B is %.3f times as fast as A (geometric mean of "
		      "%" PRIu32 " row%s)\n",
		      gt_compare_mean(comparison), comparison->n,
		      gt_plural(comparison->n));
	for (int i = 0; i < 2; i++)
		if (left_over(comparison, i))
			gt_buf_printf(out, "# %" PRIu32 " row%s of %c alone\n",
				      left_over(comparison, i),
				      gt_plural(left_over(comparison, i)),
				      'A' + i);
	out->failed |= line.failed;
	gt_buf_release(&line);
}

static void put_side(const struct gt_comparison *comparison, int i,
		     struct gt_json_writer *json)
{
	const struct gt_compare_side *side = &comparison->sides[i];

	gt_json_open_object(json, i ? "b" : "a", GT_JSON_FLAT);
	gt_json_put_text(json, "file", side->file);
	gt_json_put_text(json, "what", what(side));
	if (gt_compare_device(side))
		gt_json_put_text(json, "device", gt_compare_device(side));
	gt_json_put_int(json, "ranks", side->ranks);
	gt_json_put_int(json, "rows_alone", left_over(comparison, i));
	gt_json_end(json);
}

static void put_row(const struct gt_compare_pair *pair,
		    struct gt_json_writer *json)
{
	const struct gt_compare_row *a = pair->sides[0], *b = pair->sides[1];

	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_text(json, "coll", a->coll);
	gt_json_put_int(json, "bytes", (int64_t)a->bytes);
	if (a->dtype || b->dtype)
		gt_json_put_text(json, "dtype", a->dtype ? a->dtype : b->dtype);
	gt_json_put_bool(json, "inplace", a->inplace);
	gt_json_put_double(json, "a_time_us", "%.6g", a->time_us);
	gt_json_put_double(json, "b_time_us", "%.6g", b->time_us);
	gt_json_put_double(json, "a_busbw_gbs", "%.6g", a->busbw_gbs);
	gt_json_put_double(json, "b_busbw_gbs", "%.6g", b->busbw_gbs);
	gt_json_put_double(json, "ratio", "%.6g", gt_compare_ratio(pair));
	gt_json_end(json);
}

void gt_compare_json(const struct gt_comparison *comparison, struct gt_buf *out)
{
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.comparison/1");
	put_side(comparison, 0, &json);
	put_side(comparison, 1, &json);
	gt_json_put_double(&json, "mean_ratio", "%.6g",
			   gt_compare_mean(comparison));
	gt_json_open_array(&json, "rows", GT_JSON_LINES);
	for (uint32_t i = 0; i < comparison->n; i++)
		put_row(&comparison->pairs[i], &json);
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
