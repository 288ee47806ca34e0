#include "search/ring/lp.h"

#include <stdlib.h>

#include "search/lp/lp.h"
#include "search/ring/pool.h"
#include "search/problem/link_rows.h"

struct gt_lp *gt_ring_lp_new(const struct gt_link_rows *rows)
{
	double *upper = malloc((rows->nrows + 1) * sizeof(*upper));
	struct gt_lp *lp;

	if (!upper)
		return NULL;
	for (uint32_t i = 0; i < rows->nrows; i++)
		upper[i] = gt_rat_double(rows->rows[i].gbs) * rows->unit;
	lp = gt_lp_new(rows->nrows, upper);
	free(upper);
	return lp;
}

int gt_ring_lp_solve(struct gt_lp *lp, const struct gt_ring_pool *pool)
{
	for (uint32_t i = gt_lp_ncolumns(lp); i < pool->nrings; i++)
		gt_lp_add(lp, 1, (const int32_t *)gt_ring_pool_loads(pool, i));
	return gt_lp_solve(lp);
}
