/*
 * Which messages there are: each put is taken where its signal is awaited, each
 * get is sent with the signal that was awaited before, and signals that a
 * message makes needless are dropped.
 */
#include "plan/interop/import_mscclpp.h"

#include "base/arena.h"
#include "base/err.h"

/* The place of a buffer: an operand of an operation. */
struct gt_mscclpp_at {
	uint32_t rank, tb, op, operand;
};

int gt_mscclpp_add_message(struct gt_mscclpp *mpp,
			   struct gt_mscclpp_messages *messages,
			   const struct gt_mscclpp_buf *place,
			   const char *where, struct gt_err *err)
{
	struct gt_mscclpp_message *message =
		gt_arena_alloc(mpp->arena, sizeof(*message));

	if (!message)
		return gt_err_nomem(err);
	message->where = where;
	message->place = *place;
	if (messages->last)
		messages->last->next = message;
	else
		messages->first = message;
	messages->last = message;
	return GT_OK;
}

int gt_mscclpp_link(struct gt_mscclpp *mpp, struct gt_mscclpp_link **list,
		    struct gt_mscclpp_link key,
		    const struct gt_import_link *ends, uint32_t *link,
		    struct gt_err *err)
{
	struct gt_mscclpp_link *made;
	int rc;

	for (const struct gt_mscclpp_link *l = *list; l; l = l->next)
		if (l->rank == key.rank && l->tb == key.tb &&
		    l->operand == key.operand) {
			*link = l->link;
			return GT_OK;
		}
	made = gt_arena_alloc(mpp->arena, sizeof(*made));
	if (!made)
		return gt_err_nomem(err);
	rc = gt_import_link(mpp->algo, ends, &key.link, err);
	if (rc)
		return rc;
	*made = key;
	made->next = *list;
	*list = made;
	*link = key.link;
	return GT_OK;
}

/* The first signal on a channel that comes behind an operation, or NULL. */
static struct gt_mscclpp_signal *gt_mscclpp_behind(
	const struct gt_mscclpp_gpu *gpu,
	const struct gt_mscclpp_channel *channel,
	const struct gt_mscclpp_at *at)
{
	uint32_t low = 0, high = channel->nsignals;

	/*
	 * Signals are in order, so the first one behind the operation is found
	 * by halving.
	 */
	while (low < high) {
		uint32_t half = low + (high - low) / 2;
		uint32_t op = channel->signals[half].op;

		if (gt_mscclpp_before(gpu, at->tb, at->op, channel->signal_tb,
				      op) ||
		    (at->tb == channel->signal_tb && at->op == op))
			high = half;
		else
			low = half + 1;
	}
	while (low < channel->nsignals && channel->signals[low].relaxed)
		low++;
	return low < channel->nsignals ? &channel->signals[low] : NULL;
}

/*
 * Find the signal that tells that a put is done: on the put's own channel, else
 * on any to that GPU, else by another thread block that knows of it.
 */
static struct gt_mscclpp_channel *gt_mscclpp_announce(
	struct gt_mscclpp_gpu *gpu, const struct gt_mscclpp_at *at,
	uint32_t peer, struct gt_mscclpp_signal **found)
{
	const struct gt_mscclpp_op *op = &gpu->tbs[at->tb].ops[at->op];
	struct gt_mscclpp_channel *best = NULL;
	int best_rank = 0;

	for (uint32_t c = gpu->peers[peer]; c != GT_MSCCLPP_NONE;
	     c = gpu->channels[c].next) {
		struct gt_mscclpp_channel *channel = &gpu->channels[c];
		struct gt_mscclpp_signal *signal =
			gt_mscclpp_behind(gpu, channel, at);
		int rank = 1;

		if (!signal)
			continue;
		if (channel->signal_tb == at->tb)
			rank = at->operand < op->nchannels &&
					       op->channels[at->operand] == c
				       ? 3
				       : 2;
		if (rank < best_rank ||
		    (rank == best_rank && signal->op >= (*found)->op))
			continue;
		best_rank = rank;
		best = channel;
		*found = signal;
	}
	return best;
}

static int gt_mscclpp_put(struct gt_mscclpp *mpp,
			  const struct gt_mscclpp_at *at, struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[at->rank];
	const struct gt_mscclpp_op *op = &gpu->tbs[at->tb].ops[at->op];
	struct gt_mscclpp_buf *dst = &op->dst[at->operand];
	struct gt_mscclpp_signal *signal = NULL;
	struct gt_mscclpp_channel *channel =
		gt_mscclpp_announce(gpu, at, dst->rank, &signal);
	/* A sum goes to all its targets at once, puts one after the other. */
	struct gt_mscclpp_link key = {
		.tb = at->tb,
		.operand = op->word->kind == GT_MSCCLPP_SUM ? at->operand : 0};
	struct gt_import_link ends = {
		.from = at->rank, .from_tb = at->tb, .to = dst->rank};
	int rc;

	if (!channel)
		return gt_mscclpp_fail(
			op, err,
			"gpu %u is not told that this was put there; "
			"let a 'signal' follow",
			dst->rank);
	if (dst->buf == GT_IMPORT_SCRATCH &&
	    dst->at + dst->size > mpp->gpus[dst->rank].nscratch)
		return gt_mscclpp_fail(op, err,
				       "it writes beyond the scratch of gpu %u",
				       dst->rank);
	ends.to_tb = mpp->gpus[dst->rank].channels[channel->back].wait_tb;
	rc = gt_mscclpp_link(mpp, &channel->puts, key, &ends, &dst->link, err);
	dst->signal = signal;
	return rc ? rc
		  : gt_mscclpp_add_message(mpp, &signal->taken, dst, NULL, err);
}

/* The last wait on a channel that is over before an operation, or none. */
static uint32_t gt_mscclpp_awaited(const struct gt_mscclpp_gpu *gpu,
				   const struct gt_mscclpp_channel *channel,
				   const struct gt_mscclpp_at *at)
{
	uint32_t low = 0, high = channel->nwaits;

	while (low < high) {
		uint32_t half = low + (high - low) / 2;

		if (gt_mscclpp_before(gpu, channel->wait_tb,
				      channel->waits[half], at->tb, at->op))
			low = half + 1;
		else
			high = half;
	}
	return low ? low - 1 : GT_MSCCLPP_NONE;
}

/*
 * Find the latest signal of a GPU that was awaited, by that GPU's own order,
 * else by ours.
 */
static struct gt_mscclpp_channel *gt_mscclpp_ready(
	struct gt_mscclpp *mpp, const struct gt_mscclpp_at *at, uint32_t peer,
	struct gt_mscclpp_signal **found)
{
	const struct gt_mscclpp_gpu *gpu = &mpp->gpus[at->rank];
	struct gt_mscclpp_gpu *other = &mpp->gpus[peer];
	struct gt_mscclpp_channel *best = NULL;

	for (uint32_t c = gpu->peers[peer]; c != GT_MSCCLPP_NONE;
	     c = gpu->channels[c].next) {
		const struct gt_mscclpp_channel *channel = &gpu->channels[c];
		uint32_t i = gt_mscclpp_awaited(gpu, channel, at);
		struct gt_mscclpp_channel *back;

		if (i == GT_MSCCLPP_NONE)
			continue;
		back = &other->channels[channel->back];
		if (best &&
		    !gt_mscclpp_before(other, best->signal_tb, (*found)->op,
				       back->signal_tb, back->signals[i].op))
			continue;
		best = back;
		*found = &back->signals[i];
	}
	return best;
}

static int gt_mscclpp_get(struct gt_mscclpp *mpp,
			  const struct gt_mscclpp_at *at, struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[at->rank];
	const struct gt_mscclpp_op *op = &gpu->tbs[at->tb].ops[at->op];
	struct gt_mscclpp_buf *src = &op->src[at->operand];
	struct gt_mscclpp_signal *signal = NULL;
	struct gt_mscclpp_channel *channel =
		gt_mscclpp_ready(mpp, at, src->rank, &signal);
	struct gt_mscclpp_link key = {
		.tb = at->tb,
		.operand = op->word->kind == GT_MSCCLPP_SUM ? at->operand : 0};
	struct gt_import_link ends = {
		.from = src->rank, .to = at->rank, .to_tb = at->tb};
	int rc;

	if (!channel)
		return gt_mscclpp_fail(
			op, err,
			"gpu %u has not told that this can be read "
			"there; let a 'wait' for it go before",
			src->rank);
	ends.from_tb = channel->signal_tb;
	rc = gt_mscclpp_link(mpp, &channel->gets, key, &ends, &src->link, err);
	return rc ? rc
		  : gt_mscclpp_add_message(mpp, &signal->sent, src, op->where,
					   err);
}

static int gt_mscclpp_remote(struct gt_mscclpp *mpp, struct gt_mscclpp_at at,
			     struct gt_err *err)
{
	const struct gt_mscclpp_op *op =
		&mpp->gpus[at.rank].tbs[at.tb].ops[at.op];
	int rc = GT_OK;

	for (at.operand = 0; !rc && at.operand < op->nsrc; at.operand++)
		if (op->src[at.operand].rank != at.rank)
			rc = gt_mscclpp_get(mpp, &at, err);
	for (at.operand = 0; !rc && at.operand < op->ndst; at.operand++)
		if (op->dst[at.operand].rank != at.rank &&
		    at.operand < op->word->dst_packets)
			rc = gt_mscclpp_put(mpp, &at, err);
	return rc;
}

static int gt_mscclpp_is_put(const struct gt_mscclpp_op *op)
{
	return op->word->kind == GT_MSCCLPP_MOVE && op->nsrc == 1 &&
	       !op->word->signals && op->dst[0].link != GT_MSCCLPP_NONE &&
	       op->src[0].link == GT_MSCCLPP_NONE;
}

int gt_mscclpp_joins(const struct gt_mscclpp_tb *tb, uint32_t i)
{
	const struct gt_mscclpp_op *op = &tb->ops[i], *other = op;

	if (!gt_mscclpp_is_put(op))
		return 0;
	for (uint32_t n = 0; n < GT_MSCCLPP_JOINED; n++) {
		if (other == tb->ops || !gt_mscclpp_is_put(--other) ||
		    other->src[0].buf != op->src[0].buf ||
		    other->src[0].at != op->src[0].at ||
		    other->src[0].size != op->src[0].size)
			return n > 0;
		if (other->dst[0].link == op->dst[0].link)
			return 0;
	}
	return 0;
}

/* Has a signal nothing to send for others to get? */
static int gt_mscclpp_is_bare(const struct gt_mscclpp_gpu *gpu,
			      const struct gt_mscclpp_op *op)
{
	for (uint32_t k = 0; k < op->nchannels; k++)
		if (gpu->channels[op->channels[k]].gets)
			return 0;
	return 1;
}

/*
 * Does the last that a thread block did before a signal send a message that is
 * taken with it?  Then the message says as much.
 */
static int gt_mscclpp_is_said(const struct gt_mscclpp_gpu *gpu,
			      const struct gt_mscclpp_channel *channel,
			      const struct gt_mscclpp_signal *signal)
{
	const struct gt_mscclpp_tb *tb = &gpu->tbs[channel->signal_tb];
	uint32_t i = signal->op + (tb->ops[signal->op].ndst > 0);

	while (i--) {
		const struct gt_mscclpp_op *op = &tb->ops[i];

		if (op->word->kind == GT_MSCCLPP_NOTHING ||
		    (op->word->kind == GT_MSCCLPP_SIGNAL &&
		     gt_mscclpp_is_bare(gpu, op)))
			continue;
		if (op->ndst && op->dst[op->ndst - 1].signal == signal)
			return 1;
		for (uint32_t k = 0;
		     op->word->kind == GT_MSCCLPP_SUM && k < op->ndst; k++)
			if (op->dst[k].signal == signal)
				return 1;
		if (!gt_mscclpp_joins(tb, i))
			return 0;
	}
	return 0;
}

/* Waits at a thread block's end keep nobody from anything. */
static void gt_mscclpp_drop_waits(struct gt_mscclpp *mpp,
				  struct gt_mscclpp_gpu *gpu,
				  const struct gt_mscclpp_tb *tb)
{
	for (uint32_t i = tb->nops; i--;) {
		const struct gt_mscclpp_op *op = &tb->ops[i];

		if (op->word->kind == GT_MSCCLPP_NOTHING)
			continue;
		if (op->word->kind != GT_MSCCLPP_WAIT)
			return;
		for (uint32_t k = 0; k < op->nchannels; k++) {
			const struct gt_mscclpp_channel *channel =
				&gpu->channels[op->channels[k]];
			struct gt_mscclpp_channel *back =
				&mpp->gpus[channel->peer]
					 .channels[channel->back];

			for (uint32_t w = channel->nwaits;
			     w && channel->waits[w - 1] >= i; w--) {
				if (back->signals[w - 1].taken.first)
					return;
				back->signals[w - 1].needless = 1;
			}
		}
	}
}

static void gt_mscclpp_needless(struct gt_mscclpp *mpp)
{
	for (uint32_t r = 0; r < mpp->ngpus; r++) {
		struct gt_mscclpp_gpu *gpu = &mpp->gpus[r];

		for (uint32_t t = 0; t < gpu->ntbs; t++)
			gt_mscclpp_drop_waits(mpp, gpu, &gpu->tbs[t]);
		for (uint32_t c = 0; c < gpu->nchannels; c++)
			for (uint32_t i = 0; i < gpu->channels[c].nsignals; i++)
				if (gt_mscclpp_is_said(
					    gpu, &gpu->channels[c],
					    &gpu->channels[c].signals[i]))
					gpu->channels[c].signals[i].needless =
						1;
	}
}

int gt_mscclpp_match(struct gt_mscclpp *mpp, struct gt_err *err)
{
	struct gt_mscclpp_at at = {0};
	int rc = GT_OK;

	for (at.rank = 0; !rc && at.rank < mpp->ngpus; at.rank++) {
		const struct gt_mscclpp_gpu *gpu = &mpp->gpus[at.rank];

		for (at.tb = 0; !rc && at.tb < gpu->ntbs; at.tb++)
			for (at.op = 0; !rc && at.op < gpu->tbs[at.tb].nops;
			     at.op++)
				rc = gt_mscclpp_remote(mpp, at, err);
	}
	if (!rc)
		gt_mscclpp_needless(mpp);
	return rc;
}
