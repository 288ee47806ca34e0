/*
 * Does a machine have what a plan says of it?  Plan and topology do not know
 * each other, so the command that has both compares them.
 */
#ifndef GT_CLI_VERIFY_TOPOLOGY_H
#define GT_CLI_VERIFY_TOPOLOGY_H

struct gt_err;
struct gt_plan;

/*
 * Read the topology at `path` with the rates that the plan was made with, and
 * compare: the digest, the ranks' devices, the links' capacities, and the
 * routes of hops and proof.  GT_ENO with the place in the plan that differs.
 */
int gt_verify_topology(const struct gt_plan *plan, const char *path,
		       struct gt_err *err);

#endif
