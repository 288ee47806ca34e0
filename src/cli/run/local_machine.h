/* Is this machine the one that a plan was made for? */
#ifndef GT_CLI_RUN_LOCAL_MACHINE_H
#define GT_CLI_RUN_LOCAL_MACHINE_H

struct gt_cmd_args;
struct gt_err;
struct gt_plan;
struct gt_world;

struct gt_machine_policy {
	int map_index;          /* an equal machine will do: compare shapes */
	int strict;             /* another machine is an error, not a warning */
	struct gt_world *world; /* NULL, or each process looks at its own */
};

/*
 * Detect this machine and compare digests.  GT_EINPUT when it is another one
 * and that is an error; with strict, also when the plan does not say.  All
 * processes of a world come to the same answer, which names the first one that
 * is on a wrong machine; process 0 warns.  A cluster's plan does not hold its
 * nodes' digests: there all have to be like process 0's.
 */
int gt_local_machine_check(const struct gt_cmd_args *args,
			   const struct gt_machine_policy *want,
			   const struct gt_plan *plan, struct gt_err *err);

#endif
