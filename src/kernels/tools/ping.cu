/*
 * The latency of a flag: two GPUs answer each other for a number of rounds.
 */
#include "kernels/ping.h"

#include "kernels/device/flag.cuh"

/* The clock is slow to read, so it is not read at every look. */
static __device__ bool gt_ping_wait(const struct gt_ping *ping, uint64_t round,
				    uint64_t begin)
{
	for (uint32_t look = 1; gt_flag_read(ping->mine) < round; look++)
		if (look % 4096 == 0 && gt_now_ns() - begin > ping->limit_ns)
			return false;
	return true;
}

static __global__ void gt_ping_kernel(struct gt_ping ping)
{
	uint64_t begin = gt_now_ns(), start = begin;
	uint64_t last = GT_PING_WARM + ping.rounds;
	bool seen = true;

	for (uint64_t round = 1; round <= last && seen; round++) {
		if (round == GT_PING_WARM + 1)
			start = gt_now_ns();
		if (ping.first)
			gt_flag_post(ping.theirs, round);
		seen = gt_ping_wait(&ping, round, begin);
		if (!ping.first && seen)
			gt_flag_post(ping.theirs, round);
	}
	if (ping.first)
		*ping.ns = seen ? gt_now_ns() - start : 0;
}

int gt_ping_prepare(void)
{
	struct cudaFuncAttributes attr;

	return (int)cudaFuncGetAttributes(&attr, gt_ping_kernel);
}

int gt_ping_run(const struct gt_ping *ping, struct CUstream_st *stream)
{
	gt_ping_kernel<<<1, 1, 0, stream>>>(*ping);
	return (int)cudaGetLastError();
}
