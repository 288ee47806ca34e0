/*
 * Why a request was aborted: who stopped, and who waited for it.
 */
#ifndef GT_EXEC_CUDA_DIAGNOSE_H
#define GT_EXEC_CUDA_DIAGNOSE_H

#include <stdint.h>

struct gt_engine;
struct gt_err;

/*
 * GT_ESYS, naming the rank that the others waited for, or when nobody waited
 * the one that was late (nranks: none was).
 */
int gt_cuda_diagnose(const struct gt_engine *engine, uint32_t late,
		     struct gt_err *err);

#endif
