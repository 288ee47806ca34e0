/*
 * The linear program of an all-to-all over the columns that are there so far.
 * It is for the files that solve it; search/cluster/alltoall.h is the way in.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_MASTER_H
#define GT_SEARCH_CLUSTER_ALLTOALL_MASTER_H

#include "search/cluster/alltoall_path.h"
#include "search/cluster/alltoall_lengths.h"
#include "search/lp/exact_basis.h"

struct gt_lp;

/* The ways of a class from one rank. */
struct gt_alltoall_bundle {
	uint32_t root; /* class * nranks + from */
	const struct gt_alltoall_path **paths;
	int32_t *loads;
};

/* Rows of links, then of roots; column 0 is x times all ranks. */
struct gt_alltoall_master {
	struct gt_alltoall *a2a;
	struct gt_alltoall_lengths lengths;
	uint32_t nroots, n, nbundles, size, nrounds;
	int64_t nranks;
	int all; /* ways over any nodes: of bunches, only loads are known */
	struct gt_alltoall_bundle *bundles;
	struct gt_lp *lp;
	int32_t *entries;
	double *prices;
};

int gt_alltoall_has_root(const struct gt_alltoall_master *m, uint32_t root);
struct gt_basis_program gt_alltoall_basis(const struct gt_alltoall_master *m);

/* The program with x alone.  GT_ESYS when memory ran out. */
int gt_alltoall_master_init(struct gt_alltoall_master *m, struct gt_err *err);

/* Give a column to the solver; 0 is x, b + 1 that of bundle b. */
void gt_alltoall_master_push(struct gt_alltoall_master *m, uint32_t column);

/* alltoall_certificate.c: prices and the bound, if any, into the flow. */
int gt_alltoall_certify(struct gt_alltoall_master *m, struct gt_err *err);

/* alltoall_decompose.c: the program's own lanes, and their rate. */
int gt_alltoall_decompose(struct gt_alltoall_master *m, struct gt_err *err);

#endif
