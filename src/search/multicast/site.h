/*
 * Where switches that multicast and add up are: which one each rank hangs from,
 * and the trees that pass through them.
 *
 * NVSwitches do from the third generation on, which Hopper came with (NVLink
 * SHARP; NVIDIA, "The NVIDIA NVLink Switch chip", Hot Chips 34, 2022): a GPU
 * reads the sum of what all GPUs have at an address, or writes to all of them.
 * Switches of a network do it for the ports of nodes (SHARP: Graham et al.,
 * "Scalable hierarchical aggregation protocol", COMHPC 2016).
 */
#ifndef GT_SEARCH_MULTICAST_SITE_H
#define GT_SEARCH_MULTICAST_SITE_H

#include <stdint.h>

#include "search/multicast/graph.h"

struct gt_plan_vertex;
struct gt_proposal_channel;

/* Ranks below one switch. */
struct gt_multicast_domain {
	uint32_t at; /* vertex */
	struct gt_switch_ways ways;
};

struct gt_multicast_site {
	struct gt_switch_graph graph;
	struct gt_arena *arena;
	uint32_t ndomains;
	struct gt_multicast_domain *domains;
	uint32_t *domain; /* by rank */
	/*
	 * Trees that there may be: one for each rank that may drive, or in a
	 * network one for each place of a node's ranks, whom a switch joins.
	 */
	uint32_t ntrees;
	uint32_t *roots;             /* tree -> vertex of that switch */
	struct gt_switch_ways *over; /* tree -> ways to it */
	int joins;                   /* in a network */
	uint32_t *place;             /* rank -> its place in its node */
};

/*
 * Find the switch that all ranks hang from over NVLink, or (joins) each node's
 * and a switch of the network for each place.  GT_ENO, and what is missing,
 * where there are none.
 */
int gt_multicast_site_init(struct gt_multicast_site *site,
			   const struct gt_search_request *request, int joins,
			   struct gt_arena *arena, struct gt_err *err);

/* Make the vertices of a tree, whose links are the fabric's. */
int gt_multicast_tree(const struct gt_multicast_site *site, uint32_t tree,
		      struct gt_proposal_channel *channel, struct gt_err *err);

#endif
