/*
 * A cluster of equal nodes as the search sees it, divided by its symmetries:
 * the fabric of one node, which all nodes have, the routes between its ranks
 * and its ports, and the levels of switches above the nodes.  Nothing grows
 * with the number of nodes.
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_H
#define GT_SEARCH_CLUSTER_QUOTIENT_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/cluster.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_budget;
struct gt_cluster;
struct gt_cluster_request;
struct gt_err;
struct gt_fabric;
struct gt_fabric_route;

struct gt_quotient {
	const struct gt_fabric *fabric; /* of one node */
	struct gt_plan_cluster cluster;
	const uint32_t *ports;             /* their vertices in the fabric */
	const struct gt_fabric_route *out; /* [rank * nports + port] */
	const struct gt_fabric_route *in;  /* the same index: port to rank */
	const struct gt_budget *budget;    /* NULL: no limit */
	/* How a plan names the fabric's vertices and links.  They are NULL in a
	   quotient that is made by hand and never becomes a plan. */
	const char **vertex_ids, **link_ids, **link_kinds;
};

/*
 * Seen from node 0 the nodes fall into classes, by the lowest level with a
 * switch above both: class 0 is node 0 itself, class c above 0 are the nodes
 * that share a switch of level c - 1 with it, but none below.  All nodes of a
 * class are added up, vertex by vertex.  So vertex class * nnodes + v stands
 * for vertex v of the fabric in all nodes of the class, and behind these come
 * the switches, which gt_quotient_switch() numbers (level * (nlevels + 1) +
 * class) * nrails + rail.
 */
uint32_t gt_quotient_nvertices(const struct gt_quotient *q);
uint32_t gt_quotient_switch(const struct gt_quotient *q, uint32_t level,
			    uint32_t class_, uint32_t rail);

/*
 * May a block go from port `out` of a node to port `in` of another one?  Rails
 * that only meet higher up, if at all, are not made to.
 */
int gt_quotient_ports_joined(const struct gt_quotient *q, uint32_t out,
			     uint32_t in);

/* Are nodes and switches all alike?  GT_EINPUT, and what is not, if not. */
int gt_quotient_accepts(const struct gt_cluster *cluster, struct gt_err *err);

/*
 * The quotient of the request's cluster.  Memory is the arena's; names and
 * routes are borrowed from the topology and its paths.  GT_EINPUT as above.
 */
int gt_quotient_new(const struct gt_cluster_request *request,
		    struct gt_arena *arena, struct gt_quotient **q,
		    struct gt_err *err);

#endif
