/*
 * Trace: another link, with every post written down.  A rank's FIFO has
 * counters of its own here and the other link's slots: posts are passed on
 * one by one, slices are not touched.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "exec/link/bell.h"
#include "exec/link/proxied_fifo.h"
#include "world/world.h"

/* The other link rings ranks, not this one, so it looks around this often. */
enum { GT_TRACE_NAP_NS = 200000 };

/* A connection, between the rank's counters and the other link's end. */
struct gt_trace_fifo {
	struct gt_link_conn conn;
	struct gt_fifo_end far; /* the other link's */
	struct gt_fifo_end own; /* stands for the far rank */
};

struct gt_link {
	struct gt_link_config config;
	const struct gt_link_ops *inner;
	struct gt_link *link;
	FILE *file;
	struct gt_trace_fifo *fifos;
	uint32_t nfifos;
	char *memory;
	struct gt_bell bell;
	pthread_t thread;
	int has_thread;
	_Atomic int stop;
	_Atomic int busy; /* somebody passes posts on */
};

static void gt_trace_write(struct gt_link *link,
			   const struct gt_trace_fifo *fifo, uint64_t number)
{
	const struct gt_link_conn *conn = &fifo->conn;
	uint32_t slot = (uint32_t)(number % fifo->far.nslots);

	fprintf(link->file,
		"%" PRId64 " %s from %u to %u lane %u tag %u number %" PRIu64,
		gt_clock_ns(), conn->sends ? "slice" : "credit", conn->from,
		conn->to, conn->lane, conn->tag, number);
	if (conn->sends)
		fprintf(link->file, " bytes %u", fifo->own.lengths[slot]);
	fputc('\n', link->file);
}

/*
 * The rank's posts to the other link, and what came there to the rank; 0: there
 * were none.
 */
static int gt_trace_pass(struct gt_link *link, struct gt_trace_fifo *fifo)
{
	int sends = fifo->conn.sends;
	struct gt_fifo_end *from = sends ? &fifo->own : &fifo->far;
	struct gt_fifo_end *to = sends ? &fifo->far : &fifo->own;
	uint64_t data =
		atomic_load_explicit(&from->fifo->data, memory_order_acquire);
	uint64_t credit;
	int done = 0;

	/* What has always come, as with null, comes as there is room. */
	for (; to->at < data && gt_fifo_can_send(to); done = 1) {
		uint32_t slot = (uint32_t)(to->at % to->nslots);

		if (sends && to->lengths)
			to->lengths[slot] = from->lengths[slot];
		if (sends)
			gt_trace_write(link, fifo, to->at);
		gt_fifo_sent(to);
		gt_bell_ring(to->other);
	}
	credit = atomic_load_explicit(&to->fifo->credit, memory_order_acquire);
	done |= from->at < credit;
	while (from->at < credit) {
		if (!sends)
			gt_trace_write(link, fifo, from->at);
		gt_fifo_received(from);
		gt_bell_ring(from->other);
	}
	return done;
}

static int gt_trace_progress(struct gt_link *link)
{
	int done = 0;

	if (!atomic_exchange_explicit(&link->busy, 1, memory_order_acquire)) {
		for (uint32_t i = 0; i < link->nfifos; i++)
			done |= gt_trace_pass(link, &link->fifos[i]);
		atomic_store_explicit(&link->busy, 0, memory_order_release);
	}
	if (link->inner->progress)
		done |= link->inner->progress(link->link);
	return done;
}

static void gt_trace_attend(struct gt_link *link, int change)
{
	if (link->inner->attend)
		link->inner->attend(link->link, change);
}

static void *gt_trace_main(void *arg)
{
	struct gt_link *link = arg;
	uint32_t seen;

	while (!atomic_load(&link->stop)) {
		seen = gt_bell_look(&link->bell);
		gt_trace_progress(link);
		gt_bell_wait(&link->bell, seen, GT_TRACE_NAP_NS);
	}
	return NULL;
}

/* The last posts have to reach the other link before its FIFOs go. */
static void gt_trace_forget(struct gt_link *link)
{
	if (link->has_thread) {
		atomic_store(&link->stop, 1);
		gt_bell_ring(&link->bell);
		pthread_join(link->thread, NULL);
		gt_trace_progress(link);
	}
	link->has_thread = 0;
	free(link->memory);
	free(link->fifos);
	link->memory = NULL;
	link->fifos = NULL;
	link->nfifos = 0;
}

static void gt_trace_close(struct gt_link *link)
{
	if (!link)
		return;
	gt_trace_forget(link);
	link->inner->close(link->link);
	if (link->file)
		fclose(link->file);
	free(link);
}

static int gt_trace_open(const struct gt_link_config *config,
			 struct gt_link **out, struct gt_err *err)
{
	struct gt_link *link =
		aligned_alloc(_Alignof(struct gt_link), sizeof(*link));
	char path[PATH_MAX];
	int rc = GT_OK;

	if (!link)
		return gt_err_nomem(err);
	*link = (struct gt_link){.config = *config, .inner = config->inner};
	snprintf(path, sizeof(path), "%s.%u", config->trace,
		 gt_world_rank(config->world));
	link->file = fopen(path, "we");
	if (config->pins)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--trace-links is for ranks on CPUs");
	else if (!link->file)
		rc = gt_err_set(err, GT_ESYS, path, "cannot write: %s",
				strerror(errno));
	if (!rc) /* a hang shows the last post */
		setvbuf(link->file, NULL, _IOLBF, BUFSIZ);
	if (!rc)
		rc = link->inner->open(config, &link->link, err);
	if (rc)
		gt_trace_close(link);
	else
		*out = link;
	return rc;
}

/* The rank's end: counters from here, slots from there. */
static void gt_trace_make(struct gt_link *link, struct gt_trace_fifo *fifo,
			  uint32_t nslots, char *memory)
{
	const struct gt_link_conn *conn = &fifo->conn;
	const struct gt_link_shape counters = {.nslots = nslots};
	uint32_t rank = conn->sends ? conn->from : conn->to;

	fifo->own = gt_proxied_fifo_make(
		&counters, conn, memory, &link->bell,
		&link->config.bells[rank - link->config.first_rank]);
	conn->end->slots = fifo->far.slots;
	conn->end->slot_bytes = fifo->far.slot_bytes;
}

static int gt_trace_connect(struct gt_link *link,
			    const struct gt_link_shape *shape,
			    const struct gt_link_conn *conns, uint32_t nconns,
			    struct gt_err *err)
{
	const struct gt_link_shape counters = {.nslots = shape->nslots};
	size_t stride = gt_proxied_fifo_bytes(&counters);
	struct gt_link_conn *inner = calloc(nconns + 1, sizeof(*inner));
	int rc = GT_OK;

	gt_trace_forget(link);
	link->fifos = aligned_alloc(_Alignof(struct gt_trace_fifo),
				    (nconns + 1) * sizeof(*link->fifos));
	link->memory = gt_proxied_fifo_alloc(
		&link->config, nconns * gt_proxied_fifo_bytes(&counters), err);
	if (!inner || !link->fifos || !link->memory)
		rc = gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < nconns; i++) {
		link->fifos[i] = (struct gt_trace_fifo){.conn = conns[i]};
		inner[i] = conns[i];
		inner[i].end = &link->fifos[i].far;
	}
	if (!rc)
		rc = link->inner->connect(link->link, shape, inner, nconns,
					  err);
	free(inner);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < nconns; i++)
		gt_trace_make(link, &link->fifos[i], shape->nslots,
			      link->memory + i * stride);
	link->nfifos = nconns;
	atomic_store(&link->stop, 0);
	rc = gt_thread_start(&link->thread, gt_trace_main, link, err);
	link->has_thread = !rc;
	return rc;
}

static int gt_trace_check(struct gt_link *link, struct gt_err *err)
{
	if (ferror(link->file))
		return gt_err_set(err, GT_ESYS, link->config.trace,
				  "the log of links cannot be written");
	return link->inner->check(link->link, err);
}

const struct gt_link_ops gt_link_trace = {
	.name = "trace",
	.open = gt_trace_open,
	.close = gt_trace_close,
	.connect = gt_trace_connect,
	.check = gt_trace_check,
	.attend = gt_trace_attend,
	.progress = gt_trace_progress,
};
