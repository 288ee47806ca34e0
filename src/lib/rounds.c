/* A schedule over rails as one rank's messages. */
#include "lib/rounds.h"

#include <stdlib.h>

#include "base/vec.h"
#include "exec/engine.h"
#include "gtopo.h"
#include "lib/batch.h"
#include "search/rails/rails.h"

enum { LINE_BYTES = 64 }; /* of a processor's cache; slices begin there */

/* The part's end behind `cum` of the parts, in elements, rounded down. */
static uint64_t part_end(uint64_t count, uint32_t cum, uint32_t parts)
{
	return count / parts * cum + count % parts * cum / parts;
}

/* A part of a block that the rank sends, or gets, in its way's k-th hop. */
struct hop {
	uint64_t begin, end; /* elements of the block */
	char *buffer;        /* where the block is; NULL: what it passes on */
	uint32_t peer, way;  /* the part's number among those passed on */
	uint8_t k, sends;
};

/* Where slices of a part lie that the rank passes on. */
struct way {
	uint64_t offset, slot_bytes;
	uint32_t in[GT_ROUNDS_SLOTS],
		out[GT_ROUNDS_SLOTS]; /* the last messages of the slot */
};

struct reroute {
	const struct gt_rounds *plan;
	uint32_t rank;
	struct gt_message model; /* type and digest */
	char *in[GT_RAILS_MAX_RANKS], *out[GT_RAILS_MAX_RANKS]; /* by peer */
	struct hop *hops;
	struct way *ways;
	uint32_t nhops, hops_room, nways, ways_room;
	struct gt_batch *batch;
};

static int add_hop(struct reroute *r, const struct hop *hop)
{
	struct hop *more =
		gt_vec_grow(r->hops, r->nhops, &r->hops_room, sizeof(*r->hops));

	if (!more)
		return GTOPO_ESYSTEM;
	r->hops = more;
	r->hops[r->nhops++] = *hop;
	return GTOPO_OK;
}

/* One more part is passed on. */
static int add_way(struct reroute *r, uint64_t count)
{
	struct way *more =
		gt_vec_grow(r->ways, r->nways, &r->ways_room, sizeof(*r->ways));
	uint64_t slot = (count / r->plan->n + 1) *
			gt_dtype_bytes((enum gt_dtype)r->model.dtype);

	if (!more)
		return GTOPO_ESYSTEM;
	r->ways = more;
	slot = (slot + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	r->ways[r->nways] = (struct way){.offset = r->batch->relay_bytes,
					 .slot_bytes = slot};
	for (uint32_t i = 0; i < GT_ROUNDS_SLOTS; i++)
		r->ways[r->nways].in[i] = r->ways[r->nways].out[i] =
			GT_MESSAGE_NONE;
	r->nways++;
	r->batch->relay_bytes += GT_ROUNDS_SLOTS * slot;
	return GTOPO_OK;
}

/* What the rank has to do with a part that goes by these ranks. */
static int add_path(struct reroute *r, uint64_t begin, uint64_t end,
		    const uint32_t *ranks, uint32_t nhops)
{
	struct hop hop = {.begin = begin, .end = end};
	int rc = GTOPO_OK;

	for (uint32_t k = 0; !rc && k < nhops; k++) {
		hop.k = (uint8_t)k;
		if (ranks[k + 1] == r->rank) {
			int last = k + 1 == nhops;

			if (!last)
				rc = add_way(r, end - begin);
			hop.sends = 0;
			hop.peer = ranks[k];
			hop.buffer = last ? r->out[ranks[0]] : NULL;
		} else if (ranks[k] == r->rank) {
			hop.sends = 1;
			hop.peer = ranks[k + 1];
			hop.buffer = k ? NULL : r->in[ranks[nhops]];
		} else {
			continue;
		}
		hop.way = r->nways - 1;
		if (!rc)
			rc = add_hop(r, &hop);
	}
	return rc;
}

/* The parts of a block, of which the rank may have or pass on some. */
static int add_block(struct reroute *r, uint32_t from, uint32_t to)
{
	const struct gt_rails *m = r->plan->rails;
	const struct gt_rails_schedule *s = r->plan->schedule;
	const uint8_t *share = &s->share[(from * m->n + to) * m->nrails];
	uint64_t count = r->plan->counts[from * m->n + to];
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1] = {from, to};
	uint32_t node = m->node[r->rank], cum = 0;
	int is_end = from == r->rank || to == r->rank, rc = GTOPO_OK;

	if (!count ||
	    (!m->meshed && m->node[from] != node && m->node[to] != node))
		return GTOPO_OK;
	if (m->node[from] == m->node[to])
		return add_path(r, 0, count, ranks, 1);
	for (uint32_t rail = 0; !rc && rail < m->nrails; rail++) {
		uint64_t begin = part_end(count, cum, s->parts);

		cum += share[rail];
		/* Others' blocks come by on the rank's own rail alone. */
		if (share[rail] && (is_end || rail == m->own[r->rank]))
			rc = add_path(r, begin, part_end(count, cum, s->parts),
				      ranks,
				      gt_rails_path(m, from, to, rail, ranks));
	}
	return rc;
}

/* A message of the k-th slice of a part, if that has any bytes. */
static int add_slice(struct reroute *r, const struct hop *hop, uint32_t k)
{
	uint64_t size = gt_dtype_bytes((enum gt_dtype)r->model.dtype);
	uint64_t count = hop->end - hop->begin;
	uint64_t begin = part_end(count, k, r->plan->n);
	uint64_t end = part_end(count, k + 1, r->plan->n);
	struct way *way = hop->buffer ? NULL : &r->ways[hop->way];
	struct gt_message message = r->model;
	uint32_t slot = k % GT_ROUNDS_SLOTS, i = r->batch->n, after;

	if (begin == end)
		return GTOPO_OK;
	message.buffer =
		way ? (void *)(uintptr_t)(way->offset + slot * way->slot_bytes)
		    : hop->buffer + (hop->begin + begin) * size;
	message.bytes = (end - begin) * size;
	message.peer = hop->peer;
	message.sends = hop->sends;
	if (gt_batch_add(&r->batch, &message))
		return GTOPO_ESYSTEM;
	if (!way)
		return GTOPO_OK;
	after = hop->sends ? way->in[slot] : way->out[slot];
	*(hop->sends ? &way->out[slot] : &way->in[slot]) = i;
	return gt_batch_relay(r->batch, after);
}

/*
 * All ranks first tell each other of their matrix, without bytes and without
 * waiting for others, so that one that differs is found by whom it concerns.
 */
static int greet(struct reroute *r, const struct gt_batch *straight)
{
	int rc = GTOPO_OK;

	for (uint32_t i = 0; !rc && i < straight->n; i++) {
		struct gt_message message = straight->messages[i];

		if (message.sends)
			r->in[message.peer] = message.buffer;
		else
			r->out[message.peer] = message.buffer;
		/* What a rank has for itself goes at once. */
		if (message.peer != r->rank)
			message.bytes = 0;
		r->model.dtype = message.dtype;
		r->model.matrix = message.matrix;
		rc = gt_batch_add(&r->batch, &message);
	}
	return rc;
}

/* In each round the hops of all parts that then have a slice to move. */
static int add_rounds(struct reroute *r)
{
	uint32_t rounds = r->plan->n;
	int rc = GTOPO_OK;

	for (uint32_t t = 0; t < rounds + GT_RAILS_MAX_HOPS - 1; t++)
		for (uint32_t i = 0; !rc && i < r->nhops; i++) {
			const struct hop *hop = &r->hops[i];

			if (t >= hop->k && t - hop->k < rounds)
				rc = add_slice(r, hop, t - hop->k);
		}
	return rc;
}

static int add_all(struct reroute *r, const struct gt_batch *straight)
{
	uint32_t n = r->plan->rails->n;
	int rc = greet(r, straight);

	for (uint32_t i = 0; !rc && i < n * n; i++)
		if (i / n != i % n)
			rc = add_block(r, i / n, i % n);
	return rc ? rc : add_rounds(r);
}

int gt_rounds_batch(const struct gt_rounds *plan, uint32_t rank,
		    const struct gt_batch *straight, struct gt_batch **batch)
{
	struct reroute r = {.plan = plan, .rank = rank};
	int rc = add_all(&r, straight);

	free(r.hops);
	free(r.ways);
	if (rc)
		gt_batch_free(r.batch);
	else
		*batch = r.batch;
	return rc;
}
