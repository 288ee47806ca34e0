/*
 * This machine, or one that --root and --nvml show, as topology XML: what
 * `gtopo detect` writes and `gtopo health` looks at.
 */
#ifndef GT_CLI_DETECT_XML_H
#define GT_CLI_DETECT_XML_H

struct gt_buf;
struct gt_cmd_args;
struct gt_err;

struct gt_detect_source {
	const char *root;   /* of sys and proc, or NULL */
	const char *nvml;   /* the library's file, or NULL: the driver's */
	int measure;        /* what GPUs reach as well */
	int all;            /* what nobody plans with, too */
	int all_ranks;      /* not here: see cli/detect/ranks.h */
	const char *gather; /* a file, or NULL: see cli/detect/gather.h */
};

/* Append the XML; what could not be read is told with gt_cmd_warn(). */
int gt_detect_xml(const struct gt_cmd_args *args,
		  const struct gt_detect_source *from, struct gt_buf *out,
		  struct gt_err *err);

#endif
