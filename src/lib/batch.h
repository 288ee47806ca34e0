/*
 * A batch is a rank's messages that start together: of one call, or of a group.
 *
 * Messages to one peer go in their order, and so do those from one peer; of
 * each such row the first that is not done is a *head*.  A message may also
 * have to wait for another one of its batch: what a rank passes on has to come
 * first, and its place is needed again once it has gone.
 */
#ifndef GT_LIB_BATCH_H
#define GT_LIB_BATCH_H

#include <stdint.h>

struct gt_message;

/* No message of the batch. */
#define GT_MESSAGE_NONE UINT32_MAX

/* What a message waits for that is passed on, or that passes on. */
struct gt_message_wait {
	uint32_t after; /* this one must be done before it begins, or NONE */
	/* The buffer is a place in the batch's relay memory, once there is
	 * any; until then the address says how far in. */
	uint8_t relayed;
};

/* Host: where a message is in its row. */
struct gt_message_order {
	uint32_t next; /* the next one, or NONE */
	uint64_t done; /* the pass that found it done; 0: it is not */
};

/* Rows are numbered by peer, those from it before those to it. */
struct gt_batch_head {
	uint32_t message, row;
};

struct gt_batch {
	struct gt_message *messages;
	struct gt_message_wait *waits;  /* of the first nwaits messages */
	struct gt_message_order *order; /* host: of each message, with ... */
	struct gt_batch_head *heads;    /* ... these behind */
	uint32_t n, room, nwaits, waits_room, nheads;
	uint64_t relay_bytes; /* for what it passes on; 0: nothing */
	int has_relay_memory;
	int64_t since_ns; /* host: when it last got on; 0: it is not yet the
			     first of its rank's calls */
};

/*
 * Copy a message to the end of *batch, which is made if it is NULL;
 * GTOPO_ESYSTEM when memory ran out.  It waits for none but those of its row.
 */
int gt_batch_add(struct gt_batch **batch, const struct gt_message *message);

/* The last message is relayed, and waits for another one of its batch, too. */
int gt_batch_relay(struct gt_batch *batch, uint32_t after);

/* Put all of `more`, which is taken, to the end of *batch, if there is one. */
int gt_batch_join(struct gt_batch **batch, struct gt_batch *more);

/* NULL is allowed. */
void gt_batch_free(struct gt_batch *batch);

/* Find the heads, once all messages are there; peers are below nranks. */
int gt_batch_find_heads(struct gt_batch *batch, uint32_t nranks);

/*
 * The message of that head, unless it waits for one that no pass before this
 * one has found done; else NULL.
 */
const struct gt_message *gt_batch_head(const struct gt_batch *batch,
				       uint32_t head, uint64_t pass);

/* The head to or from that peer, or nheads. */
uint32_t gt_batch_head_of(const struct gt_batch *batch, uint32_t peer,
			  int sends);

/*
 * The head's message is done, and was found so in this pass: the next one of
 * its row takes its place, or else the last head does.
 */
void gt_batch_end_head(struct gt_batch *batch, uint32_t head, uint64_t pass);

/* Give relayed messages their places in memory of relay_bytes. */
void gt_batch_place(struct gt_batch *batch, char *memory);

#endif
