/*
 * A basis that a linear program (search/lp/lp.h) ended with, solved exactly: in
 * rationals of any size (GMP, search/lp/bareiss.h), brought into 64 bits by
 * whom it serves.
 *
 * Whatever the basis, what comes out is right: shares are not negative and fit
 * the links' capacities, prices are not negative.  Only how close the two are
 * depends on the basis.
 */
#ifndef GT_SEARCH_LP_EXACT_BASIS_H
#define GT_SEARCH_LP_EXACT_BASIS_H

#include <stdint.h>

#include <gmp.h>

struct gt_budget;
struct gt_lp;

/* The program: rows of links come first. */
struct gt_basis_program {
	const void *arg;
	uint32_t nrows, nlinks;
	int32_t (*entry)(const void *arg, uint32_t row, uint32_t column);
	/* The row's upper end times a denominator, which is returned. */
	int64_t (*upper)(const void *arg, uint32_t row, mpz_ptr upper);
	int (*gain)(const void *arg, uint32_t column);
	/* Who is told that it goes on, which may take seconds; or NULL. */
	const struct gt_budget *budget;
};

struct gt_basis {
	const struct gt_basis_program *of;
	uint32_t size; /* columns, and as many rows */
	uint32_t *columns, *rows;
	mpq_t *x; /* of columns or of rows, whichever was solved last */
};

/* GT_ENO when there are not as many columns as rows; release it always. */
int gt_basis_init(struct gt_basis *basis, const struct gt_basis_program *of,
		  const struct gt_lp *lp);
void gt_basis_release(struct gt_basis *basis);

/* x of columns: shares; of rows: prices.  GT_ENO when it is singular. */
int gt_basis_shares(struct gt_basis *basis);
int gt_basis_prices(struct gt_basis *basis);

/* The least common denominator of x, or a grid when that is too fine. */
int64_t gt_basis_denominator(const struct gt_basis *basis);

/*
 * The i-th of x times den, rounded down or (1) up; -1 when it is so large that
 * sums of products with rates may not fit 64 bits.
 */
int64_t gt_basis_numerator(const struct gt_basis *basis, uint32_t i,
			   int64_t den, int up);

/*
 * Prices of links as whole numbers, 0 where they have none.  GT_ENO: some do
 * not fit, or there are none.
 */
int gt_basis_link_prices(const struct gt_basis_program *of,
			 const struct gt_lp *lp, int64_t *prices);

#endif
