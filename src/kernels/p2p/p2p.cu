/*
 * Flows, as kernels/p2p.h tells: packets for small ones, direct stores or
 * through scratch for larger ones, all for one element type; and the
 * multiplication that goes before any.
 */
#include "kernels/p2p/direct.cuh"
#include "kernels/p2p/group.cuh"
#include "kernels/p2p/scratch_reduce.cuh"
#include "kernels/p2p/scratch_reduce_group.cuh"
#include "kernels/p2p/premul.cuh"
#include "kernels/p2p/packet.cuh"
#include "kernels/device/type.cuh"
#include "kernels/table.h"

/*
 * That a flow has one shot is known at compile time, since much of the code is
 * about a second one.
 */
static __device__ __forceinline__ void gt_packets_one_shot(
	struct gt_packet_part *part)
{
	struct gt_p2p *flow = &part->flow;

	flow->end = 0;
	flow->via = flow->back = flow->first = 0;
	if (flow->takes != GT_P2P_NOTHING)
		flow->takes = GT_P2P_BLOCKS;
	part->ll_buffer_at = 0;
}

/* One operation in a launch; group.cuh has several. */
template <class T, class R, class P, bool TWO, enum gt_gather G>
__global__ void __launch_bounds__(GT_PACKET_THREADS, 1)
	gt_packet(const __grid_constant__ struct gt_packet_args args)
{
	struct gt_packet_part part = args.part;
	struct gt_ll_context at;
	uint64_t number;

	gt_launch_args(&args);
	if (!TWO)
		gt_packets_one_shot(&part);
	at.guard = &args.guard;
	at.part = TWO ? &args.part : &part;
	at.ll_buffer = args.ll_buffer;
	at.lane = threadIdx.x % 32;
	at.warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	at.warps = gridDim.x * blockDim.x / 32;
	gt_launch_begins();
	if (!gt_guard_passes(&args.guard))
		return;
	/*
	 * The first chunks are loaded while the operation's number is, and sent
	 * with it.
	 */
	number = gt_epoch_peek(args.guard.epoch);
	at.flag = (uint32_t)number;
	gt_guard_mark_own(&args.guard, &args.part.flow, 0, GT_MARK_SINCE);
	gt_packets_send<T, P>(&at);
	gt_epoch_count(args.guard.epoch, number);
	gt_packets_answer<T, R, P, G>(&at);
	gt_guard_mark_own(&args.guard, &args.part.flow, 0, GT_MARK_DONE);
}

static_assert(sizeof(struct gt_scratch_group_args) <= 4096, "kernel arguments");

static_assert(GT_REDOP_SUM == 0 && GT_REDOP_PROD == 1 && GT_REDOP_MIN == 2 &&
		      GT_REDOP_MAX == 3 && GT_REDOP_AVG == 4 &&
		      GT_REDOP_PREMUL == 5 && GT_NREDOPS == 6,
	      "the tables are in the order of operators");

/* avg is a sum that the flow divides, premul one of multiplied inputs. */
#define GT_OF_EACH(OF) OF(gt_sum), OF(gt_prod), OF(gt_min), OF(gt_max)
#define GT_OF_ALL(OF)                                                          \
	{                                                                      \
		GT_OF_EACH(OF), OF(gt_sum), OF(gt_sum)                         \
	}

/* What needs no totals has the same kernel for both. */
#define GT_PACKET_OF(R, P, two, G)                                             \
	(const void *)gt_packet<GT_C_TYPE, R<GT_C_TYPE>, P, two, G>
#define GT_PACKETS_TOTALS(R)                                                   \
	(gt_held<GT_C_TYPE, R<GT_C_TYPE>>::WIDER ? GT_GATHER_TOTALS            \
						 : GT_GATHER_PACKS)
#define GT_PACKETS_BOTH(R, P, two)                                             \
	{                                                                      \
		GT_PACKET_OF(R, P, two, GT_GATHER_PACKS),                      \
			GT_PACKET_OF(R, P, two, GT_PACKETS_TOTALS(R))          \
	}
#define GT_PACKETS_OF(R)                                                       \
	{                                                                      \
		{GT_PACKETS_BOTH(R, gt_ll, false),                             \
		 GT_PACKETS_BOTH(R, gt_ll, true)},                             \
		{                                                              \
			GT_PACKETS_BOTH(R, gt_ll128, false),                   \
				GT_PACKETS_BOTH(R, gt_ll128, true)             \
		}                                                              \
	}
#define GT_DIRECT_OF(R)  (const void *)gt_direct<GT_C_TYPE, R<GT_C_TYPE>>
#define GT_SCRATCH_OF(R) (const void *)gt_scratch<GT_C_TYPE, R<GT_C_TYPE>>
#define GT_SCRATCH_GROUP_OF(R)                                                 \
	(const void *)gt_scratch_group<GT_C_TYPE, R<GT_C_TYPE>>

/* Operators other than sum are rare in groups, and group.cu has them. */
const struct gt_p2p_kernels GT_FOR_TYPE(gt_p2p_kernels) = {
	GT_OF_ALL(GT_PACKETS_OF),
	GT_OF_ALL(GT_DIRECT_OF),
	GT_OF_ALL(GT_SCRATCH_OF),
	GT_OF_ALL(GT_SCRATCH_GROUP_OF),
	(const void *)gt_packet_group<GT_C_TYPE, gt_sum<GT_C_TYPE>>,
	(const void *)gt_scale<GT_C_TYPE>,
};
