/*
 * NCCL for comparison, found at run time: nothing here links to it.
 *
 * One thread a GPU while it runs, in one process or several.  Multicast (NVLS)
 * is switched off for the whole process: not every machine may use it.
 * Variants differ by communicator: all of them may be open side by side.
 */
#ifndef GT_BENCH_NCCL_H
#define GT_BENCH_NCCL_H

#include <stddef.h>
#include <stdint.h>

#include "exec/engine.h"

enum gt_nccl_variant {
	GT_NCCL_DEFAULT,
	GT_NCCL_CTAS32,       /* 32 thread blocks */
	GT_NCCL_RING,         /* ring algorithm, Simple protocol */
	GT_NCCL_SYMMETRIC,    /* buffers in symmetric windows */
	GT_NCCL_SYMMETRIC_CE, /* the same, NCCL_CTA_POLICY=2: copy engines */
	/*
	 * From here on algorithm, protocol and number of channels are forced:
	 * "ring/ll128/8".
	 */
	GT_NCCL_FORCED,
	GT_NCCL_NVARIANTS = GT_NCCL_FORCED + 24
};

struct gt_nccl;
struct gt_world;

/* The ranks, rank r on devices[r]; [first, end) are this process's. */
struct gt_nccl_ranks {
	uint32_t nranks, first, end;
	const int *devices;
	struct gt_world *world; /* NULL: this process has all */
	int ctas; /* thread blocks, as by NCCL_MIN_CTAS and NCCL_MAX_CTAS; 0:
		     the variant's */
};

const char *gt_nccl_name(enum gt_nccl_variant variant);

/* Whether a variant does this collective: trees are for all-reduce alone. */
int gt_nccl_does(enum gt_nccl_variant variant, enum gt_coll coll);

/*
 * Communicators with buffers of max_bytes; inputs hold test data.  NULL, in
 * all processes, with a line on stderr when NCCL is not there or fails.
 */
struct gt_nccl *gt_nccl_open(enum gt_nccl_variant variant,
			     const struct gt_nccl_ranks *ranks,
			     uint64_t max_bytes);
void gt_nccl_close(struct gt_nccl *nccl);

/* NCCL's version number, 0 when it is not there. */
int gt_nccl_version(void);

/*
 * n all-reduces as one of NCCL's groups, of all local ranks, on their streams,
 * at successive places of the buffers; NCCL's code, 0: they are enqueued.
 */
int gt_nccl_group(struct gt_nccl *nccl, const struct gt_exec_request *reqs,
		  uint32_t n);

/*
 * A rank's part of a collective on its stream of req->streams, in NCCL's own
 * buffers; NCCL's code, 0: it is enqueued.  A thread of each rank calls it.
 */
int gt_nccl_enqueue(struct gt_nccl *nccl, const struct gt_exec_request *req,
		    uint32_t rank);

/* Those of a rank of this process. */
struct gt_buffers gt_nccl_buffers(const struct gt_nccl *nccl, uint32_t rank);

/* Run iters times; the slowest rank's time, or a negative number. */
int64_t gt_nccl_run(struct gt_nccl *nccl, const struct gt_exec_request *req,
		    uint32_t iters, int graph);

/* Of the last run as a graph, on this process's first rank; -1: not known. */
int gt_nccl_blocks(const struct gt_nccl *nccl);

#endif
