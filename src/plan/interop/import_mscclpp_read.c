/*
 * An MSCCL++ execution plan from its JSON, as the file has it: channels,
 * buffers, thread blocks, operations.
 */
#include "plan/interop/import_mscclpp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/json.h"
#include "plan/ir/plan.h"

enum {
	/* These are several times what MSCCL++'s executor takes. */
	GT_MSCCLPP_MAX_CHANNELS = 1 << 13,
	GT_MSCCLPP_MAX_OPS = 1 << 12,
	/* The operands of all operations of a thread block together. */
	GT_MSCCLPP_MAX_NAMED = 1 << 14, /* channels */
	GT_MSCCLPP_MAX_MOVED = 1 << 20, /* chunks */
};

#define GT_MSCCLPP_NO_PACKETS GT_MSCCLPP_NONE, GT_MSCCLPP_NONE, NULL
#define GT_MSCCLPP_SWITCH                                                      \
	"it works in a switch, which steps cannot; use memory channels"
#define GT_MSCCLPP_SEMAPHORE "steps have no semaphores; use 'barrier'"

static const struct gt_mscclpp_word gt_mscclpp_words[] = {
	{"nop", GT_MSCCLPP_NOTHING, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"flush", GT_MSCCLPP_NOTHING, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"barrier", GT_MSCCLPP_BARRIER, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"signal", GT_MSCCLPP_SIGNAL, 1, 0, GT_MSCCLPP_NO_PACKETS},
	{"rlxsignal", GT_MSCCLPP_SIGNAL, 1, 1, GT_MSCCLPP_NO_PACKETS},
	{"wait", GT_MSCCLPP_WAIT, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"rlxwait", GT_MSCCLPP_WAIT, 0, 1, GT_MSCCLPP_NO_PACKETS},
	{"put", GT_MSCCLPP_MOVE, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"pws", GT_MSCCLPP_MOVE, 1, 0, GT_MSCCLPP_NO_PACKETS},
	{"pwsf", GT_MSCCLPP_MOVE, 1, 0, GT_MSCCLPP_NO_PACKETS},
	{"get", GT_MSCCLPP_MOVE, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"copy", GT_MSCCLPP_MOVE, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"re", GT_MSCCLPP_SUM, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"res", GT_MSCCLPP_SUM, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"rre", GT_MSCCLPP_SUM, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"rres", GT_MSCCLPP_SUM, 0, 0, GT_MSCCLPP_NO_PACKETS},
	{"ppkt", GT_MSCCLPP_MOVE, 0, 0, GT_MSCCLPP_NONE, 0, NULL},
	{"cpkt", GT_MSCCLPP_MOVE, 0, 0, GT_MSCCLPP_NONE, 0, NULL},
	{"upkt", GT_MSCCLPP_MOVE, 0, 0, 0, GT_MSCCLPP_NONE, NULL},
	{"rppkt", GT_MSCCLPP_SUM, 0, 0, 0, 0, NULL},
	{"repkt", GT_MSCCLPP_SUM, 0, 0, 1, GT_MSCCLPP_NONE, NULL},
	{"respkt", GT_MSCCLPP_SUM, 0, 0, 1, 1, NULL},
	{"recpkt", GT_MSCCLPP_SUM, 0, 0, 1, 1, NULL},
	{"recspkt", GT_MSCCLPP_SUM, 0, 0, 1, 1, NULL},
	{"glres", GT_MSCCLPP_REFUSED, 0, 0, 0, 0, GT_MSCCLPP_SWITCH},
	{"gstore", GT_MSCCLPP_REFUSED, 0, 0, 0, 0, GT_MSCCLPP_SWITCH},
	{"gstorepkt", GT_MSCCLPP_REFUSED, 0, 0, 0, 0, GT_MSCCLPP_SWITCH},
	{"sem_acquire", GT_MSCCLPP_REFUSED, 0, 0, 0, 0, GT_MSCCLPP_SEMAPHORE},
	{"sem_release", GT_MSCCLPP_REFUSED, 0, 0, 0, 0, GT_MSCCLPP_SEMAPHORE},
	{"pipeline", GT_MSCCLPP_REFUSED, 0, 0, 0, 0,
	 "steps are a pipeline by themselves; give its operations without it"},
};

/* A port's packets are made before they are put. */
static const struct gt_mscclpp_word gt_mscclpp_port_packets = {
	"ppkt", GT_MSCCLPP_MOVE, 0, 0, 0, 0, NULL};

int gt_mscclpp_fail(const struct gt_mscclpp_op *op, struct gt_err *err,
		    const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return gt_err_set(err, GT_EINPUT, op->where, "%s", text);
}

static int gt_mscclpp_number(const struct gt_json *object, const char *key,
			     uint32_t max, uint32_t *number, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_json_need(object, key, &at, err);

	return rc ? rc : gt_json_u32(&at, max, number, err);
}

/* Read one of some words, as its position among them. */
static int gt_mscclpp_find(const struct gt_json *object, const char *key,
			   const char *const *words, uint32_t *found,
			   struct gt_err *err)
{
	struct gt_json at;
	const char *text;
	int rc = gt_json_need(object, key, &at, err);

	if (!rc)
		rc = gt_json_text(&at, &text, err);
	for (uint32_t i = 0; !rc && words[i]; i++)
		if (!strcmp(words[i], text)) {
			*found = i;
			return GT_OK;
		}
	return rc ? rc : gt_json_fault(&at, err, "'%s' is not known", text);
}

static int gt_mscclpp_buffer_type(const struct gt_json *object,
				  enum gt_import_buf *buf, struct gt_err *err)
{
	static const char *const words[] = {"i", "o", "s", NULL};
	uint32_t found = 0;
	int rc = gt_mscclpp_find(object, "type", words, &found, err);

	*buf = (enum gt_import_buf)found;
	return rc;
}

static int gt_mscclpp_channel_type(const struct gt_json *object,
				   const char *key, uint32_t *type,
				   struct gt_err *err)
{
	static const char *const words[] = {"memory", "port", "switch", NULL};
	struct gt_json at;
	int rc = gt_mscclpp_find(object, key, words, type, err);

	if (rc || *type < GT_MSCCLPP_TYPES)
		return rc;
	gt_json_get(object, key, &at);
	return gt_json_fault(&at, err, "'switch': " GT_MSCCLPP_SWITCH);
}

/* Read an array's length; an array that is missing is empty. */
struct gt_mscclpp_list {
	struct gt_json at;
	uint32_t n;
};

static int gt_mscclpp_list(const struct gt_json *object, const char *key,
			   uint32_t max, struct gt_mscclpp_list *list,
			   struct gt_err *err)
{
	int rc;

	list->n = 0;
	if (!gt_json_get(object, key, &list->at))
		return GT_OK;
	rc = gt_json_array(&list->at, &list->n, err);
	if (!rc && list->n > max)
		rc = gt_json_fault(&list->at, err, "there are more than %u",
				   max);
	return rc;
}

/* Make zeroed memory for a list's items. */
static void *gt_mscclpp_array(struct gt_mscclpp *mpp,
			      const struct gt_mscclpp_list *list,
			      size_t size_bytes, struct gt_err *err)
{
	void *items = gt_arena_array(mpp->arena, list->n, size_bytes);

	if (!items)
		gt_err_nomem(err);
	return items;
}

/* Read numbers of the thread block's own list, each below max. */
static int gt_mscclpp_numbers(struct gt_mscclpp *mpp,
			      const struct gt_json *object, const char *key,
			      uint32_t max, uint32_t *n, uint32_t **numbers,
			      struct gt_err *err)
{
	struct gt_mscclpp_list list;
	struct gt_json item;
	int rc = gt_mscclpp_list(object, key, GT_MSCCLPP_MAX_CHANNELS, &list,
				 err);

	if (rc)
		return rc;
	*n = list.n;
	*numbers = gt_mscclpp_array(mpp, &list, sizeof(**numbers), err);
	if (!*numbers)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < *n; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_json_u32(&item, UINT32_MAX, &(*numbers)[i], err);
		if (!rc && (*numbers)[i] >= max)
			rc = gt_json_fault(&item, err,
					   "there is no number '%u'",
					   (*numbers)[i]);
	}
	return rc;
}

/* {"channel_type": "memory", "connected_to": [1, 2]} makes two channels. */
static int gt_mscclpp_read_channels(struct gt_mscclpp *mpp,
				    const struct gt_json *at, uint32_t rank,
				    struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[rank];
	uint32_t type = 0, n = 0, *peers = NULL;
	int rc = gt_mscclpp_channel_type(at, "channel_type", &type, err);

	if (!rc)
		rc = gt_mscclpp_numbers(mpp, at, "connected_to", mpp->ngpus, &n,
					&peers, err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		if (peers[i] == rank)
			return gt_json_fault(at, err,
					     "gpu %u is connected with itself",
					     rank);
		gpu->channels = gt_vec_grow_in(
			mpp->arena, gpu->channels, gpu->nchannels,
			&gpu->channels_room, sizeof(*gpu->channels));
		if (!gpu->channels)
			return gt_err_nomem(err);
		gpu->channels[gpu->nchannels++] = (struct gt_mscclpp_channel){
			.type = type,
			.peer = peers[i],
			.back = GT_MSCCLPP_NONE,
			.signal_tb = GT_IMPORT_NOBODY,
			.wait_tb = GT_IMPORT_NOBODY,
			.flags = GT_MSCCLPP_NONE};
	}
	return rc;
}

/* Operations number the channels of each type for themselves. */
static int gt_mscclpp_sort_channels(struct gt_mscclpp *mpp,
				    struct gt_mscclpp_gpu *gpu,
				    struct gt_err *err)
{
	for (uint32_t type = 0; type < GT_MSCCLPP_TYPES; type++) {
		gpu->types[type] = gt_arena_array(mpp->arena, gpu->nchannels,
						  sizeof(*gpu->types[type]));
		if (!gpu->types[type])
			return gt_err_nomem(err);
		for (uint32_t c = 0; c < gpu->nchannels; c++)
			if (gpu->channels[c].type == type)
				gpu->types[type][gpu->ntypes[type]++] = c;
	}
	return GT_OK;
}

static int gt_mscclpp_read_remote(struct gt_mscclpp *mpp,
				  const struct gt_json *at, uint32_t rank,
				  struct gt_mscclpp_buf *buf,
				  struct gt_err *err)
{
	int rc = gt_mscclpp_number(at, "rank", mpp->ngpus - 1, &buf->rank, err);

	if (!rc)
		rc = gt_mscclpp_buffer_type(at, &buf->buf, err);
	if (!rc && buf->rank == rank)
		rc = gt_json_fault(at, err, "gpu %u's own buffer is not remote",
				   rank);
	return rc;
}

/* Read what operations call by position: the GPU's channels, or buffers. */
static int gt_mscclpp_read_ids(struct gt_mscclpp *mpp,
			       struct gt_mscclpp_gpu *gpu,
			       struct gt_mscclpp_tb *tb,
			       const struct gt_json *object, struct gt_err *err)
{
	struct gt_mscclpp_list list;
	struct gt_json item;
	uint32_t type = 0;
	int rc = gt_mscclpp_list(object, "channels", GT_MSCCLPP_TYPES + 1,
				 &list, err);

	for (uint32_t i = 0; !rc && i < list.n; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_channel_type(&item, "channel_type", &type, err);
		if (!rc)
			rc = gt_mscclpp_numbers(
				mpp, &item, "channel_ids", gpu->ntypes[type],
				&tb->nchannels[type], &tb->channels[type], err);
		for (uint32_t k = 0; !rc && k < tb->nchannels[type]; k++)
			tb->channels[type][k] =
				gpu->types[type][tb->channels[type][k]];
	}
	return rc;
}

static int gt_mscclpp_read_refs(struct gt_mscclpp *mpp,
				const struct gt_mscclpp_gpu *gpu,
				struct gt_mscclpp_tb *tb,
				const struct gt_json *object,
				struct gt_err *err)
{
	struct gt_mscclpp_list list;
	struct gt_json item;
	uint32_t type = 0;
	int rc = gt_mscclpp_list(object, "remote_buffer_refs",
				 GT_MSCCLPP_TYPES + 1, &list, err);

	for (uint32_t i = 0; !rc && i < list.n; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_channel_type(&item, "access_channel_type",
					     &type, err);
		if (!rc)
			rc = gt_mscclpp_numbers(mpp, &item, "remote_buffer_ids",
						gpu->nbufs, &tb->nbufs[type],
						&tb->bufs[type], err);
	}
	return rc;
}

/* The place where an operation is read: GPU, thread block, channel type. */
struct gt_mscclpp_place {
	struct gt_mscclpp *mpp;
	uint32_t rank, type;
	int has_type;
	struct gt_mscclpp_tb *tb;
};

static int gt_mscclpp_read_buf(const struct gt_mscclpp_place *place,
			       const struct gt_json *at,
			       struct gt_mscclpp_buf *buf, struct gt_err *err)
{
	const struct gt_mscclpp_gpu *gpu = &place->mpp->gpus[place->rank];
	struct gt_json id;
	uint32_t number = 0;
	int rc;

	if (gt_json_get(at, "switch_channel_id", &id))
		return gt_json_fault(&id, err, GT_MSCCLPP_SWITCH);
	if (!gt_json_get(at, "buffer_id", &id)) {
		buf->rank = place->rank;
		rc = gt_mscclpp_buffer_type(at, &buf->buf, err);
	} else if (!place->has_type) {
		rc = gt_json_fault(&id, err,
				   "the operation has no 'channel_type'");
	} else {
		rc = gt_json_u32(&id, UINT32_MAX, &number, err);
		if (!rc && number >= place->tb->nbufs[place->type])
			rc = gt_json_fault(&id, err,
					   "the thread block has no remote "
					   "buffer '%u'",
					   number);
		if (!rc)
			*buf = gpu->bufs[place->tb->bufs[place->type][number]];
	}
	buf->link = GT_MSCCLPP_NONE;
	if (!rc)
		rc = gt_mscclpp_number(at, "index", GT_IMPORT_MAX_CHUNKS,
				       &buf->at, err);
	if (!rc)
		rc = gt_mscclpp_number(at, "size", GT_IMPORT_MAX_CHUNKS,
				       &buf->size, err);
	if (!rc && !buf->size)
		rc = gt_json_fault(at, err, "has no chunks");
	return rc;
}

static int gt_mscclpp_read_bufs(const struct gt_mscclpp_place *place,
				const struct gt_json *object, const char *key,
				uint32_t *n, struct gt_mscclpp_buf **bufs,
				struct gt_err *err)
{
	struct gt_mscclpp_list list;
	struct gt_json item;
	int rc = gt_mscclpp_list(object, key, GT_IMPORT_MAX_OPERANDS, &list,
				 err);

	if (rc)
		return rc;
	*n = list.n;
	*bufs = gt_mscclpp_array(place->mpp, &list, sizeof(**bufs), err);
	if (!*bufs)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < *n; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_read_buf(place, &item, &(*bufs)[i], err);
	}
	return rc;
}

/* {"tb_id": 0, "tbg_size": 2} is the part that the thread block does. */
static int gt_mscclpp_read_part(const struct gt_json *object,
				struct gt_mscclpp_op *op, struct gt_err *err)
{
	struct gt_json at;
	int rc;

	op->nparts = 1;
	if (!gt_json_get(object, "tbg_info", &at))
		return GT_OK;
	rc = gt_mscclpp_number(&at, "tbg_size", GT_MSCCLPP_PARTS, &op->nparts,
			       err);
	if (!rc && !op->nparts)
		rc = gt_json_fault(&at, err, "the group is empty");
	return rc ? rc
		  : gt_mscclpp_number(&at, "tb_id", op->nparts - 1, &op->part,
				      err);
}

static int gt_mscclpp_read_word(const struct gt_json *object,
				struct gt_mscclpp_op *op, struct gt_err *err)
{
	size_t n = sizeof(gt_mscclpp_words) / sizeof(*gt_mscclpp_words);
	struct gt_json at;
	const char *text;
	int rc = gt_json_need(object, "name", &at, err);

	if (!rc)
		rc = gt_json_text(&at, &text, err);
	for (size_t i = 0; !rc && i < n && !op->word; i++)
		if (!strcmp(gt_mscclpp_words[i].name, text))
			op->word = &gt_mscclpp_words[i];
	if (!rc && !op->word)
		rc = gt_json_fault(&at, err, "'%s' is not known", text);
	if (!rc && op->word->kind == GT_MSCCLPP_REFUSED)
		rc = gt_json_fault(&at, err, "'%s': %s", text,
				   op->word->instead);
	return rc;
}

/* Check that sources and targets fit each other, and what is done with them. */
static int gt_mscclpp_check_op(const struct gt_mscclpp_op *op,
			       struct gt_err *err)
{
	const struct gt_mscclpp_word *word = op->word;

	if (word->kind != GT_MSCCLPP_MOVE && word->kind != GT_MSCCLPP_SUM)
		return GT_OK;
	if (!op->nsrc || !op->ndst)
		return gt_mscclpp_fail(
			op, err, "'%s' lacks a source or a target", word->name);
	if (word->kind == GT_MSCCLPP_MOVE && op->nsrc != op->ndst)
		return gt_mscclpp_fail(op, err,
				       "'%s' has %u sources for %u targets",
				       word->name, op->nsrc, op->ndst);
	if (word->signals && op->nchannels != op->ndst)
		return gt_mscclpp_fail(op, err,
				       "'%s' has %u channels for %u targets",
				       word->name, op->nchannels, op->ndst);
	for (uint32_t i = 0; i < op->nsrc; i++)
		for (uint32_t k = 0; k < op->ndst; k++)
			if ((word->kind == GT_MSCCLPP_SUM || i == k) &&
			    op->src[i].size != op->dst[k].size)
				return gt_mscclpp_fail(
					op, err,
					"its buffers are not of one "
					"size");
	return GT_OK;
}

static int gt_mscclpp_read_barrier(const struct gt_json *at,
				   struct gt_mscclpp_op *op, struct gt_err *err)
{
	int rc = gt_mscclpp_number(at, "barrier_id", UINT16_MAX, &op->barrier,
				   err);

	if (!rc)
		rc = gt_mscclpp_number(at, "num_threadblocks",
				       GT_IMPORT_MAX_BLOCKS, &op->nblocks, err);
	if (!rc && !op->nblocks)
		rc = gt_json_fault(at, err, "its barrier is for nobody");
	return rc;
}

static int gt_mscclpp_read_op(struct gt_mscclpp_place *place,
			      const struct gt_json *at,
			      struct gt_mscclpp_op *op, struct gt_err *err)
{
	struct gt_mscclpp_tb *tb = place->tb;
	struct gt_json type;
	int rc = gt_mscclpp_read_word(at, op, err);

	place->type = 0;
	place->has_type = gt_json_get(at, "channel_type", &type);
	if (!rc && place->has_type)
		rc = gt_mscclpp_channel_type(at, "channel_type", &place->type,
					     err);
	if (!rc && place->type && op->word->dst_packets == 0 &&
	    op->word->src_packets == GT_MSCCLPP_NONE)
		op->word = &gt_mscclpp_port_packets;
	if (!rc)
		rc = gt_mscclpp_numbers(place->mpp, at, "channel_ids",
					tb->nchannels[place->type],
					&op->nchannels, &op->channels, err);
	for (uint32_t i = 0; !rc && i < op->nchannels; i++)
		op->channels[i] = tb->channels[place->type][op->channels[i]];
	if (!rc)
		rc = gt_mscclpp_read_bufs(place, at, "src_buff", &op->nsrc,
					  &op->src, err);
	if (!rc)
		rc = gt_mscclpp_read_bufs(place, at, "dst_buff", &op->ndst,
					  &op->dst, err);
	if (!rc)
		rc = gt_mscclpp_read_part(at, op, err);
	if (!rc && op->word->kind == GT_MSCCLPP_BARRIER)
		rc = gt_mscclpp_read_barrier(at, op, err);
	return rc ? rc : gt_mscclpp_check_op(op, err);
}

/* The time for matching operations grows with the square of this. */
static void gt_mscclpp_weigh(const struct gt_mscclpp_op *op, uint64_t *named,
			     uint64_t *moved)
{
	*named += op->nchannels;
	for (uint32_t k = 0; k < op->nsrc; k++)
		*moved += op->src[k].size;
	for (uint32_t k = 0; k < op->ndst; k++)
		*moved += op->dst[k].size;
}

static int gt_mscclpp_read_ops(struct gt_mscclpp_place *place,
			       const struct gt_mscclpp_list *list, uint32_t id,
			       struct gt_err *err)
{
	struct gt_mscclpp *mpp = place->mpp;
	struct gt_mscclpp_tb *tb = place->tb;
	uint64_t named = 0, moved = 0;
	struct gt_json item;
	int rc = GT_OK;

	tb->nops = list->n;
	tb->ops = gt_mscclpp_array(mpp, list, sizeof(*tb->ops), err);
	if (!tb->ops)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < tb->nops; i++) {
		tb->ops[i].where = gt_arena_printf(
			mpp->arena, "%s: gpus[%u].threadblocks[%u].ops[%u]",
			mpp->algo->name, place->rank, id, i);
		if (!tb->ops[i].where)
			return gt_err_nomem(err);
		gt_json_item(&list->at, i, &item);
		rc = gt_mscclpp_read_op(place, &item, &tb->ops[i], err);
		gt_mscclpp_weigh(&tb->ops[i], &named, &moved);
		if (!rc && (named > GT_MSCCLPP_MAX_NAMED ||
			    moved > GT_MSCCLPP_MAX_MOVED))
			rc = gt_json_fault(&item, err,
					   "up to here the thread block's ops "
					   "name more than %d channels or %d "
					   "chunks",
					   GT_MSCCLPP_MAX_NAMED,
					   GT_MSCCLPP_MAX_MOVED);
	}
	return rc;
}

static int gt_mscclpp_read_tb(struct gt_mscclpp_place *place,
			      const struct gt_json *at, uint32_t id,
			      struct gt_err *err)
{
	struct gt_mscclpp *mpp = place->mpp;
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[place->rank];
	struct gt_mscclpp_list list;
	uint32_t number;
	int rc = gt_mscclpp_number(at, "id", UINT32_MAX, &number, err);

	if (!rc && number != id)
		rc = gt_json_fault(at, err, "id '%u' stands at %u", number, id);
	if (!rc)
		rc = gt_mscclpp_read_ids(mpp, gpu, place->tb, at, err);
	if (!rc)
		rc = gt_mscclpp_read_refs(mpp, gpu, place->tb, at, err);
	if (!rc)
		rc = gt_mscclpp_list(at, "ops", GT_MSCCLPP_MAX_OPS, &list, err);
	return rc ? rc : gt_mscclpp_read_ops(place, &list, id, err);
}

static int gt_mscclpp_read_tbs(struct gt_mscclpp *mpp, const struct gt_json *at,
			       uint32_t rank, struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[rank];
	struct gt_mscclpp_place place = {.mpp = mpp, .rank = rank};
	struct gt_mscclpp_list list;
	struct gt_json item;
	int rc = gt_mscclpp_list(at, "threadblocks", GT_IMPORT_MAX_BLOCKS,
				 &list, err);

	if (rc)
		return rc;
	gpu->ntbs = list.n;
	gpu->tbs = gt_mscclpp_array(mpp, &list, sizeof(*gpu->tbs), err);
	if (!gpu->tbs)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < gpu->ntbs; i++) {
		gt_json_item(&list.at, i, &item);
		place.tb = &gpu->tbs[i];
		rc = gt_mscclpp_read_tb(&place, &item, i, err);
	}
	return rc;
}

static int gt_mscclpp_read_links(struct gt_mscclpp *mpp,
				 const struct gt_json *at, uint32_t rank,
				 struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[rank];
	struct gt_mscclpp_list list;
	struct gt_json item;
	int rc = gt_mscclpp_list(at, "channels", GT_MSCCLPP_MAX_CHANNELS, &list,
				 err);

	for (uint32_t i = 0; !rc && i < list.n; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_read_channels(mpp, &item, rank, err);
	}
	if (!rc)
		rc = gt_mscclpp_sort_channels(mpp, gpu, err);
	if (!rc)
		rc = gt_mscclpp_list(at, "remote_buffers",
				     GT_MSCCLPP_MAX_CHANNELS, &list, err);
	if (rc)
		return rc;
	gpu->nbufs = list.n;
	gpu->bufs = gt_mscclpp_array(mpp, &list, sizeof(*gpu->bufs), err);
	if (!gpu->bufs)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < gpu->nbufs; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_read_remote(mpp, &item, rank, &gpu->bufs[i],
					    err);
	}
	return rc;
}

static int gt_mscclpp_read_gpu(struct gt_mscclpp *mpp, const struct gt_json *at,
			       uint32_t rank, struct gt_err *err)
{
	struct gt_mscclpp_gpu *gpu = &mpp->gpus[rank];
	const uint32_t max = GT_IMPORT_MAX_CHUNKS;
	uint32_t id = 0;
	int rc = gt_mscclpp_number(at, "id", UINT32_MAX, &id, err);

	if (!rc && id != rank)
		rc = gt_json_fault(at, err, "id '%u' stands at %u", id, rank);
	if (!rc)
		rc = gt_mscclpp_number(at, "input_chunks", max, &gpu->ninput,
				       err);
	if (!rc)
		rc = gt_mscclpp_number(at, "output_chunks", max, &gpu->noutput,
				       err);
	if (!rc)
		rc = gt_mscclpp_number(at, "scratch_chunks", max,
				       &gpu->nscratch, err);
	if (!rc)
		rc = gt_mscclpp_read_links(mpp, at, rank, err);
	return rc ? rc : gt_mscclpp_read_tbs(mpp, at, rank, err);
}

static int gt_mscclpp_head(struct gt_mscclpp *mpp, const struct gt_json *root,
			   struct gt_err *err)
{
	static const char *const protocols[] = {"Simple", "LL", NULL};
	struct gt_json at;
	const char *coll = "";
	uint32_t protocol = 0;
	int found, rc = gt_json_need(root, "collective", &at, err);

	if (!rc)
		rc = gt_json_text(&at, &coll, err);
	found = gt_coll_meant(coll);
	if (!rc && found < 0)
		rc = gt_json_fault(&at, err, "'%s' is no collective of gtopo",
				   coll);
	mpp->algo->coll = (enum gt_coll)found;
	if (!rc)
		rc = gt_mscclpp_find(root, "protocol", protocols, &protocol,
				     err);
	mpp->algo->protocol = protocol ? GT_PROTOCOL_LL : GT_PROTOCOL_SIMPLE;
	if (!rc)
		rc = gt_json_need(root, "inplace", &at, err);
	return rc ? rc : gt_json_bool(&at, &mpp->algo->inplace, err);
}

int gt_mscclpp_read(const struct gt_json *root, struct gt_mscclpp *mpp,
		    struct gt_err *err)
{
	struct gt_mscclpp_list list = {.n = 0};
	struct gt_json item;
	int rc = gt_json_need(root, "gpus", &item, err);

	if (!rc)
		rc = gt_mscclpp_head(mpp, root, err);
	if (!rc)
		rc = gt_mscclpp_list(root, "gpus", GT_IMPORT_MAX_GPUS, &list,
				     err);
	if (!rc && !list.n)
		rc = gt_json_fault(&list.at, err, "there are none");
	if (!rc) /* this is before anything is made for them */
		rc = gt_import_is_for(mpp->algo, list.n, err);
	if (rc)
		return rc;
	mpp->ngpus = list.n;
	mpp->gpus = gt_mscclpp_array(mpp, &list, sizeof(*mpp->gpus), err);
	if (!mpp->gpus)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < mpp->ngpus; i++) {
		gt_json_item(&list.at, i, &item);
		rc = gt_mscclpp_read_gpu(mpp, &item, i, err);
	}
	return rc;
}
