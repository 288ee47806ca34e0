/* Is this machine the one that a plan was made for? */
#ifndef GT_CLI_RUN_MACHINE_H
#define GT_CLI_RUN_MACHINE_H

struct gt_cmd_args;
struct gt_err;
struct gt_plan;

struct gt_run_machine {
	int map_index; /* an equal machine will do: compare shapes */
	int strict;    /* another machine is an error, not a warning */
};

/*
 * Detect this machine and compare digests.  GT_EINPUT when it is another one
 * and that is an error; with strict, also when the plan does not say.
 */
int gt_run_machine_check(const struct gt_cmd_args *args,
			 const struct gt_run_machine *want,
			 const struct gt_plan *plan, struct gt_err *err);

#endif
