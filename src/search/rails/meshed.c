/* Which ranks may pass on what, where no switch joins them. */
#include "search/rails/meshed.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/rails/rails.h"

struct maker {
	const struct gt_fabric *f;
	struct gt_rails *m;
	struct gt_meshed *ways;
	double *taken;   /* [way of the pair * nrows + row]: bytes for a byte */
	uint8_t *routed; /* way of the pair -> does it exist */
};

static int add_hop(const struct maker *k, uint32_t from, uint32_t to,
		   double *taken)
{
	const struct gt_fabric_route *route =
		&k->f->routes[from * k->m->n + to];

	for (uint32_t h = 0; h < route->nlinks; h++) {
		uint32_t link = route->links[h];

		taken[link] += k->f->links[link].charged
				       ? gt_rat_double(route->charge)
				       : 1;
	}
	return route->nlinks > 0 && !route->is_staged;
}

/* What a byte takes of each link by each rank; by `to` it goes straight. */
static void add_ways(struct maker *k, uint32_t from, uint32_t to)
{
	uint32_t n = k->m->n, nrows = k->m->nrows;

	memset(k->taken, 0, (size_t)n * nrows * sizeof(*k->taken));
	for (uint32_t r = 0; r < n; r++) {
		double *taken = &k->taken[r * nrows];

		k->routed[r] = r != from && add_hop(k, from, r, taken) &&
			       (r == to || add_hop(k, r, to, taken));
	}
}

/* Does way b take at least as much of everything?  Of two alike one stays. */
static int is_no_better(const struct maker *k, uint32_t a, uint32_t b)
{
	int same = 1;

	for (uint32_t i = 0; i < k->m->nrows; i++) {
		double of_a = k->taken[a * k->m->nrows + i];
		double of_b = k->taken[b * k->m->nrows + i];

		if (of_b < of_a - 1e-9)
			return 0;
		same &= of_b <= of_a + 1e-9;
	}
	return !same || a < b;
}

/* Keep the ways that no other one makes needless, the straight one first. */
static int keep_ways(struct maker *k, uint32_t to)
{
	uint32_t n = k->m->n, nrows = k->m->nrows, kept = 0;
	struct gt_meshed *ways = k->ways;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = i ? (i <= to ? i - 1 : i) : to, a = 0;
		const double *taken = &k->taken[r * nrows];
		struct gt_meshed_way *way = &ways->ways[ways->nways];

		while (a < n && (a == r || !k->routed[a] || r == to ||
				 !is_no_better(k, a, r)))
			a++;
		if (!k->routed[r] || a < n)
			continue;
		*way = (struct gt_meshed_way){.relay = r,
					      .first = ways->nloads};
		for (uint32_t row = 0; row < nrows; row++)
			if (taken[row] > 0)
				ways->loads[ways->nloads++] =
					(struct gt_meshed_load){row,
								taken[row]};
		way->n = ways->nloads - way->first;
		ways->nways++;
		kept++;
	}
	return kept && k->routed[to];
}

static int find_ways(struct maker *k, struct gt_err *err)
{
	uint32_t n = k->m->n;

	for (uint32_t i = 0; i < n * n; i++) {
		k->ways->pair[i] = k->ways->nways;
		if (i / n == i % n)
			continue;
		add_ways(k, i / n, i % n);
		if (!keep_ways(k, i % n))
			return gt_err_set(err, GT_ENO, NULL,
					  "a pair of GPUs has no way that does "
					  "not wait in the host's memory");
	}
	k->ways->pair[n * n] = k->ways->nways;
	if (k->ways->nways == n * (n - 1))
		return gt_err_set(err, GT_ENO, NULL,
				  "no GPU has links to pass on with that a "
				  "pair's own way has not");
	return GT_OK;
}

/*
 * What the first links of a rank's routes carry, or the last ones of those that
 * lead to it; a byte with a charge below 1 takes less than a byte of a link.
 */
static double width_of(const struct maker *k, uint32_t rank, int in)
{
	const struct gt_fabric *f = k->f;
	uint32_t n = k->m->n;
	double sum = 0;

	memset(k->taken, 0, k->m->nrows * sizeof(*k->taken));
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_fabric_route *route =
			&f->routes[in ? i * n + rank : rank * n + i];
		uint32_t link;
		double charge;

		if (i == rank || !route->nlinks)
			continue;
		link = route->links[in ? route->nlinks - 1 : 0];
		charge = f->links[link].charged ? gt_rat_double(route->charge)
						: 1;
		charge = charge < 1 ? 1 / charge : 1;
		if (k->taken[link] >= charge)
			continue;
		sum += (charge - k->taken[link]) * k->m->gbs[link];
		k->taken[link] = charge;
	}
	return sum;
}

/* Each rank is a node, a member of it, and the relay of its own rail. */
static int set_ranks(struct gt_rails *m, struct gt_arena *arena)
{
	uint32_t *own = gt_arena_array(arena, m->n, sizeof(*own));

	m->relay =
		gt_arena_array(arena, (size_t)m->n * m->n, sizeof(*m->relay));
	m->link = gt_arena_array(arena, m->nrows, sizeof(*m->link));
	m->gbs = gt_arena_array(arena, m->nrows, sizeof(*m->gbs));
	if (!own || !m->relay || !m->link || !m->gbs)
		return GT_ESYS;
	for (uint32_t i = 0; i < m->n; i++)
		own[i] = i;
	for (uint32_t i = 0; i < m->n * m->n; i++)
		m->relay[i] = i % m->n;
	for (uint32_t i = 0; i < m->nrows; i++) {
		m->link[i] = i;
		m->gbs[i] = gt_rat_double(m->fabric->links[i].gbs);
	}
	m->node = m->member = m->own = own;
	return GT_OK;
}

static int make_room(struct maker *k, struct gt_arena *arena)
{
	size_t n = k->f->nranks, nrows = k->f->nlinks, longest = 0;

	for (size_t i = 0; i < n * n; i++)
		if (k->f->routes[i].nlinks > longest)
			longest = k->f->routes[i].nlinks;
	k->m = gt_arena_alloc(arena, sizeof(*k->m));
	k->ways = gt_arena_alloc(arena, sizeof(*k->ways));
	k->taken = gt_arena_array(arena, n * nrows, sizeof(*k->taken));
	k->routed = gt_arena_alloc(arena, n);
	if (!k->m || !k->ways || !k->taken || !k->routed)
		return GT_ESYS;
	k->ways->pair =
		gt_arena_array(arena, n * n + 1, sizeof(*k->ways->pair));
	k->ways->ways =
		gt_arena_array(arena, n * n * n, sizeof(*k->ways->ways));
	k->ways->loads = gt_arena_array(arena, n * n * n * 2 * longest,
					sizeof(*k->ways->loads));
	k->ways->out_gbs = gt_arena_array(arena, n, sizeof(double));
	k->ways->in_gbs = gt_arena_array(arena, n, sizeof(double));
	k->m->fabric = k->f;
	k->m->meshed = k->ways;
	k->m->n = k->m->nnodes = k->m->nrails = (uint32_t)n;
	k->m->each = 1;
	k->m->nrows = (uint32_t)nrows;
	return k->ways->pair && k->ways->ways && k->ways->loads &&
			       k->ways->out_gbs && k->ways->in_gbs
		       ? set_ranks(k->m, arena)
		       : GT_ESYS;
}

int gt_meshed_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		  struct gt_rails **rails, struct gt_err *err)
{
	struct maker k = {.f = fabric};
	int rc;

	if (fabric->open || fabric->external || fabric->nranks < 3 ||
	    fabric->nranks > GT_MESHED_MAX_RANKS ||
	    fabric->nlinks > GT_MESHED_MAX_LINKS)
		return gt_err_set(err, GT_ENO, NULL,
				  "3 to %d GPUs with routes may pass on for "
				  "each other where no switch joins them",
				  GT_MESHED_MAX_RANKS);
	for (uint32_t i = 0; i < fabric->nlinks; i++)
		if (fabric->links[i].gbs.num <= 0)
			return gt_err_set(err, GT_ENO, NULL,
					  "a link carries nothing");
	if (make_room(&k, arena))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < fabric->nranks; i++) {
		k.ways->out_gbs[i] = width_of(&k, i, 0);
		k.ways->in_gbs[i] = width_of(&k, i, 1);
	}
	rc = find_ways(&k, err);
	if (!rc)
		*rails = k.m;
	return rc;
}
