/* A kernel that keeps a stream busy until the host says so. */
#include <stdint.h>

static __global__ void gt_spin(const volatile uint32_t *go)
{
	while (!*go)
		__nanosleep(1000);
}

extern "C" int gt_spin_run(const uint32_t *go, struct CUstream_st *stream)
{
	gt_spin<<<1, 1, 0, stream>>>(go);
	return (int)cudaGetLastError();
}
