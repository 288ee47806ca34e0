/*
 * Square systems of linear equations in whole numbers, solved exactly by
 * fraction-free elimination (Bareiss, "Sylvester's identity and multistep
 * integer-preserving Gaussian elimination", 1968): every intermediate number
 * is a minor of the matrix, so none grows beyond need.
 */
#ifndef GT_SEARCH_LP_BAREISS_H
#define GT_SEARCH_LP_BAREISS_H

#include <stdint.h>

#include <gmp.h>

struct gt_budget;

struct gt_bareiss {
	const struct gt_budget *budget; /* to tell, or NULL */
	uint32_t size;
	mpz_t *at; /* size rows of size + 1: the matrix and the right side */
};

/*
 * All zero, without a budget.  GT_ESYS when memory ran out; release it then
 * too.
 */
int gt_bareiss_init(struct gt_bareiss *system, uint32_t size);
void gt_bareiss_release(struct gt_bareiss *system);

mpz_ptr gt_bareiss_at(const struct gt_bareiss *system, uint32_t row,
		      uint32_t column);

/* Solve in place into x[0..size), initialised; 0 when it is singular. */
int gt_bareiss_solve(struct gt_bareiss *system, mpq_t *x);

#endif
