/* A slot is 16 bytes of data and flags that travel together in one store. */
#ifndef GT_KERNELS_DEVICE_SLOT_CUH
#define GT_KERNELS_DEVICE_SLOT_CUH

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
