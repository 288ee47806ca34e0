/*
 * Which processes reach each other's memory, and by which means: it is found out
 * by making the first region.
 */
#ifndef GT_EXEC_CUDA_DEVICE_PEERS_H
#define GT_EXEC_CUDA_DEVICE_PEERS_H

struct gt_engine;
struct gt_err;

/* Make the data region; sets engine->reachable and all_peers_reachable. */
int gt_cuda_peers_probe(struct gt_engine *engine, struct gt_err *err);

#endif
