/*
 * Fabrics for tests, made by hand or at random.
 */
#ifndef GT_TESTS_UNIT_SEARCH_FABRICS_H
#define GT_TESTS_UNIT_SEARCH_FABRICS_H

#include <stdlib.h>

#include "draw.h"
#include "base/arena.h"
#include "search/problem/fabric.h"

/* This is a generator of its own, so that a seed means the same everywhere. */
struct gt_random {
	uint64_t state;
};

/* A number of 0 .. n - 1. */
static inline uint32_t gt_random(struct gt_random *c, uint32_t n)
{
	return draw(&c->state, n);
}

/* A fabric of n ranks (nodes 0 .. n-1), `more` other nodes, no links. */
static inline struct gt_fabric *gt_fabric_bare(struct gt_arena *arena,
					       uint32_t n, uint32_t more)
{
	struct gt_fabric *f = gt_arena_alloc(arena, sizeof(*f));
	uint32_t nodes = n + more;

	f->nnodes = nodes;
	f->nranks = n;
	f->links = gt_arena_array(arena, 4 * nodes * nodes, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, n, sizeof(*f->ranks));
	f->routes = gt_arena_array(arena, n * n, sizeof(*f->routes));
	for (uint32_t i = 0; i < n; i++)
		f->ranks[i] = i;
	for (uint32_t i = 0; i < n * n; i++)
		f->routes[i].charge = GT_RAT(1, 1);
	return f;
}

static inline uint32_t gt_fabric_link(struct gt_fabric *f, uint32_t from,
				      uint32_t to, struct gt_rat gbs)
{
	struct gt_fabric_link *l = &f->links[f->nlinks];

	l->from = from;
	l->to = to;
	l->gbs = gbs;
	return f->nlinks++;
}

static inline void gt_fabric_both(struct gt_fabric *f, uint32_t a, uint32_t b,
				  struct gt_rat gbs)
{
	gt_fabric_link(f, a, b, gbs);
	gt_fabric_link(f, b, a, gbs);
}

static inline void gt_fabric_route(struct gt_fabric *f, struct gt_arena *arena,
				   uint32_t from, uint32_t to,
				   const uint32_t *links, uint32_t nlinks)
{
	struct gt_fabric_route *r = &f->routes[from * f->nranks + to];
	uint32_t *copy = gt_arena_array(arena, nlinks, sizeof(*copy));

	for (uint32_t i = 0; i < nlinks; i++)
		copy[i] = links[i];
	r->links = copy;
	r->nlinks = nlinks;
}

/*
 * Ranks on two switches joined by links; some pairs have a link of their own
 * besides, and routes take it; hops over switches may be charged 6/5.
 */
static inline struct gt_fabric *gt_fabric_random(struct gt_arena *arena,
						 struct gt_random *c,
						 uint32_t n)
{
	struct gt_fabric *f = gt_fabric_bare(arena, n, 2);
	uint32_t up[8], down[8], across[2], side[8], route[3];
	uint32_t den = 1 + gt_random(c, 5), charged = gt_random(c, 2);
	uint32_t direct = gt_random(c, 100);

	for (uint32_t i = 0; i < 2; i++)
		across[i] = gt_fabric_link(f, n + i, n + 1 - i,
					   GT_RAT(1 + gt_random(c, 30), den));
	for (uint32_t i = 0; i < n; i++) {
		side[i] = gt_random(c, 2);
		up[i] = gt_fabric_link(f, i, n + side[i],
				       GT_RAT(1 + gt_random(c, 24), den));
		down[i] = gt_fabric_link(f, n + side[i], i,
					 GT_RAT(1 + gt_random(c, 24), den));
		f->links[up[i]].charged = f->links[down[i]].charged =
			(int)charged;
	}
	for (uint32_t i = 0; i < n * n; i++) {
		uint32_t from = i / n, to = i % n, len = 0;

		if (from == to)
			continue;
		if (gt_random(c, 100) < direct) {
			route[len++] = gt_fabric_link(
				f, from, to, GT_RAT(1 + gt_random(c, 40), 1));
		} else {
			route[len++] = up[from];
			if (side[from] != side[to])
				route[len++] = across[side[from]];
			route[len++] = down[to];
			if (gt_random(c, 2))
				f->routes[i].charge = GT_RAT(6, 5);
		}
		gt_fabric_route(f, arena, from, to, route, len);
	}
	return f;
}

#endif
