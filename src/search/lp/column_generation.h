/*
 * Column generation: a packing has more columns (rings, trees, bundles of
 * paths) than can be listed, so its linear program is solved over those known
 * so far, the restricted master.  Its dual prices of rows are given to an
 * oracle, which adds columns that cost less than what they are worth, until
 * there are none that help (Gilmore and Gomory, "A linear programming approach
 * to the cutting-stock problem", 1961; Dantzig and Wolfe 1960).
 *
 * Floats only lead the way: search/lp/exact_basis.h makes the result.
 */
#ifndef GT_SEARCH_LP_COLUMN_GENERATION_H
#define GT_SEARCH_LP_COLUMN_GENERATION_H

#include <stdint.h>

struct gt_budget;
struct gt_err;
struct gt_lp;

/* One for prices in whole numbers; a column cheaper by 1e-9 is worth adding. */
#define GT_COLUMN_ONE   (INT64_C(1) << 40)
#define GT_COLUMN_SLACK (INT64_C(1) << 10)

struct gt_column_generation {
	struct gt_lp *lp;    /* the restricted master */
	const char *problem; /* whose program it is, for a message */
	const char *columns; /* for the budget's report; NULL: none is made */
	uint32_t max_rounds; /* of pricing, in one run */
	uint32_t *nrounds;   /* counts the rounds of all runs */
	const struct gt_budget *budget; /* or NULL */
	void *arg;                      /* of the functions below */
	/* Adds columns to the program before it is solved; NULL: the oracle
	 * does so itself. */
	void (*add_columns)(void *arg);
	/*
	 * Gives what the solved program reaches, in GB/s of busbw, for the
	 * report.
	 */
	double (*value)(void *arg);
	/* Is what the solved program reaches all that is wanted?  NULL: no. */
	int (*is_enough)(void *arg);
	/* The oracle: how many columns were new, or an error, which it says. */
	int (*price)(void *arg, struct gt_err *err);
};

/*
 * Solve the program and price, until it is enough, or no column helps, or the
 * rounds or the budget are used up; the program is solved then.  GT_ENO: the
 * columns' ranges leave no solution; GT_ESYS: CLP gave up; or an error of the
 * oracle.
 */
int gt_column_generation_run(const struct gt_column_generation *cg,
			     struct gt_err *err);

/* Solve the program once, with the columns that there are. */
int gt_column_generation_solve(const struct gt_column_generation *cg,
			       struct gt_err *err);

/* A dual price in whole numbers, rounded down; 0 where floats make it less. */
int64_t gt_column_price(double dual);

/* The solved program's prices of the first nrows rows, in whole numbers. */
void gt_column_prices(const struct gt_lp *lp, uint32_t nrows, int64_t *prices);

/*
 * The solved program's prices of the first nrows rows in floating point; prices
 * below 0 become 0.
 */
void gt_column_duals(const struct gt_lp *lp, uint32_t nrows, double *prices);

/* Is a column that costs so much, and is worth so much, worth adding? */
int gt_column_helps(double cost, double worth);

#endif
