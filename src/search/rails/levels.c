/*
 * A fabric's two levels: which ranks hang from one switch, and which of their
 * ways to other nodes share no link with each other.
 */
#include "search/rails/rails.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"

/* Whose way out, or in, a link is on: nobody's, a rank's, or several's. */
enum { NOBODY = 0, SEVERAL = UINT16_MAX };

struct levels {
	struct gt_rails *m;
	const struct gt_fabric *f;
	uint32_t *up, *down; /* rank -> link */
	/* By link: the rank whose way out, and in, it is on, plus one. */
	uint16_t *from, *to;
	uint8_t *taken; /* by link: by a rail, or by a switch */
};

static const struct gt_fabric_route *route_of(const struct gt_fabric *f,
					      uint32_t from, uint32_t to)
{
	return &f->routes[from * f->nranks + to];
}

/* Does a switch join them, with a link of each and nothing else? */
static int is_switched(const struct gt_fabric *f, uint32_t from, uint32_t to)
{
	const struct gt_fabric_route *route = route_of(f, from, to);

	if (route->nlinks != 2 || route->is_staged)
		return 0;
	for (uint32_t k = 0; k < 2; k++)
		if (f->links[route->links[k]].charged ||
		    f->links[route->links[k]].gbs.num <= 0)
			return 0;
	for (uint32_t i = 0; i < f->nranks; i++)
		if (f->ranks[i] == f->links[route->links[0]].to)
			return 0;
	return 1;
}

/* Ranks are of the node of the first rank that a switch joins them with. */
static int find_nodes(struct levels *l, struct gt_err *err)
{
	struct gt_rails *m = l->m;

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t first = 0;

		while (first < i && !is_switched(l->f, first, i))
			first++;
		m->node[i] = first < i ? m->node[first] : m->nnodes++;
	}
	m->each = m->n / m->nnodes;
	if (m->nnodes < 2 || m->each < 2 || m->n % m->nnodes)
		return gt_err_set(err, GT_ENO, NULL,
				  "there are not several nodes of as many GPUs "
				  "below a switch each");
	for (uint32_t a = 0; a < m->nnodes; a++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < m->n; i++)
			if (m->node[i] == a && count++ < m->each)
				m->member[a * m->each + count - 1] = i;
		if (count != m->each)
			return gt_err_set(err, GT_ENO, NULL,
					  "nodes have not as many GPUs each");
	}
	return GT_OK;
}

/* Note a rank's only link up or down; 0 when it has another one already. */
static int keep_link(uint32_t *kept, uint32_t link)
{
	if (*kept == UINT32_MAX)
		*kept = link;
	return *kept == link;
}

static int find_switch_links(struct levels *l, struct gt_err *err)
{
	struct gt_rails *m = l->m;

	for (uint32_t i = 0; i < m->n; i++)
		l->up[i] = l->down[i] = UINT32_MAX;
	for (uint32_t i = 0; i < m->n * m->n; i++) {
		uint32_t a = i / m->n, b = i % m->n;
		const uint32_t *links = l->f->routes[i].links;

		if (a == b || m->node[a] != m->node[b])
			continue;
		if (!is_switched(l->f, a, b) ||
		    !keep_link(&l->up[a], links[0]) ||
		    !keep_link(&l->down[b], links[1]))
			return gt_err_set(err, GT_ENO, NULL,
					  "the GPUs of a node are joined by "
					  "more than one switch");
	}
	for (uint32_t i = 0; i < m->n; i++)
		l->taken[l->up[i]] = l->taken[l->down[i]] = 1;
	return GT_OK;
}

static void note_user(uint16_t *user, uint32_t rank)
{
	if (*user == NOBODY)
		*user = (uint16_t)(rank + 1);
	else if (*user != rank + 1)
		*user = SEVERAL;
}

/* Note who is on which link of the ways between the i-th ranks of all nodes. */
static int note_ways(struct levels *l, uint32_t i)
{
	const struct gt_rails *m = l->m;

	memset(l->from, 0, l->f->nlinks * sizeof(*l->from));
	memset(l->to, 0, l->f->nlinks * sizeof(*l->to));
	for (uint32_t k = 0; k < m->nnodes * m->nnodes; k++) {
		uint32_t a = m->member[k / m->nnodes * m->each + i];
		uint32_t b = m->member[k % m->nnodes * m->each + i];
		const struct gt_fabric_route *route = route_of(l->f, a, b);

		if (a == b)
			continue;
		if (!route->nlinks || route->is_staged ||
		    gt_rat_cmp(route->charge, GT_RAT(1, 1)))
			return 0;
		for (uint32_t h = 0; h < route->nlinks; h++) {
			note_user(&l->from[route->links[h]], a);
			note_user(&l->to[route->links[h]], b);
		}
	}
	return 1;
}

/* Are these ways a rail: is each link one rank's, and of no other rail? */
static int is_rail(const struct levels *l)
{
	for (uint32_t k = 0; k < l->f->nlinks; k++) {
		if (l->from[k] == NOBODY)
			continue;
		if (l->taken[k] || l->f->links[k].gbs.num <= 0 ||
		    (l->from[k] == SEVERAL && l->to[k] == SEVERAL))
			return 0;
	}
	return 1;
}

/* The rank at the same place in another node. */
static uint32_t twin(const struct gt_rails *m, uint32_t rank)
{
	uint32_t i = 0;

	while (m->member[m->node[rank] * m->each + i] != rank)
		i++;
	return m->member[(m->node[rank] ? 0 : m->each) + i];
}

/* The narrowest link, of several the nearest to the rank, on its way. */
static uint32_t narrowest(const struct levels *l, uint32_t rank, int in)
{
	uint32_t other = twin(l->m, rank), best = UINT32_MAX;
	const struct gt_fabric_route *route =
		in ? route_of(l->f, other, rank) : route_of(l->f, rank, other);
	const uint16_t *user = in ? l->to : l->from;

	for (uint32_t h = 0; h < route->nlinks; h++) {
		uint32_t link = route->links[in ? route->nlinks - 1 - h : h];

		if (user[link] == rank + 1 &&
		    (best == UINT32_MAX ||
		     gt_rat_cmp(l->f->links[link].gbs, l->f->links[best].gbs) <
			     0))
			best = link;
	}
	return best;
}

/* The i-th ranks of the nodes are near one more rail. */
static void add_rail(struct levels *l, uint32_t i, uint32_t *ways)
{
	struct gt_rails *m = l->m;

	for (uint32_t a = 0; a < m->nnodes; a++) {
		uint32_t rank = m->member[a * m->each + i];

		ways[2 * rank] = narrowest(l, rank, 0);
		ways[2 * rank + 1] = narrowest(l, rank, 1);
		if (ways[2 * rank] == UINT32_MAX ||
		    ways[2 * rank + 1] == UINT32_MAX)
			return;
	}
	for (uint32_t a = 0; a < m->nnodes; a++)
		m->own[m->member[a * m->each + i]] = m->nrails;
	for (uint32_t k = 0; k < l->f->nlinks; k++)
		l->taken[k] |= l->from[k] != NOBODY;
	m->nrails++;
}

/* Find the rails, and the links by which ranks leave for them and enter. */
static int find_rails(struct levels *l, uint32_t *ways, struct gt_err *err)
{
	struct gt_rails *m = l->m;

	for (uint32_t i = 0; i < m->n; i++)
		m->own[i] = UINT32_MAX;
	for (uint32_t i = 0; i < m->each && m->nrails < GT_RAILS_MAX; i++)
		if (note_ways(l, i) && is_rail(l))
			add_rail(l, i, ways);
	if (!m->nrails)
		return gt_err_set(err, GT_ENO, NULL,
				  "no rail joins the nodes, with links of its "
				  "own");
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t other = twin(m, i);
		const struct gt_fabric_route *out = route_of(l->f, i, other);
		const struct gt_fabric_route *in = route_of(l->f, other, i);

		if (m->own[i] == UINT32_MAX)
			m->own[i] = m->nrails;
		if (!out->nlinks || !in->nlinks)
			return gt_err_set(err, GT_ENO, NULL,
					  "a GPU has no way to another node");
		m->leave[i] = out->links[0];
		m->enter[i] = in->links[in->nlinks - 1];
	}
	return GT_OK;
}

static int set_rows(struct levels *l, const uint32_t *ways,
		    struct gt_arena *arena, struct gt_err *err)
{
	struct gt_rails *m = l->m;

	m->nrows = 2 * m->n + 2 * m->nnodes * m->nrails;
	m->link = gt_arena_array(arena, m->nrows, sizeof(*m->link));
	m->gbs = gt_arena_array(arena, m->nrows, sizeof(*m->gbs));
	m->relay = gt_arena_array(arena, (size_t)m->nnodes * m->nrails,
				  sizeof(*m->relay));
	if (!m->link || !m->gbs || !m->relay)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < m->n; i++) {
		m->link[gt_rails_up(m, i)] = l->up[i];
		m->link[gt_rails_down(m, i)] = l->down[i];
		if (m->own[i] == m->nrails)
			continue;
		m->relay[m->node[i] * m->nrails + m->own[i]] = i;
		m->link[gt_rails_out(m, m->node[i], m->own[i])] = ways[2 * i];
		m->link[gt_rails_in(m, m->node[i], m->own[i])] =
			ways[2 * i + 1];
	}
	for (uint32_t i = 0; i < m->nrows; i++)
		m->gbs[i] = gt_rat_double(l->f->links[m->link[i]].gbs);
	return GT_OK;
}

static struct gt_rails *make_room(struct levels *l, struct gt_arena *arena)
{
	struct gt_rails *m = gt_arena_alloc(arena, sizeof(*m));
	uint32_t n = l->f->nranks;

	if (!m)
		return NULL;
	m->fabric = l->f;
	m->n = n;
	m->node = gt_arena_array(arena, n, sizeof(*m->node));
	m->member = gt_arena_array(arena, n, sizeof(*m->member));
	m->own = gt_arena_array(arena, n, sizeof(*m->own));
	m->leave = gt_arena_array(arena, n, sizeof(*m->leave));
	m->enter = gt_arena_array(arena, n, sizeof(*m->enter));
	l->up = gt_arena_array(arena, n, sizeof(*l->up));
	l->down = gt_arena_array(arena, n, sizeof(*l->down));
	l->from = gt_arena_array(arena, l->f->nlinks, sizeof(*l->from));
	l->to = gt_arena_array(arena, l->f->nlinks, sizeof(*l->to));
	l->taken = gt_arena_alloc(arena, l->f->nlinks);
	return m->node && m->member && m->own && m->leave && m->enter &&
			       l->up && l->down && l->from && l->to && l->taken
		       ? m
		       : NULL;
}

int gt_rails_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		 struct gt_rails **rails, struct gt_err *err)
{
	struct levels l = {.f = fabric};
	uint32_t ways[2 * GT_RAILS_MAX_RANKS];
	int rc;

	if (fabric->open || fabric->external || fabric->nranks < 4 ||
	    fabric->nranks > GT_RAILS_MAX_RANKS)
		return gt_err_set(err, GT_ENO, NULL,
				  "rails are for 4 to %d GPUs with routes",
				  GT_RAILS_MAX_RANKS);
	l.m = make_room(&l, arena);
	if (!l.m)
		return gt_err_nomem(err);
	rc = find_nodes(&l, err);
	if (!rc)
		rc = find_switch_links(&l, err);
	if (!rc)
		rc = find_rails(&l, ways, err);
	if (!rc)
		rc = set_rows(&l, ways, arena, err);
	if (!rc)
		*rails = l.m;
	return rc;
}
