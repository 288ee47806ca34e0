/*
 * Moving one slice: reduce the sources, write every destination, in one pass.
 *
 * All movers of a block share a task.  Where sources and destinations lie at
 * the same distance from a 16-byte boundary, packs of 16 bytes are moved,
 * GT_UNROLL a thread before the first is used, and single elements at both
 * ends; else single elements throughout.
 */
#ifndef GT_KERNELS_DEVICE_MOVE_CUH
#define GT_KERNELS_DEVICE_MOVE_CUH

#include "kernels/kernels.h"
#include "kernels/device/reduce.cuh"
#include "kernels/device/total.cuh"

#ifndef GT_UNROLL
#define GT_UNROLL 4
#endif

struct gt_task {
	char *at[GT_KERNEL_OPERANDS]; /* sources, then destinations */
	uint32_t count;               /* elements */
	uint32_t nsrc, ndst;
	uint32_t divide; /* by this, at the end; 0: don't */
	uint32_t stop;   /* no task: leave */
};

/*
 * Loads go past L1, since slots are rewritten by other GPUs and nothing is read
 * twice.
 */
static __device__ __forceinline__ uint4 gt_pack_load(const char *at)
{
	uint4 v;

	asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "l"(at));
	return v;
}

static __device__ __forceinline__ void gt_pack_store(char *at, uint4 v)
{
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at),
		     "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
		     : "memory");
}

/* Elements before the first pack, packs, elements behind the last. */
struct gt_cuts {
	uint32_t head, packs, tail;
};

template <class T>
static __device__ __forceinline__ struct gt_cuts gt_task_cuts(
	const struct gt_task *task)
{
	const uint32_t per = 16 / sizeof(T);
	uint64_t first = (uint64_t)task->at[0], differ = 0;
	struct gt_cuts cuts;

	for (uint32_t i = 1; i < task->nsrc + task->ndst; i++)
		differ |= ((uint64_t)task->at[i] ^ first) & 15;
	cuts.head = (uint32_t)(-first & 15) / sizeof(T);
	if (differ || cuts.head > task->count)
		cuts.head = task->count;
	cuts.packs = (task->count - cuts.head) / per;
	cuts.tail = task->count - cuts.head - cuts.packs * per;
	return cuts;
}

/* Moves element i of any number of sources to any number of destinations. */
template <class T, class R>
static __device__ __forceinline__ void gt_move_element(
	const struct gt_task *task, uint32_t i)
{
	typedef typename gt_held<T, R>::type held;
	T v = ((const T *)task->at[0])[i];

	if (task->nsrc > 1 || task->divide) {
		held total = (held)v;

		for (uint32_t s = 1; s < task->nsrc; s++)
			total = R::one(total,
				       (held)((const T *)task->at[s])[i]);
		if (task->divide)
			total = gt_divide<held>(total, task->divide);
		v = (T)total;
	}
	for (uint32_t d = 0; d < task->ndst; d++)
		((T *)task->at[task->nsrc + d])[i] = v;
}

template <class T, class R>
static __device__ __noinline__ void gt_move_ends(const struct gt_task *task,
						 struct gt_cuts cuts,
						 uint32_t self,
						 uint32_t threads)
{
	uint32_t behind = task->count - cuts.tail;

	for (uint32_t i = self; i < cuts.head; i += threads)
		gt_move_element<T, R>(task, i);
	if (self < cuts.tail)
		gt_move_element<T, R>(task, behind + self);
}

/* Moves U packs from `at` on, which are 32 packs apart. */
template <class T, class R, int NSRC, int NDST, int U>
static __device__ __forceinline__ void gt_move_packs(char *const p[NSRC + NDST],
						     uint64_t at)
{
	uint4 v[U], w[U];

#pragma unroll
	for (int u = 0; u < U; u++)
		v[u] = gt_pack_load(p[0] + at + u * 512);
	if (NSRC == 2) {
#pragma unroll
		for (int u = 0; u < U; u++)
			w[u] = gt_pack_load(p[1] + at + u * 512);
#pragma unroll
		for (int u = 0; u < U; u++)
			v[u] = gt_combine<T, R>::packs(v[u], w[u]);
	}
#pragma unroll
	for (int d = 0; d < NDST; d++)
#pragma unroll
		for (int u = 0; u < U; u++)
			gt_pack_store(p[NSRC + d] + at + u * 512, v[u]);
}

/* Moves with one or two sources and one or two destinations, as rings do. */
template <class T, class R, int NSRC, int NDST>
static __device__ __noinline__ void gt_move_fast(const struct gt_task *task,
						 uint32_t self,
						 uint32_t threads)
{
	const uint32_t hunk = 32 * GT_UNROLL;
	struct gt_cuts cuts = gt_task_cuts<T>(task);
	uint32_t i = self / 32 * hunk;
	char *p[NSRC + NDST];

#pragma unroll
	for (int o = 0; o < NSRC + NDST; o++)
		p[o] = task->at[o] + cuts.head * sizeof(T);
	for (; i + hunk <= cuts.packs; i += threads / 32 * hunk)
		gt_move_packs<T, R, NSRC, NDST, GT_UNROLL>(
			p, (i + self % 32) * (uint64_t)16);
	for (i = cuts.packs / hunk * hunk + self; i < cuts.packs; i += threads)
		gt_move_packs<T, R, NSRC, NDST, 1>(p, i * (uint64_t)16);
	if (cuts.head | cuts.tail)
		gt_move_ends<T, R>(task, cuts, self, threads);
}

/*
 * Moves with other numbers of sources or destinations, or with avg's division.
 */
template <class T, class R>
static __device__ __noinline__ void gt_move_any(const struct gt_task *task,
						uint32_t self, uint32_t threads)
{
	struct gt_cuts cuts = gt_task_cuts<T>(task);
	uint64_t skip = cuts.head * sizeof(T);
	bool only_moves = task->nsrc == 1 && !task->divide;

	for (uint32_t i = self; i < cuts.packs; i += threads) {
		uint64_t at = skip + i * (uint64_t)16;
		uint4 v = gt_pack_load(task->at[0] + at);

		if (!only_moves) {
			gt_total<T, R> total;

			total.clear();
			total.add(v, true);
			for (uint32_t s = 1; s < task->nsrc; s++)
				total.add(gt_pack_load(task->at[s] + at),
					  false);
			v = total.end(task->divide);
		}
		for (uint32_t d = 0; d < task->ndst; d++)
			gt_pack_store(task->at[task->nsrc + d] + at, v);
	}
	gt_move_ends<T, R>(task, cuts, self, threads);
}

template <class T, class R>
static __device__ __forceinline__ void gt_move_reduce(
	const struct gt_task *task, uint32_t self, uint32_t threads)
{
	if (task->nsrc == 2 && task->ndst == 1 && !task->divide)
		gt_move_fast<T, R, 2, 1>(task, self, threads);
	else if (task->nsrc == 2 && task->ndst == 2 && !task->divide)
		gt_move_fast<T, R, 2, 2>(task, self, threads);
	else
		gt_move_any<T, R>(task, self, threads);
}

template <class T>
static __device__ __forceinline__ void gt_move(const struct gt_task *task,
					       uint32_t op, uint32_t self,
					       uint32_t threads)
{
	if (task->nsrc == 1 && task->ndst == 1 && !task->divide)
		gt_move_fast<T, gt_sum<T>, 1, 1>(task, self, threads);
	else if (task->nsrc == 1 && task->ndst == 2 && !task->divide)
		gt_move_fast<T, gt_sum<T>, 1, 2>(task, self, threads);
	else if (op == GT_REDOP_PROD)
		gt_move_reduce<T, gt_prod<T>>(task, self, threads);
	else if (op == GT_REDOP_MIN)
		gt_move_reduce<T, gt_min<T>>(task, self, threads);
	else if (op == GT_REDOP_MAX)
		gt_move_reduce<T, gt_max<T>>(task, self, threads);
	else
		gt_move_reduce<T, gt_sum<T>>(task, self, threads);
}

#endif
