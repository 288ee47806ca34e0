/*
 * The GPU side as C sees it: plain structures that live in device memory and
 * launchers that return a cudaError_t as int.  Nothing here blocks or
 * allocates; everything is enqueued on the stream given, on the current
 * device.  All pointers are valid on that device.
 *
 * The interpreter runs one block per worker of a channel.  A block has
 * `threads` threads that move bytes and two warps more: one waits for flags
 * and prepares slices ahead, one posts flags of slices that were moved.
 */
#ifndef GT_KERNELS_KERNELS_H
#define GT_KERNELS_KERNELS_H

#include <stdint.h>

#include "base/dtype.h"
#include "kernels/pattern.h"
#include "plan/program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum {
	GT_KERNEL_CONTROL_THREADS = 64, /* besides the moving ones */
	GT_KERNEL_MAX_THREADS = 512,    /* moving ones, multiple of 32 */
	GT_KERNEL_SLOT_ALIGN = 128,
	GT_KERNEL_SLOT_EXTRA = 128, /* slot pitch = slice bytes + this */
};

/* One end of a worker's FIFO. */
struct gt_kernel_conn {
	char *slots;    /* in the receiver's memory */
	uint64_t *wait; /* own memory: data if it receives, credit if not */
	uint64_t *post; /* the other end's counter */
	uint64_t base;  /* slices before this launch; the kernel adds */
	uint32_t uses;  /* slices per pass of the program */
	uint32_t peer;
	uint32_t sends;
	uint32_t reserved;
};

/*
 * One channel of a rank.  In `steps`, the chunk of a FIFO operand is the
 * number of slices its connection carried before it in the same pass.
 */
struct gt_kernel_channel {
	struct gt_layout layout;
	const struct gt_step *steps;
	struct gt_kernel_conn *conns; /* [worker][nconns] */
	uint32_t nsteps;
	uint32_t nconns;
};

/* Why a block waits; one per block, in host memory, written when it lasts. */
struct gt_kernel_report {
	uint32_t state; /* enum gt_kernel_state */
	uint32_t peer;
	uint32_t channel;
	uint32_t step; /* the step's id */
	uint64_t slice;
};

enum gt_kernel_state {
	GT_KERNEL_SILENT,      /* nothing to tell */
	GT_KERNEL_WAIT_DATA,   /* for the peer's data */
	GT_KERNEL_WAIT_CREDIT, /* for the peer to make room */
};

/* In host memory, mapped; shared by the host and all ranks. */
struct gt_kernel_watch {
	uint32_t abort; /* not 0: everyone ends at once */
};

enum gt_kernel_fault {
	GT_KERNEL_FAULT_NONE,
	GT_KERNEL_FAULT_STALL,
	GT_KERNEL_FAULT_EXIT,
};

/* One launch of one rank. */
struct gt_kernel_args {
	struct gt_kernel_channel *channels;
	struct gt_kernel_watch *watch;
	struct gt_kernel_report *reports; /* of this rank's blocks */
	const void *input;
	void *output;
	uint64_t input_first; /* index of the input's first element */
	uint64_t output_first;
	uint64_t timeout_ns; /* of one wait */
	uint64_t fault_slice;
	uint32_t fault; /* enum gt_kernel_fault */
	uint32_t op;    /* enum gt_redop */
	uint32_t nranks;
	uint32_t nchannels;
	uint32_t nworkers;
	uint32_t nslots;
	uint32_t slot_pitch; /* bytes */
	uint32_t turn;       /* slices of a step before the next, >= 1 */
	uint32_t threads;    /* that move */
	uint32_t shared_bytes;
};

/* Shared memory for a program of this size. */
static inline uint32_t gt_kernel_shared_bytes(uint32_t nsteps, uint32_t nconns,
					      uint32_t nchunks)
{
	return nsteps * (uint32_t)sizeof(struct gt_step) +
	       nconns * (uint32_t)(sizeof(struct gt_kernel_conn) + 8) +
	       nchunks * (uint32_t)sizeof(struct gt_range);
}

/* Load the kernels on the current device and allow shared_bytes. */
int gt_kernel_prepare(enum gt_dtype dtype, uint32_t shared_bytes);

int gt_kernel_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		  struct CUstream_st *stream);

/* A range of test data, in the whole buffer's index space. */
struct gt_kernel_data {
	struct gt_pattern pattern;
	void *data;
	uint64_t first; /* index of data[0] */
	uint64_t count;
	uint64_t block_elems; /* check: of an all-gather */
	uint64_t *wrong;      /* check adds to it; device memory */
	uint32_t rank;        /* fill: whose contribution */
};

int gt_kernel_fill(const struct gt_kernel_data *data,
		   struct CUstream_st *stream);
int gt_kernel_check(const struct gt_kernel_data *data,
		    struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
