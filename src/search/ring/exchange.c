/*
 * Local search over sets of rings: one ring at a time is exchanged for another,
 * known or priced for its place.
 */
#include "search/ring/channels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/budget.h"
#include "search/problem/link_rows.h"
#include "search/problem/shape.h"
#include "search/ring/master.h"
#include "search/ring/pool.h"
#include "search/ring/program.h"

/* Programs that are solved at most, and what counts as more. */
enum { GT_SWAP_TRIES = 4000 };
#define GT_SWAP_MORE (1 + 1e-9)

struct gt_swap {
	struct gt_ring_search *s;
	struct gt_lp *lp; /* of all rings of the pool */
	uint32_t *few;    /* columns in use */
	uint32_t nfew, max;
	double value;
	uint32_t tries;
};

/* Allow or forbid the column a share; only columns in use have one. */
static void gt_swap_allow(struct gt_swap *w, uint32_t column, int allowed)
{
	gt_lp_set_bounds(w->lp, column, 0, allowed ? HUGE_VAL : 0);
}

/*
 * Solve with the allowed columns; the value that they reach, below 0 when
 * floats fail.
 */
static double gt_swap_solve(struct gt_swap *w)
{
	const double *values;
	double sum = 0;

	w->tries++;
	if (gt_lp_solve(w->lp))
		return -1;
	values = gt_lp_values(w->lp);
	for (uint32_t i = 0; i < gt_lp_ncolumns(w->lp); i++)
		sum += values[i];
	return sum;
}

/* Price new rings under the last prices, and make them columns. */
static int gt_swap_price(struct gt_swap *w)
{
	uint32_t before = gt_lp_ncolumns(w->lp);
	int rc = gt_ring_add_priced(w->s, gt_lp_prices(w->lp));

	if (rc < 0)
		return rc;
	for (uint32_t i = before; i < w->s->pool.nrings; i++) {
		gt_lp_add(w->lp, 1,
			  (const int32_t *)gt_ring_pool_loads(&w->s->pool, i));
		gt_swap_allow(w, i, 0);
	}
	return GT_OK;
}

/* The cost of a ring under prices; a ring below 1 would help. */
static double gt_swap_cost(const struct gt_swap *w, uint32_t ring,
			   const double *prices)
{
	const uint32_t *loads = gt_ring_pool_loads(&w->s->pool, ring);
	double cost = 0;

	for (uint32_t r = 0; r < w->s->rows->nrows; r++)
		cost += loads[r] * prices[r];
	return cost;
}

static int gt_swap_has(const struct gt_swap *w, uint32_t ring)
{
	for (uint32_t i = 0; i < w->nfew; i++)
		if (w->few[i] == ring)
			return 1;
	return 0;
}

/*
 * The ring that helps most beside those allowed; the pool's size when none
 * helps.
 */
static uint32_t gt_swap_best(struct gt_swap *w, double *prices)
{
	uint32_t best = w->s->pool.nrings;

	memcpy(prices, gt_lp_prices(w->lp),
	       w->s->rows->nrows * sizeof(*prices));
	for (uint32_t i = 0; i < w->s->pool.nrings; i++) {
		double value;

		if (gt_swap_has(w, i) || w->tries > GT_SWAP_TRIES ||
		    gt_swap_cost(w, i, prices) * GT_SWAP_MORE >= 1)
			continue;
		gt_swap_allow(w, i, 1);
		value = gt_swap_solve(w);
		gt_swap_allow(w, i, 0);
		if (value > w->value * GT_SWAP_MORE) {
			w->value = value;
			best = i;
		}
	}
	return best;
}

/* Find another ring for the i-th place: GT_ENO when there is no better one. */
static int gt_swap_place(struct gt_swap *w, uint32_t i, double *prices)
{
	uint32_t out = w->few[i], in;

	if (i < w->nfew)
		gt_swap_allow(w, out, 0);
	if (gt_swap_solve(w) >= 0 && gt_swap_price(w))
		return GT_ESYS;
	if (gt_swap_solve(w) < 0)
		return GT_ENO;
	in = gt_swap_best(w, prices);
	if (in < w->s->pool.nrings)
		w->few[i] = in;
	if (i < w->nfew || in < w->s->pool.nrings)
		gt_swap_allow(w, w->few[i], 1);
	if (in == w->s->pool.nrings)
		return GT_ENO;
	w->nfew += i == w->nfew;
	return GT_OK;
}

static int gt_swap_run(struct gt_swap *w, double *prices)
{
	uint32_t since = 0, places;

	/* a place after the last is one that is free */
	for (uint32_t i = 0; since <= w->nfew; i++) {
		int rc;

		places = w->nfew + (w->nfew < w->max);
		if (w->tries > GT_SWAP_TRIES ||
		    gt_budget_is_spent(w->s->args->budget))
			return GT_OK;
		rc = gt_swap_place(w, i % places, prices);
		if (rc == GT_ESYS)
			return rc;
		since = rc ? since + 1 : 0;
	}
	return GT_OK;
}

/* Make columns of all rings of the pool, of which those of `few` are in use. */
static int gt_swap_begin(struct gt_swap *w, const struct gt_ring_pool *few)
{
	for (uint32_t i = 0; i < few->nrings; i++)
		if (gt_ring_pool_add(&w->s->pool, gt_ring_pool_order(few, i)) <
		    0)
			return GT_ESYS;
	if (gt_ring_lp_solve(w->lp, &w->s->pool))
		return GT_ENO;
	for (uint32_t i = 0; i < w->s->pool.nrings; i++) {
		gt_swap_allow(w, i, 0);
		for (uint32_t k = 0; k < few->nrings; k++)
			if (!memcmp(gt_ring_pool_loads(&w->s->pool, i),
				    gt_ring_pool_loads(few, k),
				    w->s->rows->nrows * sizeof(uint32_t)))
				w->few[w->nfew++] = i;
	}
	for (uint32_t i = 0; i < w->nfew; i++)
		gt_swap_allow(w, w->few[i], 1);
	w->value = gt_swap_solve(w);
	return w->value < 0 ? GT_ENO : GT_OK;
}

int gt_ring_exchange(struct gt_ring_search *s, struct gt_ring_pool *few,
		     unsigned int max)
{
	struct gt_swap w = {.s = s,
			    .lp = gt_ring_lp_new(s->rows),
			    .few = calloc((size_t)max + 1, sizeof(*w.few)),
			    .max = max};
	double *prices = calloc(s->rows->nrows + 1, sizeof(*prices));
	int rc = w.lp && w.few && prices ? gt_swap_begin(&w, few) : GT_ESYS;

	if (!rc)
		rc = gt_swap_run(&w, prices);
	if (!rc) {
		gt_ring_pool_release(few);
		gt_ring_pool_init(few, s->rows);
	}
	for (uint32_t i = 0; !rc && i < w.nfew; i++)
		if (gt_ring_pool_add(
			    few, gt_ring_pool_order(&s->pool, w.few[i])) < 0)
			rc = GT_ESYS;
	gt_lp_free(w.lp);
	free(w.few);
	free(prices);
	return rc == GT_ENO ? GT_OK : rc;
}
