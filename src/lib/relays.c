/*
 * When all-to-alls go through other ranks, and which messages that makes
 * (lib/relays.h).
 */
#include "lib/relays.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "lib/batch.h"
#include "lib/sendrecv_remote.h"
#include "lib/state.h"
#include "plan/cost/params.h"
#include "plan/ir/plan.h"
#include "search/rails/rails.h"

enum {
	/* Slices of a part that a rank has memory for: one comes, one goes,
	 * and one lies between. */
	SLOTS = 3,
	/* Slices are about as large, unless rounds would be too many ... */
	SLICE_BYTES = 128 << 10,
	ROUNDS = 16,
	/* ... or all that a rank passes on would need more memory; what would
	 * take too many messages then goes straight. */
	MEMORY_BYTES = 64 << 20,
	MOST_ROUNDS = 1024,
	/* Slices begin at a processor's cache lines. */
	LINE_BYTES = 64,
};

/* So much faster a schedule has to be by the model to be taken. */
static const double margin = 1.1;

struct gt_relays {
	struct gt_arena *arena;
	struct gt_rails *rails;
	pthread_mutex_t mutex; /* guards all that follows */
	struct gt_rails_schedule *schedule;
	/* The last matrix, from * n + to, as ranks of a process ask after one
	 * another for the same one. */
	uint64_t *counts, *bytes;
	enum gt_dtype dtype;
	int has_last;
	uint32_t rounds; /* 0: straight is as fast */
};

/* ---- where -------------------------------------------------------------- */

/* Are the plan's nodes the hosts, as far as this process's ranks know? */
static int has_own_hosts(const struct gtopo_comm *comm,
			 const struct gt_rails *rails)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		for (uint32_t k = 0; k < comm->nranks; k++)
			if (gt_remote_is_here(comm, k) !=
			    (rails->node[r] == rails->node[k]))
				return 0;
	return 1;
}

static int may_relay(const struct gtopo_comm *comm,
		     const struct gt_rails *rails, uint64_t *refuses,
		     struct gt_err *err)
{
	*refuses = 0;
	if (!comm->config.best && !comm->config.overlap)
		return GT_OK;
	*refuses = !comm->world || !has_own_hosts(comm, rails);
	return comm->world ? gt_world_max(comm->world, refuses, err) : GT_OK;
}

void gt_relays_free(struct gt_relays *relays)
{
	if (!relays)
		return;
	pthread_mutex_destroy(&relays->mutex);
	gt_arena_free(relays->arena);
	free(relays);
}

static struct gt_relays *make_room(struct gt_arena *arena,
				   struct gt_rails *rails)
{
	struct gt_relays *relays = calloc(1, sizeof(*relays));
	size_t n = rails->n;

	if (!relays)
		return NULL;
	relays->rails = rails;
	relays->schedule = gt_rails_schedule_new(rails, arena);
	relays->counts = gt_arena_array(arena, n * n, sizeof(uint64_t));
	relays->bytes = gt_arena_array(arena, n * n, sizeof(uint64_t));
	if (!relays->schedule || !relays->counts || !relays->bytes) {
		free(relays);
		return NULL;
	}
	relays->arena = arena;
	pthread_mutex_init(&relays->mutex, NULL);
	return relays;
}

int gt_relays_new(const struct gtopo_comm *comm, struct gt_relays **relays,
		  struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_rails *rails;
	struct gt_err why;
	uint64_t refuses;
	int rc;

	*relays = NULL;
	gt_err_init(&why);
	rc = arena ? gt_rails_from_plan(comm->plan, arena, &rails, &why)
		   : gt_err_nomem(&why);
	/* All processes have the same plan. */
	if (rc == GT_ENO) {
		gt_arena_free(arena);
		return GT_OK;
	}
	rc = rc ? gt_err_set(err, rc, why.where, "%s", why.text)
		: may_relay(comm, rails, &refuses, err);
	if (!rc && !refuses) {
		*relays = make_room(arena, rails);
		rc = *relays ? GT_OK : gt_err_nomem(err);
	}
	if (!*relays)
		gt_arena_free(arena);
	return rc;
}

/* ---- whether ------------------------------------------------------------ */

/* The part's end behind `cum` of the parts, in elements. */
static uint64_t part_end(uint64_t count, uint32_t cum, uint32_t parts)
{
	return (uint64_t)((unsigned __int128)count * cum / parts);
}

/* The largest part, and the most that a rank passes on, in bytes. */
static void measure_parts(const struct gt_relays *relays, double *largest,
			  double *passed_on)
{
	const struct gt_rails *m = relays->rails;
	const struct gt_rails_schedule *s = relays->schedule;
	double by[GT_RAILS_MAX_RANKS] = {0};
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1];

	*largest = *passed_on = 0;
	for (uint32_t i = 0; i < m->n * m->n; i++)
		for (uint32_t r = 0; r < m->nrails; r++) {
			double bytes = (double)relays->bytes[i] *
				       s->share[i * m->nrails + r] / s->parts;
			uint32_t hops;

			if (bytes <= 0)
				continue;
			if (bytes > *largest)
				*largest = bytes;
			hops = gt_rails_path(m, i / m->n, i % m->n, r, ranks);
			for (uint32_t h = 1; h < hops; h++)
				by[ranks[h]] += bytes;
		}
	for (uint32_t i = 0; i < m->n; i++)
		if (by[i] > *passed_on)
			*passed_on = by[i];
}

/* How long the links to switches are full, at most. */
static double switch_ns(const struct gt_relays *relays)
{
	const struct gt_rails_schedule *s = relays->schedule;
	double most = 0;

	for (uint32_t i = 0; i < 2 * relays->rails->n; i++)
		if (s->full[i] > most)
			most = s->full[i];
	return most * s->bound_ns;
}

static uint32_t count_rounds(const struct gt_relays *relays)
{
	double largest, passed_on, rounds, least;

	measure_parts(relays, &largest, &passed_on);
	rounds = largest / SLICE_BYTES;
	if (rounds > ROUNDS)
		rounds = ROUNDS;
	least = SLOTS * passed_on / MEMORY_BYTES;
	if (rounds < least)
		rounds = least;
	return rounds < MOST_ROUNDS ? (uint32_t)rounds + 1 : 0;
}

/*
 * Before the first slice is on a rail and after the last one has left it they
 * go over switches, with nothing else to do meanwhile.
 */
static int pays(const struct gt_relays *relays, double direct_ns,
		uint32_t rounds)
{
	struct gt_cost_params cost = gt_cost_default(GT_PROTOCOL_SIMPLE);
	double hop_ns = cost.hop_us[GT_COST_HOP_NET] * 1e3;
	double ns = relays->schedule->ns +
		    (GT_RAILS_MAX_HOPS - 1) * switch_ns(relays) / rounds +
		    (rounds + GT_RAILS_MAX_HOPS - 1) * hop_ns;

	return ns * margin < direct_ns + hop_ns;
}

/* Plan for the matrix, unless it is the last one. */
static void plan(struct gt_relays *relays, const uint64_t *counts,
		 enum gt_dtype dtype)
{
	const struct gt_rails *m = relays->rails;
	uint32_t nn = m->n * m->n;
	double direct_ns;
	int crosses = 0;

	if (relays->has_last && relays->dtype == dtype &&
	    !memcmp(counts, relays->counts, nn * sizeof(*counts)))
		return;
	memcpy(relays->counts, counts, nn * sizeof(*counts));
	relays->dtype = dtype;
	relays->has_last = 1;
	relays->rounds = 0;
	for (uint32_t i = 0; i < nn; i++) {
		relays->bytes[i] = i / m->n == i % m->n
					   ? 0
					   : counts[i] * gt_dtype_bytes(dtype);
		crosses |= relays->bytes[i] &&
			   m->node[i / m->n] != m->node[i % m->n];
	}
	if (!crosses)
		return;
	direct_ns = gt_rails_direct_ns(m, relays->bytes, relays->schedule);
	gt_rails_plan(m, relays->bytes, relays->schedule);
	relays->rounds = count_rounds(relays);
	if (relays->rounds && !pays(relays, direct_ns, relays->rounds))
		relays->rounds = 0;
}

/* ---- which messages ----------------------------------------------------- */

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
	uint32_t in[SLOTS], out[SLOTS]; /* the last messages of the slot */
};

struct reroute {
	const struct gt_relays *relays;
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
	uint64_t slot = (count / r->relays->rounds + 1) *
			gt_dtype_bytes((enum gt_dtype)r->model.dtype);

	if (!more)
		return GTOPO_ESYSTEM;
	r->ways = more;
	slot = (slot + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	r->ways[r->nways] = (struct way){.offset = r->batch->relay_bytes,
					 .slot_bytes = slot};
	for (uint32_t i = 0; i < SLOTS; i++)
		r->ways[r->nways].in[i] = r->ways[r->nways].out[i] =
			GT_MESSAGE_NONE;
	r->nways++;
	r->batch->relay_bytes += SLOTS * slot;
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
	const struct gt_rails *m = r->relays->rails;
	const struct gt_rails_schedule *s = r->relays->schedule;
	const uint8_t *share = &s->share[(from * m->n + to) * m->nrails];
	uint64_t count = r->relays->counts[from * m->n + to];
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1] = {from, to};
	uint32_t node = m->node[r->rank], cum = 0;
	int rc = GTOPO_OK;

	if (!count || (m->node[from] != node && m->node[to] != node))
		return GTOPO_OK;
	if (m->node[from] == m->node[to])
		return add_path(r, 0, count, ranks, 1);
	for (uint32_t rail = 0; !rc && rail < m->nrails; rail++) {
		uint64_t begin = part_end(count, cum, s->parts);

		cum += share[rail];
		if (share[rail])
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
	uint64_t begin = part_end(count, k, r->relays->rounds);
	uint64_t end = part_end(count, k + 1, r->relays->rounds);
	struct way *way = hop->buffer ? NULL : &r->ways[hop->way];
	struct gt_message message = r->model;
	struct gt_message_order *order;
	uint32_t slot = k % SLOTS, i = r->batch->n;

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
	order = &r->batch->order[i];
	order->relayed = 1;
	order->after = hop->sends ? way->in[slot] : way->out[slot];
	*(hop->sends ? &way->out[slot] : &way->in[slot]) = i;
	return GTOPO_OK;
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
	uint32_t rounds = r->relays->rounds;
	int rc = GTOPO_OK;

	for (uint32_t t = 0; t < rounds + GT_RAILS_MAX_HOPS - 1; t++)
		for (uint32_t i = 0; !rc && i < r->nhops; i++) {
			const struct hop *hop = &r->hops[i];

			if (t >= hop->k && t - hop->k < rounds)
				rc = add_slice(r, hop, t - hop->k);
		}
	return rc;
}

static int reroute(struct reroute *r, const struct gt_batch *straight)
{
	uint32_t n = r->relays->rails->n;
	int rc = greet(r, straight);

	for (uint32_t i = 0; !rc && i < n * n; i++)
		if (i / n != i % n)
			rc = add_block(r, i / n, i % n);
	return rc ? rc : add_rounds(r);
}

int gt_relays_reroute(struct gt_relays *relays, uint32_t rank,
		      const uint64_t *counts, enum gt_dtype dtype,
		      struct gt_batch **batch)
{
	struct reroute r = {.relays = relays, .rank = rank};
	int rc = GTOPO_OK;

	pthread_mutex_lock(&relays->mutex);
	plan(relays, counts, dtype);
	if (relays->rounds)
		rc = reroute(&r, *batch);
	pthread_mutex_unlock(&relays->mutex);
	free(r.hops);
	free(r.ways);
	if (rc || !r.batch) {
		gt_batch_free(r.batch);
		return rc;
	}
	gt_batch_free(*batch);
	*batch = r.batch;
	return GTOPO_OK;
}
