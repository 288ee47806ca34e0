/*
 * Makes a table for NCCL's example tuner of what was measured.
 */
#include "report/nccl_tuner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum {
	GT_TUNER_MAX_ROWS = 65536,
	GT_TUNER_WORD = 16,
};

/* The default has to win by more than noise does to be missed. */
#define GT_TUNER_WORTH 0.98

/* The fastest forced way at one size; `missed`: the default is faster. */
struct gt_tuner_row {
	char coll[GT_TUNER_WORD], algo[GT_TUNER_WORD], proto[GT_TUNER_WORD];
	int channels, missed;
	uint32_t ranks;
	int64_t bytes;
};

/* The race while it is read. */
struct gt_tuner {
	struct gt_tuner_row *rows;
	uint32_t n;
	int64_t nodes;
	struct gt_nccl_tuner_stats *stats;
};

/* Parses "ring/ll128/8"; returns 0 for ways that are not forced. */
static int gt_tuner_way(const char *name, struct gt_tuner_row *row)
{
	static const char *const algos[] = {"ring", "tree"};
	static const char *const protos[] = {"ll", "ll128", "simple"};
	int known = 0;

	if (sscanf(name, "%15[a-z]/%15[a-z0-9]/%4d", row->algo, row->proto,
		   &row->channels) != 3 ||
	    row->channels < 1)
		return 0;
	for (size_t i = 0; i < 2; i++)
		known += !strcmp(row->algo, algos[i]);
	for (size_t i = 0; i < 3; i++)
		known += !strcmp(row->proto, protos[i]);
	return known == 2;
}

/* Finds the fastest of a row's "variants_us"; *forced counts forced ones. */
static int gt_tuner_fastest(const struct gt_json *variants,
			    struct gt_tuner_row *row, uint32_t *forced,
			    struct gt_err *err)
{
	double us, least = 0, usual = 0;
	struct gt_tuner_row way = *row, best = *row;
	struct gt_json item;

	for (void *i = gt_json_next(variants, NULL, &item); i;
	     i = gt_json_next(variants, i, &item)) {
		if (gt_json_double(&item, &us, err))
			return GT_EINPUT;
		if (us <= 0)
			return gt_json_fault(&item, err, "is not above 0");
		if (!strcmp(item.key, "default"))
			usual = us;
		if (!gt_tuner_way(item.key, &way))
			continue;
		++*forced;
		if (!least || us < least) {
			least = us;
			best = way;
		}
	}
	if (least) {
		*row = best;
		row->missed = usual && usual < least * GT_TUNER_WORTH;
	}
	return GT_OK;
}

static int gt_tuner_coll(const struct gt_json *json, struct gt_tuner_row *row,
			 struct gt_err *err)
{
	static const char *const colls[] = {"allreduce", "allgather",
					    "reducescatter", "broadcast",
					    "reduce"};
	const char *coll;

	if (gt_json_text(json, &coll, err))
		return GT_EINPUT;
	for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++)
		if (!strcmp(coll, colls[i]))
			snprintf(row->coll, sizeof(row->coll), "%s", coll);
	return GT_OK;
}

/* Reads one row; those in graphs, and without NCCL, are passed over. */
static int gt_tuner_read_row(struct gt_tuner *tuner, const struct gt_json *json,
			     struct gt_err *err)
{
	struct gt_json coll, ranks, bytes, graph, nccl, variants;
	struct gt_tuner_row row = {.coll = ""};
	uint32_t forced = 0;
	int captured = 0;

	if (gt_json_object(json, NULL, err) ||
	    gt_json_need(json, "coll", &coll, err) ||
	    gt_tuner_coll(&coll, &row, err) ||
	    gt_json_need(json, "ranks", &ranks, err) ||
	    gt_json_u32(&ranks, 1 << 20, &row.ranks, err) ||
	    gt_json_need(json, "bytes", &bytes, err) ||
	    gt_json_int(&bytes, 1, INT64_C(1) << 50, &row.bytes, err))
		return GT_EINPUT;
	if (gt_json_get(json, "graph", &graph) &&
	    gt_json_bool(&graph, &captured, err))
		return GT_EINPUT;
	if (captured || !row.coll[0] || !gt_json_get(json, "nccl", &nccl))
		return GT_OK;
	if (gt_json_object(&nccl, NULL, err) ||
	    gt_json_need(&nccl, "variants_us", &variants, err) ||
	    gt_json_object(&variants, NULL, err) ||
	    gt_tuner_fastest(&variants, &row, &forced, err))
		return GT_EINPUT;
	if (!forced)
		return GT_OK;
	tuner->stats->nrows++;
	tuner->stats->nmissed += row.missed != 0;
	tuner->rows[tuner->n++] = row;
	return GT_OK;
}

static int gt_tuner_row_order(const void *left, const void *right)
{
	const struct gt_tuner_row *a = left, *b = right;
	int order = strcmp(a->coll, b->coll);

	if (order)
		return order;
	if (a->ranks != b->ranks)
		return a->ranks < b->ranks ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int gt_tuner_same_group(const struct gt_tuner_row *a,
			       const struct gt_tuner_row *b)
{
	return !strcmp(a->coll, b->coll) && a->ranks == b->ranks;
}

static int gt_tuner_same_way(const struct gt_tuner_row *a,
			     const struct gt_tuner_row *b)
{
	return !strcmp(a->algo, b->algo) && !strcmp(a->proto, b->proto) &&
	       a->channels == b->channels;
}

/*
 * Returns the most bytes for which a row's way is taken: up to the middle, in
 * powers, between its size and the next; for the largest size there is no end,
 * since what no line names would go through one channel.
 */
static int64_t gt_tuner_until(const struct gt_tuner *tuner, uint32_t i)
{
	const struct gt_tuner_row *row = &tuner->rows[i];

	if (i + 1 == tuner->n || !gt_tuner_same_group(row, row + 1))
		return INT64_MAX;
	return (int64_t)sqrt((double)row->bytes * (double)row[1].bytes);
}

/* Two rows of one size, in order, would give a way a range that ends first. */
static int gt_tuner_no_twins(const struct gt_tuner *tuner,
			     const struct gt_json *rows, struct gt_err *err)
{
	for (uint32_t i = 0; i + 1 < tuner->n; i++) {
		const struct gt_tuner_row *row = &tuner->rows[i];

		if (gt_tuner_row_order(row, row + 1))
			continue;
		return gt_json_fault(rows, err,
				     "has two rows of %s of %" PRId64
				     " bytes on %" PRIu32
				     " ranks; keep one of them",
				     row->coll, row->bytes, row->ranks);
	}
	return GT_OK;
}

/* Appends a line for each run of sizes that have one way. */
static void gt_tuner_print(const struct gt_tuner *tuner, struct gt_buf *out)
{
	const struct gt_tuner_row *row;
	int64_t from = 0, until;

	for (uint32_t i = 0; i < tuner->n; i++) {
		row = &tuner->rows[i];
		if (!i || !gt_tuner_same_group(row, row - 1))
			from = 0;
		until = gt_tuner_until(tuner, i);
		if (i + 1 < tuner->n && gt_tuner_same_group(row, row + 1) &&
		    gt_tuner_same_way(row, row + 1))
			continue;
		gt_buf_printf(out,
			      "%s,%" PRId64 ",%" PRId64 ",%s,%s,%d,%" PRId64
			      ",%" PRIu32 ",-1,-1\n",
			      row->coll, from, until, row->algo, row->proto,
			      row->channels, tuner->nodes, row->ranks);
		tuner->stats->nlines++;
		if (until < INT64_MAX)
			from = until + 1;
	}
}

/* Finds how many machines it was: one, unless processes were as many. */
static int gt_tuner_nodes(const struct gt_json *race, struct gt_tuner *tuner,
			  struct gt_err *err)
{
	struct gt_json machine, link, processes;
	const char *text;

	tuner->nodes = 1;
	if (gt_json_need(race, "machine", &machine, err) ||
	    gt_json_object(&machine, NULL, err) ||
	    gt_json_need(&machine, "link", &link, err) ||
	    gt_json_text(&link, &text, err))
		return GT_EINPUT;
	if (!strcmp(text, "peer"))
		return GT_OK;
	if (gt_json_need(&machine, "processes", &processes, err))
		return GT_EINPUT;
	return gt_json_int(&processes, 1, 1 << 20, &tuner->nodes, err);
}

static int gt_tuner_read(struct gt_tuner *tuner, const struct gt_json *rows,
			 uint32_t n, struct gt_err *err)
{
	struct gt_json item;
	int rc = GT_OK;

	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(rows, i, &item);
		rc = gt_tuner_read_row(tuner, &item, err);
	}
	if (!rc && !tuner->n)
		rc = gt_json_fault(rows, err,
				   "no way of NCCL is forced here; vs-nccl -F "
				   "races such");
	return rc;
}

static const char gt_tuner_head[] =
	"# NCCL's example tuner has one channel for what no line names: other\n"
	"# collectives, numbers of nodes and of ranks.\n"
	"# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,"
	"nRanks,numPipeOps,regBuff\n";

int gt_nccl_tuner_write(const struct gt_json *race, struct gt_buf *out,
			struct gt_nccl_tuner_stats *stats, struct gt_err *err)
{
	struct gt_tuner tuner = {.stats = stats};
	struct gt_json rows;
	struct gt_json channels;
	uint32_t n;
	int rc;

	*stats = (struct gt_nccl_tuner_stats){0};
	if (gt_json_object(race, NULL, err))
		return GT_EINPUT;
	if (gt_json_get(race, "channels", &channels))
		return gt_json_fault(race, err,
				     "is a plan; --to nccl-tuner takes what "
				     "'bench/vs-nccl -F' measured with it");
	if (gt_tuner_nodes(race, &tuner, err) ||
	    gt_json_need(race, "rows", &rows, err) ||
	    gt_json_array(&rows, &n, err))
		return GT_EINPUT;
	if (n > GT_TUNER_MAX_ROWS)
		return gt_json_fault(&rows, err, "more than %d rows",
				     GT_TUNER_MAX_ROWS);
	tuner.rows = calloc(n ? n : 1, sizeof(*tuner.rows));
	if (!tuner.rows)
		return gt_err_nomem(err);
	rc = gt_tuner_read(&tuner, &rows, n, err);
	if (!rc) {
		qsort(tuner.rows, tuner.n, sizeof(*tuner.rows),
		      gt_tuner_row_order);
		rc = gt_tuner_no_twins(&tuner, &rows, err);
	}
	if (!rc) {
		gt_buf_puts(out, gt_tuner_head);
		gt_tuner_print(&tuner, out);
	}
	free(tuner.rows);
	return rc;
}
