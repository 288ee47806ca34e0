/*
 * Lengths of an all-to-all's hops and paths: sums of prices of rows times
 * loads.  Lengths of what is connected are below GT_ALLTOALL_UNREACHABLE.
 */
#ifndef GT_SEARCH_CLUSTER_ALLTOALL_LENGTHS_H
#define GT_SEARCH_CLUSTER_ALLTOALL_LENGTHS_H

#include <stdint.h>

struct gt_alltoall;
struct gt_alltoall_path;

#define GT_ALLTOALL_UNREACHABLE (INT64_C(1) << 54)
#define GT_ALLTOALL_PRICE_MAX   (INT64_C(1) << 36)

struct gt_alltoall_lengths {
	const struct gt_alltoall *a2a;
	/*
	 * Do hops also lead to rails that only meet higher up?  Such hops are
	 * in no plan, but a proof has to count them.
	 */
	int relaxed;
	int64_t *price;    /* by row; the caller sets them */
	int64_t *local;    /* [from * n + to]: a hop in a node */
	int64_t *out, *in; /* [rank * nports + port] */
	int64_t *crossing; /* [(class * n + from) * n + to]: a network hop */
	uint32_t *crossing_ports[2]; /* its ports, by the same index: out, in */
	int64_t *weights, *distance; /* scratch for paths from one rank */
	uint32_t *parent;
};

/* Memory is the arena's.  GT_ESYS when it ran out. */
int gt_alltoall_lengths_init(struct gt_alltoall_lengths *l,
			     const struct gt_alltoall *a2a);

/* Set the lengths of all hops from l->price. */
void gt_alltoall_lengths_set(struct gt_alltoall_lengths *l);

/*
 * The length of the uplinks alone, from a port to one of a node of the class.
 */
int64_t gt_alltoall_lengths_uplinks(const struct gt_alltoall_lengths *l,
				    uint32_t class_, uint32_t out, uint32_t in);

/*
 * The shortest paths that cross the network once, from a rank to all ranks of
 * a node of the class.  GT_ENO when one cannot be reached, GT_ESYS when memory
 * ran out.
 */
int gt_alltoall_lengths_paths(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from,
			      const struct gt_alltoall_path **paths);

/*
 * Add to loads[] what the shortest paths from a rank to all nodes of the class
 * load, if they may cross the network as often as they like.  GT_EINPUT when
 * that does not fit, GT_ENO when a rank cannot be reached.
 */
int gt_alltoall_lengths_loads(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from, int32_t *loads);

/*
 * The least length of all that one node sends, however often it is passed on;
 * -1 when that does not fit.
 */
int64_t gt_alltoall_lengths_total(struct gt_alltoall_lengths *l);

#endif
