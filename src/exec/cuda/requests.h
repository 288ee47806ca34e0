/*
 * A request's way: how it is chosen to go, how it comes to ranks' streams, and
 * who runs it there.
 */
#ifndef GT_EXEC_CUDA_REQUESTS_H
#define GT_EXEC_CUDA_REQUESTS_H

#include "exec/cuda/bundle.h"
#include "exec/cuda/device/state.h"

/* tuning.c: by which algorithm and protocol a request goes. */

/*
 * Choose what the request asks for, or the plan, or what is known to be the
 * fastest.  GT_EINPUT when that is not possible.
 */
int gt_cuda_choose_algo(const struct gt_engine *engine,
			const struct gt_exec_request *req,
			struct gt_algo_choice *choice, struct gt_err *err);

/*
 * reserve.c: make all that requests of several processes on callers' streams
 * ever need, so that these need not meet: memory of a fixed size, FIFOs and
 * kernels.  GTOPO_REGION_MIB says how large; GT_EINPUT if that makes no sense.
 */
int gt_cuda_reserve(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_reserve_release(struct gt_engine *engine);

/* Makes what only sums of multiplied inputs need, without a meeting. */
int gt_cuda_reserve_premul(struct gt_engine *engine, struct gt_err *err);

/* When buffers of so many bytes were registered: a meeting, too. */
int gt_cuda_reserve_more(struct gt_engine *engine, uint64_t bytes,
			 struct gt_err *err);

/*
 * pieces.c: a request on callers' streams, in pieces where it is larger than
 * what it goes through.
 */

/*
 * Decide how many elements of a block go at a time, and perhaps to go another
 * way; makes what that needs.  engine->choice and engine->access are set.
 */
int gt_cuda_pieces_prepare(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_err *err);

/* In how many pieces the request goes. */
uint32_t gt_cuda_pieces_number(const struct gt_engine *engine,
			       const struct gt_exec_request *req);

/*
 * Put a rank's part of n pieces, or of those that are left, on its stream; all
 * of them in turn, from 0 on; a cudaError_t.
 */
int gt_cuda_pieces_enqueue(struct gt_engine *engine,
			   const struct gt_exec_request *req, uint32_t rank,
			   uint32_t first, uint32_t n);

/*
 * enqueue.c: one request on the ranks' streams, by whatever it was chosen to
 * go.
 */

/* Choose how a request goes and make what that needs, unless it is there. */
int gt_cuda_prepare(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);

/*
 * Processes come from a meeting at different times.  Can their GPUs wait for
 * one another before the clocks start?
 */
int gt_cuda_starts_together(const struct gt_engine *engine);

/*
 * Put one rank's part on its stream so many times, or fewer after an abort; a
 * cudaError_t.
 */
int gt_cuda_enqueue(const struct gt_engine *engine,
		    const struct gt_exec_request *req, uint32_t rank,
		    uint32_t times);

/*
 * Does a request go through the host's memory in steps, as engine->choice is?
 * Then one thread puts each of them on all local ranks' streams before the
 * next; a cudaError_t.
 */
int gt_cuda_is_staged(const struct gt_engine *engine,
		      const struct gt_exec_request *req);
int gt_cuda_enqueue_staged(const struct gt_engine *engine,
			   const struct gt_exec_request *req);

/*
 * run.c: requests in the engine's own buffers, timed, by a host thread a rank:
 * engine_ops.run.
 */
int gt_cuda_run(struct gt_engine *engine, const struct gt_exec_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err);

/*
 * stream.c: requests on the callers' streams, in the callers' buffers:
 * engine_ops.async.
 */
extern const struct gt_async_ops gt_cuda_async;

/*
 * group.c: requests of a group that go as packets or through scratch wait here
 * for one another, to become one launch of each a GPU.
 */

struct gt_cuda_fusion {
	const struct gt_exec_request *reqs[GT_GROUP_OPS];
	struct gt_bundle_op ops[GT_GROUP_OPS];
	uint32_t n;
	uint32_t max_blocks; /* of a launch: the fewest that one of them may */
};

/* May this request, which gt_cuda_prepare() has seen, share a launch? */
int gt_cuda_fusion_takes(const struct gt_engine *engine,
			 const struct gt_exec_request *req);
void gt_cuda_fusion_add(const struct gt_engine *engine,
			struct gt_cuda_fusion *fusion,
			const struct gt_exec_request *req);

/*
 * Launch those that were added, on all local ranks, in as few launches as they
 * fit in.
 */
int gt_cuda_fusion_flush(struct gt_engine *engine,
			 struct gt_cuda_fusion *fusion, struct gt_err *err);

/* sendrecv.c: messages between ranks, which need not call at the same time. */

/* These are engine_ops.async's. */
int gt_cuda_sendrecv_setup(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_sendrecv(struct gt_engine *engine, uint32_t rank, void *stream,
		     const struct gt_message *messages, uint32_t n,
		     struct gt_err *err);

void gt_cuda_sendrecv_release(struct gt_engine *engine);

/* After an abort: GT_ESYS or GT_EINPUT if a message was the reason. */
int gt_cuda_sendrecv_diagnose(const struct gt_engine *engine,
			      struct gt_err *err);

/* diagnose.c: why a request was aborted: who stopped, and who waited for it. */

/*
 * GT_ESYS, naming the rank that the others waited for, or when nobody waited
 * the one that was late (nranks: none was).
 */
int gt_cuda_diagnose(const struct gt_engine *engine, uint32_t late,
		     struct gt_err *err);

/*
 * trace.c: a run's trace.  Kernels note times in their GPU's memory, by its own
 * clock, which is compared with the host's before; copies stand between events
 * (device/trace_record.h).  Only runs of one iteration are traced.
 */

/* Make room for what is noted, before a run with req->trace. */
int gt_cuda_trace_begin(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);

/* Add what was noted to the trace. */
int gt_cuda_trace_take(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);

/* Give the room back, also after a failure. */
void gt_cuda_trace_end(struct gt_engine *engine);

#endif
