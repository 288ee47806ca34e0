/*
 * `gtopo detect --all-ranks`: under a launcher, the processes of a job write
 * one cluster file of all the hosts that they are on.
 */
#ifndef GT_CLI_DETECT_RANKS_H
#define GT_CLI_DETECT_RANKS_H

struct gt_cmd_args;
struct gt_detect_source;
struct gt_err;

/*
 * One process a host detects; process 0 writes each host's topology beside
 * the cluster file, named after the host, and the cluster file, args->out.
 */
int gt_detect_ranks(const struct gt_cmd_args *args,
		    const struct gt_detect_source *from, struct gt_err *err);

#endif
