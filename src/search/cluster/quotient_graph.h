/*
 * The cluster added up class by class (search/cluster/quotient.h) as a network
 * for maximum flows in whole numbers: all links, a source (the world) that
 * feeds ranks, and a sink that may be any rank of node 0.
 *
 * The network has each link the other way round, and flows run from the sink
 * to the world.  So the source side of a minimum cut
 * (gt_maxflow_is_source_side()) is the smallest set of vertices that the cut
 * separates from the world.
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_GRAPH_H
#define GT_SEARCH_CLUSTER_QUOTIENT_GRAPH_H

#include <stdint.h>

#include "base/rat.h"

struct gt_maxflow;
struct gt_quotient;

/* A link of all nodes of a class together; capacity -1 means it never binds. */
struct gt_quotient_arc {
	uint32_t from, to;
	int64_t capacity;
};

struct gt_quotient_graph {
	const struct gt_quotient *quotient;
	const uint8_t *unused; /* fabric links to leave out, or NULL */
	int reverse;   /* data flows to the root: all links turned round */
	int64_t scale; /* capacities are GB/s times this */
	int fits;      /* 0 when capacities are too large for this */
	uint32_t world, narcs;
	struct gt_quotient_arc *arcs;
	struct gt_maxflow *flow;
};

/*
 * The network of the quotient without the fabric's links that `unused` marks
 * (or NULL).  GT_ESYS when memory ran out; it has to be released even then.
 */
int gt_quotient_graph_init(struct gt_quotient_graph *g,
			   const struct gt_quotient *q, const uint8_t *unused,
			   int reverse);
void gt_quotient_graph_release(struct gt_quotient_graph *g);

/* Set all links to `factor` times their capacity, and feed and tie no rank. */
void gt_quotient_graph_scale(struct gt_quotient_graph *g, int64_t factor);

/* Let the world feed this much to the ranks with this number of a class. */
void gt_quotient_graph_feed(struct gt_quotient_graph *g, uint32_t class_,
			    uint32_t rank, int64_t capacity);

/* Count rank `rank` of node 0 as one with the first rank of node 0. */
void gt_quotient_graph_tie(struct gt_quotient_graph *g, uint32_t rank);

/*
 * The maximum flow from the world into a rank of node 0.  outside[vertex] says
 * whether the vertex is on the rank's side of the minimum cut.
 */
int64_t gt_quotient_graph_run(struct gt_quotient_graph *g, uint32_t rank,
			      uint32_t *outside);

#endif
