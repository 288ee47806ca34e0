/*
 * An MSCCL++ execution plan as an algorithm: after reading, ordering and
 * matching, each operation becomes steps.
 */
#include "plan/interop/import_mscclpp.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/json.h"
#include "plan/ir/plan.h"

enum { GT_MSCCLPP_DIGITS = 18 };

/* A thread block while its steps are made. */
struct gt_mscclpp_make {
	struct gt_mscclpp *mpp;
	struct gt_mscclpp_gpu *gpu;
	uint32_t rank, t, i;
	const struct gt_mscclpp_op *op;
	struct gt_import_tb *tb;
};

static struct gt_import_operand gt_mscclpp_flag(uint32_t link)
{
	return (struct gt_import_operand){GT_IMPORT_FLAG, link};
}

/* A buffer as its owner sees it: a place. */
static struct gt_import_operand gt_mscclpp_local(
	const struct gt_mscclpp_buf *buf)
{
	return (struct gt_import_operand){buf->buf, buf->at};
}

/* A buffer of another GPU is a message. */
static struct gt_import_operand gt_mscclpp_operand(
	const struct gt_mscclpp_buf *buf)
{
	return buf->link == GT_MSCCLPP_NONE
		       ? gt_mscclpp_local(buf)
		       : (struct gt_import_operand){GT_IMPORT_MESSAGE,
						    buf->link};
}

static int gt_mscclpp_step(struct gt_mscclpp_make *make, uint32_t count,
			   struct gt_import_step **step, struct gt_err *err)
{
	struct gt_import_step like = {.where = make->op->where, .count = count};

	return gt_import_step(make->mpp->algo, make->tb, &like, step, err);
}

static int gt_mscclpp_add(struct gt_mscclpp_make *make,
			  struct gt_import_step *step,
			  struct gt_import_list *list,
			  struct gt_import_operand operand, struct gt_err *err)
{
	return gt_import_add(make->mpp->algo, step, list, operand, err);
}

/* Make a step of one source and one target. */
static int gt_mscclpp_move(struct gt_mscclpp_make *make,
			   struct gt_import_operand from,
			   struct gt_import_operand to, uint32_t count,
			   struct gt_err *err)
{
	struct gt_import_step *step;
	int rc = gt_mscclpp_step(make, count, &step, err);

	if (!rc)
		rc = gt_mscclpp_add(make, step, &step->src, from, err);
	return rc ? rc : gt_mscclpp_add(make, step, &step->dst, to, err);
}

static int gt_mscclpp_take(struct gt_mscclpp_make *make,
			   const struct gt_mscclpp_messages *messages,
			   struct gt_err *err)
{
	int rc = GT_OK;

	for (const struct gt_mscclpp_message *m = messages->first; !rc && m;
	     m = m->next)
		rc = gt_mscclpp_move(make, gt_mscclpp_operand(&m->place),
				     gt_mscclpp_local(&m->place), m->place.size,
				     err);
	return rc;
}

static int gt_mscclpp_send(struct gt_mscclpp_make *make,
			   const struct gt_mscclpp_messages *messages,
			   struct gt_err *err)
{
	int rc = GT_OK;

	for (const struct gt_mscclpp_message *m = messages->first; !rc && m;
	     m = m->next) {
		rc = gt_mscclpp_move(make, gt_mscclpp_local(&m->place),
				     gt_mscclpp_operand(&m->place),
				     m->place.size, err);
		if (!rc && m->where)
			make->tb->steps[make->tb->nsteps - 1].where = m->where;
	}
	return rc;
}

/* Make a step of flags only: one that it awaits, and one that it posts. */
static int gt_mscclpp_flags(struct gt_mscclpp_make *make, uint32_t awaits,
			    uint32_t posts, struct gt_err *err)
{
	struct gt_import_step *step;
	int rc = gt_mscclpp_step(make, 0, &step, err);

	if (!rc && awaits != GT_MSCCLPP_NONE)
		rc = gt_mscclpp_add(make, step, &step->src,
				    gt_mscclpp_flag(awaits), err);
	if (!rc && posts != GT_MSCCLPP_NONE)
		rc = gt_mscclpp_add(make, step, &step->dst,
				    gt_mscclpp_flag(posts), err);
	return rc;
}

/* The link of a channel's flags, which is made with the first one. */
static int gt_mscclpp_flag_link(struct gt_mscclpp *mpp, uint32_t rank,
				struct gt_mscclpp_channel *channel,
				struct gt_err *err)
{
	struct gt_import_link ends = {.from = rank,
				      .from_tb = channel->signal_tb,
				      .to = channel->peer,
				      .flags = 1};

	if (channel->flags != GT_MSCCLPP_NONE)
		return GT_OK;
	ends.to_tb = mpp->gpus[channel->peer].channels[channel->back].wait_tb;
	return gt_import_link(mpp->algo, &ends, &channel->flags, err);
}

static int gt_mscclpp_signals(struct gt_mscclpp_make *make, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t k = 0; !rc && k < make->op->nchannels; k++) {
		struct gt_mscclpp_channel *channel =
			&make->gpu->channels[make->op->channels[k]];
		const struct gt_mscclpp_signal *signal =
			&channel->signals[channel->signalled++];

		rc = gt_mscclpp_send(make, &signal->sent, err);
		if (rc || signal->needless)
			continue;
		rc = gt_mscclpp_flag_link(make->mpp, make->rank, channel, err);
		if (!rc)
			rc = gt_mscclpp_flags(make, GT_MSCCLPP_NONE,
					      channel->flags, err);
	}
	return rc;
}

static int gt_mscclpp_waits(struct gt_mscclpp_make *make, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t k = 0; !rc && k < make->op->nchannels; k++) {
		struct gt_mscclpp_channel *channel =
			&make->gpu->channels[make->op->channels[k]];
		struct gt_mscclpp_channel *back =
			&make->mpp->gpus[channel->peer].channels[channel->back];
		const struct gt_mscclpp_signal *signal =
			&back->signals[channel->awaited++];

		if (!signal->needless) {
			rc = gt_mscclpp_flag_link(make->mpp, channel->peer,
						  back, err);
			if (!rc)
				rc = gt_mscclpp_flags(make, back->flags,
						      GT_MSCCLPP_NONE, err);
		}
		if (!rc)
			rc = gt_mscclpp_take(make, &signal->taken, err);
	}
	return rc;
}

static int gt_mscclpp_barrier_link(struct gt_mscclpp_make *make, uint32_t from,
				   uint32_t to, uint32_t *link,
				   struct gt_err *err)
{
	struct gt_mscclpp *mpp = make->mpp;
	uint32_t n = make->gpu->ntbs, **links = &make->gpu->tbs[to].barriers;
	int rc;

	if (!*links) {
		*links = gt_arena_array(mpp->arena, n, sizeof(**links));
		if (!*links)
			return gt_err_nomem(err);
		for (uint32_t i = 0; i < n; i++)
			(*links)[i] = GT_MSCCLPP_NONE;
	}
	*link = (*links)[from];
	if (*link != GT_MSCCLPP_NONE)
		return GT_OK;
	rc = gt_import_link(mpp->algo,
			    &(struct gt_import_link){.from = make->rank,
						     .from_tb = from,
						     .to = make->rank,
						     .to_tb = to,
						     .flags = 1},
			    link, err);
	(*links)[from] = *link;
	return rc;
}

/*
 * The first thread block from t on that meets this one at its barrier, or none.
 */
static uint32_t gt_mscclpp_next_at(const struct gt_mscclpp_make *make,
				   uint32_t t)
{
	const struct gt_mscclpp_tb *own = &make->gpu->tbs[make->t];
	const uint32_t *clock = own->clocks[make->op->segment + 1];

	for (; t < make->gpu->ntbs; t++) {
		const struct gt_mscclpp_tb *tb = &make->gpu->tbs[t];
		const struct gt_mscclpp_op *op;

		if (clock[t] >= tb->nops)
			continue;
		op = &tb->ops[clock[t]];
		if (op->nblocks && op->barrier == make->op->barrier &&
		    tb->clocks[op->segment + 1][make->t] == make->i)
			return t;
	}
	return GT_MSCCLPP_NONE;
}

/* At a barrier all thread blocks tell the first one, which then tells all. */
static int gt_mscclpp_barrier(struct gt_mscclpp_make *make, struct gt_err *err)
{
	uint32_t first = gt_mscclpp_next_at(make, 0), link;
	int rc = GT_OK;

	if (first != make->t) {
		rc = gt_mscclpp_barrier_link(make, make->t, first, &link, err);
		if (!rc)
			rc = gt_mscclpp_flags(make, GT_MSCCLPP_NONE, link, err);
		if (!rc)
			rc = gt_mscclpp_barrier_link(make, first, make->t,
						     &link, err);
		return rc ? rc
			  : gt_mscclpp_flags(make, link, GT_MSCCLPP_NONE, err);
	}
	for (int tells = 0; tells < 2; tells++)
		for (uint32_t t = gt_mscclpp_next_at(make, first + 1);
		     !rc && t != GT_MSCCLPP_NONE;
		     t = gt_mscclpp_next_at(make, t + 1)) {
			rc = gt_mscclpp_barrier_link(make, tells ? first : t,
						     tells ? t : first, &link,
						     err);
			if (!rc)
				rc = gt_mscclpp_flags(
					make, tells ? GT_MSCCLPP_NONE : link,
					tells ? link : GT_MSCCLPP_NONE, err);
		}
	return rc;
}

/*
 * Is the operand sent as packets?  Those are messages of their own, unless they
 * stay here.
 */
static int gt_mscclpp_is_sent(const struct gt_mscclpp_make *make,
			      uint32_t operand)
{
	return operand >= make->op->word->dst_packets &&
	       make->op->dst[operand].rank != make->rank;
}

static int gt_mscclpp_moves(struct gt_mscclpp_make *make, struct gt_err *err)
{
	const struct gt_mscclpp_op *op = make->op;
	struct gt_import_step *step;
	int rc = GT_OK;

	if (gt_mscclpp_joins(&make->gpu->tbs[make->t], make->i)) {
		step = &make->tb->steps[make->tb->nsteps - 1];
		return gt_mscclpp_add(make, step, &step->dst,
				      gt_mscclpp_operand(&op->dst[0]), err);
	}
	for (uint32_t k = 0; !rc && k < op->ndst; k++)
		if (!gt_mscclpp_is_sent(make, k))
			rc = gt_mscclpp_move(make,
					     gt_mscclpp_operand(&op->src[k]),
					     gt_mscclpp_operand(&op->dst[k]),
					     op->src[k].size, err);
	return rc;
}

static int gt_mscclpp_sum(struct gt_mscclpp_make *make, struct gt_err *err)
{
	const struct gt_mscclpp_op *op = make->op;
	struct gt_import_step *step;
	uint32_t nkept = 0;
	int rc = GT_OK;

	for (uint32_t k = 0; k < op->ndst; k++)
		nkept += !gt_mscclpp_is_sent(make, k);
	if (!nkept)
		return GT_OK;
	rc = gt_mscclpp_step(make, op->dst[0].size, &step, err);
	for (uint32_t k = 0; !rc && k < op->nsrc; k++)
		rc = gt_mscclpp_add(make, step, &step->src,
				    gt_mscclpp_operand(&op->src[k]), err);
	for (uint32_t k = 0; !rc && k < op->ndst; k++)
		if (!gt_mscclpp_is_sent(make, k))
			rc = gt_mscclpp_add(make, step, &step->dst,
					    gt_mscclpp_operand(&op->dst[k]),
					    err);
	return rc;
}

static int gt_mscclpp_make_op(struct gt_mscclpp_make *make, struct gt_err *err)
{
	const struct gt_mscclpp_op *op = make->op;
	int rc = gt_mscclpp_take(make, &op->taken, err);

	if (!rc && op->word->kind == GT_MSCCLPP_MOVE)
		rc = gt_mscclpp_moves(make, err);
	if (!rc && op->word->kind == GT_MSCCLPP_SUM)
		rc = gt_mscclpp_sum(make, err);
	if (!rc)
		rc = gt_mscclpp_send(make, &op->sent, err);
	if (!rc && op->word->signals)
		rc = gt_mscclpp_signals(make, err);
	if (!rc && op->word->kind == GT_MSCCLPP_WAIT)
		rc = gt_mscclpp_waits(make, err);
	if (!rc && op->word->kind == GT_MSCCLPP_BARRIER)
		rc = gt_mscclpp_barrier(make, err);
	return rc;
}

static int gt_mscclpp_make_all(struct gt_mscclpp *mpp, struct gt_err *err)
{
	struct gt_mscclpp_make make = {.mpp = mpp};
	int rc = GT_OK;

	for (make.rank = 0; !rc && make.rank < mpp->ngpus; make.rank++) {
		make.gpu = &mpp->gpus[make.rank];
		for (make.t = 0; !rc && make.t < make.gpu->ntbs; make.t++) {
			const struct gt_mscclpp_tb *tb = &make.gpu->tbs[make.t];

			make.tb = &mpp->algo->gpus[make.rank].tbs[make.t];
			for (make.i = 0; !rc && make.i < tb->nops; make.i++) {
				make.op = &tb->ops[make.i];
				rc = gt_mscclpp_make_op(&make, err);
			}
		}
	}
	return rc;
}

/*
 * Find into how many parts groups of thread blocks divide what they move;
 * chunks become so much smaller.
 */
static int gt_mscclpp_parts(struct gt_mscclpp *mpp, uint32_t *parts,
			    struct gt_err *err)
{
	*parts = 1;
	for (uint32_t r = 0; r < mpp->ngpus; r++)
		for (uint32_t t = 0; t < mpp->gpus[r].ntbs; t++) {
			const struct gt_mscclpp_tb *tb = &mpp->gpus[r].tbs[t];

			for (uint32_t i = 0; i < tb->nops; i++) {
				uint32_t n = tb->ops[i].nparts;

				*parts *= n / gt_rat_gcd(*parts, n);
				if (*parts > GT_MSCCLPP_PARTS)
					return gt_mscclpp_fail(
						&tb->ops[i], err,
						"thread block groups divide "
						"chunks by more than %d",
						GT_MSCCLPP_PARTS);
			}
		}
	return GT_OK;
}

static void gt_mscclpp_cut(struct gt_mscclpp_buf *buf,
			   const struct gt_mscclpp_op *op, uint32_t parts)
{
	buf->size = buf->size * parts / op->nparts;
	buf->at = buf->at * parts + buf->size * op->part;
}

static void gt_mscclpp_cut_all(struct gt_mscclpp *mpp, uint32_t parts)
{
	for (uint32_t r = 0; r < mpp->ngpus; r++) {
		struct gt_mscclpp_gpu *gpu = &mpp->gpus[r];

		gpu->ninput *= parts;
		gpu->noutput *= parts;
		gpu->nscratch *= parts;
		for (uint32_t t = 0; t < gpu->ntbs; t++)
			for (uint32_t i = 0; i < gpu->tbs[t].nops; i++) {
				struct gt_mscclpp_op *op = &gpu->tbs[t].ops[i];

				for (uint32_t k = 0; k < op->nsrc; k++)
					gt_mscclpp_cut(&op->src[k], op, parts);
				for (uint32_t k = 0; k < op->ndst; k++)
					gt_mscclpp_cut(&op->dst[k], op, parts);
			}
	}
}

/*
 * Find how many chunks the whole result has; and the root, which the format
 * does not name: it is the one rank that has something to give, or to get.
 */
static int gt_mscclpp_size(struct gt_mscclpp *mpp, struct gt_err *err)
{
	struct gt_import_file *algo = mpp->algo;
	int gives = algo->coll == GT_COLL_BROADCAST ||
		    algo->coll == GT_COLL_SCATTER;

	for (uint32_t r = mpp->ngpus; r--;) {
		const struct gt_mscclpp_gpu *gpu = &mpp->gpus[r];

		if (gpu->ninput > algo->nchunks)
			algo->nchunks = gpu->ninput;
		if (gpu->noutput > algo->nchunks)
			algo->nchunks = gpu->noutput;
		if (gt_coll_is_rooted(algo->coll) &&
		    (gives ? gpu->ninput : gpu->noutput))
			algo->root = r;
	}
	if (!algo->nchunks || algo->nchunks > GT_IMPORT_MAX_CHUNKS)
		return gt_err_set(err, GT_EINPUT, algo->name,
				  "'%u' chunks are not within 1 and %d",
				  algo->nchunks, GT_IMPORT_MAX_CHUNKS);
	if (gt_coll_has_blocks(algo->coll) && algo->nchunks % algo->ngpus)
		return gt_err_set(err, GT_EINPUT, algo->name,
				  "'%u' chunks are not whole blocks of %u GPUs",
				  algo->nchunks, algo->ngpus);
	return GT_OK;
}

static int gt_mscclpp_open(struct gt_mscclpp *mpp, struct gt_err *err)
{
	struct gt_import_file *algo = mpp->algo;
	uint32_t parts;
	int rc = gt_mscclpp_parts(mpp, &parts, err);

	if (rc)
		return rc;
	gt_mscclpp_cut_all(mpp, parts);
	algo->ngpus = mpp->ngpus;
	algo->gpus =
		gt_arena_array(algo->arena, algo->ngpus, sizeof(*algo->gpus));
	if (!algo->gpus)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < algo->ngpus; r++) {
		struct gt_import_gpu *gpu = &algo->gpus[r];

		gpu->ntbs = mpp->gpus[r].ntbs;
		gpu->nscratch = mpp->gpus[r].nscratch;
		if (gpu->nscratch > GT_IMPORT_MAX_CHUNKS)
			return gt_err_set(err, GT_EINPUT, algo->name,
					  "gpu %u has %u chunks of scratch, "
					  "as thread blocks divide them; %d "
					  "are the most",
					  r, gpu->nscratch,
					  GT_IMPORT_MAX_CHUNKS);
		gpu->tbs = gt_arena_array(algo->arena, gpu->ntbs,
					  sizeof(*gpu->tbs));
		if (!gpu->tbs)
			return gt_err_nomem(err);
	}
	return gt_mscclpp_size(mpp, err);
}

/*
 * MSCCL++'s tools write 2^64 - 1 where a size has no limit, which is more than
 * our JSON holds and nothing here reads: a number of so many digits becomes
 * nines.
 */
static void gt_mscclpp_clip(char *text, size_t len)
{
	int quoted = 0;
	size_t i = 0;

	while (i < len) {
		size_t n = 0;

		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted && text[i] == '\\')
			i++;
		while (!quoted && i + n < len && text[i + n] >= '0' &&
		       text[i + n] <= '9')
			n++;
		if (n > GT_MSCCLPP_DIGITS) {
			memset(text + i, ' ', n);
			memset(text + i, '9', GT_MSCCLPP_DIGITS);
		}
		i += n ? n : 1;
	}
}

static int gt_mscclpp_parse(const char *text, size_t len,
			    struct gt_mscclpp *mpp, struct gt_err *err)
{
	char *copy = gt_arena_alloc(mpp->arena, len + 1);
	struct gt_json_doc *doc;
	struct gt_json root;
	int rc;

	if (!copy)
		return gt_err_nomem(err);
	memcpy(copy, text, len);
	gt_mscclpp_clip(copy, len);
	rc = gt_json_parse(mpp->algo->name, copy, len, &doc, err);
	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = gt_mscclpp_read(&root, mpp, err);
	gt_json_close(doc);
	return rc;
}

int gt_import_mscclpp(const char *text, size_t len, struct gt_import_file *algo,
		      struct gt_err *err)
{
	struct gt_mscclpp mpp = {.algo = algo, .arena = algo->arena};
	int rc = gt_mscclpp_parse(text, len, &mpp, err);

	if (!rc)
		rc = gt_mscclpp_open(&mpp, err);
	if (!rc)
		rc = gt_mscclpp_order(&mpp, err);
	if (!rc)
		rc = gt_mscclpp_match(&mpp, err);
	if (!rc)
		rc = gt_mscclpp_packets(&mpp, err);
	return rc ? rc : gt_mscclpp_make_all(&mpp, err);
}
