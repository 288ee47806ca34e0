/*
 * A collective's programs, lowered from the plan.
 */
#ifndef GT_EXEC_CUDA_PROGRAM_H
#define GT_EXEC_CUDA_PROGRAM_H

#include "exec/cuda/device/state.h"

/* How many of the first n connections receive?  Only those have a FIFO. */
uint32_t gt_cuda_conns_receiving(const struct gt_program *program, uint32_t n);

/*
 * Lower the programs of a rank, of any process: where a peer's FIFOs lie
 * follows from its programs.
 */
int gt_cuda_programs_lower(struct gt_engine *engine, enum gt_coll coll,
			   uint32_t rank, struct gt_err *err);

/* Does the plan have programs for it that GPUs can run? */
int gt_cuda_programs_exist(const struct gt_engine *engine, enum gt_coll coll);

#endif
