/*
 * A flow: what every rank sends to every other in one round, and what becomes
 * of it.  Where each pair of GPUs reaches the other's memory, all collectives
 * are such flows.  Kernels carry them as packets, by direct stores and loads or
 * through scratch, and reduce beside copy engines; their arguments and launches
 * are below, as kernels.h tells.
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

#include "base/dtype.h"
#include "kernels/guard.h"
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

/*
 * Is what the flow adds up to be held in something wider than elements, if
 * these are narrower than a float?  One rank's is passed on bit by bit, NaNs
 * too, and the sum of two is rounded once as elements as well.
 */
GT_HD static inline int gt_p2p_needs_totals(const struct gt_p2p *flow)
{
	uint32_t more = flow->adds & (flow->adds - 1);

	return flow->divide ? more != 0 : (more & (more - 1)) != 0;
}

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum {
	GT_PACKET_WARPS = 16, /* per block, at most */
	GT_PACKET_THREADS = GT_PACKET_WARPS * 32,
	GT_PACKET_CHUNK_BYTES = 1024,
	GT_LL_CHUNK_DATA = 512, /* bytes of data in a chunk */
	GT_LL128_CHUNK_DATA = 960,
	GT_DIRECT_THREADS = 512,
	GT_PREMUL_THREADS = 512,
	GT_DIRECT_STAGES = 4096, /* of one operation, more than there are */
};

/*
 * Flows as packets. An LL buffer holds, for operations of even and of odd
 * number, a box for each rank that sends. A box has two parts; a flow that does
 * not spread uses both as one. The buffer begins as zeros and belongs to one
 * protocol.
 */
struct gt_packet_part {
	struct gt_p2p flow;
	const char *input;
	char *output;
	/*
	 * The size of a part, the size of the box that it is in, and where the
	 * box begins in the LL buffer.
	 */
	uint64_t part_bytes, box_bytes, ll_buffer_at;
	uint32_t dtype, op; /* to a kernel for all of them */
};

struct gt_packet_args {
	struct gt_kernel_guard guard;
	struct gt_packet_part part;
	char *ll_buffer[GT_P2P_RANKS];
};

enum {
	GT_GROUP_OPS = 72,   /* at most: arguments are below 4 KiB */
	GT_GROUP_WARPS = 16, /* per block, at most */
};

/*
 * One of several operations that one launch carries as packets.  Sizes are in
 * bytes, those of the flow too; what it is to the others is in chunks.
 */
struct gt_group_op {
	const char *input;
	char *output;
	uint32_t count, end, in_stride, out_stride;
	uint32_t divide;
	uint16_t to, from;
	uint16_t ll_chunk; /* its first chunk in a sender's LL buffer */
	uint16_t chunks;   /* of a part */
	uint8_t flags;
	uint8_t ll128;
	uint8_t dtype;
	uint8_t op;
};

struct gt_group_args {
	struct gt_kernel_guard guard;
	char *ll_buffer[GT_P2P_RANKS];
	uint64_t ll_buffer_at[2]; /* ll, ll128: where their mailboxes begin */
	uint64_t box_bytes[2]; /* of a sender, for operations of one parity */
	uint32_t me, nranks;
	uint32_t nops;
	uint32_t reserved;
	uint16_t ends[GT_GROUP_OPS]; /* of each operation's warps */
	struct gt_group_op ops[GT_GROUP_OPS];
};

/*
 * Flows between registered buffers. Flags are in each rank's memory, zeros at
 * first, GT_P2P_RANKS words a block. A stage of 0 is left out.
 */
struct gt_direct_args {
	struct gt_kernel_guard guard;
	struct gt_p2p flow;
	const char *input[GT_P2P_RANKS];
	char *output[GT_P2P_RANKS];
	uint64_t *flags[GT_P2P_RANKS];
	uint32_t begin_post, begin_wait; /* stages, before */
	uint32_t moves; /* whether it moves data, not flags alone */
	uint32_t end_post, end_wait; /* stages, behind */
	uint32_t last;               /* kernel of its operation */
	uint32_t one_word;           /* block 0's flags are for all */
	uint32_t keepers; /* the first blocks: move what stays on this rank */
	char *also;       /* NULL, or where a sum goes besides */
};

/*
 * Flows through scratch. Data that rank r sends to be added up here comes to
 * mine[r]; data that this rank sends there goes to theirs[r].
 */
struct gt_scratch_args {
	struct gt_kernel_guard guard;
	struct gt_p2p flow;
	const char *input;
	char *output[GT_P2P_RANKS];
	char *theirs[GT_P2P_RANKS];
	const char *mine[GT_P2P_RANKS];
	uint64_t *flags[GT_P2P_RANKS];
	uint64_t piece; /* elements; a multiple of 16 bytes */
};

enum {
	GT_SCRATCH_GROUP_OPS = 66, /* at most: arguments are below 4 KiB */
	GT_SCRATCH_GROUP_OUTPUTS = GT_SCRATCH_GROUP_OPS * 4,
	GT_SCRATCH_GROUP_LINE_BYTES = 128,
};

/*
 * One of several reductions that one launch carries through scratch.  Its
 * slices begin with lines, on 16-byte boundaries of all ranks' inputs.
 */
struct gt_scratch_group_op {
	const char *input;
	uint32_t end_line; /* where the next one's slice begins */
	uint32_t slice;    /* bytes of a rank's */
	uint32_t bytes;    /* of all slices of one that spreads */
	uint8_t spreads;
	uint8_t divides;
	uint16_t reserved;
};

struct gt_scratch_group_args {
	struct gt_kernel_guard guard;
	uint64_t *flags[GT_P2P_RANKS];
	char *scratch[GT_P2P_RANKS]; /* slices of all ranks but the owner */
	uint32_t lines;              /* of all slices of a rank */
	uint32_t piece;              /* lines */
	uint32_t me, nranks;
	uint32_t nops;
	uint32_t reserved;
	struct gt_scratch_group_op ops[GT_SCRATCH_GROUP_OPS];
	char *outputs[GT_SCRATCH_GROUP_OUTPUTS]; /* [op][rank] */
};

struct gt_kernel_grid {
	enum gt_dtype dtype;
	enum gt_redop op;
	uint32_t blocks, threads;
	int overlaps; /* set up while the kernel before it still runs */
	struct CUstream_st *stream;
};

/* to[i] = from[i] * by. */
struct gt_premul_args {
	const void *from;
	void *to;
	uint64_t count; /* elements */
	struct gt_scalar by;
};

/* Loads all kernels of p2p flows of this type on the current device. */
int gt_p2p_prepare(enum gt_dtype dtype);

int gt_packet_run(const struct gt_kernel_grid *grid, int ll128,
		  const struct gt_packet_args *args);
int gt_direct_run(const struct gt_kernel_grid *grid,
		  const struct gt_direct_args *args);
int gt_scratch_run(const struct gt_kernel_grid *grid,
		   const struct gt_scratch_args *args);
int gt_scratch_group_run(const struct gt_kernel_grid *grid,
			 const struct gt_scratch_group_args *args);
int gt_premul_run(const struct gt_kernel_grid *grid,
		  const struct gt_premul_args *args);

/*
 * Runs several operations in one launch. A grid of one type takes sums,
 * averages and collectives that only move; a grid of GT_NDTYPES takes any types
 * and operators, and gt_group_prepare() loads its kernel.
 */
int gt_group_prepare(void);
int gt_group_run(const struct gt_kernel_grid *grid,
		 const struct gt_group_args *args);

/*
 * A barrier in one warp: tells all ranks of a stage, and waits for it of them.
 * The flags are those of gt_direct_args, of block 0.
 */
struct gt_barrier_args {
	struct gt_kernel_guard guard;
	uint64_t *flags[GT_P2P_RANKS];
	uint32_t stage;
	uint32_t me, nranks;
	uint32_t last; /* kernel of its operation */
};

int gt_barrier_prepare(void);
int gt_barrier_run(const struct gt_barrier_args *args,
		   struct CUstream_st *stream);

enum { GT_DETOUR_MEETINGS = 1 << 20 }; /* of an operation, far more */

/*
 * A detour's barrier: tells all ranks that this one has come, and waits for
 * them. The operation's number is from the detours' own epoch.
 */
struct gt_detour_args {
	struct gt_kernel_guard guard;  /* one report */
	uint64_t *flags[GT_P2P_RANKS]; /* in the host's memory; only grow */
	uint32_t number;               /* of the operation's meetings, from 1 */
	uint32_t me, nranks;
	uint32_t last; /* of its operation */
};

int gt_detour_prepare(void);
int gt_detour_run(const struct gt_detour_args *args,
		  struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
