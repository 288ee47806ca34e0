/*
 * The certificate of a tree packing: prices of links, and the bound on the
 * roots' rate that they prove.
 */
#ifndef GT_SEARCH_TREE_CERTIFICATE_H
#define GT_SEARCH_TREE_CERTIFICATE_H

struct gt_err;
struct gt_forest;
struct gt_proposal;

/*
 * Prices of the last solution and the bound they prove into the proposal,
 * made coarser (never too low) until all numbers fit 64 bits: the cheapest
 * trees of all roots cost 1 on average.  GT_ENO when they prove nothing.
 */
int gt_forest_prove(struct gt_forest *forest, struct gt_proposal *proposal,
		    struct gt_err *err);

#endif
