#include "search/ring_sparse.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/ring_exact.h"
#include "search/lp.h"
#include "search/ring_lp.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"

/*
 * Beginnings by chance, fewer where there is more to do for each, and how often
 * each is reweighted.
 */
enum {
	GT_SPARSE_STARTS = 16,
	GT_SPARSE_SMALL = 10,
	GT_SPARSE_STARTS_LARGE = 4
};
enum { GT_SPARSE_STEPS = 3 };

/* Parts of the value: what counts as nothing, and as little. */
#define GT_SPARSE_EPS    1e-9
#define GT_SPARSE_LITTLE 0.01

struct gt_sparse {
	struct gt_ring_pool face; /* rings that cost exactly 1 */
	struct gt_lp *lp;
	double *gains;
	unsigned char *best; /* ring -> is it used by the best so far? */
	uint32_t nbest;
	double value;
	uint32_t seed;
};

static void gt_sparse_release(struct gt_sparse *s)
{
	gt_ring_pool_release(&s->face);
	gt_lp_free(s->lp);
	free(s->gains);
	free(s->best);
}

static int gt_sparse_face(struct gt_sparse *s, const struct gt_ring_pool *pool,
			  const struct gt_ring_exact *exact)
{
	uint32_t nrows = pool->rows->nrows;

	gt_ring_pool_init(&s->face, pool->rows);
	for (uint32_t i = 0; i < pool->nrings; i++) {
		const uint32_t *loads = gt_ring_pool_loads(pool, i);
		__int128 cost = 0;

		for (uint32_t r = 0; r < nrows; r++)
			cost += (__int128)loads[r] * exact->prices[r];
		if (cost == exact->price_den &&
		    gt_ring_pool_add(&s->face, gt_ring_pool_order(pool, i)) < 0)
			return GT_ESYS;
	}
	return GT_OK;
}

static int gt_sparse_init(struct gt_sparse *s, const struct gt_ring_pool *pool,
			  const struct gt_ring_exact *exact)
{
	uint32_t n;

	if (gt_sparse_face(s, pool, exact))
		return GT_ESYS;
	n = s->face.nrings;
	s->lp = gt_ring_lp_new(pool->rows);
	s->gains = malloc((n + 1) * sizeof(*s->gains));
	s->best = calloc(n + 1, 1);
	if (!s->lp || !s->gains || !s->best)
		return GT_ESYS;
	s->value = gt_rat_double(exact->value);
	s->nbest = UINT32_MAX;
	s->seed = 1;
	return GT_OK;
}

/* Count the rings in use; keep them if they are the fewest so far. */
static void gt_sparse_keep(struct gt_sparse *s)
{
	const double *shares = gt_lp_values(s->lp);
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->face.nrings; i++)
		count += shares[i] > s->value * GT_SPARSE_EPS;
	if (count >= s->nbest)
		return;
	s->nbest = count;
	for (uint32_t i = 0; i < s->face.nrings; i++)
		s->best[i] = shares[i] > s->value * GT_SPARSE_EPS;
}

static int gt_sparse_start(struct gt_sparse *s)
{
	for (uint32_t i = 0; i < s->face.nrings; i++) {
		s->seed = s->seed * 1664525 + 1013904223;
		s->gains[i] = -1 - (double)(s->seed >> 16) / 65536;
	}
	for (int step = 0; step < GT_SPARSE_STEPS; step++) {
		const double *shares;

		gt_lp_gains(s->lp, s->gains);
		if (gt_lp_solve(s->lp))
			return GT_ENO;
		gt_sparse_keep(s);
		shares = gt_lp_values(s->lp);
		for (uint32_t i = 0; i < s->face.nrings; i++)
			s->gains[i] = -GT_SPARSE_LITTLE * s->value /
				      (shares[i] + GT_SPARSE_LITTLE * s->value);
	}
	return GT_OK;
}

static int gt_sparse_run(struct gt_sparse *s, const struct gt_ring_exact *exact,
			 struct gt_ring_pool *few)
{
	int starts = s->face.rows->n <= GT_SPARSE_SMALL
			     ? GT_SPARSE_STARTS
			     : GT_SPARSE_STARTS_LARGE;

	if (gt_ring_lp_solve(s->lp, &s->face))
		return GT_OK;
	for (uint32_t r = 0; r < s->face.rows->nrows; r++)
		if (exact->prices[r] > 0)
			gt_lp_fill(s->lp, r);
	for (int i = 0; i < starts; i++)
		if (gt_sparse_start(s))
			break;
	if (s->nbest == UINT32_MAX)
		return GT_OK;
	for (uint32_t i = 0; i < s->face.nrings; i++)
		if (s->best[i] &&
		    gt_ring_pool_add(few, gt_ring_pool_order(&s->face, i)) < 0)
			return GT_ESYS;
	return GT_OK;
}

int gt_ring_sparse(const struct gt_ring_pool *pool,
		   const struct gt_ring_exact *exact, struct gt_ring_pool *few)
{
	struct gt_sparse s = {0};
	int rc = gt_sparse_init(&s, pool, exact);

	if (!rc)
		rc = gt_sparse_run(&s, exact, few);
	gt_sparse_release(&s);
	return rc;
}
