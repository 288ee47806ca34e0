/*
 * The program gtopo, which detects machines and searches for plans: the library
 * has nothing of what that takes, and a search that is too slow can be ended.
 */
#ifndef GT_NCCL_HELPER_H
#define GT_NCCL_HELPER_H

#include <stdatomic.h>
#include <stdint.h>

struct gt_buf;
struct gt_err;

/* When a run ends at the latest. */
struct gt_helper_limit {
	int64_t until_ns; /* of gt_clock_ns() */
	/* Or as soon as one of these is set; NULL never is. */
	const _Atomic int *stop, *end;
};

/*
 * Run it with these arguments, of which the last is NULL and the first any, and
 * with `input` (NULL: nothing) as its standard input; append what it prints.
 * The program is that which GTOPO_PROGRAM names, or the one that was built or
 * installed with the library; it inherits neither LD_PRELOAD nor
 * CUDA_VISIBLE_DEVICES.  GT_ESYS, and the first line that it said, where there
 * is none, it fails, or takes too long.
 */
int gt_helper_run(const char *const *arguments, const struct gt_buf *input,
		  struct gt_helper_limit limit, struct gt_buf *output,
		  struct gt_err *err);

#endif
