/*
 * The order of operations is found here: channels are paired, signals are
 * counted against waits, and barriers put thread blocks of a GPU in order by
 * vector clocks.
 */
#include "plan/interop/import_mscclpp.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

/* Chain the channels with the same peer, in their order. */
static int gt_mscclpp_chain(struct gt_mscclpp *mpp, struct gt_mscclpp_gpu *gpu,
			    struct gt_err *err)
{
	gpu->peers =
		gt_arena_array(mpp->arena, mpp->ngpus, sizeof(*gpu->peers));
	if (!gpu->peers)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < mpp->ngpus; r++)
		gpu->peers[r] = GT_MSCCLPP_NONE;
	for (uint32_t c = gpu->nchannels; c--;) {
		gpu->channels[c].next = gpu->peers[gpu->channels[c].peer];
		gpu->peers[gpu->channels[c].peer] = c;
	}
	return GT_OK;
}

/* The first channel of a type from c on, with c's peer. */
static uint32_t gt_mscclpp_of_type(const struct gt_mscclpp_gpu *gpu, uint32_t c,
				   uint32_t type)
{
	while (c != GT_MSCCLPP_NONE && gpu->channels[c].type != type)
		c = gpu->channels[c].next;
	return c;
}

/* The k-th channel of a GPU to another one is that one's k-th to it. */
static void gt_mscclpp_pair(struct gt_mscclpp *mpp, uint32_t a, uint32_t b,
			    uint32_t type)
{
	struct gt_mscclpp_gpu *one = &mpp->gpus[a], *other = &mpp->gpus[b];
	uint32_t c = gt_mscclpp_of_type(one, one->peers[b], type);
	uint32_t d = gt_mscclpp_of_type(other, other->peers[a], type);

	while (c != GT_MSCCLPP_NONE && d != GT_MSCCLPP_NONE) {
		one->channels[c].back = d;
		other->channels[d].back = c;
		c = gt_mscclpp_of_type(one, one->channels[c].next, type);
		d = gt_mscclpp_of_type(other, other->channels[d].next, type);
	}
}

static int gt_mscclpp_add_signal(struct gt_mscclpp *mpp, uint32_t rank,
				 uint32_t t, uint32_t i, uint32_t c,
				 struct gt_err *err)
{
	struct gt_mscclpp_channel *channel = &mpp->gpus[rank].channels[c];
	const struct gt_mscclpp_op *op = &mpp->gpus[rank].tbs[t].ops[i];

	if (channel->signal_tb != GT_IMPORT_NOBODY && channel->signal_tb != t)
		return gt_mscclpp_fail(
			op, err,
			"thread block %u signals on this channel, "
			"too",
			channel->signal_tb);
	channel->signal_tb = t;
	channel->signals = gt_vec_grow_in(
		mpp->arena, channel->signals, channel->nsignals,
		&channel->signals_room, sizeof(*channel->signals));
	if (!channel->signals)
		return gt_err_nomem(err);
	channel->signals[channel->nsignals++] = (struct gt_mscclpp_signal){
		.op = i, .relaxed = op->word->relaxed};
	return GT_OK;
}

static int gt_mscclpp_add_wait(struct gt_mscclpp *mpp, uint32_t rank,
			       uint32_t t, uint32_t i, uint32_t c,
			       struct gt_err *err)
{
	struct gt_mscclpp_channel *channel = &mpp->gpus[rank].channels[c];

	if (channel->wait_tb != GT_IMPORT_NOBODY && channel->wait_tb != t)
		return gt_mscclpp_fail(
			&mpp->gpus[rank].tbs[t].ops[i], err,
			"thread block %u waits on this channel, too",
			channel->wait_tb);
	channel->wait_tb = t;
	channel->waits =
		gt_vec_grow_in(mpp->arena, channel->waits, channel->nwaits,
			       &channel->waits_room, sizeof(*channel->waits));
	if (!channel->waits)
		return gt_err_nomem(err);
	channel->waits[channel->nwaits++] = i;
	return GT_OK;
}

static int gt_mscclpp_collect(struct gt_mscclpp *mpp, uint32_t rank, uint32_t t,
			      struct gt_err *err)
{
	const struct gt_mscclpp_tb *tb = &mpp->gpus[rank].tbs[t];
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < tb->nops; i++) {
		const struct gt_mscclpp_op *op = &tb->ops[i];

		for (uint32_t k = 0; !rc && k < op->nchannels; k++)
			if (op->word->signals)
				rc = gt_mscclpp_add_signal(
					mpp, rank, t, i, op->channels[k], err);
			else if (op->word->kind == GT_MSCCLPP_WAIT)
				rc = gt_mscclpp_add_wait(mpp, rank, t, i,
							 op->channels[k], err);
	}
	return rc;
}

/* Check that each signal is waited for, and that each wait has its signal. */
static int gt_mscclpp_count(struct gt_mscclpp *mpp, uint32_t rank, uint32_t c,
			    struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[rank];
	struct gt_mscclpp_channel *channel = &gpu->channels[c], *back = NULL;
	uint32_t nsignals = 0, nwaits = 0;
	const struct gt_mscclpp_tb *tb;

	if (channel->back != GT_MSCCLPP_NONE) {
		back = &mpp->gpus[channel->peer].channels[channel->back];
		nsignals = back->nsignals;
		nwaits = back->nwaits;
	}
	if (channel->nsignals != nwaits && channel->nsignals) {
		tb = &gpu->tbs[channel->signal_tb];
		return gt_mscclpp_fail(
			&tb->ops[channel->signals[0].op], err,
			"gpu %u signals %u times on this channel, "
			"gpu %u waits for it %u times",
			rank, channel->nsignals, channel->peer, nwaits);
	}
	if (channel->nwaits != nsignals && channel->nwaits) {
		tb = &gpu->tbs[channel->wait_tb];
		return gt_mscclpp_fail(&tb->ops[channel->waits[0]], err,
				       "gpu %u waits %u times on this channel, "
				       "gpu %u signals %u times",
				       rank, channel->nwaits, channel->peer,
				       nsignals);
	}
	for (uint32_t i = 0; i < channel->nwaits; i++)
		if (gpu->tbs[channel->wait_tb]
			    .ops[channel->waits[i]]
			    .word->relaxed)
			back->signals[i].relaxed = 1;
	return GT_OK;
}

/* A walk over a GPU's thread blocks: where each stands, and what it knows. */
struct gt_mscclpp_walk {
	struct gt_mscclpp *mpp;
	struct gt_mscclpp_gpu *gpu;
	uint32_t *at;
};

static uint32_t *gt_mscclpp_clock(struct gt_mscclpp_walk *walk,
				  struct gt_mscclpp_tb *tb)
{
	size_t bytes = sizeof(**tb->clocks) * walk->gpu->ntbs;
	uint32_t *clock = gt_arena_alloc(walk->mpp->arena, bytes);

	tb->clocks = gt_vec_grow_in(walk->mpp->arena, tb->clocks, tb->nclocks,
				    &tb->clocks_room, sizeof(*tb->clocks));
	if (!clock || !tb->clocks)
		return NULL;
	if (tb->nclocks)
		memcpy(clock, tb->clocks[tb->nclocks - 1], bytes);
	tb->clocks[tb->nclocks++] = clock;
	return clock;
}

/* Walk a thread block on to its next barrier. */
static void gt_mscclpp_walk_on(struct gt_mscclpp_walk *walk, uint32_t t)
{
	struct gt_mscclpp_tb *tb = &walk->gpu->tbs[t];

	for (; walk->at[t] < tb->nops; walk->at[t]++) {
		tb->ops[walk->at[t]].segment = tb->nclocks - 1;
		if (tb->ops[walk->at[t]].nblocks)
			return;
	}
}

static int gt_mscclpp_is_at(const struct gt_mscclpp_walk *walk, uint32_t t,
			    uint32_t barrier)
{
	const struct gt_mscclpp_tb *tb = &walk->gpu->tbs[t];

	return walk->at[t] < tb->nops && tb->ops[walk->at[t]].nblocks &&
	       tb->ops[walk->at[t]].barrier == barrier;
}

/*
 * Let the thread blocks meet that are at a barrier: what any of them knows,
 * each knows behind it.
 */
static int gt_mscclpp_meet(struct gt_mscclpp_walk *walk, uint32_t barrier,
			   struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = walk->gpu;
	uint32_t n = gpu->ntbs;
	uint32_t *all = gt_arena_array(walk->mpp->arena, n, sizeof(*all));

	if (!all)
		return gt_err_nomem(err);
	for (uint32_t t = 0; t < n; t++) {
		const struct gt_mscclpp_tb *tb = &gpu->tbs[t];

		if (!gt_mscclpp_is_at(walk, t, barrier))
			continue;
		for (uint32_t u = 0; u < n; u++)
			if (tb->clocks[tb->nclocks - 1][u] > all[u])
				all[u] = tb->clocks[tb->nclocks - 1][u];
		all[t] = walk->at[t];
	}
	for (uint32_t t = 0; t < n; t++) {
		uint32_t *clock;

		if (!gt_mscclpp_is_at(walk, t, barrier))
			continue;
		clock = gt_mscclpp_clock(walk, &gpu->tbs[t]);
		if (!clock)
			return gt_err_nomem(err);
		memcpy(clock, all, n * sizeof(*all));
		walk->at[t]++;
		gt_mscclpp_walk_on(walk, t);
	}
	return GT_OK;
}

/* Is everybody at thread block t's barrier?  Then they go on. */
static int gt_mscclpp_arrive(struct gt_mscclpp_walk *walk, uint32_t t,
			     int *moved, struct gt_err *err)
{
	const struct gt_mscclpp_op *op;
	uint32_t n = 0;

	if (walk->at[t] == walk->gpu->tbs[t].nops)
		return GT_OK;
	op = &walk->gpu->tbs[t].ops[walk->at[t]];
	for (uint32_t u = 0; u < walk->gpu->ntbs; u++)
		n += (uint32_t)gt_mscclpp_is_at(walk, u, op->barrier);
	if (n > op->nblocks)
		return gt_mscclpp_fail(
			op, err, "%u thread blocks are at this barrier of %u",
			n, op->nblocks);
	if (n < op->nblocks)
		return GT_OK;
	*moved = 1;
	return gt_mscclpp_meet(walk, op->barrier, err);
}

static int gt_mscclpp_barriers(struct gt_mscclpp *mpp,
			       struct gt_mscclpp_gpu *gpu, struct gt_err *err)
{
	struct gt_mscclpp_walk walk = {.mpp = mpp, .gpu = gpu};
	int rc = GT_OK, moved = 1;

	walk.at = gt_arena_array(mpp->arena, gpu->ntbs, sizeof(*walk.at));
	if (!walk.at)
		return gt_err_nomem(err);
	for (uint32_t t = 0; t < gpu->ntbs; t++) {
		if (!gt_mscclpp_clock(&walk, &gpu->tbs[t]))
			return gt_err_nomem(err);
		gt_mscclpp_walk_on(&walk, t);
	}
	while (!rc && moved) {
		moved = 0;
		for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
			rc = gt_mscclpp_arrive(&walk, t, &moved, err);
	}
	for (uint32_t t = 0; !rc && t < gpu->ntbs; t++)
		if (walk.at[t] < gpu->tbs[t].nops)
			rc = gt_mscclpp_fail(
				&gpu->tbs[t].ops[walk.at[t]], err,
				"not all thread blocks get to this "
				"barrier");
	return rc;
}

int gt_mscclpp_before(const struct gt_mscclpp_gpu *gpu, uint32_t a, uint32_t i,
		      uint32_t b, uint32_t j)
{
	const struct gt_mscclpp_tb *tb = &gpu->tbs[b];

	return a == b ? i < j : tb->clocks[tb->ops[j].segment][a] > i;
}

int gt_mscclpp_order(struct gt_mscclpp *mpp, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		rc = gt_mscclpp_chain(mpp, &mpp->gpus[r], err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t p = 0; p < r; p++)
			for (uint32_t type = 0; type < GT_MSCCLPP_TYPES; type++)
				gt_mscclpp_pair(mpp, r, p, type);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t t = 0; !rc && t < mpp->gpus[r].ntbs; t++)
			rc = gt_mscclpp_collect(mpp, r, t, err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t c = 0; !rc && c < mpp->gpus[r].nchannels; c++)
			rc = gt_mscclpp_count(mpp, r, c, err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		rc = gt_mscclpp_barriers(mpp, &mpp->gpus[r], err);
	return rc;
}
