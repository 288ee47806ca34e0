/*
 * Which GPU of one server is which of another: by bus ids where one has all of
 * the other's, as the same machine has, else by how they are wired.
 */
#ifndef GT_CLI_COMMON_GPU_MATCH_H
#define GT_CLI_COMMON_GPU_MATCH_H

#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_measured;

struct gt_gpu_match_query {
	const struct gt_measured *wanted; /* of the file */
	const char *file;                 /* NULL: wanted is empty */
	const struct gt_measured *is;
	const struct gt_buf *text; /* the XML of is */
};

/* image[i] is the wanted GPU of GPU i, or UINT32_MAX. */
int gt_gpu_match(const struct gt_gpu_match_query *pair, struct gt_arena *arena,
		 uint32_t *image, struct gt_err *err);

#endif
