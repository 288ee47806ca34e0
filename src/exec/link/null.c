/*
 * Null: a link that carries nothing.  A sender's slices are taken and dropped
 * at once, and a receiver's have always come, so that a run's time is
 * everything but the wire's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/link/proxied_fifo.h"
#include "exec/link/proxied_link.h"

enum { GT_NULL_NAP_NS = 20000000 };

struct gt_null_link {
	struct gt_proxied_link base;
	struct gt_fifo_end *ends; /* the far side's of all that is sent */
	uint32_t nends;
};

/* Give all slots back that a rank has filled. */
static int gt_null_round(struct gt_proxied_link *base)
{
	struct gt_null_link *link = (struct gt_null_link *)base;
	int done = 0;

	for (uint32_t i = 0; i < link->nends; i++) {
		struct gt_fifo_end *end = &link->ends[i];

		if (!gt_fifo_can_receive(end))
			continue;
		while (gt_fifo_can_receive(end))
			gt_fifo_received(end);
		gt_bell_ring(end->other);
		done = 1;
	}
	return done;
}

static const struct gt_proxied_link_ops gt_null_proxy = {
	.round = gt_null_round,
	.progress = gt_proxied_link_progress,
	.nap_ns = GT_NULL_NAP_NS,
};

static void gt_null_forget(struct gt_null_link *link)
{
	gt_proxied_link_stop(&link->base);
	gt_proxied_link_forget(&link->base);
	free(link->ends);
	link->ends = NULL;
	link->nends = 0;
}

static void gt_null_close(struct gt_exec_link *self)
{
	struct gt_null_link *link = (struct gt_null_link *)self;

	if (!link)
		return;
	gt_null_forget(link);
	gt_proxied_link_free(&link->base);
}

static int gt_null_open(const struct gt_link_config *config,
			struct gt_exec_link **out, struct gt_err *err)
{
	*out = gt_proxied_link_new(sizeof(struct gt_null_link), &gt_null_proxy,
				   config);
	return *out ? GT_OK : gt_err_nomem(err);
}

static int gt_null_connect(struct gt_exec_link *self,
			   const struct gt_link_shape *shape,
			   const struct gt_link_conn *conns, uint32_t nconns,
			   struct gt_err *err)
{
	struct gt_null_link *link = (struct gt_null_link *)self;
	size_t stride = gt_proxied_fifo_bytes(shape);
	struct gt_fifo_end end;

	gt_null_forget(link);
	link->ends = calloc(nconns + 1, sizeof(*link->ends));
	if (!link->ends)
		return gt_err_nomem(err);
	if (gt_proxied_link_alloc(&link->base, nconns * stride, err))
		return GT_ESYS;
	memset(link->base.memory, 0, nconns * stride);
	for (uint32_t i = 0; i < nconns; i++) {
		end = gt_proxied_fifo_make(
			shape, &conns[i], link->base.memory + i * stride,
			&link->base.bell,
			gt_proxied_link_bell(&link->base, &conns[i]));
		if (conns[i].sends)
			link->ends[link->nends++] = end;
		else /* all slices that there can ever be have come */
			atomic_store(&end.fifo->data, UINT64_MAX);
	}
	return gt_proxied_link_start(&link->base, NULL, err);
}

static int gt_null_check(struct gt_exec_link *link, struct gt_err *err)
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
	.progress = gt_proxied_link_progress,
};
