/*
 * Draws a run that `gtopo run --trace` recorded: a row a rank, in which each
 * column is a part of the time; as high as it is green, threads of the rank
 * moved bytes, as high as it is yellow they waited for another rank.
 */
#include "cli/page/part.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/page/html.h"
#include "cli/page/table.h"

enum {
	GT_TRACE_RANKS = 64,
	GT_TRACE_BINS = 160,
	GT_TRACE_ROW = 22,
	GT_TRACE_LEFT = 56,
	GT_TRACE_STEP = 5, /* the width of a column */
	GT_TRACE_LINKS = 64,
};

enum activity { MOVE, WAIT, NACTIVITIES };

/* How long ranks moved and waited, by part of the time. */
struct timeline {
	double end_us;
	uint32_t nranks, nleft_out;
	double us[GT_TRACE_RANKS][GT_TRACE_BINS][NACTIVITIES];
};

static const struct gt_column link_columns[] = {
	{"from", "from rank", GT_CELL_NUMBER},
	{"to", "to rank", GT_CELL_NUMBER},
	{"bytes", "bytes", GT_CELL_BYTES},
	{"gbs", "GB/s", GT_CELL_NUMBER},
	{"busy_us", "busy, us", GT_CELL_NUMBER},
	{"receiver_waited_us", "receiver waited, us", GT_CELL_NUMBER},
};

/* An event of the file that took time. */
struct event {
	double rank, from_us, us;
	enum activity what;
};

static int number_of(const struct gt_json *object, const char *key,
		     double *number)
{
	struct gt_json value;

	return gt_json_get(object, key, &value) &&
	       !gt_json_double(&value, number, NULL);
}

/* A time that can be: from 0 to some 30 years. */
static int is_time(double us)
{
	return us >= 0 && us <= 1e15;
}

/* Returns 0 for what is no such event, as a name is none. */
static int read_event(const struct gt_json *at, struct event *event)
{
	const char *what;
	struct gt_json value;

	if (!number_of(at, "pid", &event->rank) ||
	    !number_of(at, "ts", &event->from_us) ||
	    !number_of(at, "dur", &event->us) ||
	    !gt_json_get(at, "cat", &value) ||
	    gt_json_text(&value, &what, NULL) || event->rank < 0 ||
	    !is_time(event->from_us) || !is_time(event->us))
		return 0;
	event->what = strcmp(what, "wait") ? MOVE : WAIT;
	return 1;
}

/* Adds an event's time to all parts that it is in. */
static void add_event(struct timeline *line, const struct event *event)
{
	double bin_us = line->end_us / GT_TRACE_BINS;
	double end = event->from_us + event->us;
	int bin = (int)(event->from_us / bin_us);

	for (; bin < GT_TRACE_BINS && bin * bin_us < end; bin++) {
		double from = bin * bin_us, to = from + bin_us;

		from = from > event->from_us ? from : event->from_us;
		to = to < end ? to : end;
		line->us[(int)event->rank][bin][event->what] += to - from;
	}
}

static void read_events(struct timeline *line, const struct gt_json *events,
			uint32_t n)
{
	struct gt_json at;
	struct event event;

	for (uint32_t i = 0; i < n; i++) {
		gt_json_item(events, i, &at);
		if (!read_event(&at, &event))
			continue;
		if (event.from_us + event.us > line->end_us)
			line->end_us = event.from_us + event.us;
		if (event.rank < GT_TRACE_RANKS && event.rank >= line->nranks)
			line->nranks = (uint32_t)event.rank + 1;
		line->nleft_out += event.rank >= GT_TRACE_RANKS;
	}
	/* Parts of less than that would be none as numbers. */
	for (uint32_t i = 0; i < n && line->end_us >= 1e-6; i++) {
		gt_json_item(events, i, &at);
		if (read_event(&at, &event) && event.rank < GT_TRACE_RANKS)
			add_event(line, &event);
	}
}

/* Draws what a rank did of one kind, as one path of columns. */
static void draw_rank(const struct timeline *line, uint32_t rank,
		      enum activity what, struct gt_buf *out)
{
	double y = GT_TRACE_ROW * (rank + 1.0) - 4, sum, high;

	gt_buf_printf(out, "<path class=\"%s\" d=\"",
		      what == MOVE ? "move" : "wait");
	for (int bin = 0; bin < GT_TRACE_BINS; bin++) {
		const double *us = line->us[rank][bin];

		sum = us[MOVE] + us[WAIT];
		if (sum <= 0 || us[what] <= 0)
			continue;
		high = (GT_TRACE_ROW - 6) * us[what] / sum;
		gt_buf_printf(out, "M%d %.1fv%.1fh%dv%.1fz",
			      GT_TRACE_LEFT + bin * GT_TRACE_STEP,
			      what == MOVE ? y : y - (GT_TRACE_ROW - 6) + high,
			      -high, GT_TRACE_STEP, high);
	}
	gt_buf_puts(out, "\"/>\n");
}

static void draw_line(const struct timeline *line, struct gt_buf *out)
{
	uint32_t high = GT_TRACE_ROW * line->nranks + 24;

	gt_buf_printf(out,
		      "<p class=\"legend\"><span><span class=\"key move\">"
		      "</span> moves bytes</span> <span><span class=\"key "
		      "wait\"></span> waits for another rank</span></p>\n<div "
		      "class=\"wide\"><svg "
		      "class=\"trace\" role=\"img\" aria-label=\"what each "
		      "rank did when\" viewBox=\"0 0 %d %u\" "
		      "xmlns=\"http://www.w3.org/2000/svg\">\n",
		      GT_TRACE_LEFT + GT_TRACE_BINS * GT_TRACE_STEP + 4, high);
	for (uint32_t rank = 0; rank < line->nranks; rank++) {
		gt_buf_printf(out, "<text x=\"0\" y=\"%u\">rank %u</text>\n",
			      GT_TRACE_ROW * (rank + 1) - 7, rank);
		draw_rank(line, rank, MOVE, out);
		draw_rank(line, rank, WAIT, out);
	}
	for (int i = 0; i <= 4; i++)
		gt_buf_printf(out,
			      "<text x=\"%d\" y=\"%u\" text-anchor=\"%s\">%.0f "
			      "us</text>\n",
			      GT_TRACE_LEFT +
				      i * GT_TRACE_BINS / 4 * GT_TRACE_STEP,
			      high - 6,
			      i == 0   ? "start"
			      : i == 4 ? "end"
				       : "middle",
			      line->end_us * i / 4);
	gt_buf_puts(out, "</svg></div>\n");
	if (line->nleft_out)
		gt_buf_printf(out,
			      "<p class=\"quiet\">Ranks from %d on are not "
			      "drawn.</p>\n",
			      GT_TRACE_RANKS);
}

static void put_links(const struct gt_json *root, struct gt_buf *out)
{
	const struct gt_table table = {.columns = link_columns,
				       .ncolumns = GT_COLUMNS(link_columns),
				       .max_rows = GT_TRACE_LINKS};
	struct gt_json other, links;

	if (!gt_json_get(root, "otherData", &other) ||
	    !gt_json_get(&other, "links", &links))
		return;
	gt_buf_puts(out, "<details open=\"open\"><summary>Links</summary>\n");
	gt_table(&table, &links, out);
	gt_buf_puts(out, "</details>\n");
}

int gt_page_trace(struct gt_page *page, const char *path, struct gt_err *err)
{
	struct timeline *line = gt_arena_alloc(page->arena, sizeof(*line));
	struct gt_json root, events;
	struct gt_json_doc *doc;
	uint32_t n = 0;
	int rc = line ? gt_json_open(path, &doc, err) : gt_err_nomem(err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	if (gt_json_get(&root, "traceEvents", &events) &&
	    !gt_json_array(&events, &n, NULL))
		read_events(line, &events, n);
	if (line->nranks) {
		gt_page_begin(page, "Trace", 0);
		draw_line(line, page->out);
		put_links(&root, page->out);
		gt_page_end(page);
	} else {
		rc = gt_json_fault(&root, err,
				   "has no steps of a run; 'gtopo run --trace' "
				   "writes them");
	}
	gt_json_close(doc);
	return rc;
}
