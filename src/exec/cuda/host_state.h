/*
 * All processes of a host share the abort word, the reports of all blocks, and
 * the area in which processes say where their buffers lie.
 */
#ifndef GT_EXEC_CUDA_HOST_STATE_H
#define GT_EXEC_CUDA_HOST_STATE_H

struct gt_engine;
struct gt_err;

/* To be called when engine->nblocks is known: a meeting. */
int gt_cuda_host_state_open(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_host_state_close(struct gt_engine *engine);

#endif
