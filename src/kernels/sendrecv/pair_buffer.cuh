/*
 * All threads of a block together copy one piece of a message (sendrecv.h),
 * when it is known that there is room or data.
 */
#ifndef GT_KERNELS_SENDRECV_PAIR_BUFFER_CUH
#define GT_KERNELS_SENDRECV_PAIR_BUFFER_CUH

#include "kernels/sendrecv.h"
#include "kernels/device/flag.cuh"
#include "kernels/device/wait.cuh"

/*
 * Returns whether this thread posts flags; it is not one of those that look for
 * what to do next.
 */
static __device__ __forceinline__ bool gt_is_poster(void)
{
	return threadIdx.x == GT_SENDRECV_THREADS - 1;
}

static __device__ __forceinline__ bool gt_ll_line_is_here(uint4 line,
							  uint32_t flag)
{
	return line.y == flag && line.w == flag;
}

/* 16 bytes that are loaded as L and stored as S. */
template <class L, class S> union gt_pack {
	L in[16 / sizeof(L)];
	S out[16 / sizeof(S)];
};

/* The number of packs in flight per thread. */
template <class L, class S>
constexpr uint32_t GT_PACKS = sizeof(L) + sizeof(S) == 32 ? 8 : 1;

/*
 * Copies where one side is aligned and the user's may lie anywhere. Loads go
 * past L1: pair buffers were written by other GPUs, and cached lines of them
 * are old.
 */
template <class L, class S>
static __device__ __forceinline__ void gt_copy(char *to, const char *from,
					       uint32_t bytes)
{
	uint32_t full = bytes / 16;

	for (uint32_t i = threadIdx.x; i < full;
	     i += GT_PACKS<L, S> * GT_SENDRECV_THREADS) {
		gt_pack<L, S> packs[GT_PACKS<L, S>];

#pragma unroll
		for (uint32_t k = 0; k < GT_PACKS<L, S>; k++) {
			uint32_t at = i + k * GT_SENDRECV_THREADS;

			for (uint32_t p = 0; p < 16 / sizeof(L); p++)
				if (at < full)
					packs[k].in[p] = __ldcg(
						(const L *)(from + at * 16) +
						p);
		}
#pragma unroll
		for (uint32_t k = 0; k < GT_PACKS<L, S>; k++) {
			uint32_t at = i + k * GT_SENDRECV_THREADS;

			for (uint32_t p = 0; p < 16 / sizeof(S); p++)
				if (at < full)
					((S *)(to + at * 16))[p] =
						packs[k].out[p];
		}
	}
	for (uint32_t i = full * 16 + threadIdx.x; i < bytes;
	     i += GT_SENDRECV_THREADS)
		to[i] = __ldcg(from + i);
}

/*
 * Copies to the peer with stores of 16 bytes over the link, wherever the source
 * begins.
 */
static __device__ __forceinline__ void gt_piece_copy_out(char *to,
							 const char *from,
							 uint32_t bytes)
{
	uint32_t head = (uint32_t)(-(uintptr_t)to % 16);

	if (head > bytes)
		head = bytes;
	if (threadIdx.x < head)
		to[threadIdx.x] = from[threadIdx.x];
	to += head;
	from += head;
	bytes -= head;
	if ((uintptr_t)from % 16 == 0)
		gt_copy<uint4, uint4>(to, from, bytes);
	else if ((uintptr_t)from % 4 == 0)
		gt_copy<uint32_t, uint4>(to, from, bytes);
	else
		gt_copy<uint8_t, uint4>(to, from, bytes);
}

static __device__ __forceinline__ void gt_piece_copy_in(char *to,
							const char *slot,
							uint32_t bytes)
{
	if ((uintptr_t)to % 16 == 0)
		gt_copy<uint4, uint4>(to, slot, bytes);
	else if ((uintptr_t)to % 4 == 0)
		gt_copy<uint4, uint32_t>(to, slot, bytes);
	else
		gt_copy<uint4, uint8_t>(to, slot, bytes);
}

/* Reports that the peer sends something else than this rank receives. */
static __device__ __noinline__ bool gt_msg_mismatched(
	const struct gt_kernel_guard *guard, const struct gt_kernel_message *m,
	uint64_t what)
{
	volatile struct gt_kernel_report *report = &guard->reports[blockIdx.x];

	report->peer = m->peer;
	report->channel = 0;
	report->step = GT_SENDRECV_RECEIVES;
	report->slice = what >> 8;
	report->state = GT_KERNEL_MISMATCH;
	__threadfence_system();
	gt_watch_abort(guard->watch);
	return false;
}

#endif
