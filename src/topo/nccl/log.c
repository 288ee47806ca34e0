/*
 * Reads logs of NCCL.
 */
#include "topo/nccl/log.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "topo/nccl/comms.h"
#include "topo/nccl/seen.h"

enum {
	GT_NCCL_LOG_MAX_RANKS = 1 << 20,
	GT_NCCL_LOG_NAME = 48, /* a name of means is cut there */
};

struct gt_nccl_logger {
	struct gt_arena *arena;
	struct gt_nccl_log *log;
	struct gt_nccl_comms comms;
	struct gt_nccl_seen hosts;
	int failed;
};

static const char *gt_nccl_keep(struct gt_nccl_logger *logger, const char *text,
				size_t len)
{
	char *kept = gt_arena_alloc(logger->arena, len + 1);

	if (!kept) {
		logger->failed = 1;
		return "";
	}
	memcpy(kept, text, len);
	gt_text_make_printable(kept);
	return kept;
}

/* Counts a host once. */
static void gt_nccl_log_host(struct gt_nccl_logger *logger, uint64_t hash)
{
	if (gt_nccl_seen_get(&logger->hosts, hash))
		return;
	logger->failed |= !!gt_nccl_seen_set(&logger->hosts, hash, 1);
	logger->log->nhosts++;
}

/* Steps back over ":digits" before `at`; returns where it begins, or NULL. */
static const char *gt_nccl_log_number_before(const char *start, const char *at)
{
	const char *digits = at;

	while (digits > start && isdigit((unsigned char)digits[-1]))
		digits--;
	return digits < at && digits > start && digits[-1] == ':' ? digits - 1
								  : NULL;
}

/* Learns of a line whose host begins at `host` and ends at `to`. */
static void gt_nccl_log_from(struct gt_nccl_logger *logger, const char *host,
			     const char *to, const char *thread,
			     const char *end)
{
	struct gt_nccl_comms *comms = &logger->comms;
	uint64_t hash = gt_nccl_seen_text(0, host, (size_t)(to - host));

	gt_nccl_log_host(logger, hash | !hash);
	comms->host = hash;
	comms->process = gt_nccl_seen_text(hash, to, (size_t)(thread - to));
	comms->thread = gt_nccl_seen_text(comms->process, thread,
					  (size_t)(end - thread));
}

/* Finds "host:pid:tid [0]" in what stands before NCCL's words. */
static void gt_nccl_log_prefix(struct gt_nccl_logger *logger, const char *line,
			       const char *end)
{
	const char *host, *to, *thread;

	logger->comms.host = 0;
	logger->comms.process = logger->comms.thread = 0;
	for (const char *p = line; p + 1 < end; p++) {
		if (p[0] != ' ' || p[1] != '[')
			continue;
		thread = gt_nccl_log_number_before(line, p);
		to = thread ? gt_nccl_log_number_before(line, thread) : NULL;
		if (!to)
			continue;
		for (host = to; host > line && !strchr(" >:", host[-1]);)
			host--;
		if (host < to)
			gt_nccl_log_from(logger, host, to, thread, p);
		return;
	}
}

/* Counts a text in a table of `size` that has *n. */
static void gt_nccl_log_say(struct gt_nccl_logger *logger,
			    struct gt_nccl_said *table, uint32_t size,
			    uint32_t *n, const char *text)
{
	for (uint32_t i = 0; i < *n; i++)
		if (!strcmp(table[i].text, text)) {
			table[i].n++;
			return;
		}
	if (*n == size) {
		logger->log->nleft_out++;
		return;
	}
	table[(*n)++] = (struct gt_nccl_said){
		gt_nccl_keep(logger, text, strlen(text)), 1};
}

/*
 * Names means without what differs between connections: the number of a port,
 * and who reads.
 */
static void gt_nccl_log_means_name(const char *via, char name[GT_NCCL_LOG_NAME])
{
	size_t n = strcspn(via, " ");
	const char *part = via, *end;
	size_t len = 0, room;

	for (; part < via + n; part = end + 1) {
		end = part + strcspn(part, "/ ");
		room = GT_NCCL_LOG_NAME - 1 - len;
		if (isdigit((unsigned char)*part) || *part == '(' ||
		    gt_starts_with(part, "read") ||
		    gt_starts_with(part, "Shared") ||
		    (size_t)(end - part) + 1 > room)
			continue;
		if (len)
			name[len++] = '/';
		memcpy(name + len, part, (size_t)(end - part));
		len += (size_t)(end - part);
	}
	name[len] = '\0';
}

/* "Channel 00/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA" */
static void gt_nccl_log_connection(struct gt_nccl_logger *logger,
				   const char *message, const char *via)
{
	const char *colon = strchr(message, ':'), *arrow;
	struct gt_nccl_log_comm *comm;
	struct gt_nccl_means means;
	char name[GT_NCCL_LOG_NAME];
	unsigned from, to;

	arrow = colon ? strstr(colon, " -> ") : NULL;
	if (!arrow || arrow > via || sscanf(colon + 1, " %9u[", &from) != 1 ||
	    sscanf(arrow + 4, "%9u[", &to) != 1)
		return;
	/* The receiver of what goes over the network says so as well. */
	if (strstr(message, "[receive]"))
		return;
	gt_nccl_log_means_name(via, name);
	comm = gt_nccl_comms_of(&logger->comms, 0, 1 + (from > to ? from : to));
	means = (struct gt_nccl_means){name, 1, from, to};
	if (comm && gt_nccl_comms_count(&logger->comms, comm, &means))
		logger->log->nleft_out++;
}

/* Returns how many numbers a text has that has only numbers and blanks. */
static uint32_t gt_nccl_log_numbers(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += isdigit((unsigned char)*text) &&
		     !isdigit((unsigned char)text[1]);
	return n;
}

/*
 * Makes room for a ring in the communicator of so many ranks that the line is
 * of; of those of one channel the first stays.
 */
static uint32_t *gt_nccl_log_ring_room(struct gt_nccl_logger *logger,
				       uint32_t channel, uint32_t of,
				       uint32_t n)
{
	struct gt_nccl_log_comm *comm = NULL;
	uint32_t *ring;

	if (n && n <= GT_NCCL_LOG_MAX_RANKS)
		comm = gt_nccl_comms_of(&logger->comms, n, n);
	if (!comm || comm->rings[channel])
		return NULL;
	ring = gt_arena_array(logger->arena, n, sizeof(*ring));
	logger->failed |= !ring;
	comm->rings[channel] = ring;
	if (of > comm->nrings)
		comm->nrings = of;
	return ring;
}

/* "Channel 00/08 :    0   1   2   3" */
static void gt_nccl_log_ring(struct gt_nccl_logger *logger, const char *message)
{
	const char *rest = strchr(message, ':');
	unsigned channel, of;
	uint32_t *ring, n;
	char *end;

	if (!rest || sscanf(message, "Channel %9u/%9u", &channel, &of) != 2 ||
	    channel >= of || of > GT_NCCL_LOG_RINGS ||
	    rest[1 + strspn(rest + 1, " 0123456789")])
		return;
	n = gt_nccl_log_numbers(++rest);
	ring = gt_nccl_log_ring_room(logger, channel, of, n);
	if (!ring)
		return;
	for (uint32_t i = 0; i < n; i++, rest = end)
		ring[i] = (uint32_t)strtoul(rest, &end, 10);
}

static void gt_nccl_log_graph(struct gt_nccl_logger *logger,
			      const char *message)
{
	struct gt_nccl_logged_graph graph = {0};
	struct gt_nccl_log_comm *comm;

	if (sscanf(message,
		   "Pattern %9d, crossNic %*d, nChannels %9u, %*[a-z] "
		   "%lf/%lf, type %3[A-Z0-9]/%3[A-Z0-9]",
		   &graph.pattern, &graph.nchannels, &graph.intra_gbs,
		   &graph.inter_gbs, graph.intra, graph.inter) != 6 ||
	    !isfinite(graph.intra_gbs) || !isfinite(graph.inter_gbs))
		return;
	comm = gt_nccl_comms_of(&logger->comms, 0, 0);
	if (!comm)
		return;
	for (uint32_t i = 0; i < comm->ngraphs; i++)
		if (!memcmp(&comm->graphs[i], &graph, sizeof(graph)))
			return;
	if (comm->ngraphs < GT_NCCL_LOG_GRAPHS)
		comm->graphs[comm->ngraphs++] = graph;
}

static void gt_nccl_log_fall_back(struct gt_nccl_logger *logger)
{
	struct gt_nccl_log_comm *comm = gt_nccl_comms_of(&logger->comms, 0, 0);

	if (comm)
		comm->fell_back = 1;
}

/* "NCCL_IB_DISABLE set by environment to 1." */
static void gt_nccl_log_setting(struct gt_nccl_logger *logger,
				const char *message, const char *words)
{
	static const char set[] = " set by environment to ";
	const char *value = words + strlen(set);
	size_t len = strlen(value);
	char text[256];

	if (len && value[len - 1] == '.')
		len--;
	snprintf(text, sizeof(text), "%.*s=%.*s", (int)(words - message),
		 message, (int)(len < 200 ? len : 200), value);
	gt_nccl_log_say(logger, logger->log->env, GT_NCCL_LOG_ENV,
			&logger->log->nenv, text);
}

/* Keeps the first such text. */
static void gt_nccl_log_once(struct gt_nccl_logger *logger, const char **kept,
			     const char *text)
{
	if (!*kept)
		*kept = gt_nccl_keep(logger, text, strlen(text));
}

static void gt_nccl_log_info(struct gt_nccl_logger *logger, const char *message)
{
	static const char network[] = "Using network ";
	static const char ports[] = "NET/IB : Using ";
	struct gt_nccl_log *log = logger->log;
	const char *at;

	if (gt_starts_with(message, "Channel ")) {
		at = strstr(message, " via ");
		if (at)
			gt_nccl_log_connection(logger, message, at + 5);
		else
			gt_nccl_log_ring(logger, message);
	} else if (gt_starts_with(message, network)) {
		gt_nccl_log_once(logger, &log->network,
				 message + strlen(network));
	} else if (gt_starts_with(message, ports)) {
		gt_nccl_log_once(logger, &log->ports, message + strlen(ports));
	} else if (gt_starts_with(message, "NET/IB : No device found")) {
		log->no_rdma_device = 1;
	} else if (gt_starts_with(message, "Failed to open libibverbs")) {
		log->no_verbs = 1;
	} else if (gt_starts_with(message, "P2P is disabled between")) {
		log->no_peer_access = 1;
	} else if (gt_starts_with(message, "Pattern ")) {
		gt_nccl_log_graph(logger, message);
	} else if (strstr(message, "falling back to simple order")) {
		gt_nccl_log_fall_back(logger);
	} else if ((at = strstr(message, " set by environment to "))) {
		gt_nccl_log_setting(logger, message, at);
	} else {
		gt_nccl_comms_learn(&logger->comms, message);
	}
}

static void gt_nccl_log_line(struct gt_nccl_logger *logger, const char *line)
{
	static const char version[] = "NCCL version ";
	struct gt_nccl_log *log = logger->log;
	const char *at = strstr(line, version);

	if (at)
		gt_nccl_log_once(logger, &log->version, at + strlen(version));
	if (!at)
		at = strstr(line, "NCCL INFO ");
	if (!at)
		at = strstr(line, "NCCL WARN ");
	if (!at)
		return;
	log->nlines++;
	gt_nccl_log_prefix(logger, line, at);
	if (gt_starts_with(at, "NCCL INFO "))
		gt_nccl_log_info(logger, at + 10);
	else if (gt_starts_with(at, "NCCL WARN "))
		gt_nccl_log_say(logger, log->warnings, GT_NCCL_LOG_WARNINGS,
				&log->nwarnings, at + 10);
}

static void gt_nccl_log_finish(struct gt_nccl_logger *logger)
{
	struct gt_nccl_comms *comms = &logger->comms;

	gt_nccl_comms_finish(comms);
	logger->failed |= comms->failed;
	logger->log->comms =
		(const struct gt_nccl_log_comm *const *)comms->list;
	logger->log->ncomms = comms->n;
	logger->log->ncomms_left_out = comms->nleft_out;
}

/* Says what a file is in which there is no line of NCCL's. */
static int no_log(const char *name, const char *text, size_t len,
		  struct gt_err *err)
{
	if (gt_first_char(text, len) == '{')
		return gt_err_set(err, GT_EINPUT, name,
				  "is JSON, neither a topology nor a log of "
				  "NCCL; of a plan 'gtopo show --plan' tells");
	if (len > 1 && !memcmp(text, "\x1f\x8b", 2))
		return gt_err_set(err, GT_EINPUT, name,
				  "is compressed; 'zcat %.512s | gtopo nccl -' "
				  "reads it",
				  name);
	return gt_err_set(err, GT_EINPUT, name,
			  "is neither XML nor a log of NCCL; NCCL_DEBUG=INFO "
			  "has a job write one");
}

int gt_nccl_log_read(const char *name, const char *text, size_t len,
		     struct gt_arena *arena, struct gt_nccl_log *log,
		     struct gt_err *err)
{
	struct gt_nccl_logger *logger = gt_arena_alloc(arena, sizeof(*logger));
	struct gt_buf line = GT_BUF_INIT;
	const char *whole = text, *end = text + len, *next;
	size_t n;

	if (!logger)
		return gt_err_nomem(err);
	memset(log, 0, sizeof(*log));
	logger->arena = logger->hosts.arena = arena;
	logger->log = log;
	gt_nccl_comms_init(&logger->comms, arena);
	for (; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (!next)
			next = end;
		line.len = 0;
		n = (size_t)(next - text);
		/* Terminals that record end lines with both. */
		gt_buf_add(&line, text, n && next[-1] == '\r' ? n - 1 : n);
		logger->failed |= line.failed;
		if (!line.failed && line.len)
			gt_nccl_log_line(logger, line.text);
	}
	gt_buf_release(&line);
	gt_nccl_log_finish(logger);
	if (logger->failed)
		return gt_err_nomem(err);
	return log->nlines ? GT_OK : no_log(name, whole, len, err);
}

uint32_t gt_nccl_log_nnodes(const struct gt_nccl_log *log)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < log->ncomms; i++)
		if (log->comms[i]->nnodes > most)
			most = log->comms[i]->nnodes;
	return most;
}
