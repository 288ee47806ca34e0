/*
 * The memory of FIFOs whose two ends are in two processes, with slots in both
 * (exec/link/proxied_fifo.h).
 */
#include "exec/link/proxied_fifo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/must.h"

static int gt_proxied_fifo_order(const void *a, const void *b)
{
	const struct gt_link_conn *x = a, *y = b;
	const uint32_t left[] = {x->process, x->from, x->to, x->lane, x->tag};
	const uint32_t right[] = {y->process, y->from, y->to, y->lane, y->tag};

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

struct gt_link_conn *gt_proxied_fifo_sort(const struct gt_link_conn *conns,
					  uint32_t nconns)
{
	struct gt_link_conn *sorted = calloc(nconns + 1, sizeof(*sorted));

	if (!sorted || !nconns)
		return sorted;
	memcpy(sorted, conns, nconns * sizeof(*sorted));
	qsort(sorted, nconns, sizeof(*sorted), gt_proxied_fifo_order);
	return sorted;
}

size_t gt_proxied_fifo_slots(const struct gt_link_shape *shape)
{
	return sizeof(struct gt_fifo) +
	       gt_cache_lines_bytes(shape->nslots * sizeof(uint32_t));
}

size_t gt_proxied_fifo_bytes(const struct gt_link_shape *shape)
{
	return gt_proxied_fifo_slots(shape) +
	       (size_t)shape->nslots * shape->slot_bytes;
}

char *gt_proxied_fifo_alloc(const struct gt_link_config *config, size_t bytes,
			    struct gt_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory;

	bytes = (bytes / page + 1) * page;
	memory = aligned_alloc(page, bytes);
	if (!memory) {
		gt_err_nomem(err);
		return NULL;
	}
	if (config->pins && config->pins->pin(memory, bytes, err)) {
		free(memory);
		return NULL;
	}
	return memory;
}

void gt_proxied_fifo_free(const struct gt_link_config *config, char *memory)
{
	if (memory && config->pins)
		config->pins->unpin(memory);
	free(memory);
}

struct gt_fifo_end gt_proxied_fifo_make(const struct gt_link_shape *shape,
					const struct gt_link_conn *conn,
					char *memory, struct gt_bell *proxy,
					struct gt_bell *rank)
{
	struct gt_fifo_end end = {
		.fifo = (struct gt_fifo *)(void *)memory,
		.lengths =
			(uint32_t *)(void *)(memory + sizeof(struct gt_fifo)),
		.slots = memory + gt_proxied_fifo_slots(shape),
		.other = proxy,
		.slot_bytes = shape->slot_bytes,
		.nslots = shape->nslots,
	};

	/* Two FIFOs on one cache line would slow each other down. */
	GT_MUST((uintptr_t)memory % GT_CACHE_LINE_BYTES == 0);
	gt_fifo_init(end.fifo);
	*conn->end = end;
	end.other = rank;
	return end;
}
