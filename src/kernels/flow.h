/*
 * A flow: what every rank sends to every other in one round, and what becomes
 * of it.  Where each pair of GPUs reaches the other's memory, all collectives
 * are such flows; by which means the bytes travel (packets, direct stores,
 * copy engines) is another matter.
 *
 *     for each d of `to`:   my block d goes to rank d, which begins at
 *                           in + d * in_stride
 *     for each s of `from`: the block of rank s arrives and is put at
 *                           out + s * out_stride
 *
 * With GT_FLOW_REDUCE the blocks of `from` are reduced in the order of ranks,
 * the same on all ranks, and put at out + me * out_stride.  With GT_FLOW_SPREAD
 * that result then goes to all ranks, who put what comes from s at
 * out + s * out_stride: blocks are the slices of one buffer, and the last of
 * them may be short.  A rank's own block is part of both sets and travels
 * nowhere.
 */
#ifndef GT_KERNELS_FLOW_H
#define GT_KERNELS_FLOW_H

#include <stdint.h>

#include "plan/program.h"

enum {
	GT_FLOW_RANKS = 16, /* at most */
};

enum {
	GT_FLOW_REDUCE = 1,
	GT_FLOW_SPREAD = 2,
};

struct gt_flow {
	uint64_t count; /* elements of a block */
	uint64_t end;   /* of the whole buffer that blocks are slices of; 0:
			   they are not */
	uint64_t in_stride, out_stride; /* elements */
	uint32_t to, from;              /* bits: ranks */
	uint32_t flags;
	uint32_t me, nranks;
	uint32_t divide; /* the result by this; 0: not */
};

/* Elements of block `block`. */
GT_HD static inline uint64_t gt_flow_count(const struct gt_flow *flow,
					   uint32_t block)
{
	uint64_t begin = flow->count * block;

	if (!flow->end)
		return flow->count;
	if (begin >= flow->end)
		return 0;
	return flow->end - begin < flow->count ? flow->end - begin
					       : flow->count;
}

#endif
