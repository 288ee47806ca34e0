/* Tells of logs of NCCL, as text and as JSON. */
#include "cli/nccl/log.h"

#include <config.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/tint.h"
#include "topo/nccl/advice.h"
#include "topo/nccl/log.h"

enum { MAX_RANKS = 64 }; /* so many of a ring are printed */

static void print_word(const struct gt_nccl_log_told *told, const char *word,
		       struct gt_buf *out)
{
	gt_tint_put(out, told->colour, GT_TINT_BOLD, word);
	gt_buf_printf(out, "%*s", (int)(8 - strlen(word)), "");
}

static void print_line(const struct gt_nccl_log_told *told, const char *word,
		       const char *text, struct gt_buf *out)
{
	print_word(told, word, out);
	gt_buf_put_plain(out, text);
	gt_buf_puts(out, "\n");
}

static uint32_t count_machines(const struct gt_nccl_log *log)
{
	return log->nnodes ? log->nnodes : log->nhosts;
}

static void print_head(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;
	uint32_t machines = count_machines(log);

	gt_buf_put_plain(out, told->file);
	gt_buf_puts(out, ": NCCL ");
	gt_buf_put_plain(out,
			 log->version ? log->version : "of unknown version");
	if (log->nranks)
		gt_buf_printf(out, ", %u rank%s", log->nranks,
			      gt_plural(log->nranks));
	if (machines)
		gt_buf_printf(out, " on %u machine%s", machines,
			      gt_plural(machines));
	gt_buf_puts(out, "\n");
}

static void print_ring(const uint32_t *ring, uint32_t n, uint32_t times,
		       struct gt_buf *out)
{
	gt_buf_printf(out, "        %2u x ", times);
	for (uint32_t i = 0; i < n && i < MAX_RANKS; i++)
		gt_buf_printf(out, " %u", ring[i]);
	gt_buf_puts(out, n > MAX_RANKS ? " ...\n" : "\n");
}

static void print_rings(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;
	size_t bytes = log->nring_ranks * sizeof(uint32_t);
	uint32_t times;

	if (!log->nrings)
		return;
	print_word(told, "rings", out);
	gt_buf_printf(out, "%u channel%s\n", log->nrings,
		      gt_plural(log->nrings));
	for (uint32_t i = 0; i < log->nrings; i += times) {
		for (times = 1; i + times < log->nrings; times++)
			if (!log->rings[i] || !log->rings[i + times] ||
			    memcmp(log->rings[i], log->rings[i + times], bytes))
				break;
		if (log->rings[i])
			print_ring(log->rings[i], log->nring_ranks, times, out);
	}
}

static const char *pattern_name(int pattern)
{
	static const char *const names[] = {
		"",     "balanced tree", "split tree",    "tree",
		"ring", "NVLS",          "CollNet direct"};

	return pattern > 0 && pattern <= 6 ? names[pattern] : "unknown";
}

static void print_graphs(const struct gt_nccl_log_told *told,
			 struct gt_buf *out)
{
	const struct gt_nccl_logged_graph *graph;

	for (uint32_t i = 0; i < told->log->ngraphs; i++) {
		graph = &told->log->graphs[i];
		if (!graph->nchannels)
			continue;
		print_word(told, "graph", out);
		gt_buf_printf(out, "%s: %u channel%s of %g GB/s over %s",
			      pattern_name(graph->pattern), graph->nchannels,
			      gt_plural(graph->nchannels), graph->intra_gbs,
			      graph->intra);
		if (count_machines(told->log) > 1)
			gt_buf_printf(out,
				      "; %g GB/s between machines, over %s",
				      graph->inter_gbs, graph->inter);
		gt_buf_puts(out, "\n");
	}
}

static void print_means(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;

	for (uint32_t i = 0; i < log->nmeans; i++) {
		print_word(told, "by", out);
		gt_buf_put_plain(out, log->means[i].name);
		gt_buf_printf(out, ": %" PRIu64 " connection%s\n",
			      log->means[i].n, gt_plural(log->means[i].n));
	}
}

static void print_said(const struct gt_nccl_log_told *told, const char *word,
		       const struct gt_nccl_said *said, struct gt_buf *out)
{
	print_word(told, word, out);
	gt_buf_put_plain(out, said->text);
	if (said->n > 1)
		gt_buf_printf(out, " (%" PRIu64 " times)", said->n);
	gt_buf_puts(out, "\n");
}

void gt_nccl_log_print(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;

	print_head(told, out);
	print_rings(told, out);
	print_graphs(told, out);
	print_means(told, out);
	if (log->network)
		print_line(told, "network", log->network, out);
	if (log->ports)
		print_line(told, "ports", log->ports, out);
	for (uint32_t i = 0; i < log->nenv; i++)
		print_line(told, "env", log->env[i].text, out);
	for (uint32_t i = 0; i < told->nadvice; i++) {
		print_line(told, "slow", told->advice[i].text, out);
		print_line(told, "do", told->advice[i].remedy, out);
	}
	for (uint32_t i = 0; i < log->nwarnings; i++)
		print_said(told, "warns", &log->warnings[i], out);
	if (log->nleft_out) {
		print_word(told, "more", out);
		gt_buf_printf(out, "%" PRIu64 " further lines left out\n",
			      log->nleft_out);
	}
}

static void put_text(struct gt_json_writer *json, const char *key,
		     const char *text)
{
	if (text)
		gt_json_put_text(json, key, text);
	else
		gt_json_put_null(json, key);
}

static void put_rings(struct gt_json_writer *json,
		      const struct gt_nccl_log *log)
{
	gt_json_open_array(json, "rings", GT_JSON_LINES);
	for (uint32_t i = 0; i < log->nrings; i++) {
		if (!log->rings[i]) {
			gt_json_put_null(json, NULL);
			continue;
		}
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t r = 0; r < log->nring_ranks; r++)
			gt_json_put_int(json, NULL, log->rings[i][r]);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_graphs(struct gt_json_writer *json,
		       const struct gt_nccl_log *log)
{
	gt_json_open_array(json, "graphs", GT_JSON_LINES);
	for (uint32_t i = 0; i < log->ngraphs; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "pattern", log->graphs[i].pattern);
		gt_json_put_int(json, "channels", log->graphs[i].nchannels);
		gt_json_put_double(json, "channel_gbs", "%.6g",
				   log->graphs[i].intra_gbs);
		gt_json_put_double(json, "inter_gbs", "%.6g",
				   log->graphs[i].inter_gbs);
		gt_json_put_text(json, "kind", log->graphs[i].intra);
		gt_json_put_text(json, "inter_kind", log->graphs[i].inter);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_means(struct gt_json_writer *json,
		      const struct gt_nccl_log *log)
{
	gt_json_open_array(json, "connections", GT_JSON_LINES);
	for (uint32_t i = 0; i < log->nmeans; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "by", log->means[i].name);
		gt_json_put_int(json, "count", (int64_t)log->means[i].n);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_said(struct gt_json_writer *json, const char *key,
		     const struct gt_nccl_said *said, uint32_t n)
{
	gt_json_open_array(json, key, GT_JSON_LINES);
	for (uint32_t i = 0; i < n; i++)
		gt_json_put_text(json, NULL, said[i].text);
	gt_json_end(json);
}

void gt_nccl_log_print_json(const struct gt_nccl_log_told *told,
			    struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.nccl-log/1");
	gt_json_put_text(&json, "gtopo", PACKAGE_VERSION);
	gt_json_put_text(&json, "file", told->file);
	put_text(&json, "nccl", log->version);
	gt_json_put_int(&json, "ranks", log->nranks);
	gt_json_put_int(&json, "machines", count_machines(log));
	put_text(&json, "network", log->network);
	put_rings(&json, log);
	put_graphs(&json, log);
	put_means(&json, log);
	put_said(&json, "env", log->env, log->nenv);
	put_said(&json, "warnings", log->warnings, log->nwarnings);
	gt_json_open_array(&json, "slow", GT_JSON_LINES);
	for (uint32_t i = 0; i < told->nadvice; i++) {
		gt_json_open_object(&json, NULL, GT_JSON_LINES);
		gt_json_put_text(&json, "what", told->advice[i].name);
		gt_json_put_text(&json, "text", told->advice[i].text);
		gt_json_put_text(&json, "remedy", told->advice[i].remedy);
		gt_json_end(&json);
	}
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
