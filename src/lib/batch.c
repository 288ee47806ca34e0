/* Batches of messages, and which of their messages may move next. */
#include "lib/batch.h"

#include <stdlib.h>

#include "base/vec.h"
#include "exec/engine.h"
#include "gtopo.h"

void gt_batch_free(struct gt_batch *batch)
{
	if (!batch)
		return;
	free(batch->messages);
	free(batch->order);
	free(batch->heads);
	free(batch);
}

int gt_batch_add(struct gt_batch **at, const struct gt_message *message)
{
	struct gt_batch *batch = *at ? *at : calloc(1, sizeof(*batch));
	uint32_t room;
	void *more;

	*at = batch;
	if (!batch)
		return GTOPO_ESYSTEM;
	room = batch->room;
	more = gt_vec_grow(batch->messages, batch->n, &room,
			   sizeof(*batch->messages));
	if (!more)
		return GTOPO_ESYSTEM;
	batch->messages = more;
	more = gt_vec_grow(batch->order, batch->n, &batch->room,
			   sizeof(*batch->order));
	if (!more)
		return GTOPO_ESYSTEM;
	batch->order = more;
	batch->order[batch->n] = (struct gt_message_order){
		.after = GT_MESSAGE_NONE, .next = GT_MESSAGE_NONE};
	batch->messages[batch->n++] = *message;
	return GTOPO_OK;
}

/* The message that is `bytes` further in its relay memory. */
static void move_relayed(struct gt_message *message, uint64_t bytes)
{
	message->buffer = (void *)((uintptr_t)message->buffer + bytes);
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
		const struct gt_message_order *order = &more->order[i];

		if (order->relayed)
			move_relayed(&message, (*at)->relay_bytes);
		rc = gt_batch_add(at, &message);
		if (rc)
			break;
		(*at)->order[first + i].relayed = order->relayed;
		if (order->after != GT_MESSAGE_NONE)
			(*at)->order[first + i].after = first + order->after;
	}
	(*at)->relay_bytes += more->relay_bytes;
	gt_batch_free(more);
	return rc;
}

int gt_batch_find_heads(struct gt_batch *batch, uint32_t nranks)
{
	/* By row: the last message so far, plus one. */
	uint32_t *last = calloc((size_t)nranks * 2, sizeof(*last));

	free(batch->heads);
	batch->heads = malloc(batch->n * sizeof(*batch->heads));
	batch->nheads = 0;
	for (uint32_t i = 0; last && batch->heads && i < batch->n; i++) {
		const struct gt_message *m = &batch->messages[i];
		uint32_t *row = &last[m->peer * 2 + !!m->sends];

		if (*row)
			batch->order[*row - 1].next = i;
		else
			batch->heads[batch->nheads++] = i;
		*row = i + 1;
	}
	free(last);
	return last && batch->heads ? GTOPO_OK : GTOPO_ESYSTEM;
}

const struct gt_message *gt_batch_head(const struct gt_batch *batch,
				       uint32_t head, uint64_t pass)
{
	uint32_t i = batch->heads[head], after = batch->order[i].after;

	if (after != GT_MESSAGE_NONE &&
	    (!batch->order[after].done || batch->order[after].done >= pass))
		return NULL;
	return &batch->messages[i];
}

uint32_t gt_batch_head_of(const struct gt_batch *batch, uint32_t peer,
			  int sends)
{
	uint32_t head = 0;

	while (head < batch->nheads &&
	       (batch->messages[batch->heads[head]].peer != peer ||
		batch->messages[batch->heads[head]].sends != sends))
		head++;
	return head;
}

void gt_batch_end_head(struct gt_batch *batch, uint32_t head, uint64_t pass)
{
	struct gt_message_order *order = &batch->order[batch->heads[head]];

	order->done = pass;
	if (order->next != GT_MESSAGE_NONE)
		batch->heads[head] = order->next;
	else
		batch->heads[head] = batch->heads[--batch->nheads];
}

void gt_batch_place(struct gt_batch *batch, char *memory)
{
	for (uint32_t i = 0; i < batch->n; i++)
		if (batch->order[i].relayed)
			batch->messages[i].buffer =
				memory + (uintptr_t)batch->messages[i].buffer;
	batch->has_relay_memory = 1;
}
