/* What tests tell the simulated run-time of CUDA that they are linked with. */
#ifndef GT_TESTS_GPU_SIMCUDART_H
#define GT_TESTS_GPU_SIMCUDART_H

/*
 * The n-th command from now on that is put on streams which are captured, and
 * all behind it there, find the capture invalidated; 0: none does.
 */
void sim_cuda_invalidate_at(long n);

#endif
