/*
 * Threads that carry slices of links while kernels run.  GPUs ring no bells, so
 * these look; on callers' streams for as long as the engine lives, and more and
 * more rarely until gt_cuda_proxy_wake().
 */
#ifndef GT_EXEC_CUDA_PROXY_H
#define GT_EXEC_CUDA_PROXY_H

struct gt_engine;
struct gt_err;

int gt_cuda_proxy_start(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_proxy_wake(struct gt_engine *engine);
void gt_cuda_proxy_stop(struct gt_engine *engine);

#endif
