/*
 * The search for routes from one node to all others over PCI, between CPUs and
 * chip to chip: over whatever relays through no GPU and no port.  Each target
 * gets the widest route, of those one of the best kind, of those the one with
 * fewest links.
 *
 * Width, kind and length do not agree along a route (a wide start may be of a
 * bad kind, and count for nothing behind a narrow end), so every node keeps all
 * routes that no other beats in all three: Pareto labels, set one link longer
 * at a time (Martins, "On a multicriteria shortest path problem", 1984).
 * Machines are nearly trees, so a node has one or two.
 *
 * One search serves one thread.
 */
#ifndef GT_TOPO_GRAPH_ROUTE_SEARCH_H
#define GT_TOPO_GRAPH_ROUTE_SEARCH_H

#include <stdint.h>

struct gt_topo;
struct gt_route_search;

/* Returns NULL when memory ran out; the topology must outlive the search. */
struct gt_route_search *gt_route_search_new(const struct gt_topo *topo);
void gt_route_search_free(struct gt_route_search *search); /* NULL is allowed */

/* Find all routes from this node; 0 when memory ran out. */
int gt_route_search_from(struct gt_route_search *search, uint32_t source);

/*
 * Gives the links of the best route to a node, in order, and returns their
 * number; 0 when there is none.  They are borrowed until the next call.
 */
uint32_t gt_route_search_to(struct gt_route_search *search, uint32_t node,
			    const uint32_t **links);

#endif
