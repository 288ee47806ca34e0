/*
 * What a rank's part of a request by copy engines consists of, for what goes at
 * once (copy_engine.c) and for pieces that take turns (copy_engine_lanes.c).
 */
#ifndef GT_EXEC_CUDA_P2P_COPY_ENGINE_H
#define GT_EXEC_CUDA_P2P_COPY_ENGINE_H

#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/p2p.h"

enum {
	GT_CE_BEGIN = 1, /* stages; pieces count from here, too */
	GT_CE_SUMMED = GT_DIRECT_STAGES - 2,
	GT_CE_END,
};

/* One rank's part in one operation. */
struct gt_ce {
	const struct gt_engine *engine;
	const struct gt_exec_request *req;
	const struct gt_cuda_rank *me;
	struct gt_p2p flow;
	uint32_t rank;
	uint64_t elem_bytes;
	char *input, *output;
	cudaStream_t copies; /* where they are put */
	cudaError_t rc;      /* the first failure */
};

/* A range of a block, in bytes. */
struct gt_ce_piece {
	uint64_t begin, bytes;
};

struct gt_ce gt_ce_of(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank);

static inline void gt_ce_try(struct gt_ce *at, cudaError_t rc)
{
	if (at->rc == cudaSuccess)
		at->rc = rc;
}

/*
 * Name the i-th other rank: each begins with another, so that nobody gets two.
 */
static inline uint32_t gt_ce_peer(const struct gt_ce *at, uint32_t i)
{
	return (at->rank + i) % at->flow.nranks;
}

/* Let what comes on `to` wait for what is on `from`. */
void gt_ce_after(struct gt_ce *at, cudaStream_t to, cudaStream_t from);

/* Tell the others that a stage is reached, and wait for them. */
void gt_ce_barrier(struct gt_ce *at, uint32_t stage, cudaStream_t stream);

void gt_ce_copy(struct gt_ce *at, char *to, const char *from, uint64_t bytes);

/* Find block d of the input. */
const char *gt_ce_from(const struct gt_ce *at, uint32_t d);

/* Say where rank d keeps what rank s sends it. */
char *gt_ce_scratch(const struct gt_ce *at, uint32_t d, uint32_t s);

/* Copy the own block to its place by a kernel; it takes no detour. */
void gt_ce_keep(struct gt_ce *at);

/* Hold this rank's input for the others, if they get any of it. */
void gt_ce_hold(struct gt_ce *at);

/* Fetch the blocks that others have for this rank, or their sums. */
void gt_ce_pull(struct gt_ce *at, int sums);

/* Send a piece, or all, of rank d's block, to be reduced or taken in there. */
struct gt_ce_piece gt_ce_whole(const struct gt_ce *at, uint32_t b);
void gt_ce_scatter(struct gt_ce *at, uint32_t d, struct gt_ce_piece piece);

/*
 * Behind what was sent so far reduce piece k, when it has come from all.  Where
 * one rank gets the sum, the others tell it that they have sent theirs.
 */
void gt_ce_reduce(struct gt_ce *at, uint32_t k);

#endif
