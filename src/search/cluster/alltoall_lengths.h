#ifndef GT_SEARCH_CLUSTER_ALLTOALL_LENGTHS_H
#define GT_SEARCH_CLUSTER_ALLTOALL_LENGTHS_H

#include <stdint.h>

struct gt_alltoall;
struct gt_alltoall_path;

/*
 * alltoall_path.c: lengths of what ranks and ports are joined by, under prices
 * of rows, below GT_ALLTOALL_UNREACHABLE.
 */
#define GT_ALLTOALL_UNREACHABLE (INT64_C(1) << 54)
#define GT_ALLTOALL_PRICE_MAX   (INT64_C(1) << 36)

struct gt_alltoall_lengths {
	const struct gt_alltoall *a2a;
	/* Also to rails that are apart, where they meet higher up: no way of a
	 * plan, but one that a proof has to count. */
	int all;
	int64_t *price;    /* of a row; set before gt_alltoall_lengths_set() */
	int64_t *local;    /* [n * n] hops in a node */
	int64_t *out, *in; /* [n * nports] */
	int64_t *cross;    /* [(class * n + from) * n + to] network hops */
	uint32_t *by[2];   /* likewise: their ports */
	int64_t *weights, *far; /* of the ways from one rank */
	uint32_t *parent;
};
int gt_alltoall_lengths_init(struct gt_alltoall_lengths *l,
			     const struct gt_alltoall *a2a);
void gt_alltoall_lengths_set(struct gt_alltoall_lengths *l);

/* From port to port of a node of the class: uplinks only. */
int64_t gt_alltoall_lengths_uplinks(const struct gt_alltoall_lengths *l,
				    uint32_t class_, uint32_t out, uint32_t in);

/*
 * The shortest ways from a rank to all of a node of the class; 0, no memory:
 * -1
 */
int gt_alltoall_lengths_paths(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from,
			      const struct gt_alltoall_path **paths);

/*
 * What the shortest load with all nodes of the class, if they may cross the
 * network as often as they like; GT_EINPUT: more than fits.
 */
int gt_alltoall_lengths_loads(struct gt_alltoall_lengths *l, uint32_t class_,
			      uint32_t from, int32_t *loads);

/* Of all that one node sends, however often it is passed on; -1: too long. */
int64_t gt_alltoall_lengths_total(struct gt_alltoall_lengths *l);

#endif
