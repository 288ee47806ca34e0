/* Batches of messages, and which of their messages may move next. */
#include "lib/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "exec/engine.h"
#include "gtopo.h"

void gt_batch_free(struct gt_batch *batch)
{
	if (!batch)
		return;
	free(batch->messages);
	free(batch->waits);
	free(batch->order);
	free(batch);
}

int gt_batch_add(struct gt_batch **at, const struct gt_message *message)
{
	struct gt_batch *batch = *at ? *at : calloc(1, sizeof(*batch));
	void *more;

	*at = batch;
	if (!batch)
		return GTOPO_ESYSTEM;
	more = gt_vec_grow(batch->messages, batch->n, &batch->room,
			   sizeof(*batch->messages));
	if (!more)
		return GTOPO_ESYSTEM;
	batch->messages = more;
	batch->messages[batch->n++] = *message;
	return GTOPO_OK;
}

int gt_batch_relay(struct gt_batch *batch, uint32_t after)
{
	while (batch->nwaits < batch->n) {
		struct gt_message_wait *more =
			gt_vec_grow(batch->waits, batch->nwaits,
				    &batch->waits_room, sizeof(*more));

		if (!more)
			return GTOPO_ESYSTEM;
		batch->waits = more;
		batch->waits[batch->nwaits++] =
			(struct gt_message_wait){.after = GT_MESSAGE_NONE};
	}
	batch->waits[batch->n - 1] =
		(struct gt_message_wait){.after = after, .relayed = 1};
	return GTOPO_OK;
}

static struct gt_message_wait wait_of(const struct gt_batch *batch, uint32_t i)
{
	return i < batch->nwaits
		       ? batch->waits[i]
		       : (struct gt_message_wait){.after = GT_MESSAGE_NONE};
}

int gt_batch_join(struct gt_batch **at, struct gt_batch *more)
{
	uint32_t first = *at ? (*at)->n : 0;
	int rc = GTOPO_OK;

	if (!*at) {
		*at = more;
		return GTOPO_OK;
	}
	for (uint32_t i = 0; !rc && i < more->n; i++) {
		struct gt_message message = more->messages[i];
		struct gt_message_wait wait = wait_of(more, i);

		if (wait.relayed)
			message.buffer = (void *)((uintptr_t)message.buffer +
						  (*at)->relay_bytes);
		if (wait.after != GT_MESSAGE_NONE)
			wait.after += first;
		rc = gt_batch_add(at, &message);
		if (!rc && wait.relayed)
			rc = gt_batch_relay(*at, wait.after);
	}
	(*at)->relay_bytes += more->relay_bytes;
	gt_batch_free(more);
	return rc;
}

static uint32_t row_of(uint32_t peer, int sends)
{
	return peer * 2 + !!sends;
}

/* Room for the order, the heads and, behind them, nrows numbers of zero. */
static uint32_t *make_order(struct gt_batch *batch, uint32_t nrows)
{
	size_t order = batch->n * sizeof(*batch->order);
	size_t heads = batch->n * sizeof(*batch->heads);
	char *memory = malloc(order + heads + nrows * sizeof(uint32_t));

	if (!memory)
		return NULL;
	free(batch->order);
	batch->order = (void *)memory;
	batch->heads = (void *)(memory + order);
	batch->nheads = 0;
	for (uint32_t i = 0; i < batch->n; i++)
		batch->order[i] =
			(struct gt_message_order){.next = GT_MESSAGE_NONE};
	return memset(memory + order + heads, 0, nrows * sizeof(uint32_t));
}

int gt_batch_find_heads(struct gt_batch *batch, uint32_t nranks)
{
	/* By row: the last message so far, plus one; one message has one. */
	uint32_t *last = make_order(batch, batch->n > 1 ? 2 * nranks : 1);

	if (!last)
		return GTOPO_ESYSTEM;
	for (uint32_t i = 0; i < batch->n; i++) {
		const struct gt_message *m = &batch->messages[i];
		uint32_t row = row_of(m->peer, m->sends);
		uint32_t *at = batch->n > 1 ? &last[row] : last;

		if (*at)
			batch->order[*at - 1].next = i;
		else
			batch->heads[batch->nheads++] =
				(struct gt_batch_head){i, row};
		*at = i + 1;
	}
	return GTOPO_OK;
}

const struct gt_message *gt_batch_head(const struct gt_batch *batch,
				       uint32_t head, uint64_t pass)
{
	uint32_t i = batch->heads[head].message,
		 after = wait_of(batch, i).after;

	if (after != GT_MESSAGE_NONE &&
	    (!batch->order[after].done || batch->order[after].done >= pass))
		return NULL;
	return &batch->messages[i];
}

uint32_t gt_batch_head_of(const struct gt_batch *batch, uint32_t peer,
			  int sends)
{
	uint32_t head = 0, row = row_of(peer, sends);

	while (head < batch->nheads && batch->heads[head].row != row)
		head++;
	return head;
}

void gt_batch_end_head(struct gt_batch *batch, uint32_t head, uint64_t pass)
{
	struct gt_batch_head *at = &batch->heads[head];
	struct gt_message_order *order = &batch->order[at->message];

	order->done = pass;
	if (order->next != GT_MESSAGE_NONE)
		at->message = order->next;
	else
		*at = batch->heads[--batch->nheads];
}

void gt_batch_place(struct gt_batch *batch, char *memory)
{
	for (uint32_t i = 0; i < batch->nwaits; i++)
		if (batch->waits[i].relayed)
			batch->messages[i].buffer =
				memory + (uintptr_t)batch->messages[i].buffer;
	batch->has_relay_memory = 1;
}
