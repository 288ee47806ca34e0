/*
 * A bundle: the operations of a group that share launches.  It is decided which
 * algorithm and protocol each takes, seen together; which of them fit into one
 * launch; where each one's chunks lie in the LL buffers; and how many of the
 * launch's warps it gets.  All of it is arithmetic, with the same result in all
 * ranks and processes.
 */
#ifndef GT_EXEC_CUDA_BUNDLE_H
#define GT_EXEC_CUDA_BUNDLE_H

#include <stdint.h>

struct gt_bundle_op {
	uint64_t bytes; /* of a block in one shot */
	uint64_t slice; /* of a block in two shots; 0: it cannot take two */
	/* These are what the operation takes alone; gt_bundle_choose() changes
	 * them unless is_fixed. */
	uint8_t two_shots, ll128;
	uint8_t push; /* goes through scratch */
	uint8_t is_fixed;
	uint8_t may_push; /* is large enough to push together with others */
	/* These are set by gt_bundle_divide(). */
	uint32_t ll_chunk; /* its first chunk in each sender's LL buffer */
	uint32_t chunks; /* of a part; two shots have a second part behind it */
	uint32_t warp, warps; /* its first warp of the launch, and how many */
};

struct gt_bundle_limits {
	uint32_t nranks;
	uint32_t ops;       /* of a launch */
	uint32_t warps;     /* that run at once */
	uint32_t chunks[2]; /* of a sender's buffer: for LL, for LL128 */
	int has_ll128;      /* LL128 can be used */
};

/*
 * Choose algorithm and protocol of the operations that are not fixed, by the
 * bytes of all of them.  Those that then push are not for gt_bundle_divide().
 */
void gt_bundle_choose(struct gt_bundle_op *ops, uint32_t n,
		      const struct gt_bundle_limits *limits);

/*
 * Put as many of the first operations as fit, 1 at least, into one launch, say
 * where and with how many warps, and return how many they are.  Each alone must
 * fit into a buffer.
 */
uint32_t gt_bundle_divide(struct gt_bundle_op *ops, uint32_t n,
			  const struct gt_bundle_limits *limits);

#endif
