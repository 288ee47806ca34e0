/*
 * Stages: what a rank tells all others of one operation, and waits to hear of
 * them.  A flag holds the number of the operation and the stage in it, and only
 * grows.  There are GT_P2P_RANKS words for each block: *word* w of rank r is
 * where everybody tells r of stages that are numbered together.
 */
#ifndef GT_KERNELS_DEVICE_STAGE_CUH
#define GT_KERNELS_DEVICE_STAGE_CUH

#include "kernels/device/flag.cuh"
#include "kernels/kernels.h"
#include "kernels/device/wait.cuh"

struct gt_stages {
	const struct gt_kernel_guard *guard;
	uint64_t *const *flags; /* of all ranks */
	uint64_t number;        /* of the operation */
	uint32_t me, nranks;
};

static __device__ __forceinline__ uint64_t gt_stage_value(uint64_t number,
							  uint32_t stage)
{
	return number * GT_DIRECT_STAGES + stage;
}

/*
 * Tells rank `peer`, if there is one of that number, that this rank has done
 * what came before a barrier of its threads.
 */
static __device__ __forceinline__ void gt_stage_tell(const struct gt_stages *at,
						     uint32_t peer,
						     uint32_t word,
						     uint32_t stage)
{
	if (peer >= at->nranks || peer == at->me)
		return;
	gt_flag_fence();
	gt_flag_post(at->flags[peer] + word * GT_P2P_RANKS + at->me,
		     gt_stage_value(at->number, stage));
}

/*
 * Waits for a stage of all peers; false means that the operation was aborted. A
 * barrier behind it shows the block's other threads what has arrived.
 */
static __device__ __forceinline__ bool gt_stage_hear(const struct gt_stages *at,
						     uint32_t peer,
						     uint32_t word,
						     uint32_t stage)
{
	uint64_t value = gt_stage_value(at->number, stage);
	struct gt_wait wait = {};
	bool go = true;

	if (peer < at->nranks && peer != at->me) {
		const uint64_t *flag =
			at->flags[at->me] + word * GT_P2P_RANKS + peer;

		while (go && gt_flag_read(flag) < value)
			go = gt_wait_goes_on(at->guard, &wait, peer, stage);
		gt_wait_ends(at->guard, &wait);
	}
	return go;
}

/*
 * Notes for a trace when rank `peer` was heard of, at the begin or at the end.
 */
static __device__ __forceinline__ void gt_stage_mark(const struct gt_stages *at,
						     uint32_t peer, bool end)
{
	if (peer < at->nranks && peer != at->me)
		gt_guard_mark(at->guard, end, peer, GT_MARK_READY);
}

#endif
