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

enum {
	GT_NCCL_LOG_HOSTS = 16384, /* places for hosts that are counted */
	GT_NCCL_LOG_MAX_RANKS = 1 << 20,
	GT_NCCL_LOG_NAME = 48, /* a name of means is cut there */
};

struct gt_nccl_logger {
	struct gt_arena *arena;
	struct gt_nccl_log *log;
	uint64_t hosts[GT_NCCL_LOG_HOSTS]; /* hashes, 0 is a free place */
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

/* Counts a host once (FNV-1a; two with one hash would count as one). */
static void gt_nccl_log_host(struct gt_nccl_logger *logger, const char *name,
			     size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;
	uint32_t at;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
	hash |= !hash;
	if (logger->log->nhosts >= GT_NCCL_LOG_HOSTS / 2)
		return;
	for (at = (uint32_t)(hash % GT_NCCL_LOG_HOSTS);
	     logger->hosts[at] && logger->hosts[at] != hash;
	     at = (at + 1) % GT_NCCL_LOG_HOSTS)
		;
	if (logger->hosts[at])
		return;
	logger->hosts[at] = hash;
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

/* Finds "host:pid:tid [0]" in what stands before NCCL's words. */
static void gt_nccl_log_prefix(struct gt_nccl_logger *logger, const char *line,
			       const char *end)
{
	const char *host, *to;

	for (const char *p = line; p + 1 < end; p++) {
		if (p[0] != ' ' || p[1] != '[')
			continue;
		to = gt_nccl_log_number_before(line, p);
		to = to ? gt_nccl_log_number_before(line, to) : NULL;
		if (!to)
			continue;
		for (host = to; host > line && !strchr(" >:", host[-1]);)
			host--;
		if (host < to)
			gt_nccl_log_host(logger, host, (size_t)(to - host));
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
	struct gt_nccl_log *log = logger->log;
	const char *colon = strchr(message, ':'), *arrow;
	char name[GT_NCCL_LOG_NAME];
	unsigned from, to;
	uint32_t i = 0;

	arrow = colon ? strstr(colon, " -> ") : NULL;
	if (!arrow || arrow > via || sscanf(colon + 1, " %9u[", &from) != 1 ||
	    sscanf(arrow + 4, "%9u[", &to) != 1)
		return;
	/* The receiver of what goes over the network says so as well. */
	if (strstr(message, "[receive]"))
		return;
	gt_nccl_log_means_name(via, name);
	while (i < log->nmeans && strcmp(log->means[i].name, name))
		i++;
	if (i == GT_NCCL_LOG_MEANS) {
		log->nleft_out++;
		return;
	}
	if (i == log->nmeans)
		log->means[log->nmeans++] = (struct gt_nccl_means){
			gt_nccl_keep(logger, name, strlen(name)), 0, from, to};
	log->means[i].n++;
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
 * Makes room for a ring of so many ranks.  Rings of a communicator with fewer
 * ranks give way; of those with as many the first stay.
 */
static uint32_t *gt_nccl_log_ring_room(struct gt_nccl_logger *logger,
				       uint32_t channel, uint32_t n)
{
	struct gt_nccl_log *log = logger->log;
	uint32_t *ring;

	if (!n || n < log->nring_ranks || n > GT_NCCL_LOG_MAX_RANKS)
		return NULL;
	if (n > log->nring_ranks) {
		memset(log->rings, 0, sizeof(log->rings));
		log->nrings = 0;
		log->nring_ranks = n;
	}
	if (log->rings[channel])
		return NULL;
	ring = gt_arena_array(logger->arena, n, sizeof(*ring));
	logger->failed |= !ring;
	log->rings[channel] = ring;
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
	ring = gt_nccl_log_ring_room(logger, channel, n);
	if (!ring)
		return;
	for (uint32_t i = 0; i < n; i++, rest = end)
		ring[i] = (uint32_t)strtoul(rest, &end, 10);
	if (of > logger->log->nrings)
		logger->log->nrings = of;
}

/* Keeps a number of ranks if it is the largest; returns whether it is. */
static int gt_nccl_log_ranks(struct gt_nccl_log *log, unsigned nranks)
{
	if (nranks < log->nranks || nranks > GT_NCCL_LOG_MAX_RANKS)
		return 0;
	log->nranks = nranks;
	return 1;
}

static void gt_nccl_log_comm(struct gt_nccl_log *log, const char *message)
{
	const char *at = strstr(message, " nRanks ");
	unsigned nranks, nnodes, nlocal;

	if (at && sscanf(at, " nRanks %9u nNodes %9u localRanks %9u", &nranks,
			 &nnodes, &nlocal) == 3) {
		if (gt_nccl_log_ranks(log, nranks)) {
			log->nnodes = nnodes;
			log->nlocal = nlocal;
		}
		return;
	}
	at = strstr(message, " nranks ");
	if (at && strstr(at, " cudaDev ") &&
	    sscanf(at, " nranks %9u", &nranks) == 1)
		gt_nccl_log_ranks(log, nranks);
}

static void gt_nccl_log_graph(struct gt_nccl_log *log, const char *message)
{
	struct gt_nccl_logged_graph graph = {0};

	if (sscanf(message,
		   "Pattern %9d, crossNic %*d, nChannels %9u, %*[a-z] "
		   "%lf/%lf, type %3[A-Z0-9]/%3[A-Z0-9]",
		   &graph.pattern, &graph.nchannels, &graph.intra_gbs,
		   &graph.inter_gbs, graph.intra, graph.inter) != 6 ||
	    !isfinite(graph.intra_gbs) || !isfinite(graph.inter_gbs))
		return;
	for (uint32_t i = 0; i < log->ngraphs; i++)
		if (!memcmp(&log->graphs[i], &graph, sizeof(graph)))
			return;
	if (log->ngraphs < GT_NCCL_LOG_GRAPHS)
		log->graphs[log->ngraphs++] = graph;
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
		gt_nccl_log_graph(log, message);
	} else if (strstr(message, "falling back to simple order")) {
		log->fell_back = 1;
	} else if ((at = strstr(message, " set by environment to "))) {
		gt_nccl_log_setting(logger, message, at);
	} else {
		gt_nccl_log_comm(log, message);
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

int gt_nccl_log_read(const char *name, const char *text, size_t len,
		     struct gt_arena *arena, struct gt_nccl_log *log,
		     struct gt_err *err)
{
	struct gt_nccl_logger *logger = gt_arena_alloc(arena, sizeof(*logger));
	struct gt_buf line = GT_BUF_INIT;
	const char *end = text + len, *next;
	size_t n;

	if (!logger)
		return gt_err_nomem(err);
	memset(log, 0, sizeof(*log));
	logger->arena = arena;
	logger->log = log;
	for (; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (!next)
			next = end;
		line.len = 0;
		n = (size_t)(next - text);
		/* Terminals that record end lines with both. */
		gt_buf_add(&line, text, n && next[-1] == '\r' ? n - 1 : n);
		if (!line.failed && line.len)
			gt_nccl_log_line(logger, line.text);
	}
	logger->failed |= line.failed;
	gt_buf_release(&line);
	if (logger->failed)
		return gt_err_nomem(err);
	if (!log->nlines)
		return gt_err_set(err, GT_EINPUT, name,
				  "is neither XML nor a log of NCCL; "
				  "NCCL_DEBUG=INFO has a job write one");
	if (log->nring_ranks > log->nranks)
		log->nranks = log->nring_ranks;
	return GT_OK;
}

const char *gt_nccl_log_env(const struct gt_nccl_log *log, const char *variable)
{
	size_t len = strlen(variable);

	for (uint32_t i = 0; i < log->nenv; i++)
		if (!strncmp(log->env[i].text, variable, len) &&
		    log->env[i].text[len] == '=')
			return log->env[i].text + len + 1;
	return NULL;
}
