/*
 * `gtopo run` as several processes: which they are, that they run the same,
 * and which of them speaks.
 */
#ifndef GT_CLI_RUN_JOB_H
#define GT_CLI_RUN_JOB_H

#include <stdint.h>

struct gt_err;
struct gt_run_sweep;
struct gt_world;

struct gt_run_job_options {
	int64_t procs;     /* fork so many; 0: as the launcher says */
	const char *iface; /* NULL, or which network interfaces */
	int64_t timeout_ns;
	int keep_going;               /* gt_run_go_on() may follow */
	const _Atomic int *interrupt; /* NULL, or gt_interrupt_catch()'s */
};

/*
 * *world is NULL when this process is alone.  *parent is 1 in the process
 * that forked the others, which have ended: nothing is left to be done there
 * but to exit with the code that was returned.
 */
int gt_run_job_open(const struct gt_run_job_options *options,
		    struct gt_world **world, int *parent, struct gt_err *err);

/*
 * All run the same plan with the same options, and are the same version:
 * GT_EINPUT, in all of them, names the process that does not, and what
 * differs.
 */
int gt_run_job_check_same(struct gt_world *world,
			  const struct gt_run_sweep *sweep, struct gt_err *err);

/*
 * At the end: tell the others why this process failed (rc), or meet them a
 * last time; close.  Returns rc, or why the others failed; *err is emptied
 * when it is for another process to say it.  A world of NULL is allowed.
 */
int gt_run_job_close(struct gt_world *world, int rc, struct gt_err *err);

#endif
