/*
 * The lowered program: what one rank does on one channel, as an array of
 * fixed-size steps of one primitive.  Plain data, no pointers inside steps:
 * the simulator, the host engine and the CUDA kernels read the same records.
 * Kernels include this header and nothing else of plan.
 *
 * A program does not depend on message size or type.  Buffers are divided
 * into numbered *chunks*; struct gt_layout says which elements a chunk is for
 * a given count, and cuts it into *slices*:
 *
 *     for (loop = 0; loop < layout.loops; loop++)
 *             for (each step)
 *                     move slice `loop` of the step's chunk
 *
 * A channel may be run by several *workers* (thread blocks, CPU workers);
 * worker w of n runs the same program on the w-th part of every chunk, with
 * FIFOs of its own.
 *
 * FIFOs.  A connection carries slices in one direction between two ranks on
 * one channel and worker; its ends may be in different lanes.  It has S slots
 * and two monotonic 64-bit counters: `data` (slices written by the sender) and
 * `credit` (slices consumed by the receiver).  The k-th slice (k = 0, 1, ...)
 * lives in slot k mod S.  A sender waits until data - credit < S, a receiver
 * until credit < data.  Writing the slot is ordered before the release store of
 * the counter that announces it.  A slice of length 0 is announced like any
 * other, so that counters stay equal on both sides.
 *
 * Scratch places have numbers of their own, and hold one slice of any chunk in
 * each loop; all lanes of a rank on a channel share them.
 *
 * An operand in a peer's memory, or with no bytes at all, uses its
 * connection's counters in the same way, without a slot.  A step waits for
 * all its operands before it reads, and posts after it has written.  Copying
 * a place onto itself, as happens in place, is no write.
 */
#ifndef GT_PLAN_IR_PROGRAM_H
#define GT_PLAN_IR_PROGRAM_H

#include <stdint.h>

#ifdef __CUDACC__
#define GT_HD            __host__ __device__
#define GT_STATIC_ASSERT static_assert
#else
#define GT_HD
#define GT_STATIC_ASSERT _Static_assert
#endif

enum {
	GT_STEP_OPERANDS = 6,
};

enum gt_op {
#define GT_OP(NAME, name, recv, local, copy, send) GT_OP_##NAME,
#include "plan/ir/op.def"
	GT_NOPS
};

enum gt_coll {
	GT_COLL_ALLREDUCE,
	GT_COLL_ALLGATHER,
	GT_COLL_REDUCESCATTER,
	GT_COLL_BROADCAST,
	GT_COLL_REDUCE,
	GT_COLL_ALLTOALL,
	GT_COLL_GATHER,
	GT_COLL_SCATTER,
	GT_COLL_SENDRECV, /* rank r sends its buffer to rank r + 1 mod n */
	GT_NCOLLS
};

/* The buffer in which an operand's bytes live. */
enum gt_operand_buf {
	GT_BUF_NONE,   /* no bytes: only waits or posts */
	GT_BUF_INPUT,  /* this rank's input */
	GT_BUF_OUTPUT, /* this rank's output; may alias the input (in place) */
	/*
	 * source: a slot that this rank receives in; destination: a slot of the
	 * peer
	 */
	GT_BUF_FIFO,
	GT_BUF_PEER_INPUT,  /* a peer's registered input */
	GT_BUF_PEER_OUTPUT, /* a peer's registered output */
	GT_BUF_SCRATCH,     /* scratch of this rank; empty when a loop begins */
	GT_NBUFS
};

/*
 * Flags of an operand.  On a source, WAIT is for data and POST gives credit;
 * on a destination, WAIT is for credit and POST announces data.
 */
enum {
	GT_OPERAND_WAIT = 1,
	GT_OPERAND_POST = 2,
};

/* Flags of a step. */
enum {
	GT_STEP_FINAL = 1, /* the last contribution: apply avg's division */
	GT_STEP_MORE = 2,  /* operands go on in the next record */
};

struct gt_operand {
	uint8_t buf;    /* enum gt_operand_buf */
	uint8_t flags;  /* GT_OPERAND_* */
	uint16_t conn;  /* index into the program's connections */
	uint32_t chunk; /* of the buffer; unused for a FIFO */
};

/*
 * One step.  Sources come first, then destinations; source 0 is reduced first.
 */
struct gt_step {
	uint8_t op; /* enum gt_op */
	uint8_t nsrc;
	uint8_t ndst;
	uint8_t flags;  /* GT_STEP_* */
	uint32_t chunk; /* the length of this chunk's slice is moved */
	uint32_t id;    /* position in the program, for messages */
	uint32_t pair;  /* flows: whose block it is, from * nranks + to */
	struct gt_operand operand[GT_STEP_OPERANDS];
};

GT_STATIC_ASSERT(sizeof(struct gt_operand) == 8, "operand is 8 bytes");
GT_STATIC_ASSERT(sizeof(struct gt_step) == 64, "step is 64 bytes");

/*
 * The number of records that a step takes up, with those for operands that do
 * not fit in the first one.
 */
GT_HD static inline uint32_t gt_step_nrecords(const struct gt_step *step)
{
	uint32_t n = (uint32_t)step->nsrc + step->ndst;

	return n ? (n + GT_STEP_OPERANDS - 1) / GT_STEP_OPERANDS : 1;
}

/*
 * Operand i of a step, in whichever of its records it is; sources come first.
 */
GT_HD static inline const struct gt_operand *gt_step_operand(
	const struct gt_step *step, uint32_t i)
{
	return &step[i / GT_STEP_OPERANDS].operand[i % GT_STEP_OPERANDS];
}

/*
 * One end of a FIFO.  A rank may be connected with itself: one of its lanes
 * then waits for another.  The two ends of a connection agree on (channel,
 * from, to, tag); tag tells apart several FIFOs between the same two ranks.
 */
struct gt_conn {
	uint32_t peer; /* the other rank */
	uint16_t tag;
	uint8_t sends; /* 1: this rank writes, 0: it reads */
	uint8_t reserved;
};

/*
 * A program is what one rank does on one lane of one channel.  Lanes of a
 * channel share its layout and otherwise run on their own, each with its own
 * connections, so that a tree's way up and its way down do not wait for each
 * other.  The arrays belong to whoever lowered it.
 */
struct gt_program {
	uint32_t rank;
	uint32_t channel;
	uint32_t lane;
	uint32_t nchunks;  /* chunk numbers are below this */
	uint32_t nscratch; /* numbers of scratch places are below this */
	uint32_t nconns;
	uint32_t nsteps;
	struct gt_conn *conns;
	struct gt_step *steps;
};

/*
 * How chunk numbers become elements.
 *
 * All offsets are in the index space of the whole buffer of the collective, M
 * elements, which is one block of count elements (all-reduce, broadcast,
 * reduce, send and receive) or nranks of them (the others).  Block r belongs
 * to rank r; of an all-to-all's input it is for rank r, of its output from
 * rank r.  A rank's input of all-gather and gather, and its output of
 * reduce-scatter and scatter, hold only its own block: their first element
 * has index rank * block_elems.
 *
 * The channel has elements [lo, hi) of every block.  They are divided evenly
 * into per_block chunks, which are numbered through all blocks.
 *
 * Where an all-to-all has a demand (plan/ir/demand.h) a block is as long as the
 * largest, of which a pair has the beginning; lo and hi differ from pair to
 * pair then, and a step says whose block it moves.
 */
struct gt_layout {
	uint64_t block_elems;
	uint64_t lo, hi;
	uint32_t nchunks;
	uint32_t per_block;
	uint32_t nworkers;
	uint32_t align_elems; /* cuts fall on multiples of this */
	uint32_t slice_elems;
	uint32_t loops; /* the same for all workers and ranks */
};

/* What a channel has of the block of one pair, where blocks differ. */
struct gt_layout_span {
	uint64_t lo, hi;
};

/* The layout as it is for a pair's block; spans NULL: blocks are alike. */
GT_HD static inline struct gt_layout gt_layout_of_pair(
	const struct gt_layout *lay, const struct gt_layout_span *spans,
	uint32_t pair)
{
	struct gt_layout own = *lay;

	if (spans) {
		own.lo = spans[pair].lo;
		own.hi = spans[pair].hi;
	}
	return own;
}

struct gt_range {
	uint64_t offset; /* elements, in the whole buffer's index space */
	uint64_t count;
};

/*
 * The start of part i of n of len elements, on a multiple of align; part n
 * starts at len.  Quotient and remainder first, so that nothing overflows for
 * any len below 2^63 and n below 2^31.
 */
GT_HD static inline uint64_t gt_cut(uint64_t len, uint32_t i, uint32_t n,
				    uint32_t align)
{
	uint64_t at;

	if (i >= n)
		return len;
	at = len / n * i + len % n * i / n;
	return at - at % align;
}

/* The whole part that a worker has of a chunk. */
GT_HD static inline struct gt_range gt_layout_part(const struct gt_layout *lay,
						   uint32_t chunk,
						   uint32_t worker)
{
	uint32_t block = chunk / lay->per_block, at = chunk % lay->per_block;
	uint64_t len = lay->hi - lay->lo, lo, begin, end;
	struct gt_range part;

	begin = gt_cut(len, at, lay->per_block, lay->align_elems);
	end = gt_cut(len, at + 1, lay->per_block, lay->align_elems);
	lo = lay->lo + block * lay->block_elems + begin;
	len = end - begin;
	begin = gt_cut(len, worker, lay->nworkers, lay->align_elems);
	end = gt_cut(len, worker + 1, lay->nworkers, lay->align_elems);
	part.offset = lo + begin;
	part.count = end - begin;
	return part;
}

/* Slice `loop` of the worker's part of a chunk; its count is 0 past the end. */
GT_HD static inline struct gt_range gt_layout_slice(const struct gt_layout *lay,
						    uint32_t chunk,
						    uint32_t worker,
						    uint32_t loop)
{
	struct gt_range part = gt_layout_part(lay, chunk, worker);
	uint64_t skip = (uint64_t)loop * lay->slice_elems;

	if (skip > part.count)
		skip = part.count;
	part.offset += skip;
	part.count -= skip;
	if (part.count > lay->slice_elems)
		part.count = lay->slice_elems;
	return part;
}

#endif
