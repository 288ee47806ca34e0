/*
 * The part of every report that does not depend on its format: bandwidths, sums
 * and the worst result.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

double gt_report_factor(const char *coll, uint32_t ranks)
{
	double n = ranks;

	if (!strcmp(coll, "allreduce"))
		return 2 * (n - 1) / n;
	if (!strcmp(coll, "broadcast") || !strcmp(coll, "reduce") ||
	    !strcmp(coll, "sendrecv"))
		return 1;
	return (n - 1) / n;
}

struct gt_report_side gt_report_measure(const struct gt_report *report,
					const struct gt_report_row *row,
					int64_t elapsed_ns, uint64_t wrong)
{
	const struct gt_report_head *head = report->head;
	struct gt_report_side side = {.wrong = wrong};

	side.time_us = (double)elapsed_ns / 1e3 / head->iters;
	if (side.time_us > 0)
		side.algbw_gbs = (double)row->bytes / side.time_us / 1e3;
	side.busbw_gbs =
		side.algbw_gbs *
		(row->factor > 0 ? row->factor
				 : gt_report_factor(row->coll, head->ranks));
	return side;
}

static int gt_report_compare(const void *a, const void *b)
{
	const int64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The least time that so many percent of all are not above. */
static double gt_report_quantile_us(const int64_t *times_ns, uint32_t n,
				    uint32_t percent)
{
	uint64_t rank = ((uint64_t)n * percent + 99) / 100;

	return (double)times_ns[rank ? rank - 1 : 0] / 1e3;
}

void gt_report_percentiles(struct gt_report_side *side, int64_t *times_ns,
			   uint32_t n)
{
	qsort(times_ns, n, sizeof(*times_ns), gt_report_compare);
	side->p50_us = gt_report_quantile_us(times_ns, n, 50);
	side->p99_us = gt_report_quantile_us(times_ns, n, 99);
	side->max_us = gt_report_quantile_us(times_ns, n, 100);
}

void gt_report_begin(struct gt_report *report)
{
	report->writer->begin(report);
}

void gt_report_add(struct gt_report *report, const struct gt_report_row *row)
{
	report->writer->row(report, row);
	report->nrows++;
	report->coll = row->coll;
	report->wrong += row->out_of_place.wrong + row->in_place.wrong;
	if (!row->bytes)
		return;
	report->busbw_sum +=
		row->out_of_place.busbw_gbs + row->in_place.busbw_gbs;
	report->nbusbw += row->out_of_place_only ? 1 : 2;
}

void gt_report_end(struct gt_report *report, const char *error)
{
	report->error = error;
	report->writer->end(report);
}

double gt_report_busbw(const struct gt_report *report)
{
	if (!report->nbusbw)
		return 0;
	return report->busbw_sum / (double)report->nbusbw;
}
