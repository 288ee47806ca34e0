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
	uint32_t nnodes = gt_nccl_log_nnodes(log);

	return nnodes ? nnodes : log->nhosts;
}

/*
 * A log's hosts are a communicator's where it is the only one, and where one
 * host wrote all lines and all ranks are among them.
 */
static uint32_t count_comm_machines(const struct gt_nccl_log *log,
				    const struct gt_nccl_log_comm *comm)
{
	uint32_t named = log->ncomms - !log->comms[log->ncomms - 1]->nranks;
	int is_only = comm->nranks && named == 1 && !log->ncomms_left_out;
	int is_whole = comm->nranks && comm->nheard == comm->nranks;

	if (comm->nnodes || !(is_only || (is_whole && log->nhosts == 1)))
		return comm->nnodes;
	return log->nhosts;
}

static void print_size(uint32_t nranks, uint32_t machines, struct gt_buf *out)
{
	if (nranks)
		gt_buf_printf(out, "%u rank%s", nranks, gt_plural(nranks));
	if (machines)
		gt_buf_printf(out, "%son %u machine%s", nranks ? " " : "",
			      machines, gt_plural(machines));
}

static void print_head(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;
	uint32_t nranks = log->comms[0]->nranks, machines = count_machines(log);
	uint32_t named = log->ncomms - !log->comms[log->ncomms - 1]->nranks;

	gt_buf_put_plain(out, told->file);
	gt_buf_puts(out, ": NCCL ");
	gt_buf_put_plain(out,
			 log->version ? log->version : "of unknown version");
	if (log->ncomms_left_out)
		gt_buf_printf(out, ", %u of %" PRIu64, named,
			      named + log->ncomms_left_out);
	else if (named > 1)
		gt_buf_printf(out, ", %u", named);
	if (named > 1)
		gt_buf_puts(out, " communicators of up to");
	else if (nranks || machines)
		gt_buf_puts(out, ",");
	if (nranks || machines)
		gt_buf_puts(out, " ");
	print_size(nranks, machines, out);
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

static int same_ring(const struct gt_nccl_log_comm *a, uint32_t i,
		     const struct gt_nccl_log_comm *b, uint32_t j)
{
	return a->rings[i] && b->rings[j]
		       ? !memcmp(a->rings[i], b->rings[j],
				 a->nranks * sizeof(**a->rings))
		       : a->rings[i] == b->rings[j];
}

static void print_rings(const struct gt_nccl_log_told *told,
			const struct gt_nccl_log_comm *comm, struct gt_buf *out)
{
	uint32_t times;

	if (!comm->nrings)
		return;
	print_word(told, "rings", out);
	gt_buf_printf(out, "%u channel%s\n", comm->nrings,
		      gt_plural(comm->nrings));
	for (uint32_t i = 0; i < comm->nrings; i += times) {
		for (times = 1; i + times < comm->nrings; times++)
			if (!same_ring(comm, i, comm, i + times))
				break;
		if (comm->rings[i])
			print_ring(comm->rings[i], comm->nranks, times, out);
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
			 const struct gt_nccl_log_comm *comm,
			 struct gt_buf *out)
{
	const struct gt_nccl_logged_graph *graph;

	for (uint32_t i = 0; i < comm->ngraphs; i++) {
		graph = &comm->graphs[i];
		if (!graph->nchannels)
			continue;
		print_word(told, "graph", out);
		gt_buf_printf(out, "%s: %u channel%s of %g GB/s over %s",
			      pattern_name(graph->pattern), graph->nchannels,
			      gt_plural(graph->nchannels), graph->intra_gbs,
			      graph->intra);
		if (comm->nnodes > 1)
			gt_buf_printf(out,
				      "; %g GB/s between machines, over %s",
				      graph->inter_gbs, graph->inter);
		gt_buf_puts(out, "\n");
	}
}

static void print_means(const struct gt_nccl_log_told *told,
			const struct gt_nccl_log_comm *comm, struct gt_buf *out)
{
	for (uint32_t i = 0; i < comm->nmeans; i++) {
		print_word(told, "by", out);
		gt_buf_put_plain(out, comm->means[i].name);
		gt_buf_printf(out, ": %" PRIu64 " connection%s\n",
			      comm->means[i].n, gt_plural(comm->means[i].n));
	}
}

static int same_means(const struct gt_nccl_log_comm *a,
		      const struct gt_nccl_log_comm *b)
{
	uint32_t i = 0;

	while (i < a->nmeans && i < b->nmeans &&
	       a->means[i].n == b->means[i].n &&
	       !strcmp(a->means[i].name, b->means[i].name))
		i++;
	return i == a->nmeans && i == b->nmeans;
}

/* Whether two communicators would be told in the same words. */
static int same_comm(const struct gt_nccl_log_comm *a,
		     const struct gt_nccl_log_comm *b)
{
	uint32_t i = 0;

	if (a->nranks != b->nranks || a->nnodes != b->nnodes ||
	    a->nrings != b->nrings || a->ngraphs != b->ngraphs ||
	    memcmp(a->graphs, b->graphs, sizeof(a->graphs)) ||
	    !same_means(a, b))
		return 0;
	while (i < a->nrings && same_ring(a, i, b, i))
		i++;
	return i == a->nrings;
}

/* Tells the first of communicators that are alike, and how many there are. */
static void print_comm(const struct gt_nccl_log_told *told,
		       const struct gt_nccl_log_comm *comm, uint32_t times,
		       struct gt_buf *out)
{
	if (told->log->ncomms > 1) {
		print_word(told, "comm", out);
		if (times > 1)
			gt_buf_printf(out, "%u times ", times);
		if (comm->nranks)
			print_size(comm->nranks, comm->nnodes, out);
		else
			gt_buf_puts(out, "of some of these, NCCL does not log "
					 "which");
		if (comm->name) {
			gt_buf_puts(out, ": ");
			gt_buf_put_plain(out, comm->name);
		}
		gt_buf_puts(out, comm->name && times > 1 ? ", ...\n" : "\n");
	}
	print_rings(told, comm, out);
	print_graphs(told, comm, out);
	print_means(told, comm, out);
}

static void print_comms(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log_comm *const *comms = told->log->comms;
	uint32_t n = told->log->ncomms, first, times;

	for (uint32_t i = 0; i < n; i++) {
		for (first = 0; !same_comm(comms[first], comms[i]);)
			first++;
		if (first < i)
			continue;
		times = 0;
		for (uint32_t j = i; j < n; j++)
			times += (uint32_t)same_comm(comms[i], comms[j]);
		print_comm(told, comms[i], times, out);
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

static void print_left_out(const struct gt_nccl_log_told *told, uint64_t n,
			   const char *what, struct gt_buf *out)
{
	if (!n)
		return;
	print_word(told, "more", out);
	gt_buf_printf(out, "%" PRIu64 " further %s%s left out\n", n, what,
		      gt_plural(n));
}

void gt_nccl_log_print(const struct gt_nccl_log_told *told, struct gt_buf *out)
{
	const struct gt_nccl_log *log = told->log;

	print_head(told, out);
	print_comms(told, out);
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
	print_left_out(told, log->ncomms_left_out, "communicator", out);
	print_left_out(told, log->nleft_out, "line", out);
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
		      const struct gt_nccl_log_comm *comm)
{
	gt_json_open_array(json, "rings", GT_JSON_LINES);
	for (uint32_t i = 0; i < comm->nrings; i++) {
		if (!comm->rings[i]) {
			gt_json_put_null(json, NULL);
			continue;
		}
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t r = 0; r < comm->nranks; r++)
			gt_json_put_int(json, NULL, comm->rings[i][r]);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_graphs(struct gt_json_writer *json,
		       const struct gt_nccl_log_comm *comm)
{
	gt_json_open_array(json, "graphs", GT_JSON_LINES);
	for (uint32_t i = 0; i < comm->ngraphs; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "pattern", comm->graphs[i].pattern);
		gt_json_put_int(json, "channels", comm->graphs[i].nchannels);
		gt_json_put_double(json, "channel_gbs", "%.6g",
				   comm->graphs[i].intra_gbs);
		gt_json_put_double(json, "inter_gbs", "%.6g",
				   comm->graphs[i].inter_gbs);
		gt_json_put_text(json, "kind", comm->graphs[i].intra);
		gt_json_put_text(json, "inter_kind", comm->graphs[i].inter);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_means(struct gt_json_writer *json,
		      const struct gt_nccl_log_comm *comm)
{
	gt_json_open_array(json, "connections", GT_JSON_LINES);
	for (uint32_t i = 0; i < comm->nmeans; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "by", comm->means[i].name);
		gt_json_put_int(json, "count", (int64_t)comm->means[i].n);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_comms(struct gt_json_writer *json,
		      const struct gt_nccl_log *log)
{
	const struct gt_nccl_log_comm *comm;

	gt_json_open_array(json, "communicators", GT_JSON_LINES);
	for (uint32_t i = 0; i < log->ncomms; i++) {
		comm = log->comms[i];
		gt_json_open_object(json, NULL, GT_JSON_LINES);
		put_text(json, "name", comm->name);
		gt_json_put_int(json, "ranks", comm->nranks);
		gt_json_put_int(json, "ranks_heard", comm->nheard);
		gt_json_put_int(json, "machines",
				count_comm_machines(log, comm));
		put_rings(json, comm);
		put_graphs(json, comm);
		put_means(json, comm);
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
	gt_json_put_int(&json, "ranks", log->comms[0]->nranks);
	gt_json_put_int(&json, "machines", count_machines(log));
	put_text(&json, "network", log->network);
	put_comms(&json, log);
	gt_json_put_int(&json, "communicators_left_out",
			(int64_t)log->ncomms_left_out);
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
	gt_json_put_int(&json, "lines_left_out", (int64_t)log->nleft_out);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
