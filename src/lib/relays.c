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
	enum gt_cost_hop hop; /* what a part goes over, each time */
	uint32_t rounds;      /* 0: straight is as fast */
};

/* ---- where -------------------------------------------------------------- */

static int is_of_one_node(const struct gtopo_comm *comm,
			  const struct gt_rails *rails, uint32_t a, uint32_t b)
{
	const struct gt_plan_rank *ranks = comm->plan->ranks;

	return rails->meshed ? !strcmp(ranks[a].node, ranks[b].node)
			     : rails->node[a] == rails->node[b];
}

/*
 * Are the plan's nodes the hosts, as far as this process's ranks know?  One
 * host's ranks copy, and do not go over what links its GPUs.
 */
static int has_own_hosts(const struct gtopo_comm *comm,
			 const struct gt_rails *rails)
{
	int several = 0;

	for (uint32_t r = comm->first; r < comm->end; r++)
		for (uint32_t k = 0; k < comm->nranks; k++) {
			int together = is_of_one_node(comm, rails, r, k);

			several |= !together;
			if (gt_remote_is_here(comm, k) != together)
				return 0;
		}
	return several;
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

/* Over the network, where the plan is of several nodes. */
static enum gt_cost_hop worst_hop(const struct gtopo_comm *comm)
{
	const struct gt_plan_rank *ranks = comm->plan->ranks;

	for (uint32_t i = 1; i < comm->plan->nranks; i++)
		if (strcmp(ranks[i].node, ranks[0].node) != 0)
			return GT_COST_HOP_NET;
	return GT_COST_HOP_NVL;
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
		if (*relays)
			(*relays)->hop = worst_hop(comm);
	}
	if (!*relays)
		gt_arena_free(arena);
	return rc;
}

/* ---- whether ------------------------------------------------------------ */

struct passed_on {
	double largest;                /* part, in bytes */
	double by[GT_RAILS_MAX_RANKS]; /* rank -> bytes of others */
};

static void measure_pair(const struct gt_relays *relays, uint32_t from,
			 uint32_t to, struct passed_on *p)
{
	const struct gt_rails *m = relays->rails;
	const struct gt_rails_schedule *s = relays->schedule;
	uint32_t pair = from * m->n + to;
	const uint8_t *share = &s->share[pair * m->nrails];
	const uint32_t *out = &m->relay[m->node[from] * m->nrails];
	const uint32_t *in = &m->relay[m->node[to] * m->nrails];
	double part = (double)relays->bytes[pair] / s->parts;

	for (uint32_t r = 0; r < m->nrails; r++) {
		double bytes = part * share[r];

		if (!share[r])
			continue;
		if (bytes > p->largest)
			p->largest = bytes;
		if (out[r] != from && out[r] != to)
			p->by[out[r]] += bytes;
		if (in[r] != to && in[r] != out[r] && in[r] != from)
			p->by[in[r]] += bytes;
	}
}

/* The largest part, and the most that a rank passes on, in bytes. */
static void measure_parts(const struct gt_relays *relays, double *largest,
			  double *passed_on)
{
	uint32_t n = relays->rails->n;
	struct passed_on p = {0};

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++)
			if (relays->bytes[i * n + k])
				measure_pair(relays, i, k, &p);
	*largest = p.largest;
	*passed_on = 0;
	for (uint32_t i = 0; i < n; i++)
		if (p.by[i] > *passed_on)
			*passed_on = p.by[i];
}

/* How long a part's first and last hop may take besides, of all parts. */
static double switch_ns(const struct gt_relays *relays)
{
	const struct gt_rails_schedule *s = relays->schedule;
	double most = 0;

	if (relays->rails->meshed)
		return s->ns;
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
	double hop_ns = cost.hop_us[relays->hop] * 1e3;
	uint32_t more = relays->rails->meshed ? 1 : GT_RAILS_MAX_HOPS - 1;
	double ns = relays->schedule->ns + more * switch_ns(relays) / rounds +
		    (rounds + more) * hop_ns;

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
