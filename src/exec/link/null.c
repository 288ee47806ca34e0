/*
 * Null: a sender's slices are taken and dropped at once, a receiver's have
 * always come.  What is left of a run's time is everything but the wire.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/thread.h"
#include "exec/link/bell.h"
#include "exec/link/proxied_fifo.h"

enum { GT_NULL_NAP_NS = 20000000 };

struct gt_link {
	struct gt_link_config config;
	struct gt_fifo_end *ends; /* the far side's of what is sent */
	uint32_t nends;
	char *memory; /* counters and slots of all FIFOs */
	struct gt_bell bell;
	pthread_t thread;
	int has_thread;
	_Atomic int stop;
	_Atomic int busy; /* somebody looks after the ends */
};

/* Give all slices back; by the thread, or by a rank that is idle. */
static int gt_null_progress(struct gt_link *link)
{
	int done = 0;

	if (atomic_exchange_explicit(&link->busy, 1, memory_order_acquire))
		return 0;
	for (uint32_t i = 0; i < link->nends; i++) {
		struct gt_fifo_end *end = &link->ends[i];

		if (!gt_fifo_can_receive(end))
			continue;
		while (gt_fifo_can_receive(end))
			gt_fifo_received(end);
		gt_bell_ring(end->other);
		done = 1;
	}
	atomic_store_explicit(&link->busy, 0, memory_order_release);
	return done;
}

static void *gt_null_main(void *arg)
{
	struct gt_link *link = arg;
	uint32_t seen;

	while (!atomic_load(&link->stop)) {
		seen = gt_bell_look(&link->bell);
		gt_null_progress(link);
		gt_bell_wait(&link->bell, seen, GT_NULL_NAP_NS);
	}
	return NULL;
}

static void gt_null_forget(struct gt_link *link)
{
	if (link->has_thread) {
		atomic_store(&link->stop, 1);
		gt_bell_ring(&link->bell);
		pthread_join(link->thread, NULL);
	}
	link->has_thread = 0;
	gt_proxied_fifo_free(&link->config, link->memory);
	free(link->ends);
	link->memory = NULL;
	link->ends = NULL;
	link->nends = 0;
}

static void gt_null_close(struct gt_link *link)
{
	if (link)
		gt_null_forget(link);
	free(link);
}

static int gt_null_open(const struct gt_link_config *config,
			struct gt_link **out, struct gt_err *err)
{
	struct gt_link *link =
		aligned_alloc(_Alignof(struct gt_link), sizeof(*link));

	if (!link)
		return gt_err_nomem(err);
	*link = (struct gt_link){.config = *config};
	*out = link;
	return GT_OK;
}

static int gt_null_connect(struct gt_link *link,
			   const struct gt_link_shape *shape,
			   const struct gt_link_conn *conns, uint32_t nconns,
			   struct gt_err *err)
{
	size_t stride = gt_proxied_fifo_bytes(shape);
	struct gt_fifo_end end;
	uint32_t rank;
	int rc;

	gt_null_forget(link);
	link->ends = calloc(nconns + 1, sizeof(*link->ends));
	link->memory = gt_proxied_fifo_alloc(
		&link->config, nconns * gt_proxied_fifo_bytes(shape), err);
	if (!link->ends || !link->memory)
		return gt_err_nomem(err);
	memset(link->memory, 0, nconns * stride);
	for (uint32_t i = 0; i < nconns; i++) {
		rank = conns[i].sends ? conns[i].from : conns[i].to;
		rank -= link->config.first_rank;
		end = gt_proxied_fifo_make(
			shape, &conns[i], link->memory + i * stride,
			&link->bell, &link->config.bells[rank]);
		if (conns[i].sends)
			link->ends[link->nends++] = end;
		else /* all that can ever come */
			atomic_store(&end.fifo->data, UINT64_MAX);
	}
	atomic_store(&link->stop, 0);
	rc = gt_thread_start(&link->thread, gt_null_main, link, err);
	link->has_thread = !rc;
	return rc;
}

static int gt_null_check(struct gt_link *link, struct gt_err *err)
{
	(void)link;
	(void)err;
	return GT_OK;
}

const struct gt_link_ops gt_link_null = {
	.name = "null",
	.open = gt_null_open,
	.close = gt_null_close,
	.connect = gt_null_connect,
	.check = gt_null_check,
	.progress = gt_null_progress,
};
