/*
 * Which GPU is whose: by bus id, or by number.
 */
#ifndef GT_EXEC_CUDA_DEVICE_DEVICES_H
#define GT_EXEC_CUDA_DEVICE_DEVICES_H

struct gt_engine;
struct gt_err;

/* Give each rank its device; refuses what cannot work, in all processes alike. */
int gt_cuda_devices_assign(struct gt_engine *engine, struct gt_err *err);

#endif
