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
#include "plan/plan.h"

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

enum {
	GT_CUDA_FLAG_WORDS = 16,
	GT_CUDA_LINE_BYTES = 128,
	GT_CUDA_PIECES = 32, /* of a block for copy engines, at most */
	/* Of a mailbox, for one sender: kernels.h. */
	GT_CUDA_LL_PART_BYTES = 512 << 10,
	GT_CUDA_LL128_PART_BYTES = 4608 << 10,
};

struct gt_cuda_rank {
	int device;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	char *input, *output; /* each config.max_bytes */
	uint64_t *wrong;
	struct gt_kernel_report *reports; /* [nblocks], host */
	/* Of flows, on the device: */
	char *mail[2]; /* of packets: ll, ll128 */
	uint64_t *flags;
	struct gt_kernel_epoch *epoch;
	/* Of copy engines: */
	cudaStream_t side; /* reduces */
	cudaEvent_t done, reduced[GT_CUDA_PIECES];
	char *scratch;
	uint64_t scratch_bytes;
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
	uint32_t flows;      /* bits: the same for kernels of flows */
	struct gt_way way;   /* the request's that runs */
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

/* The plan's row for a request; can its channels run on GPUs? */
const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_request *req);
int gt_cuda_task_can(const struct gt_engine *engine,
		     const struct gt_request *req);
void gt_cuda_task_release(struct gt_engine *engine);

/* Set the layouts of a request; loads the type's kernels. */
int gt_cuda_task_layout(struct gt_engine *engine, const struct gt_request *req,
			struct gt_err *err);

/*
 * How to carry a request: what it asks for, or the fastest that is known.
 * GT_EINPUT when that is not possible.
 */
int gt_cuda_way_of(const struct gt_engine *engine, const struct gt_request *req,
		   struct gt_way *way, struct gt_err *err);

/* A rank's part in a collective between GPUs that all reach each other. */
struct gt_flow gt_cuda_flow_of(const struct gt_engine *engine,
			       const struct gt_request *req, enum gt_algo algo,
			       uint32_t rank);

/* Do packets of this way fit in the mailboxes? */
int gt_cuda_flow_fits(const struct gt_engine *engine,
		      const struct gt_request *req, const struct gt_way *way);

/* What a request's flow needs on all ranks, unless it is there. */
int gt_cuda_flow_need(struct gt_engine *engine, const struct gt_request *req,
		      struct gt_err *err);
int gt_cuda_ce_need(struct gt_engine *engine, const struct gt_request *req,
		    struct gt_err *err);
void gt_cuda_ce_release(struct gt_engine *engine);
void gt_cuda_flow_release(struct gt_engine *engine);

struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank);

/* In place, what comes would replace what has yet to go: it is copied first. */
int gt_cuda_flow_replaces(const struct gt_request *req);

/* One rank's kernel of engine->way; a cudaError_t. */
int gt_cuda_flow_launch(const struct gt_engine *engine,
			const struct gt_request *req, uint32_t rank);

/* The same by copy engines. */
int gt_cuda_ce_launch(const struct gt_engine *engine,
		      const struct gt_request *req, uint32_t rank);

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
