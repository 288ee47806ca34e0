/*
 * A flow: what every rank sends to every other in one round, and what becomes
 * of it.  Where each pair of GPUs reaches the other's memory, all collectives
 * are such flows; by which means the bytes travel (packets, direct stores,
 * copy engines) is another matter.
 *
 *     for each d of `to`:   my block for rank d goes there, which begins at
 *                           in + block * in_stride
 *     for each s of `from`: the block of rank s arrives and is put at
 *                           out + block * out_stride
 *
 * A block's number is its rank's, counted from rank `first` on; a rank's own
 * block travels nowhere.
 *
 * With GT_P2P_REDUCE a rank that `adds` reduces its block of those ranks, in
 * their order, and puts it at out + block * out_stride.  With GT_P2P_SPREAD
 * blocks are the slices of one buffer, of which the last may be short or empty:
 * who is `via` gets its slice of all ranks that it adds (of one alone: it is
 * passed on) and sends the result to `back`; those put it where it belongs.
 * What then comes to a rank is told by `takes`.
 */
#ifndef GT_KERNELS_P2P_H
#define GT_KERNELS_P2P_H

#include <stdint.h>

#include "plan/ir/program.h"

enum {
	GT_P2P_RANKS = 16, /* at most */
};

enum {
	GT_P2P_REDUCE = 1,
	GT_P2P_SPREAD = 2,
};

/*
 * The kind of data that comes to a rank to be put where it belongs, and is not
 * added up.
 */
enum gt_p2p_takes {
	GT_P2P_NOTHING,
	GT_P2P_BLOCKS,
	GT_P2P_SUMS,
};

struct gt_p2p {
	uint64_t count; /* elements of a block */
	uint64_t end;   /* of the whole buffer that blocks are slices of; 0:
			   they are not */
	uint64_t in_stride, out_stride; /* elements */
	uint32_t to, from;              /* bits: ranks */
	uint32_t adds;      /* bits: whose blocks this rank adds up */
	uint32_t via, back; /* bits, with SPREAD: who adds up, who gets it */
	uint32_t first;     /* the rank whose block is number 0 */
	uint32_t takes;     /* enum gt_p2p_takes */
	uint32_t flags;
	uint32_t me, nranks;
	uint32_t divide; /* the result by this; 0: not */
};

/* Returns the number of a rank's block. */
GT_HD static inline uint32_t gt_p2p_block(const struct gt_p2p *flow,
					  uint32_t rank)
{
	return rank < flow->first ? rank + flow->nranks - flow->first
				  : rank - flow->first;
}

/* Returns the i-th rank behind this one, i < nranks. */
GT_HD static inline uint32_t gt_p2p_next(const struct gt_p2p *flow, uint32_t i)
{
	uint32_t rank = flow->me + i;

	return rank < flow->nranks ? rank : rank - flow->nranks;
}

/* Returns how many elements block number `block` has. */
GT_HD static inline uint64_t gt_p2p_count(const struct gt_p2p *flow,
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
