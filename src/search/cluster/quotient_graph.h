/*
 * The cluster added up class by class (search/cluster/quotient.h), as a flow network in
 * whole numbers: all links, a source that feeds ranks, and sinks anywhere.
 * Links are turned round, and flows go from the sink's side: so the smallest
 * set behind a cut is what gt_maxflow_is_source_side() tells.
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_GRAPH_H
#define GT_SEARCH_CLUSTER_QUOTIENT_GRAPH_H

#include <stdint.h>

#include "base/rat.h"

struct gt_flow;
struct gt_quotient;

/* capacity -1: it never binds. */
struct gt_quotient_arc {
	uint32_t from, to;
	int64_t capacity;
};

struct gt_quotient_graph {
	const struct gt_quotient *quotient;
	const uint8_t *unused; /* links of the box that are not there */
	int reverse;           /* what only goes up: data flows the other way */
	int64_t scale;         /* capacities are GB/s times this */
	int fits;              /* 0: too large for whole numbers */
	uint32_t world, narcs;
	struct gt_quotient_arc *arcs;
	struct gt_flow *flow;
};

/* `unused` or NULL.  GT_ESYS: no memory.  Release also after failure. */
int gt_quotient_graph_init(struct gt_quotient_graph *g,
			   const struct gt_quotient *q, const uint8_t *unused,
			   int reverse);
void gt_quotient_graph_release(struct gt_quotient_graph *g);

/* All links carry `factor` times theirs; ranks are fed nothing. */
void gt_quotient_graph_scale(struct gt_quotient_graph *g, int64_t factor);

/* What the world feeds each rank of a class's node number `rank`. */
void gt_quotient_graph_feed(struct gt_quotient_graph *g, uint32_t class_,
			    uint32_t rank, int64_t capacity);

/* Rank `rank` of node 0 counts as one with its first. */
void gt_quotient_graph_tie(struct gt_quotient_graph *g, uint32_t rank);

/* Maximum flow into a rank of node 0; sets[vertex]: is it behind the cut? */
int64_t gt_quotient_graph_run(struct gt_quotient_graph *g, uint32_t rank,
			      uint32_t *outside);

#endif
