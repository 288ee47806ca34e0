/*
 * Dijkstra's algorithm, with two things more.  What paths led to gets lost when
 * they get dearer, and is reached anew from the rest (as in Ramalingam and
 * Reps, "An incremental algorithm for a generalization of the shortest-path
 * problem", 1996).  And it is lazy, as a switch joins hundreds of places of
 * which few are ever needed: ways to ranks, and to entries, which lead to ranks
 * alone, wait where they begin, ways to other vertices, the hubs, where they
 * end, and only the first that waits at a vertex counts among all.  Keys are at
 * most what is true, as costs only rise; whatever is first is looked at again.
 */
#include "search/uneven/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/uneven/heap.h"
#include "search/uneven/ways.h"

enum { NONE = UINT32_MAX };

enum kind { RANK, ENTRY, HUB };

struct gt_nearest {
	const struct gt_ways *ways;
	const double *cost;
	/* By vertex: what it is, how far, and the last way to it. */
	unsigned char *kind;
	double *far;
	uint32_t *via;
	unsigned char *reached; /* is that known? */
	unsigned char *lost;    /* was it, until a way to it got dearer? */
	uint32_t *lost_list, nlost;
	struct gt_heap *into;  /* by hub: ways that lead there */
	struct gt_heap *on;    /* by vertex: ways on to ranks and entries */
	unsigned char *has_on; /* is that made? */
	double *farthest;      /* that it was since then */
	struct gt_heap
		next; /* of vertices, by how far what is first there is */
	struct gt_arena *arena;
};

void gt_nearest_free(struct gt_nearest *r)
{
	if (r)
		gt_arena_free(r->arena);
	free(r);
}

static int is_rank(const struct gt_nearest *r, uint32_t vertex)
{
	return vertex < r->ways->nranks;
}

static void find_kinds(struct gt_nearest *r)
{
	const struct gt_ways *w = r->ways;

	for (uint32_t v = 0; v < w->nvertices; v++)
		r->kind[v] = is_rank(r, v) ? RANK : ENTRY;
	for (uint32_t i = 0; i < w->nways; i++)
		if (!is_rank(r, w->ways[i].from) && !is_rank(r, w->ways[i].to))
			r->kind[w->ways[i].from] = HUB;
}

/* Room for keys of n numbers. */
static int make_heap(struct gt_nearest *r, uint32_t n, struct gt_heap *heap)
{
	heap->items = gt_arena_array(r->arena, n, sizeof(*heap->items));
	heap->place = gt_arena_array(r->arena, n, sizeof(*heap->place));
	heap->key = gt_arena_array(r->arena, n, sizeof(*heap->key));
	return heap->items && heap->place && heap->key;
}

/* Of each vertex a part of the room for all ways. */
static int make_heaps(struct gt_nearest *r)
{
	const struct gt_ways *w = r->ways;
	struct gt_heap all = {0};
	uint32_t *items;

	items = gt_arena_array(r->arena, w->nways, sizeof(*items));
	if (!items || !make_heap(r, w->nways, &all) ||
	    !make_heap(r, w->nvertices, &r->next))
		return 0;
	for (uint32_t v = 0; v < w->nvertices; v++) {
		r->on[v] = r->into[v] = all;
		r->on[v].items = all.items + w->out.first[v];
		r->into[v].items = items + w->in.first[v];
	}
	return 1;
}

static int make(struct gt_nearest *r)
{
	size_t n = r->ways->nvertices;

	r->kind = gt_arena_array(r->arena, n, 1);
	r->far = gt_arena_array(r->arena, n, sizeof(*r->far));
	r->via = gt_arena_array(r->arena, n, sizeof(*r->via));
	r->reached = gt_arena_array(r->arena, n, 1);
	r->lost = gt_arena_array(r->arena, n, 1);
	r->lost_list = gt_arena_array(r->arena, n, sizeof(*r->lost_list));
	r->into = gt_arena_array(r->arena, n, sizeof(*r->into));
	r->on = gt_arena_array(r->arena, n, sizeof(*r->on));
	r->has_on = gt_arena_array(r->arena, n, 1);
	r->farthest = gt_arena_array(r->arena, n, sizeof(*r->farthest));
	return r->kind && r->far && r->via && r->reached && r->lost &&
	       r->lost_list && r->into && r->on && r->has_on && r->farthest &&
	       make_heaps(r);
}

struct gt_nearest *gt_nearest_new(const struct gt_ways *ways,
				  const double *cost)
{
	struct gt_nearest *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ways = ways;
	r->cost = cost;
	r->arena = gt_arena_new();
	if (!r->arena || !make(r)) {
		gt_nearest_free(r);
		return NULL;
	}
	find_kinds(r);
	return r;
}

void gt_nearest_begin(struct gt_nearest *r)
{
	uint32_t n = r->ways->nvertices;

	memset(r->via, 0xff, n * sizeof(*r->via));
	memset(r->reached, 0, n);
	memset(r->lost, 0, n);
	memset(r->has_on, 0, n);
	memset(r->next.place, 0xff, n * sizeof(*r->next.place));
	memset(r->on[0].place, 0xff, r->ways->nways * sizeof(*r->on[0].place));
	for (uint32_t v = 0; v < n; v++)
		r->into[v].n = r->on[v].n = 0;
	r->next.n = r->nlost = 0;
}

uint32_t gt_nearest_via(const struct gt_nearest *r, uint32_t vertex)
{
	return r->via[vertex];
}

/* ---- what waits at a vertex -------------------------------------------- */

/* How far the end of the way is over it. */
static double far_over(const struct gt_nearest *r, uint32_t way)
{
	return r->far[r->ways->ways[way].from] + r->cost[way];
}

static double least_on(struct gt_nearest *r, uint32_t vertex);

/*
 * From the beginning of a way to a rank or an entry, how far it is to a rank
 * that is not in the tree; infinite: there is none, or no need of this way.
 */
static double least_over(struct gt_nearest *r, uint32_t way)
{
	uint32_t to = r->ways->ways[way].to;

	if (r->kind[to] == RANK)
		return r->reached[to] ? HUGE_VAL : r->cost[way];
	if (r->reached[to] && far_over(r, way) >= r->far[to])
		return HUGE_VAL;
	return r->cost[way] + least_on(r, to);
}

static void make_on(struct gt_nearest *r, uint32_t vertex)
{
	const struct gt_ways_lists *out = &r->ways->out;

	r->has_on[vertex] = 1;
	r->farthest[vertex] = r->far[vertex];
	for (uint32_t k = out->first[vertex]; k < out->first[vertex + 1]; k++) {
		uint32_t way = out->list[k];
		double key = HUGE_VAL;

		if (r->kind[r->ways->ways[way].to] != HUB)
			key = least_over(r, way);
		if (key < HUGE_VAL)
			gt_heap_set(&r->on[vertex], way, key);
		else if (r->kind[r->ways->ways[way].to] != HUB)
			gt_heap_remove(&r->on[vertex], way);
	}
}

/* From the vertex to a rank, over the way that is then first. */
static double least_on(struct gt_nearest *r, uint32_t vertex)
{
	struct gt_heap *on = &r->on[vertex];

	if (!r->has_on[vertex])
		make_on(r, vertex);
	while (on->n) {
		uint32_t way = on->items[0];
		double key = least_over(r, way);

		if (key <= on->key[way])
			return key;
		if (key < HUGE_VAL)
			gt_heap_set(on, way, key);
		else
			gt_heap_remove(on, way);
	}
	return HUGE_VAL;
}

/* How far the hub is, over the way that is then first. */
static double least_into(struct gt_nearest *r, uint32_t hub)
{
	struct gt_heap *into = &r->into[hub];

	while (into->n) {
		uint32_t way = into->items[0];
		double key = far_over(r, way);

		if (key <= into->key[way])
			return key;
		gt_heap_set(into, way, key);
	}
	return HUGE_VAL;
}

/* Put the vertex among all, or take it out if nothing waits there. */
static void offer(struct gt_nearest *r, uint32_t vertex)
{
	double far = HUGE_VAL;

	if (r->reached[vertex])
		far = r->far[vertex] + least_on(r, vertex);
	else if (r->kind[vertex] == HUB)
		far = least_into(r, vertex);
	if (far < HUGE_VAL)
		gt_heap_set(&r->next, vertex, far);
	else
		gt_heap_remove(&r->next, vertex);
}

/* ---- what gets lost ---------------------------------------------------- */

static void lose(struct gt_nearest *r, uint32_t vertex)
{
	if (is_rank(r, vertex) || !r->reached[vertex] || r->lost[vertex])
		return;
	r->lost[vertex] = 1;
	r->lost_list[r->nlost++] = vertex;
}

void gt_nearest_raise(struct gt_nearest *r, uint32_t way)
{
	uint32_t to = r->ways->ways[way].to;

	if (r->via[to] == way)
		lose(r, to);
}

/* Whoever came through a vertex that is lost is lost, too. */
static void lose_more(struct gt_nearest *r)
{
	const struct gt_ways_lists *out = &r->ways->out;

	for (uint32_t i = 0; i < r->nlost; i++) {
		uint32_t v = r->lost_list[i];

		r->reached[v] = 0;
		r->via[v] = NONE;
		for (uint32_t k = out->first[v]; k < out->first[v + 1]; k++) {
			uint32_t way = out->list[k];
			uint32_t to = r->ways->ways[way].to;

			if (r->kind[to] == HUB)
				gt_heap_remove(&r->into[to], way);
			gt_nearest_raise(r, way);
		}
	}
}

/* Ways to an entry that is lost are of use again. */
static void open_ways(struct gt_nearest *r, uint32_t entry)
{
	const struct gt_ways_lists *in = &r->ways->in;

	for (uint32_t k = in->first[entry]; k < in->first[entry + 1]; k++) {
		uint32_t way = in->list[k], from = r->ways->ways[way].from;

		if (!r->has_on[from] || r->on[from].place[way] != NONE)
			continue;
		gt_heap_set(&r->on[from], way, r->cost[way]);
		if (r->reached[from])
			offer(r, from);
	}
}

void gt_nearest_repair(struct gt_nearest *r)
{
	lose_more(r);
	while (r->nlost) {
		uint32_t v = r->lost_list[--r->nlost];

		r->lost[v] = 0;
		offer(r, v);
		if (r->kind[v] == ENTRY)
			open_ways(r, v);
	}
}

/* ---- what is reached --------------------------------------------------- */

/* Ways on to hubs wait there; one that comes nearer by them is lost before. */
static void reach_hubs(struct gt_nearest *r, uint32_t vertex)
{
	const struct gt_ways_lists *out = &r->ways->out;

	for (uint32_t k = out->first[vertex]; k < out->first[vertex + 1]; k++) {
		uint32_t way = out->list[k], to = r->ways->ways[way].to;

		if (r->kind[to] != HUB)
			continue;
		gt_heap_set(&r->into[to], way, far_over(r, way));
		if (!r->reached[to])
			offer(r, to);
		else if (far_over(r, way) < r->far[to])
			lose(r, to);
	}
}

/*
 * Ways on to entries that were no farther by others do not wait.  Where the
 * vertex is nearer now than it was then, they may be of use.
 */
static void reach(struct gt_nearest *r, uint32_t vertex, double far)
{
	r->far[vertex] = far;
	r->reached[vertex] = 1;
	if (r->kind[vertex] != ENTRY && far < r->farthest[vertex])
		r->has_on[vertex] = 0;
	r->farthest[vertex] = fmax(far, r->farthest[vertex]);
	offer(r, vertex);
	if (r->kind[vertex] == ENTRY)
		return;
	reach_hubs(r, vertex);
	gt_nearest_repair(r);
}

void gt_nearest_join(struct gt_nearest *r, uint32_t rank, double far)
{
	r->via[rank] = NONE;
	reach(r, rank, far);
}

/* Go over the way; what it leads to and was farther off is lost before. */
static uint32_t go_over(struct gt_nearest *r, uint32_t way)
{
	uint32_t to = r->ways->ways[way].to;

	if (r->reached[to]) {
		lose(r, to);
		gt_nearest_repair(r);
		return NONE;
	}
	r->via[to] = way;
	if (is_rank(r, to))
		return to;
	reach(r, to, far_over(r, way));
	return NONE;
}

uint32_t gt_nearest_rank(struct gt_nearest *r, double *far)
{
	uint32_t found = NONE;

	while (r->next.n && found == NONE) {
		uint32_t first = r->next.items[0];
		const struct gt_heap *ways =
			r->reached[first] ? &r->on[first] : &r->into[first];

		*far = r->next.key[first];
		offer(r, first);
		if (r->next.n && r->next.items[0] == first &&
		    r->next.key[first] <= *far)
			found = go_over(r, ways->items[0]);
	}
	return found;
}
