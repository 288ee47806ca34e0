/*
 * Flags between GPUs and between the warps of a block.
 *
 * A FIFO counter has one writer.  Fence and post: all that the block did
 * before, as far as a gate let the poster know, is ordered before the
 * counter's new value, at system scope (NVLink, PCIe).  Read: once the value
 * is there, what the writer did before is visible to this thread, and through
 * a gate to its block.  docs/design/engine-gpu.md has the whole chain.
 */
#ifndef GT_KERNELS_DEVICE_FLAG_CUH
#define GT_KERNELS_DEVICE_FLAG_CUH

#include <stdint.h>

#include "kernels/kernels.h"

static __device__ __forceinline__ uint64_t gt_flag_read(const uint64_t *flag)
{
	uint64_t value;

	asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
		     : "=l"(value)
		     : "l"(flag)
		     : "memory");
	return value;
}

static __device__ __forceinline__ void gt_flag_fence(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/*
 * Posts a value; gt_flag_fence() goes before, and one fence may cover several
 * posts.
 */
static __device__ __forceinline__ void gt_flag_post(uint64_t *flag,
						    uint64_t value)
{
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag),
		     "l"(value)
		     : "memory");
}

static __device__ __forceinline__ uint64_t gt_now_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

static __device__ __forceinline__ bool gt_watch_aborted(
	const struct gt_kernel_watch *watch)
{
	return *(volatile const uint32_t *)&watch->abort != 0;
}

static __device__ __forceinline__ void gt_watch_abort(
	struct gt_kernel_watch *watch)
{
	*(volatile uint32_t *)&watch->abort = 1;
	__threadfence_system();
}

/*
 * Tasks pass between the roles of a block through named barriers; barrier 0
 * is __syncthreads()'s.  A gate opens when n threads have come to it; who
 * arrives goes on, who waits then sees all that the others did before.  Warps
 * come whole.
 */
enum : uint32_t {
	GT_TASKS = 4,      /* prepared ahead */
	GT_GATE_READY = 1, /* scheduler to movers: a task is there */
	GT_GATE_DONE = 5,  /* movers to poster: it was done */
	GT_GATE_FREE = 9,  /* poster to scheduler: its place is free */
};

static __device__ __forceinline__ void gt_gate_arrive(uint32_t gate,
						      uint32_t slice,
						      uint32_t n)
{
	__syncwarp();
	asm volatile("bar.arrive %0, %1;" ::"r"(gate + slice % GT_TASKS), "r"(n)
		     : "memory");
}

static __device__ __forceinline__ void gt_gate_wait(uint32_t gate,
						    uint32_t slice, uint32_t n)
{
	__syncwarp();
	asm volatile("bar.sync %0, %1;" ::"r"(gate + slice % GT_TASKS), "r"(n)
		     : "memory");
}

/* A slot is 16 bytes of data and flags that travel together in one store. */
static __device__ __forceinline__ uint4 gt_slot_load(const char *at)
{
	uint4 v;

	asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(at)
		     : "memory");
	return v;
}

static __device__ __forceinline__ void gt_slot_store(char *at, uint4 v)
{
	asm volatile(
		"st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at),
		"r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
		: "memory");
}

#endif
