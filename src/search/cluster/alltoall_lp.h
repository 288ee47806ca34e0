/*
 * What the files that solve a cluster's flow share: its linear program.  For
 * hier_flow*.c only; search/cluster/alltoall.h is the way in.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_LP_H
#define GT_SEARCH_CLUSTER_ALLTOALL_LP_H

#include "search/lp/exact_basis.h"
#include "search/cluster/alltoall.h"

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
int64_t gt_alltoall_gcd(int64_t a, int64_t b);

/* alltoall_certificate.c: prices and the bound, if any, into the flow. */
int gt_alltoall_certify(struct gt_alltoall_master *m, struct gt_err *err);

/* alltoall_decompose.c: the program's own lanes, and their rate. */
int gt_alltoall_decompose(struct gt_alltoall_master *m, struct gt_err *err);

#endif
