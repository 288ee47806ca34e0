/*
 * The ring packing solved by column generation: a linear program over the
 * rings known so far gives prices, pricing finds rings that are too cheap
 * under them, until there are none (Gilmore and Gomory, "A linear programming
 * approach to the cutting-stock problem", 1961; Dantzig and Wolfe 1960).
 * Floats only lead the way: the last basis is solved exactly, and its exact
 * prices are priced once more.  What comes of it are shares that fit all
 * links and prices under which no ring costs less than 1: the one bounds the
 * other, whatever the floats did, and where both come to the same the shares
 * are optimal.
 */
#ifndef GT_SEARCH_RING_MASTER_H
#define GT_SEARCH_RING_MASTER_H

#include <stdint.h>

#include "search/ring/pool.h"
#include "search/ring/program.h"

struct gt_err;
struct gt_lp;
struct gt_pricer;
struct gt_proposal;
struct gt_link_rows;
struct gt_shape_args;

struct gt_ring_search {
	const struct gt_shape_args *args;
	struct gt_link_rows *rows;
	struct gt_ring_pool pool;
	struct gt_lp *lp;
	struct gt_pricer *pricer; /* exact, as far as that goes */
	struct gt_pricer *quick;  /* asked first */
	int64_t *prices;          /* row -> price, in whole numbers */
	int64_t *weights;         /* hop -> cost under them */
	int64_t *closed;          /* hop -> the same, relayed if cheaper */
	uint32_t *order;
	uint32_t nrounds;
	double enough; /* rings at which to stop; 0: as many as there are */
};

/* At least two ranks.  Release also after failure. */
int gt_ring_search_init(struct gt_ring_search *s,
			const struct gt_shape_args *args, struct gt_err *err);
/*
 * Begin the problem with at most so many channels, from the rings that `all`
 * knows.  GT_ENO as gt_link_rows_limit().
 */
int gt_ring_search_limit(struct gt_ring_search *s,
			 const struct gt_ring_search *all,
			 uint32_t max_channels, struct gt_err *err);
void gt_ring_search_release(struct gt_ring_search *s);

/* Memory for an exact solution over a pool as it is now; the arena's. */
int gt_ring_result_init(const struct gt_ring_search *s,
			const struct gt_ring_pool *pool,
			struct gt_ring_exact *result, struct gt_err *err);

/* Give a share of 0 to rings that came into the pool after the solution. */
int gt_ring_result_extend(const struct gt_ring_search *s,
			  struct gt_ring_exact *result, struct gt_err *err);

/* The first rings, of which there is none without routes for one: GT_ENO. */
int gt_ring_seed(struct gt_ring_search *s, struct gt_err *err);

/*
 * Add rings until there is enough, or none helps as far as floats can tell.
 * GT_ENO when the columns' ranges leave no solution.
 */
int gt_ring_generate(struct gt_ring_search *s, struct gt_err *err);

/*
 * Add rings that are cheaper than 1 under these prices of rows: how many were
 * new, or GT_ESYS.
 */
int gt_ring_add_priced(struct gt_ring_search *s, const double *prices);

/* The value of the linear program, which is solved. */
double gt_ring_value(const struct gt_ring_search *s);

/*
 * Fill the pool and solve.  GT_ENO when there is no ring; GT_ESYS when the
 * linear program failed or memory ran out.
 */
int gt_ring_solve(struct gt_ring_search *s, struct gt_ring_exact *result,
		  struct gt_err *err);

/*
 * A lower bound on what rings cost under these prices; -1 when memory ran out.
 */
int64_t gt_ring_min_cost(struct gt_ring_search *s, const int64_t *prices);

/*
 * The result's prices and the bound they prove into the proposal, made
 * coarser (never too low) until all numbers fit 64 bits; no bound if they
 * prove nothing, or the capacities alone are too fine.
 */
int gt_ring_prove(struct gt_ring_search *s, struct gt_ring_exact *result,
		  struct gt_proposal *proposal, struct gt_err *err);

#endif
