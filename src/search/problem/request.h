/*
 * The question that the search answers: for a machine, which of its GPUs, and
 * what collective.
 */
#ifndef GT_SEARCH_PROBLEM_REQUEST_H
#define GT_SEARCH_PROBLEM_REQUEST_H

#include <stdint.h>

#include "plan/ir/program.h"
#include "topo/graph/topo.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_paths;
struct gt_budget;
struct gt_flat_cluster;
struct gt_plan_demand;

struct gt_search_request {
	const struct gt_topo *topo;
	const struct gt_paths *paths;
	enum gt_rates rates; /* which capacities the topology was read with */
	enum gt_coll coll;
	uint32_t root; /* rank, for collectives that have one */
	const struct gt_plan_demand *demand; /* of an all-to-all, or NULL */
	uint32_t max_channels;               /* 0: no limit */
	int equal;                      /* all channels have the same share */
	uint32_t trees_per_root;        /* at most, of equal shares; 0: any */
	const struct gt_budget *budget; /* or NULL */
	uint32_t nranks;
	const uint32_t *gpus; /* nodes, in order of rank */
	/* A cluster in place of topo, paths and gpus; or NULL. */
	const struct gt_flat_cluster *flat;
};

/*
 * The request's machine as numbers; links keep the topology's indices.
 *
 * Two GPUs without NVLink of their own have the route by which one reaches the
 * other's memory, over PCI.  Where NVLinks through another rank are more than
 * three times as wide that route is left out, as it would make channels many
 * and thin for little: then the pair has those NVLinks, which are the two hops
 * to and from that rank, the first one in order where there are several.  GPUs
 * that are no ranks relay nothing.
 *
 * Memory is the arena's; routes are borrowed from the paths, which live longer.
 */
int gt_search_request_fabric(const struct gt_search_request *request,
			     struct gt_arena *arena, struct gt_fabric **fabric,
			     struct gt_err *err);

#endif
