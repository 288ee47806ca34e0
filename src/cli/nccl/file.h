/*
 * gtopo nccl on a graph file: what it makes NCCL do, and whether the machine's
 * links hold that.
 */
#ifndef GT_CLI_NCCL_FILE_H
#define GT_CLI_NCCL_FILE_H

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_nccl_system;
struct gt_xml;

struct gt_nccl_file_request {
	const char *name;                    /* of the file */
	const struct gt_nccl_system *system; /* its machine, or NULL */
	int json;
	int colour;
};

/*
 * Read the document's graphs and append what is to be told of them.  GT_EINPUT
 * where they are no graphs, GT_ENO where they are not the machine's.
 */
int gt_nccl_file_tell(const struct gt_xml *xml,
		      const struct gt_nccl_file_request *request,
		      struct gt_arena *arena, struct gt_buf *out,
		      struct gt_err *err);

#endif
