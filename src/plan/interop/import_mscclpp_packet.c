/*
 * Packets carry their own flags, so who reads them needs no signal.  A place
 * takes one packet in a run, and any number of thread blocks may read it; each
 * is sent a copy, in the order in which the packets were put.
 */
#include "plan/interop/import_mscclpp.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum { GT_PACKET_MAX_SCRATCH = 1 << 20 };

/* A packet: who puts it, from where, and to where. */
struct gt_packet {
	uint32_t rank, tb, op, operand; /* who puts it */
	const struct gt_mscclpp_buf *from;
	struct gt_mscclpp_buf to;
};

/* A piece of a packet, for a thread block that needs it at an operation. */
struct gt_piece {
	const struct gt_packet *packet;
	uint32_t offset, size, tb, op;
};

/* The packets that come to a GPU, and who has which of its places. */
struct gt_packets {
	struct gt_mscclpp *mpp;
	uint32_t rank, n, room, npieces, pieces_room;
	struct gt_packet **packets;
	struct gt_piece *pieces;
	uint32_t *writer; /* by place: the packet, or none */
	uint16_t *reader; /* by place: the first thread block, or nobody */
	uint16_t *had;    /* by place: the last one that was given it */
};

static struct gt_mscclpp_op *gt_packet_op(struct gt_mscclpp *mpp, uint32_t rank,
					  uint32_t tb, uint32_t op)
{
	return &mpp->gpus[rank].tbs[tb].ops[op];
}

/* The source of the packets that an operation sends. */
static const struct gt_mscclpp_buf *gt_packet_source(
	const struct gt_mscclpp_op *op, uint32_t operand)
{
	if (op->word->kind == GT_MSCCLPP_MOVE)
		return &op->src[operand];
	return op->word->dst_packets ? &op->dst[0] : &op->src[0];
}

/* Make the tables of places; GPUs without packets have none. */
static int gt_packets_open(struct gt_packets *all, struct gt_err *err)
{
	struct gt_arena *arena = all->mpp->arena;
	uint32_t n = all->mpp->gpus[all->rank].nscratch;

	if (all->writer)
		return GT_OK;
	all->writer = gt_arena_array(arena, n, sizeof(*all->writer));
	all->reader = gt_arena_array(arena, n, sizeof(*all->reader));
	all->had = gt_arena_array(arena, n, sizeof(*all->had));
	if (!all->writer || !all->reader || !all->had)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		all->writer[i] = GT_MSCCLPP_NONE;
		all->reader[i] = all->had[i] = GT_IMPORT_NOBODY;
	}
	return GT_OK;
}

static int gt_packet_add(struct gt_packets *all, const struct gt_packet *packet,
			 struct gt_err *err)
{
	struct gt_mscclpp *mpp = all->mpp;
	const struct gt_mscclpp_op *op =
		gt_packet_op(mpp, packet->rank, packet->tb, packet->op);
	struct gt_packet *copy = gt_arena_alloc(mpp->arena, sizeof(*copy));
	int rc = gt_packets_open(all, err);

	if (rc)
		return rc;
	if (packet->to.buf != GT_IMPORT_SCRATCH ||
	    packet->to.at + packet->to.size > mpp->gpus[all->rank].nscratch)
		return gt_mscclpp_fail(op, err,
				       "it puts packets beyond the scratch");
	for (uint32_t i = 0; i < packet->to.size; i++) {
		if (all->writer[packet->to.at + i] != GT_MSCCLPP_NONE)
			return gt_mscclpp_fail(
				op, err,
				"another packet is put to the same "
				"place");
		all->writer[packet->to.at + i] = all->n;
	}
	all->packets = gt_vec_grow_in(mpp->arena, all->packets, all->n,
				      &all->room, sizeof(struct gt_packet *));
	if (!copy || !all->packets)
		return gt_err_nomem(err);
	*copy = *packet;
	all->packets[all->n++] = copy;
	return GT_OK;
}

static int gt_packets_find(struct gt_packets *gpus, struct gt_mscclpp *mpp,
			   uint32_t rank, uint32_t t, struct gt_err *err)
{
	const struct gt_mscclpp_tb *tb = &mpp->gpus[rank].tbs[t];
	struct gt_packet p = {.rank = rank, .tb = t};
	int rc = GT_OK;

	for (; !rc && p.op < tb->nops; p.op++) {
		const struct gt_mscclpp_op *op = &tb->ops[p.op];

		p.operand = op->word->dst_packets;
		for (; !rc && p.operand < op->ndst; p.operand++) {
			p.to = op->dst[p.operand];
			p.from = gt_packet_source(op, p.operand);
			rc = gt_packet_add(&gpus[p.to.rank], &p, err);
		}
	}
	return rc;
}

/* Is a place's packet of the thread block's own making? */
static int gt_packet_is_own(const struct gt_packets *all, uint32_t tb,
			    uint32_t place)
{
	const struct gt_packet *packet;

	if (all->writer[place] == GT_MSCCLPP_NONE)
		return 1;
	packet = all->packets[all->writer[place]];
	return packet->rank == all->rank && packet->tb == tb;
}

/*
 * Note that thread block t reads a place; return whether it needs a copy of its
 * own of it, as others read it or this rank wrote it.
 */
static int gt_packet_read(struct gt_packets *all, uint32_t t, uint32_t place)
{
	if (gt_packet_is_own(all, t, place))
		return 0;
	if (all->reader[place] == GT_IMPORT_NOBODY)
		all->reader[place] = (uint16_t)t;
	return all->reader[place] != t ||
	       all->packets[all->writer[place]]->rank == all->rank;
}

/* Note what an op reads; *needs becomes the op if that needs copies. */
static int gt_packets_of_op(struct gt_packets *all, uint32_t t,
			    const struct gt_mscclpp_op *op,
			    const struct gt_mscclpp_op **needs,
			    struct gt_err *err)
{
	uint32_t nscratch = all->mpp->gpus[all->rank].nscratch;

	for (uint32_t k = op->word->src_packets; k < op->nsrc; k++) {
		const struct gt_mscclpp_buf *src = &op->src[k];
		int rc = gt_packets_open(all, err);

		if (rc)
			return rc;
		if (src->buf != GT_IMPORT_SCRATCH || src->rank != all->rank ||
		    src->at + src->size > nscratch)
			return gt_mscclpp_fail(op, err,
					       "it reads packets beyond "
					       "the scratch");
		for (uint32_t p = src->at; p < src->at + src->size; p++)
			if (gt_packet_read(all, t, p))
				*needs = op;
	}
	return GT_OK;
}

/*
 * Give a thread block copies of its own of places that others read, or write.
 */
static int gt_packets_share(struct gt_packets *all, uint32_t t,
			    struct gt_err *err)
{
	struct gt_mscclpp_tb *tb = &all->mpp->gpus[all->rank].tbs[t];
	uint32_t *top = &all->mpp->algo->gpus[all->rank].nscratch;
	uint32_t nscratch = all->mpp->gpus[all->rank].nscratch;
	const struct gt_mscclpp_op *needs = NULL;
	int rc = GT_OK;

	for (uint32_t i = 0; i < tb->nops && !rc; i++)
		rc = gt_packets_of_op(all, t, &tb->ops[i], &needs, err);
	if (rc || !needs)
		return rc;
	tb->packets = *top;
	*top += nscratch;
	if (*top > GT_PACKET_MAX_SCRATCH)
		return gt_mscclpp_fail(needs, err,
				       "too many thread blocks read the same "
				       "packets");
	return GT_OK;
}

/* Cut what a source lacks into pieces of one packet each. */
static int gt_packets_cut(struct gt_packets *all, uint32_t t, uint32_t i,
			  const struct gt_mscclpp_buf *src, struct gt_err *err)
{
	struct gt_piece *piece = NULL;

	for (uint32_t p = src->at; p < src->at + src->size; p++) {
		const struct gt_packet *packet;

		if (gt_packet_is_own(all, t, p) || all->had[p] == t) {
			piece = NULL;
			continue;
		}
		packet = all->packets[all->writer[p]];
		all->had[p] = (uint16_t)t;
		if (piece && piece->packet == packet) {
			piece->size++;
			continue;
		}
		all->pieces = gt_vec_grow_in(all->mpp->arena, all->pieces,
					     all->npieces, &all->pieces_room,
					     sizeof(*all->pieces));
		if (!all->pieces)
			return gt_err_nomem(err);
		piece = &all->pieces[all->npieces++];
		*piece = (struct gt_piece){.packet = packet,
					   .offset = p - packet->to.at,
					   .size = 1,
					   .tb = t,
					   .op = i};
	}
	return GT_OK;
}

static int gt_packets_read(struct gt_packets *all, uint32_t t,
			   struct gt_err *err)
{
	struct gt_mscclpp_tb *tb = &all->mpp->gpus[all->rank].tbs[t];
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < tb->nops; i++) {
		struct gt_mscclpp_op *op = &tb->ops[i];

		for (uint32_t k = op->word->src_packets; !rc && k < op->nsrc;
		     k++) {
			uint32_t own = 0;

			rc = gt_packets_cut(all, t, i, &op->src[k], err);
			for (uint32_t p = 0; p < op->src[k].size; p++)
				own += (uint32_t)gt_packet_is_own(
					all, t, op->src[k].at + p);
			if (!rc && tb->packets && own && own < op->src[k].size)
				rc = gt_mscclpp_fail(
					op, err,
					"it reads packets of its own "
					"and of others at once");
			/* The thread block's copies are elsewhere. */
			if (!own)
				op->src[k].at += tb->packets;
		}
	}
	return rc;
}

/* The pieces of a thread block follow each other in the order of putting. */
static int gt_piece_cmp(const void *a, const void *b)
{
	const struct gt_piece *one = a, *other = b;
	const struct gt_packet *p = one->packet, *q = other->packet;
	const uint32_t keys[][2] = {{p->rank, q->rank},
				    {p->tb, q->tb},
				    {p->op, q->op},
				    {p->operand, q->operand},
				    {one->offset, other->offset},
				    {one->tb, other->tb}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* A piece that was put before another one is taken before it. */
static int gt_packets_queue(struct gt_packets *all, struct gt_err *err)
{
	uint32_t ntbs = all->mpp->gpus[all->rank].ntbs;
	uint32_t *first = gt_arena_array(all->mpp->arena, ntbs, sizeof(*first));
	const struct gt_packet *last = NULL;

	if (!first)
		return gt_err_nomem(err);
	for (uint32_t i = all->npieces; i--;) {
		struct gt_piece *piece = &all->pieces[i];

		if (!last || last->rank != piece->packet->rank ||
		    last->tb != piece->packet->tb)
			for (uint32_t t = 0; t < ntbs; t++)
				first[t] = GT_MSCCLPP_NONE;
		last = piece->packet;
		if (piece->op > first[piece->tb])
			piece->op = first[piece->tb];
		first[piece->tb] = piece->op;
	}
	return GT_OK;
}

/*
 * Make a piece a message: it is sent where it was put, and taken where it is
 * needed.
 */
static int gt_piece_send(struct gt_packets *all, const struct gt_piece *piece,
			 struct gt_err *err)
{
	const struct gt_packet *packet = piece->packet;
	struct gt_mscclpp_tb *tb = &all->mpp->gpus[all->rank].tbs[piece->tb];
	struct gt_mscclpp_buf from = *packet->from, to = packet->to;
	struct gt_mscclpp_link key = {.rank = packet->rank, .tb = packet->tb};
	struct gt_import_link ends = {.from = packet->rank,
				      .from_tb = packet->tb,
				      .to = all->rank,
				      .to_tb = piece->tb};
	int rc = gt_mscclpp_link(all->mpp, &tb->packet_links, key, &ends,
				 &to.link, err);

	from.at += piece->offset;
	to.at += piece->offset + tb->packets;
	from.size = to.size = piece->size;
	from.link = to.link;
	if (!rc)
		rc = gt_mscclpp_add_message(
			all->mpp,
			&gt_packet_op(all->mpp, packet->rank, packet->tb,
				      packet->op)
				 ->sent,
			&from, NULL, err);
	return rc ? rc
		  : gt_mscclpp_add_message(all->mpp, &tb->ops[piece->op].taken,
					   &to, NULL, err);
}

static int gt_packets_send(struct gt_packets *all, struct gt_err *err)
{
	int rc = GT_OK;

	if (!all->npieces)
		return GT_OK;
	qsort(all->pieces, all->npieces, sizeof(*all->pieces), gt_piece_cmp);
	rc = gt_packets_queue(all, err);
	for (uint32_t i = 0; !rc && i < all->npieces; i++)
		rc = gt_piece_send(all, &all->pieces[i], err);
	return rc;
}

int gt_mscclpp_packets(struct gt_mscclpp *mpp, struct gt_err *err)
{
	struct gt_packets *gpus =
		gt_arena_array(mpp->arena, mpp->ngpus, sizeof(*gpus));
	int rc = gpus ? GT_OK : gt_err_nomem(err);

	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++) {
		gpus[r].mpp = mpp;
		gpus[r].rank = r;
	}
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t t = 0; !rc && t < mpp->gpus[r].ntbs; t++)
			rc = gt_packets_find(gpus, mpp, r, t, err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t t = 0; !rc && t < mpp->gpus[r].ntbs; t++)
			rc = gt_packets_share(&gpus[r], t, err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		for (uint32_t t = 0; !rc && t < mpp->gpus[r].ntbs; t++)
			rc = gt_packets_read(&gpus[r], t, err);
	for (uint32_t r = 0; !rc && r < mpp->ngpus; r++)
		rc = gt_packets_send(&gpus[r], err);
	return rc;
}
