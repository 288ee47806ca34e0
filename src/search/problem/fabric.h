/*
 * The machine as the search sees it: numbers only.  Nodes and directed links
 * with capacities, the nodes that are ranks, and the route of every
 * ordered pair of ranks.  Made by gt_search_request_fabric(), or by hand.
 *
 * Nodes that are no ranks (switches, CPUs, GPUs left out) only pass data on.
 */
#ifndef GT_SEARCH_PROBLEM_FABRIC_H
#define GT_SEARCH_PROBLEM_FABRIC_H

#include <stdint.h>

#include "base/rat.h"

struct gt_fabric_link {
	uint32_t from, to;
	struct gt_rat gbs;
	int charged; /* a route's charge counts on it (PCI) */
};

struct gt_fabric_route {
	struct gt_rat charge;
	uint32_t nlinks; /* 0: the pair is not connected */
	const uint32_t *links;
	int is_staged; /* bytes wait in the host's memory on the way */
	/* Where fabric.relays: of two hops, by a rank; none of its own. */
	int relayed;
};

/*
 * Ports by which a ring leaves the machine and comes back: a ring of one node
 * of many, which goes once through all ranks and then through an outgoing and
 * an incoming port.
 */
struct gt_external_ports {
	uint32_t nports;
	const struct gt_fabric_route *out; /* [rank * nports + port] */
	const struct gt_fabric_route *in;  /* likewise, from port to rank */
	/* [out * nports + in]: from one port to another of another node; what
	 * it loads besides the ports' own links, which may be nothing. */
	const struct gt_fabric_route *across;
	const unsigned char *joined; /* likewise: is there a way? */
	uint32_t ngroups;
	const uint32_t *group; /* port -> ports are joined within one */
};

struct gt_fabric {
	uint32_t nnodes, nlinks, nranks;
	struct gt_fabric_link *links;
	uint32_t *ranks; /* rank -> node */
	int relays;      /* may a ring's hop go through one more rank? */
	int open; /* any path through nodes that are no ranks is a route */
	struct gt_fabric_route *routes; /* [from * nranks + to], unless open */
	const struct gt_external_ports *external; /* NULL: rings stay inside */
};

/*
 * Has every pair of ranks a route of its own?  Where one has none, links that
 * no route crosses may still join it through others.
 */
int gt_fabric_is_routed(const struct gt_fabric *fabric);

#endif
