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
struct gt_hier_bunch {
	uint32_t root; /* class * nranks + from */
	const struct gt_hier_way **ways;
	int32_t *loads;
};

/* Rows of links, then of roots; column 0 is x times all ranks. */
struct gt_hier_flow_lp {
	struct gt_hier_flow *flow;
	struct gt_hier_lengths lengths;
	uint32_t nroots, n, nbunches, size, nrounds;
	int64_t nranks;
	int all; /* ways over any nodes: of bunches, only loads are known */
	struct gt_hier_bunch *bunches;
	struct gt_lp *lp;
	int32_t *entries;
	double *prices;
};

int gt_hier_root_is(const struct gt_hier_flow_lp *m, uint32_t root);
struct gt_basis_program gt_hier_flow_of(const struct gt_hier_flow_lp *m);
int64_t gt_hier_gcd(int64_t a, int64_t b);

/* alltoall_certificate.c: prices and the bound, if any, into the flow. */
int gt_hier_flow_prove(struct gt_hier_flow_lp *m, struct gt_err *err);

/* alltoall_decompose.c: the program's own lanes, and their rate. */
int gt_hier_flow_lanes(struct gt_hier_flow_lp *m, struct gt_err *err);

#endif
