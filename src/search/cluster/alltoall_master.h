/*
 * The linear program of an all-to-all over the columns that are there so far.
 * It is for the files that solve it; search/cluster/alltoall.h is the way in.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_MASTER_H
#define GT_SEARCH_CLUSTER_ALLTOALL_MASTER_H

#include "search/cluster/alltoall_lengths.h"
#include "search/cluster/alltoall_path.h"
#include "search/lp/exact_basis.h"

struct gt_alltoall;
struct gt_lp;

/* A column: the paths from one rank to all ranks of a node of a class. */
struct gt_alltoall_column {
	uint32_t root; /* class * n + the rank that they come from */
	const struct gt_alltoall_path **paths;
	int32_t *loads;
};

/*
 * Its rows are those of links, then one for each root; n is the ranks of a
 * node, nranks those of the cluster.  Column 0 is x times nranks.
 */
struct gt_alltoall_master {
	struct gt_alltoall *a2a;
	struct gt_alltoall_lengths lengths;
	uint32_t nroots, n, ncolumns, size, nrounds;
	int64_t nranks;
	int relaxed; /* paths over any nodes: columns have loads alone */
	struct gt_alltoall_column *columns;
	struct gt_lp *lp;
	int32_t *entries;
	double *prices;
};

/* Does the root send anything: is there a node so far away? */
int gt_alltoall_has_root(const struct gt_alltoall_master *m, uint32_t root);

/* The program for the exact solver. */
struct gt_basis_program gt_alltoall_basis(const struct gt_alltoall_master *m);

/* The program with x alone, which has no path yet.  GT_ESYS without memory. */
int gt_alltoall_master_init(struct gt_alltoall_master *m, struct gt_err *err);

/* Give a column to the solver; 0 is x, b + 1 that of column b. */
void gt_alltoall_master_push(struct gt_alltoall_master *m, uint32_t column);

/*
 * alltoall_certificate.c: the bound that the program's prices prove, if any,
 * into m->a2a with these prices.
 */
int gt_alltoall_certify(struct gt_alltoall_master *m, struct gt_err *err);

/*
 * alltoall_decompose.c: the program's result as channels of m->a2a, with their
 * rate.  GT_EINPUT when that needs more than 64 bits.
 */
int gt_alltoall_decompose(struct gt_alltoall_master *m, struct gt_err *err);

/* Paths that are candidates besides the shortest ones. */
struct gt_alltoall_known_paths {
	uint32_t n;
	const struct gt_alltoall_path **paths;
};

/*
 * alltoall_assign.c: replace a2a's channels by up to eight equal ones, in each
 * of which a pair of ranks has one path, if these reach more, or as much with
 * fewer channels.  Paths are shortest under the lengths, or known.
 * GT_ESYS when memory ran out.
 */
int gt_alltoall_assign(struct gt_alltoall *a2a, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known);

#endif
