/*
 * The times that kernels of peer-to-peer collectives, and copies, noted of one
 * operation of a rank become steps of a trace.
 *
 * Lane 0 has copies; lane n + 1 has the blocks of the n-th kernel, each stage a
 * step; behind the last kernel's, a lane has a worker for each peer that is
 * watched: when its packets came.
 */
#ifndef GT_EXEC_TRACE_P2P_H
#define GT_EXEC_TRACE_P2P_H

#include <stdint.h>

#include "kernels/kernels.h"

struct gt_trace;

enum { GT_TRACE_TRANSFERS_MAX = 2 * GT_P2P_RANKS };

/* A copy, or bytes that kernels move. */
struct gt_trace_transfer {
	uint64_t bytes;
	int64_t begin_ns, end_ns; /* of a copy; base/clock.h */
	uint32_t from, to;        /* ranks; of kernels each pair once */
	/* The other rank's kernel moves more meanwhile, so its time counts. */
	int beside;
};

struct gt_trace_p2p {
	/* [kernel][block][GT_P2P_STAGES][GT_P2P_RANKS]; of the watched one
	 * only block 0: stages are parts of mailboxes. */
	const struct gt_kernel_mark *marks;
	uint32_t nkernels;
	uint32_t nblocks; /* of a kernel, at most */
	int watched;      /* the last of the kernels */
	uint32_t rank, nranks;
	int64_t ahead_ns; /* of the GPU's clock against base/clock.h */
	const struct gt_trace_transfer *moved; /* by the blocks of kernel 0 */
	uint32_t nmoved; /* GT_TRACE_TRANSFERS_MAX at most */
	const struct gt_trace_transfer
		*copies; /* in the order of their begins */
	uint32_t ncopies;
};

void gt_trace_add_p2p(const struct gt_trace_p2p *p2p, struct gt_trace *trace);

#endif
