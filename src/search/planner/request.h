/*
 * A request says what is asked of the planner; with it goes the table of
 * options that it has to refuse.
 */
#ifndef GT_SEARCH_PLANNER_REQUEST_H
#define GT_SEARCH_PLANNER_REQUEST_H

#include <stdint.h>

#include "plan/ir/program.h"
#include "topo/graph/topo.h"

struct gt_err;
struct gt_budget;
struct gt_plan_demand;

enum gt_planner_algo {
	GT_PLANNER_AUTO,
	GT_PLANNER_RING,
	GT_PLANNER_FOREST,
	GT_PLANNER_TREE,
	GT_PLANNER_MESH,
	GT_PLANNER_FLOW,
	GT_PLANNER_ALLTOALL,
	GT_PLANNER_HIER,
	GT_PLANNER_NVLS,
	GT_PLANNER_COLLNET,
	GT_NPLANNER_ALGOS
};

struct gt_planner_request {
	enum gt_planner_algo algo;
	int coll; /* enum gt_coll; -1: the first that the algorithm does */
	enum gt_rates rates;
	const char *gpus; /* of each node; NULL: all */
	uint32_t root;    /* rank, for collectives that have one */
	/* Of an all-to-all among demand_ranks; NULL: all pairs have the same */
	const struct gt_plan_demand *demand;
	uint32_t demand_ranks;
	uint32_t max_channels;   /* 0: no limit */
	uint32_t trees_per_root; /* at most, of equal shares; 0: any */
	int equal;               /* all channels have the same share */
	int invariant;           /* gt_plan's attribute of that name */
	int explain;             /* gt_planner_explain() will be called */
	int as_engines;          /* of one machine: search/planner/apart.h */
	const struct gt_budget *budget; /* or NULL; outlives the planner */
};

/* The collective that was named, or the first that the algorithm does. */
enum gt_coll gt_planner_coll(const struct gt_planner_request *request);

/*
 * The algorithm that is searched: of an invariant plan of what is added up a
 * mesh, where one rank adds up what all have.  GT_EINPUT, if another was named.
 */
int gt_planner_algo(const struct gt_planner_request *request,
		    enum gt_planner_algo *algo, struct gt_err *err);

/* The algorithm's word, as in --algo. */
const char *gt_planner_algo_name(enum gt_planner_algo algo);

/* The kind of problem; on a flattened cluster it is for the shape to refuse. */
enum gt_planner_on {
	GT_PLANNER_ON_MACHINE,
	GT_PLANNER_ON_QUOTIENT, /* nodes that are alike, however many */
};

/*
 * Is the algorithm one whose switches multicast and add up?  GT_EINPUT names an
 * option that does not go with those, whose trees are given.
 */
int gt_planner_uses_switches(const struct gt_planner_request *request);
int gt_planner_refuse_for_switches(const struct gt_planner_request *request,
				   struct gt_err *err);

/* GT_EINPUT names the first option that cannot be honoured there, and why. */
int gt_planner_refuse(const struct gt_planner_request *request,
		      enum gt_planner_on on, struct gt_err *err);

#endif
