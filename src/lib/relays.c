/* Where all-to-alls go through other ranks, and whether a matrix's does. */
#include "lib/relays.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lib/batch.h"
#include "lib/rounds.h"
#include "lib/sendrecv_remote.h"
#include "lib/state.h"
#include "plan/cost/params.h"
#include "plan/ir/plan.h"
#include "search/rails/rails.h"

enum {
	/* Slices are about as large, unless rounds would be too many ... */
	SLICE_BYTES = 128 << 10,
	ROUNDS = 16,
	/* ... or all that a rank passes on would need more memory; what would
	 * take too many messages then goes straight. */
	MEMORY_BYTES = 64 << 20,
	MOST_ROUNDS = 1024,
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

/* Do all processes find that they may not?  rails is NULL where none are. */
static int ask_all(const struct gtopo_comm *comm, const struct gt_rails *rails,
		   uint64_t *refuses, struct gt_err *err)
{
	int believes = !comm->config.best && !comm->config.overlap;

	*refuses = !rails ||
		   (!believes && (!comm->world || !has_own_hosts(comm, rails)));
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
	struct gt_rails *rails = NULL;
	struct gt_err why;
	uint64_t refuses;
	int rc;

	*relays = NULL;
	gt_err_init(&why);
	rc = arena ? gt_rails_from_plan(comm->plan, arena, &rails, &why)
		   : gt_err_nomem(&why);
	rc = !rc || rc == GT_ENO
		     ? ask_all(comm, rails, &refuses, err)
		     : gt_err_set(err, rc, why.where, "%s", why.text);
	if (!rc && !refuses) {
		*relays = make_room(arena, rails);
		rc = *relays ? GT_OK : gt_err_nomem(err);
	}
	if (!*relays)
		gt_arena_free(arena);
	return rc;
}

/* ---- whether ------------------------------------------------------------ */

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
	least = GT_ROUNDS_SLOTS * passed_on / MEMORY_BYTES;
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

int gt_relays_reroute(struct gt_relays *relays, uint32_t rank,
		      const uint64_t *counts, enum gt_dtype dtype,
		      struct gt_batch **batch)
{
	struct gt_batch *through = NULL;
	int rc = GTOPO_OK;

	pthread_mutex_lock(&relays->mutex);
	plan(relays, counts, dtype);
	if (relays->rounds)
		rc = gt_rounds_batch(
			&(struct gt_rounds){.rails = relays->rails,
					    .schedule = relays->schedule,
					    .counts = relays->counts,
					    .n = relays->rounds},
			rank, *batch, &through);
	pthread_mutex_unlock(&relays->mutex);
	if (rc || !through)
		return rc;
	gt_batch_free(*batch);
	*batch = through;
	return GTOPO_OK;
}
