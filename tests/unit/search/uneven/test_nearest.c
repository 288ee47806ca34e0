/*
 * The rank that is nearest, while random trees grow and random ways get dearer,
 * against distances by Bellman and Ford's algorithm, which knows nothing of
 * what was before.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "search/uneven/nearest.h"
#include "search/uneven/ways.h"
#include "unit/search/fabrics.h"

enum { RANKS = 12, PLACES = 8, SWITCHES = 4, TRIES = 3000 };
enum { VERTICES = RANKS + 2 * PLACES + SWITCHES, MOST_WAYS = 300 };

struct growing {
	struct gt_ways ways;
	double cost[MOST_WAYS], depth[RANKS], far[VERTICES];
	unsigned char joined[RANKS];
	struct gt_nearest *nearest;
};

/* ---- random ways ------------------------------------------------------- */

static void add_way(struct growing *g, uint32_t from, uint32_t to)
{
	assert_true(g->ways.nways < MOST_WAYS);
	g->ways.ways[g->ways.nways].from = from;
	g->ways.ways[g->ways.nways++].to = to;
}

static void add_both(struct growing *g, uint32_t from, uint32_t to,
		     uint32_t back_from, uint32_t back_to)
{
	add_way(g, from, to);
	add_way(g, back_from, back_to);
}

/* The ways at each end, by a count of all for each. */
static void list_ways(struct growing *g, struct gt_arena *arena, int in,
		      struct gt_ways_lists *lists)
{
	uint32_t n = 0;

	lists->first =
		gt_arena_array(arena, VERTICES + 1, sizeof(*lists->first));
	lists->list = gt_arena_array(arena, MOST_WAYS, sizeof(*lists->list));
	for (uint32_t v = 0; v < VERTICES; v++) {
		lists->first[v] = n;
		for (uint32_t i = 0; i < g->ways.nways; i++)
			if ((in ? g->ways.ways[i].to : g->ways.ways[i].from) ==
			    v)
				lists->list[n++] = i;
	}
	lists->first[VERTICES] = n;
}

/* Ranks, places out, places in, and switches, as of a cluster or worse. */
static void make_ways(struct growing *g, struct gt_arena *arena,
		      struct gt_random *c)
{
	const uint32_t out = RANKS, in = RANKS + PLACES, sw = in + PLACES;

	g->ways.nranks = RANKS;
	g->ways.nvertices = VERTICES;
	g->ways.nways = 0;
	g->ways.ways = gt_arena_array(arena, MOST_WAYS, sizeof(*g->ways.ways));
	for (uint32_t i = 0; i < RANKS; i++) {
		uint32_t other = gt_random(c, RANKS), p = gt_random(c, PLACES);

		if (other != i)
			add_both(g, i, other, other, i);
		add_both(g, i, out + p, in + p, i);
		if (gt_random(c, 2))
			add_both(g, i, out + i % PLACES, in + i % PLACES, i);
	}
	for (uint32_t p = 0; p < PLACES; p++)
		for (uint32_t k = 1 + gt_random(c, 3); k; k--) {
			uint32_t s = sw + gt_random(c, SWITCHES);

			add_both(g, out + p, s, s, in + p);
		}
	for (uint32_t s = 1; s < SWITCHES; s++) {
		uint32_t up = sw + gt_random(c, s);

		add_both(g, sw + s, up, up, sw + s);
	}
	list_ways(g, arena, 0, &g->ways.out);
	list_ways(g, arena, 1, &g->ways.in);
}

/* ---- what is right ----------------------------------------------------- */

/* How far all is from the tree; other ranks lead nowhere. */
static void find_far(struct growing *g)
{
	int changed = 1;

	for (uint32_t v = 0; v < VERTICES; v++)
		g->far[v] = v < RANKS && g->joined[v] ? g->depth[v] : HUGE_VAL;
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < g->ways.nways; i++) {
			const struct gt_way *w = &g->ways.ways[i];
			double far = g->far[w->from] + g->cost[i];

			if ((w->from < RANKS && !g->joined[w->from]) ||
			    (w->to < RANKS && g->joined[w->to]) ||
			    far >= g->far[w->to])
				continue;
			g->far[w->to] = far;
			changed = 1;
		}
	}
}

static double find_least(const struct growing *g)
{
	double least = HUGE_VAL;

	for (uint32_t v = 0; v < RANKS; v++)
		if (!g->joined[v])
			least = fmin(least, g->far[v]);
	return least;
}

/* The ways to the rank cost what it is far, and begin in the tree. */
static void expect_path(const struct growing *g, uint32_t rank, double far)
{
	double cost = 0;
	uint32_t at = rank, steps = 0;

	do {
		uint32_t way = gt_nearest_via(g->nearest, at);

		assert_true(way < g->ways.nways && steps++ < VERTICES);
		assert_int_equal(g->ways.ways[way].to, at);
		cost += g->cost[way];
		at = g->ways.ways[way].from;
	} while (at >= RANKS);
	assert_true(g->joined[at]);
	assert_true(fabs(g->depth[at] + cost - far) < 1e-9);
}

/* ---- growing ----------------------------------------------------------- */

static void join(struct growing *g, uint32_t rank, double depth)
{
	g->joined[rank] = 1;
	g->depth[rank] = depth;
	gt_nearest_join(g->nearest, rank, depth);
}

/* Some ways get dearer, often those that were just used. */
static void raise_some(struct growing *g, struct gt_random *c, uint32_t used)
{
	for (uint32_t k = gt_random(c, 5); k; k--) {
		uint32_t way =
			gt_random(c, 2) ? gt_random(c, g->ways.nways) : used;

		g->cost[way] += gt_random(c, 6);
		gt_nearest_raise(g->nearest, way);
	}
	gt_nearest_repair(g->nearest);
}

/* A tree from a random root; so many ranks joined it. */
static uint32_t grow(struct growing *g, struct gt_random *c)
{
	uint32_t joins = 1, rank, used;
	double far;

	for (uint32_t i = 0; i < g->ways.nways; i++)
		g->cost[i] = 1 + gt_random(c, 8);
	memset(g->joined, 0, sizeof(g->joined));
	gt_nearest_begin(g->nearest);
	join(g, gt_random(c, RANKS), 0);
	for (;; joins++) {
		find_far(g);
		rank = gt_nearest_rank(g->nearest, &far);
		if (rank == UINT32_MAX)
			break;
		assert_true(rank < RANKS && !g->joined[rank]);
		assert_true(fabs(far - find_least(g)) < 1e-9);
		assert_true(fabs(far - g->far[rank]) < 1e-9);
		expect_path(g, rank, far);
		used = gt_nearest_via(g->nearest, rank);
		join(g, rank, gt_random(c, 4));
		raise_some(g, c, used);
	}
	assert_true(find_least(g) == HUGE_VAL);
	return joins;
}

static void test_growing(void **state)
{
	struct gt_random c = {3};
	uint32_t joins = 0;

	(void)state;
	for (uint32_t i = 0; i < TRIES; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct growing g = {.ways = {.nranks = 0}};

		make_ways(&g, arena, &c);
		g.nearest = gt_nearest_new(&g.ways, g.cost);
		assert_non_null(g.nearest);
		for (int tree = 0; tree < 3; tree++)
			joins += grow(&g, &c);
		gt_nearest_free(g.nearest);
		gt_arena_free(arena);
	}
	print_message("%u ranks joined\n", joins);
	assert_true(joins > TRIES * 3 * RANKS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
