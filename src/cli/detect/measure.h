/* `--measure`: what this machine's GPUs reach, put into its topology. */
#ifndef GT_CLI_DETECT_MEASURE_H
#define GT_CLI_DETECT_MEASURE_H

struct gt_buf;
struct gt_cmd_args;
struct gt_err;

/* GT_EINPUT where this program cannot measure at all. */
int gt_detect_can_measure(const char *root, struct gt_err *err);

/* Measure the GPUs of this topology and add to it what came out; links that
 * GPUs share though the machine does not show it are told. */
int gt_detect_measure(const struct gt_cmd_args *args, struct gt_buf *xml,
		      struct gt_err *err);

#endif
