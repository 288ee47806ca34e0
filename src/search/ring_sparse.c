#include "search/ring_sparse.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/ring_exact.h"
#include "search/ring_lp.h"
#include "search/ring_pool.h"
#include "search/ring_rows.h"

/* Beginnings by chance, and how often each is reweighted. */
enum { GT_SPARSE_STARTS = 16, GT_SPARSE_STEPS = 8 };

/* Parts of the value: what counts as nothing, and as little. */
#define GT_SPARSE_EPS    1e-9
#define GT_SPARSE_LITTLE 0.01

struct gt_sparse {
	struct gt_ring_pool face; /* rings that cost exactly 1 */
	struct gt_ring_lp *lp;
	unsigned char *bind; /* row -> has it a price? */
	double *costs, *shares;
	unsigned char *best; /* ring -> is it used by the best so far? */
	uint32_t nbest;
	double value;
	uint32_t seed;
};

static void gt_sparse_release(struct gt_sparse *s)
{
	gt_ring_pool_release(&s->face);
	gt_ring_lp_free(s->lp);
	free(s->bind);
	free(s->costs);
	free(s->shares);
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
	uint32_t nrows = pool->rows->nrows, n;

	if (gt_sparse_face(s, pool, exact))
		return GT_ESYS;
	n = s->face.nrings;
	s->lp = gt_ring_lp_new(pool->rows);
	s->bind = calloc(nrows + 1, 1);
	s->costs = malloc((n + 1) * sizeof(*s->costs));
	s->shares = malloc((n + 1) * sizeof(*s->shares));
	s->best = calloc(n + 1, 1);
	if (!s->lp || !s->bind || !s->costs || !s->shares || !s->best)
		return GT_ESYS;
	for (uint32_t r = 0; r < nrows; r++)
		s->bind[r] = exact->prices[r] > 0;
	s->value = gt_rat_double(exact->value);
	s->nbest = UINT32_MAX;
	s->seed = 1;
	return GT_OK;
}

/* Count the rings in use; keep them if they are the fewest so far. */
static void gt_sparse_keep(struct gt_sparse *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->face.nrings; i++)
		count += s->shares[i] > s->value * GT_SPARSE_EPS;
	if (count >= s->nbest)
		return;
	s->nbest = count;
	for (uint32_t i = 0; i < s->face.nrings; i++)
		s->best[i] = s->shares[i] > s->value * GT_SPARSE_EPS;
}

static int gt_sparse_start(struct gt_sparse *s)
{
	for (uint32_t i = 0; i < s->face.nrings; i++) {
		s->seed = s->seed * 1664525 + 1013904223;
		s->costs[i] = 1 + (double)(s->seed >> 16) / 65536;
	}
	for (int step = 0; step < GT_SPARSE_STEPS; step++) {
		if (gt_ring_lp_least(s->lp, s->costs, s->shares))
			return GT_ENO;
		gt_sparse_keep(s);
		for (uint32_t i = 0; i < s->face.nrings; i++)
			s->costs[i] =
				GT_SPARSE_LITTLE * s->value /
				(s->shares[i] + GT_SPARSE_LITTLE * s->value);
	}
	return GT_OK;
}

static int gt_sparse_run(struct gt_sparse *s, struct gt_ring_pool *few)
{
	if (gt_ring_lp_solve(s->lp, &s->face, NULL))
		return GT_OK;
	if (gt_ring_lp_bind(s->lp, s->bind))
		return GT_ESYS;
	for (int i = 0; i < GT_SPARSE_STARTS; i++)
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
		rc = gt_sparse_run(&s, few);
	gt_sparse_release(&s);
	return rc;
}
