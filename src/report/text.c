/* Reports as text, in nccl-tests' columns. */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/tint.h"

static void gt_text_begin(const struct gt_report *report)
{
	const struct gt_report_head *head = report->head;
	struct gt_buf *out = report->out;

	gt_buf_printf(out, "# gtopo %s on %s, engine %s, %" PRIu32 " rank%s\n",
		      head->version, head->host, head->engine, head->ranks,
		      gt_plural(head->ranks));
	gt_buf_printf(out, "# %" PRIu32 " channel%s, ", head->channels,
		      gt_plural(head->channels));
	if (head->workers)
		gt_buf_printf(out, "%" PRIu32 " worker%s each, ", head->workers,
			      gt_plural(head->workers));
	if (head->max_blocks)
		gt_buf_printf(out, "at most %" PRIu32 " block%s, ",
			      head->max_blocks, gt_plural(head->max_blocks));
	gt_buf_printf(out,
		      "%" PRIu32 " slot%s, %" PRIu32 " iteration%s after "
		      "%" PRIu32 " to warm up\n",
		      head->slots, gt_plural(head->slots), head->iters,
		      gt_plural(head->iters), head->warmup);
	gt_buf_printf(out, "# plan %s\n",
		      head->plan ? head->plan : "of unknown digest");
}

static void gt_text_side(const struct gt_report *report,
			 const struct gt_report_side *side)
{
	char wrong[32];

	gt_buf_printf(report->out, " %9.*f %8.3f %8.3f",
		      side->time_us < 100     ? 2
		      : side->time_us < 10000 ? 1
					      : 0,
		      side->time_us, side->algbw_gbs, side->busbw_gbs);
	if (report->head->unchecked)
		snprintf(wrong, sizeof(wrong), " %7s", "N/A");
	else
		snprintf(wrong, sizeof(wrong), " %7" PRIu64, side->wrong);
	gt_tint_put(report->out, report->colour,
		    side->wrong ? GT_TINT_RED : GT_TINT_NONE, wrong);
}

static void gt_text_columns(struct gt_buf *out)
{
	static const char side[] = " %9s %8s %8s %7s";

	gt_buf_printf(out, "#%12s %13s %8s %7s %6s", "", "", "", "", "");
	gt_buf_printf(out, " %35s %35s\n", "out-of-place           ",
		      "in-place             ");
	gt_buf_printf(out, "#%12s %13s %8s %7s %6s", "size", "count", "type",
		      "redop", "root");
	gt_buf_printf(out, side, "time", "algbw", "busbw", "#wrong");
	gt_buf_printf(out, side, "time", "algbw", "busbw", "#wrong");
	gt_buf_printf(out, "\n#%12s %13s %8s %7s %6s", "(B)", "(elements)", "",
		      "", "");
	gt_buf_printf(out, side, "(us)", "(GB/s)", "(GB/s)", "");
	gt_buf_printf(out, side, "(us)", "(GB/s)", "(GB/s)", "");
	gt_buf_puts(out, "\n");
}

static void gt_text_percentiles(struct gt_buf *out, const char *placed,
				const struct gt_report_side *side)
{
	if (side->max_us > 0)
		gt_buf_printf(out,
			      "#%12s %s, one by one: p50 %.2f us, p99 %.2f us, "
			      "max %.2f us\n",
			      "", placed, side->p50_us, side->p99_us,
			      side->max_us);
}

static void gt_text_row(const struct gt_report *report,
			const struct gt_report_row *row)
{
	struct gt_buf *out = report->out;

	if (!report->coll || strcmp(report->coll, row->coll)) {
		gt_buf_printf(out, "#\n# %s\n", row->coll);
		gt_text_columns(out);
	}
	gt_buf_printf(out, " %12" PRIu64 " %13" PRIu64 " %8s %7s %6" PRId64,
		      row->bytes, row->count, row->dtype, row->op, row->root);
	gt_text_side(report, &row->out_of_place);
	if (row->out_of_place_only)
		gt_buf_printf(report->out, " %9s %8s %8s %7s", "N/A", "N/A",
			      "N/A", "N/A");
	else
		gt_text_side(report, &row->in_place);
	gt_buf_puts(out, "\n");
	gt_text_percentiles(out, "out of place", &row->out_of_place);
	gt_text_percentiles(out, "in place", &row->in_place);
}

static void gt_text_end(const struct gt_report *report)
{
	char wrong[48] = "N/A";

	if (report->error)
		return;
	if (!report->head->unchecked)
		snprintf(wrong, sizeof(wrong), "%" PRIu64 " %s", report->wrong,
			 report->wrong ? "FAILED" : "OK");
	if (report->head->staged_bytes)
		gt_buf_printf(report->out,
			      "#\n# Through the host's memory, %" PRIu64
			      " KiB pinned for each rank\n",
			      report->head->staged_bytes >> 10);
	gt_buf_puts(report->out, "#\n# Out of bounds values : ");
	gt_tint_put(report->out, report->colour,
		    report->head->unchecked ? GT_TINT_NONE
		    : report->wrong         ? GT_TINT_RED
					    : GT_TINT_GREEN,
		    wrong);
	gt_buf_printf(report->out, "\n# Avg bus bandwidth    : %.4g\n",
		      gt_report_busbw(report));
}

const struct gt_report_writer gt_report_text = {
	.name = "text",
	.begin = gt_text_begin,
	.row = gt_text_row,
	.end = gt_text_end,
};
