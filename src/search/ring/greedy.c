/*
 * Greedy ring packings: the pricer is asked for rings under prices that rise as
 * capacity is given away.
 */
#include "search/ring/greedy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/problem/link_rows.h"
#include "search/ring/pool.h"
#include "search/ring/pricing.h"
#include "search/ring/program.h"

/*
 * A ring of the guide costs ONE; SIDE is how much the price of scarce links
 * adds.
 */
#define GT_GREEDY_ONE  (INT64_C(1) << 40)
#define GT_GREEDY_SIDE 1000.0

/* A link with less than this part of its capacity left is used up. */
#define GT_GREEDY_EPS 1e-6

/*
 * The first variants differ in how steeply prices rise, later ones by chance.
 */
enum { GT_GREEDY_PLAIN = 4 };

struct gt_greedy {
	struct gt_ring_pool *pool;
	const struct gt_link_rows *rows;
	const struct gt_greedy_args *args;
	double *left; /* row -> capacity not given away */
	int64_t *prices;
	int64_t *weights, *closed; /* as in search/ring/master.h */
	uint32_t *order, *best, *loads;
	uint32_t seed;
};

static void gt_greedy_release(struct gt_greedy *g)
{
	free(g->left);
	free(g->prices);
	free(g->weights);
	free(g->closed);
	free(g->order);
	free(g->best);
	free(g->loads);
}

static int gt_greedy_init(struct gt_greedy *g)
{
	size_t n = g->rows->n, m = g->rows->nrows + 1;
	size_t nn = (size_t)g->rows->stride * g->rows->stride;

	g->left = malloc(m * sizeof(*g->left));
	g->prices = malloc(m * sizeof(*g->prices));
	g->weights = malloc(nn * sizeof(*g->weights));
	g->closed = malloc(nn * sizeof(*g->closed));
	g->order = malloc(n * sizeof(*g->order));
	g->best = malloc(n * sizeof(*g->best));
	g->loads = malloc(m * sizeof(*g->loads));
	if (!g->left || !g->prices || !g->weights || !g->closed || !g->order ||
	    !g->best || !g->loads)
		return GT_ESYS;
	for (uint32_t r = 0; r < g->rows->nrows; r++)
		g->left[r] = gt_rat_double(g->rows->rows[r].gbs);
	return GT_OK;
}

/* A factor of 1, or with later variants one between 1 and 2 by chance. */
static double gt_greedy_taste(struct gt_greedy *g)
{
	if (g->args->variant < GT_GREEDY_PLAIN)
		return 1;
	g->seed = g->seed * 1664525 + 1013904223;
	return 1 + (double)(g->seed >> 16) / 65536;
}

/*
 * Links are the dearer the less is left of them, used up ones forbidding; far
 * above that count the guide's prices.
 */
static int64_t gt_greedy_price(struct gt_greedy *g, uint32_t row)
{
	const struct gt_ring_exact *guide = g->args->guide;
	double all = gt_rat_double(g->rows->rows[row].gbs);
	double part = g->left[row] / all, price;

	if (part <= GT_GREEDY_EPS)
		return GT_GREEDY_ONE;
	price = GT_GREEDY_SIDE * gt_greedy_taste(g) / part;
	for (uint32_t i = g->args->variant % GT_GREEDY_PLAIN; i; i--)
		price /= part;
	if (guide)
		price += (double)guide->prices[row] * (double)GT_GREEDY_ONE /
			 (double)guide->price_den;
	return price < (double)GT_GREEDY_ONE ? (int64_t)price : GT_GREEDY_ONE;
}

static void gt_greedy_offer(struct gt_greedy *g)
{
	size_t nn = (size_t)g->rows->stride * g->rows->stride;

	for (uint32_t r = 0; r < g->rows->nrows; r++)
		g->prices[r] = gt_greedy_price(g, r);
	gt_ring_weights(g->rows, g->prices, g->weights);
	for (size_t i = 0; i < nn; i++)
		if (!g->rows->joined[i] || g->weights[i] > GT_PRICER_NO_HOP)
			g->weights[i] = GT_PRICER_NO_HOP;
	gt_ring_close(g->rows, g->weights, g->closed);
	gt_pricer_run(g->args->pricer, g->closed);
}

/* Does the ring with these loads cost exactly 1 under the guide's prices? */
static int gt_greedy_guided(const struct gt_greedy *g)
{
	__int128 cost = 0;

	if (!g->args->guide)
		return 1;
	for (uint32_t r = 0; r < g->rows->nrows; r++)
		cost += (__int128)g->args->guide->prices[r] * g->loads[r];
	return cost == g->args->guide->price_den;
}

/* The rate that the ring could carry in the capacity that is left. */
static double gt_greedy_room(struct gt_greedy *g, const uint32_t *order)
{
	double room = 1e30;

	gt_ring_loads(g->rows, order, g->loads);
	if (!gt_greedy_guided(g))
		return 0;
	for (uint32_t r = 0; r < g->rows->nrows; r++)
		if (g->loads[r] && g->left[r] < room * g->loads[r])
			room = g->left[r] / g->loads[r];
	return room;
}

/* Copy the ring offered that can carry most, of both directions, to `best`. */
static double gt_greedy_best(struct gt_greedy *g)
{
	uint32_t n = g->rows->n;
	double best = 0, room;

	for (uint32_t i = 0; i < gt_pricer_nrings(g->args->pricer); i++) {
		if (gt_pricer_ring(g->args->pricer, i, g->order) >=
		    GT_PRICER_NO_HOP)
			continue;
		for (int way = 0; way < 2; way++) {
			gt_ring_relay(g->rows, g->weights, g->order);
			room = gt_greedy_room(g, g->order);
			if (room > best * (1 + GT_GREEDY_EPS)) {
				best = room;
				memcpy(g->best, g->order, n * sizeof(*g->best));
			}
			gt_link_rows_reverse_ring(g->rows, g->order);
		}
	}
	return best;
}

static int gt_greedy_run(struct gt_greedy *g, double *total)
{
	double room, first = 0;

	*total = 0;
	for (uint32_t i = 0; i < g->args->max; i++) {
		gt_greedy_offer(g);
		room = gt_greedy_best(g);
		first = first > 0 ? first : room;
		if (room <= first * GT_GREEDY_EPS)
			break;
		if (gt_ring_pool_add(g->pool, g->best) < 0)
			return GT_ESYS;
		gt_ring_loads(g->rows, g->best, g->loads);
		for (uint32_t r = 0; r < g->rows->nrows; r++)
			g->left[r] -= room * g->loads[r];
		*total += room * g->rows->unit;
	}
	return GT_OK;
}

int gt_ring_greedy(struct gt_ring_pool *pool, const struct gt_greedy_args *args,
		   double *total)
{
	struct gt_greedy g = {.pool = pool,
			      .rows = pool->rows,
			      .args = args,
			      .seed = args->variant};
	int rc = gt_greedy_init(&g);

	if (!rc)
		rc = gt_greedy_run(&g, total);
	gt_greedy_release(&g);
	return rc;
}
