/* Reports as JSON (gtopo-report(5)). */
#include "report/report.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json.h"

static void gt_json_text_or_null(struct gt_buf *out, const char *text)
{
	if (text)
		gt_json_quote(out, text);
	else
		gt_buf_puts(out, "null");
}

static void gt_json_member(struct gt_buf *out, const char *key,
			   const char *text)
{
	gt_buf_printf(out, "  \"%s\": ", key);
	gt_json_text_or_null(out, text);
	gt_buf_puts(out, ",\n");
}

static void gt_json_begin(const struct gt_report *report)
{
	const struct gt_report_head *head = report->head;
	struct gt_buf *out = report->out;

	gt_buf_puts(out, "{\n  \"schema\": \"gtopo.report/1\",\n");
	gt_json_member(out, "gtopo", head->version);
	gt_buf_puts(out, "  \"machine\": {\"host\": ");
	gt_json_text_or_null(out, head->host);
	gt_buf_puts(out, ", \"arch\": ");
	gt_json_text_or_null(out, head->arch);
	gt_buf_printf(out, ", \"cpus\": %" PRIu32 "},\n", head->cpus);
	gt_json_member(out, "engine", head->engine);
	gt_json_member(out, "plan", head->plan);
	gt_json_member(out, "topology", head->topology);
	gt_buf_printf(out,
		      "  \"ranks\": %" PRIu32 ",\n  \"channels\": %" PRIu32
		      ",\n  \"workers\": %" PRIu32 ",\n  \"slots\": %" PRIu32,
		      head->ranks, head->channels, head->workers, head->slots);
	if (head->max_blocks)
		gt_buf_printf(out, ",\n  \"max_blocks\": %" PRIu32,
			      head->max_blocks);
	gt_buf_printf(out,
		      ",\n  \"iters\": %" PRIu32 ",\n  \"warmup\": %" PRIu32
		      ",\n  \"rows\": [",
		      head->iters, head->warmup);
}

static void gt_json_wrong(const struct gt_report *report, uint64_t wrong)
{
	if (report->head->unchecked)
		gt_buf_puts(report->out, "null");
	else
		gt_buf_printf(report->out, "%" PRIu64, wrong);
}

static void gt_json_side(const struct gt_report *report,
			 const struct gt_report_row *row, int in_place)
{
	const struct gt_report_side *side =
		in_place ? &row->in_place : &row->out_of_place;

	gt_buf_printf(report->out,
		      "%s\n    {\"ranks\": %" PRIu32
		      ", \"coll\": \"%s\", \"dtype\": \"%s\", \"op\": \"%s\", ",
		      report->nrows || in_place ? "," : "", report->head->ranks,
		      row->coll, row->dtype, row->op);
	if (row->root >= 0)
		gt_buf_printf(report->out, "\"root\": %" PRId64 ", ",
			      row->root);
	gt_buf_printf(report->out,
		      "\"inplace\": %s, \"bytes\": %" PRIu64
		      ", \"count\": %" PRIu64
		      ", \"time_us\": %.6g, \"algbw_gbs\": %.6g, "
		      "\"busbw_gbs\": %.6g, ",
		      in_place ? "true" : "false", row->bytes, row->count,
		      side->time_us, side->algbw_gbs, side->busbw_gbs);
	if (side->max_us > 0)
		gt_buf_printf(report->out,
			      "\"p50_us\": %.6g, \"p99_us\": %.6g, "
			      "\"max_us\": %.6g, ",
			      side->p50_us, side->p99_us, side->max_us);
	gt_buf_puts(report->out, "\"wrong\": ");
	gt_json_wrong(report, side->wrong);
	gt_buf_puts(report->out, "}");
}

static void gt_json_row(const struct gt_report *report,
			const struct gt_report_row *row)
{
	gt_json_side(report, row, 0);
	if (!row->out_of_place_only)
		gt_json_side(report, row, 1);
}

static void gt_json_end(const struct gt_report *report)
{
	struct gt_buf *out = report->out;

	gt_buf_puts(out, "\n  ],\n  \"wrong\": ");
	gt_json_wrong(report, report->wrong);
	if (report->head->staged_bytes)
		gt_buf_printf(out, ",\n  \"staged_bytes\": %" PRIu64,
			      report->head->staged_bytes);
	gt_buf_printf(out, ",\n  \"busbw_gbs\": %.6g,\n  \"error\": ",
		      gt_report_busbw(report));
	gt_json_text_or_null(out, report->error);
	gt_buf_puts(out, "\n}\n");
}

const struct gt_report_writer gt_report_json = {
	.name = "json",
	.begin = gt_json_begin,
	.row = gt_json_row,
	.end = gt_json_end,
};
