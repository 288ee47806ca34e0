/*
 * Streams of captures.  One that takes part in a capture is bound to it until
 * the capture ends: what is in none, or in another one, may not use it
 * meanwhile.  So what is captured has streams of its own in the place of those
 * beside a rank's, which all requests share.
 */
#ifndef GT_EXEC_CUDA_P2P_CAPTURES_H
#define GT_EXEC_CUDA_P2P_CAPTURES_H

#include <cuda_runtime_api.h>
#include <stdint.h>

struct gt_engine;

/*
 * Which capture is a stream in?  0: none.  An error of CUDA's, also where the
 * capture was invalidated and nothing can be captured any more.
 */
cudaError_t gt_cuda_capture_find(cudaStream_t stream, unsigned long long *id);

/*
 * A request is about to be put on the rank's stream and on those beside it.
 * The rank's GPU is the current one.  What such a capture has not had before
 * is made, in relaxed capture mode.  A cudaError_t.
 */
int gt_cuda_capture_enter(struct gt_engine *engine, uint32_t rank);

/* It was put, or not; also without an _enter() before. */
void gt_cuda_capture_leave(struct gt_engine *engine, uint32_t rank);

/* Nothing is captured any more. */
void gt_cuda_captures_release(struct gt_engine *engine);

#endif
