/*
 * Trace: another link, with every post written to a file.  A rank's FIFO has
 * counters of its own here and the other link's slots: posts are passed on one
 * by one, slices are not touched.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/link/proxied_fifo.h"
#include "exec/link/proxied_link.h"
#include "world/world.h"

/*
 * The other link rings ranks, not this one's proxy, so the proxy looks around
 * this often.
 */
enum { GT_TRACED_NAP_NS = 200000 };

/* A connection, between the rank's counters here and the other link's end. */
struct gt_traced_fifo {
	struct gt_link_conn conn;
	struct gt_fifo_end far; /* the other link's */
	struct gt_fifo_end own; /* stands for the far rank */
};

struct gt_traced_link {
	struct gt_proxied_link base;
	const struct gt_link_ops *inner;
	struct gt_exec_link *link; /* the other link */
	FILE *file;
	struct gt_traced_fifo *fifos;
	uint32_t nfifos;
};

static void gt_traced_write(struct gt_traced_link *link,
			    const struct gt_traced_fifo *fifo, uint64_t number)
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
 * Pass the rank's posts on to the other link, and what came there on to the
 * rank; 0: there were none.
 */
static int gt_traced_pass(struct gt_traced_link *link,
			  struct gt_traced_fifo *fifo)
{
	int sends = fifo->conn.sends;
	struct gt_fifo_end *from = sends ? &fifo->own : &fifo->far;
	struct gt_fifo_end *to = sends ? &fifo->far : &fifo->own;
	uint64_t data =
		atomic_load_explicit(&from->fifo->data, memory_order_acquire);
	uint64_t credit;
	int done = 0;

	/* Slices that have always come, as with null, come as there is room. */
	for (; to->at < data && gt_fifo_can_send(to); done = 1) {
		uint32_t slot = (uint32_t)(to->at % to->nslots);

		if (sends && to->lengths)
			to->lengths[slot] = from->lengths[slot];
		if (sends)
			gt_traced_write(link, fifo, to->at);
		gt_fifo_sent(to);
		gt_bell_ring(to->other);
	}
	credit = atomic_load_explicit(&to->fifo->credit, memory_order_acquire);
	done |= from->at < credit;
	while (from->at < credit) {
		if (!sends)
			gt_traced_write(link, fifo, from->at);
		gt_fifo_received(from);
		gt_bell_ring(from->other);
	}
	return done;
}

static int gt_traced_round(struct gt_proxied_link *base)
{
	struct gt_traced_link *link = (struct gt_traced_link *)base;
	int done = 0;

	for (uint32_t i = 0; i < link->nfifos; i++)
		done |= gt_traced_pass(link, &link->fifos[i]);
	return done;
}

static int gt_traced_progress(struct gt_exec_link *self)
{
	struct gt_traced_link *link = (struct gt_traced_link *)self;
	int done = gt_proxied_link_progress(self);

	if (link->inner->progress)
		done |= link->inner->progress(link->link);
	return done;
}

static void gt_traced_attend(struct gt_exec_link *self, int change)
{
	struct gt_traced_link *link = (struct gt_traced_link *)self;

	if (link->inner->attend)
		link->inner->attend(link->link, change);
}

static const struct gt_proxied_link_ops gt_traced_proxy = {
	.round = gt_traced_round,
	.progress = gt_traced_progress,
	.nap_ns = GT_TRACED_NAP_NS,
};

/* The last posts have to reach the other link before its FIFOs go. */
static void gt_traced_forget(struct gt_traced_link *link)
{
	if (gt_proxied_link_stop(&link->base))
		gt_traced_progress((struct gt_exec_link *)link);
	gt_proxied_link_forget(&link->base);
	free(link->fifos);
	link->fifos = NULL;
	link->nfifos = 0;
}

static void gt_traced_close(struct gt_exec_link *self)
{
	struct gt_traced_link *link = (struct gt_traced_link *)self;

	if (!link)
		return;
	gt_traced_forget(link);
	link->inner->close(link->link);
	if (link->file)
		fclose(link->file);
	gt_proxied_link_free(&link->base);
}

static int gt_traced_open(const struct gt_link_config *config,
			  struct gt_exec_link **out, struct gt_err *err)
{
	struct gt_traced_link *link =
		gt_proxied_link_new(sizeof(*link), &gt_traced_proxy, config);
	char path[PATH_MAX];
	int rc = GT_OK;

	if (!link)
		return gt_err_nomem(err);
	link->inner = config->inner;
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
		gt_traced_close((struct gt_exec_link *)link);
	else
		*out = (struct gt_exec_link *)link;
	return rc;
}

/* Make the rank's end: counters from here, slots from the other link. */
static void gt_traced_make(struct gt_traced_link *link,
			   struct gt_traced_fifo *fifo, uint32_t nslots,
			   char *memory)
{
	const struct gt_link_conn *conn = &fifo->conn;
	const struct gt_link_shape counters = {.nslots = nslots};

	fifo->own =
		gt_proxied_fifo_make(&counters, conn, memory, &link->base.bell,
				     gt_proxied_link_bell(&link->base, conn));
	conn->end->slots = fifo->far.slots;
	conn->end->slot_bytes = fifo->far.slot_bytes;
}

static int gt_traced_connect(struct gt_exec_link *self,
			     const struct gt_link_shape *shape,
			     const struct gt_link_conn *conns, uint32_t nconns,
			     struct gt_err *err)
{
	struct gt_traced_link *link = (struct gt_traced_link *)self;
	const struct gt_link_shape counters = {.nslots = shape->nslots};
	size_t stride = gt_proxied_fifo_bytes(&counters);
	struct gt_link_conn *inner = calloc(nconns + 1, sizeof(*inner));
	int rc;

	gt_traced_forget(link);
	link->fifos = aligned_alloc(_Alignof(struct gt_traced_fifo),
				    (nconns + 1) * sizeof(*link->fifos));
	rc = inner && link->fifos
		     ? gt_proxied_link_alloc(&link->base, nconns * stride, err)
		     : gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < nconns; i++) {
		link->fifos[i] = (struct gt_traced_fifo){.conn = conns[i]};
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
		gt_traced_make(link, &link->fifos[i], shape->nslots,
			       link->base.memory + i * stride);
	link->nfifos = nconns;
	return gt_proxied_link_start(&link->base, NULL, err);
}

static int gt_traced_check(struct gt_exec_link *self, struct gt_err *err)
{
	struct gt_traced_link *link = (struct gt_traced_link *)self;

	if (ferror(link->file))
		return gt_err_set(err, GT_ESYS, link->base.config.trace,
				  "the log of links cannot be written");
	return link->inner->check(link->link, err);
}

const struct gt_link_ops gt_link_trace = {
	.name = "trace",
	.open = gt_traced_open,
	.close = gt_traced_close,
	.connect = gt_traced_connect,
	.check = gt_traced_check,
	.attend = gt_traced_attend,
	.progress = gt_traced_progress,
};
