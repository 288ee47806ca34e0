/*
 * The inside of the CUDA engine: one process, one GPU a rank, all local.
 *
 * open maps ranks to devices and allocates their buffers; the programs and
 * FIFOs of a collective are built at its first use and kept; run launches one
 * interpreter kernel a rank from one host thread a rank, and watches them.
 */
#ifndef GT_EXEC_CUDA_ENGINE_H
#define GT_EXEC_CUDA_ENGINE_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/engine.h"
#include "kernels/kernels.h"

struct gt_arena;
struct gt_err;

/* One collective's programs, on one rank. */
struct gt_cuda_task {
	struct gt_program *programs;        /* [nchannels], host */
	struct gt_kernel_channel *image;    /* [nchannels], host */
	struct gt_kernel_channel *channels; /* the same on the device */
	struct gt_kernel_conn *conns; /* device: [channel][worker][conn] */
	uint32_t *conn_at; /* [nchannels + 1]: where a channel's conns begin */
	struct gt_step *steps;
	uint64_t *flags;   /* device, GT_CUDA_FLAG_WORDS apart, one a conn */
	uint32_t *fifo_at; /* [nchannels + 1]: where its FIFOs begin */
	char *slots;       /* device, one FIFO a receiving conn */
};

enum { GT_CUDA_FLAG_WORDS = 16 };

struct gt_cuda_rank {
	int device;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	char *input, *output; /* each config.max_bytes */
	uint64_t *wrong;
	struct gt_kernel_report *reports; /* [nblocks], host */
	struct gt_cuda_task tasks[GT_NCOLLS];
};

/* How a request is cut; see gt_cuda_cut_of(). */
struct gt_cuda_cut {
	uint32_t workers; /* per channel */
	uint32_t slice_bytes;
	uint32_t turn;
};

struct gt_engine {
	struct gt_engine_config config; /* the caller's */
	const struct gt_plan *plan;
	struct gt_arena *arena;
	struct gt_cuda_rank *ranks;
	struct gt_kernel_watch *watch;    /* host, mapped */
	struct gt_kernel_report *reports; /* host, mapped: all ranks' */
	struct gt_cuda_cut most;          /* what FIFOs have room for */
	struct gt_cuda_cut cut;           /* the request's that runs */
	uint32_t *sel; /* [nchannels]: the channels that carry the request */
	uint32_t nsel;
	uint32_t threads;
	uint32_t nslots;
	uint32_t slot_pitch;
	uint32_t nblocks;    /* per rank, at most */
	uint32_t processors; /* of the GPU that has the fewest */
	uint32_t ready;      /* bits: collectives whose tasks are built */
	uint32_t loaded;     /* bits: types whose kernels are loaded */
	uint32_t shared_bytes;
};

/* Where a rank's data of a request lie. */
struct gt_cuda_span {
	char *input, *output;
	uint64_t input_first, output_first;
	uint64_t input_count, output_count;
};

struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_request *req,
				    uint32_t rank);

/* GT_ESYS in words: "rank 2 (0000:00:08.0): cannot ...: out of memory". */
int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err);

/* Ranks to devices by bus id, or by number; refuses what cannot work. */
int gt_cuda_map(struct gt_engine *engine, struct gt_err *err);

/* Make all choices that the caller left open; GT_EINPUT for wrong ones. */
int gt_cuda_choose(struct gt_engine *engine, struct gt_err *err);

/* The best cut for a request, within what was chosen. */
struct gt_cuda_cut gt_cuda_cut_of(const struct gt_engine *engine,
				  const struct gt_request *req);

/* Build the collective's programs and FIFOs unless they are there. */
int gt_cuda_task_need(struct gt_engine *engine, enum gt_coll coll,
		      struct gt_err *err);
void gt_cuda_task_release(struct gt_engine *engine);

/* Set the layouts of a request; loads the type's kernels. */
int gt_cuda_task_layout(struct gt_engine *engine, const struct gt_request *req,
			struct gt_err *err);

/* engine_ops.run. */
int gt_cuda_run(struct gt_engine *engine, const struct gt_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err);

/*
 * After an abort: GT_ESYS, naming the rank that the others waited for, or
 * when nobody waited the one that was late (nranks: none was).
 */
int gt_cuda_blame(const struct gt_engine *engine, uint32_t late,
		  struct gt_err *err);

#endif
