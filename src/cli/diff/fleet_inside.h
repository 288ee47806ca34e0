/* The inside of a fleet, for fleet.c and fleet_print.c. */
#ifndef GT_CLI_DIFF_FLEET_INSIDE_H
#define GT_CLI_DIFF_FLEET_INSIDE_H

#include <stdint.h>

#include "cli/diff/cost.h"
#include "topo/diff/diff.h"

struct gt_arena;
struct gt_device_tree;

/* Servers that are alike; the first of them stands for all. */
struct gt_fleet_group {
	uint32_t first, nfiles;
	struct gt_diff diff;
	struct gt_diff_costs costs;
};

struct gt_fleet {
	struct gt_arena *arena;
	uint32_t nfiles, ngroups, norm;
	uint32_t nnodes; /* of a job that is asked for */
	int expected, all;
	const char *const *files;
	const char **names; /* of nodes, as gt_name_list_of_files() */
	/* of a file that cannot be read NULL; faults[] says why */
	struct gt_device_tree **servers;
	const char **faults;
	uint64_t *hashes;
	uint32_t *group; /* of each file */
	struct gt_fleet_group *groups;
};

/* Returns whether the group's servers are not as the norm, or unreadable. */
static inline int gt_fleet_group_differs(const struct gt_fleet *fleet,
					 uint32_t g)
{
	const struct gt_fleet_group *group = &fleet->groups[g];

	return group->diff.nfindings || !fleet->servers[group->first];
}

#endif
