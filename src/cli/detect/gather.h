/*
 * `gtopo detect --gather`: an archive of what somebody needs who looks at a
 * fault from elsewhere, and nothing that tells who the machine is.
 */
#ifndef GT_CLI_DETECT_GATHER_H
#define GT_CLI_DETECT_GATHER_H

struct gt_buf;
struct gt_cmd_args;
struct gt_detect_source;
struct gt_err;

/* Append the archive; what is in it is told with gt_cmd_warn(). */
int gt_detect_gather(const struct gt_cmd_args *args,
		     const struct gt_detect_source *from, struct gt_buf *out,
		     struct gt_err *err);

#endif
