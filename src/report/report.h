/*
 * A report of what a run has measured, as nccl-tests' columns or as JSON
 * (gtopo-report(5), share/schema/report-1.schema.json).
 *
 * algbw is bytes / time, with bytes of the larger of input and output; busbw is
 * algbw times a factor that makes collectives and numbers of ranks comparable
 * with a link's bandwidth, as in nccl-tests: 2(n-1)/n for all-reduce, 1 for
 * broadcast, reduce and send-receive, (n-1)/n for others.  Both are in 1e9
 * bytes/s.
 *
 * A writer appends to a buffer of the caller, who may write it out and empty it
 * after every call.
 */
#ifndef GT_REPORT_REPORT_H
#define GT_REPORT_REPORT_H

#include <stdint.h>

struct gt_buf;

/*
 * The facts that are the same for all rows.  Strings are borrowed; NULL: not
 * known.
 */
struct gt_report_head {
	const char *version; /* of gtopo */
	const char *host;
	const char *arch;
	uint32_t cpus;
	const char *engine;
	const char *plan;     /* its digest */
	const char *topology; /* the digest that the plan carries */
	uint32_t ranks, channels, slots;
	uint32_t workers;    /* per channel; 0: the engine's choice */
	uint32_t max_blocks; /* of a rank's GPU; 0: any */
	uint32_t iters, warmup;
	int unchecked; /* nobody looked at the data: `wrong` means nothing */
	/*
	 * Of the host's memory, pinned for a rank as its GPU does not reach the
	 * others; 0: none.  Known at the end.
	 */
	uint64_t staged_bytes;
};

struct gt_report_side {
	double time_us; /* of one iteration */
	double algbw_gbs, busbw_gbs;
	uint64_t wrong; /* elements */
	/* Of operations one by one; max_us is 0 where they were not. */
	double p50_us, p99_us, max_us;
};

/* The measurements of one size, out of place and in place. */
struct gt_report_row {
	const char *coll, *dtype, *op;
	int64_t root; /* -1: no rank differs from the others */
	uint64_t bytes, count;
	double factor; /* busbw over algbw; 0: that of the collective */
	struct gt_report_side out_of_place, in_place;
	int out_of_place_only; /* in_place was not measured */
};

struct gt_report {
	const struct gt_report_head *head;
	const struct gt_report_writer *writer;
	struct gt_buf *out;
	int colour; /* text goes to a terminal that shows colours */
	uint64_t nrows;
	const char *coll; /* of the last row */
	uint64_t wrong;
	double busbw_sum; /* over both sides of all rows that move bytes */
	uint64_t nbusbw;
	const char *error; /* why the run ended early; NULL: it did not */
};

struct gt_report_writer {
	const char *name;
	void (*begin)(const struct gt_report *report);
	void (*row)(const struct gt_report *report,
		    const struct gt_report_row *row);
	void (*end)(const struct gt_report *report);
};

extern const struct gt_report_writer gt_report_text;
extern const struct gt_report_writer gt_report_json;

/* The factor by which busbw is larger than algbw. */
double gt_report_factor(const char *coll, uint32_t ranks);

/* Fill in a side from a measurement. */
struct gt_report_side gt_report_measure(const struct gt_report *report,
					const struct gt_report_row *row,
					int64_t elapsed_ns, uint64_t wrong);

/* Add what n operations took one by one, which are sorted. */
void gt_report_percentiles(struct gt_report_side *side, int64_t *times_ns,
			   uint32_t n);

void gt_report_begin(struct gt_report *report);
void gt_report_add(struct gt_report *report, const struct gt_report_row *row);

/* Ends the report; error says why there are no more rows, or is NULL. */
void gt_report_end(struct gt_report *report, const char *error);

double gt_report_busbw(const struct gt_report *report);

#endif
