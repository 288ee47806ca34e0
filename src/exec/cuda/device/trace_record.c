/* Notes kernels and copies of a rank while its run is traced. */
#include "exec/cuda/device/trace_record.h"

#include "exec/cuda/device/state.h"
#include "exec/trace/p2p.h"

struct gt_kernel_mark *gt_cuda_trace_blocks(const struct gt_engine *engine,
					    uint32_t rank)
{
	const struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;

	return tracing ? tracing->marks : NULL;
}

struct gt_kernel_mark *gt_cuda_trace_kernel(const struct gt_engine *engine,
					    uint32_t rank)
{
	struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;

	if (!tracing || !gt_choice_is_p2p(&engine->choice) ||
	    tracing->nkernels == GT_CUDA_KERNELS)
		return NULL;
	return tracing->marks + (size_t)tracing->nkernels++ *
					engine->choice.blocks * GT_P2P_STAGES *
					GT_P2P_RANKS;
}

int gt_cuda_trace_packets(const struct gt_engine *engine, uint32_t rank,
			  int ll128, const struct gt_packet_args *args)
{
	struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;
	struct gt_packet_args watched = *args;

	if (!tracing)
		return cudaSuccess;
	watched.guard.marks = gt_cuda_trace_kernel(engine, rank);
	tracing->watched = 1;
	return gt_packet_watch(ll128, &watched, tracing->number,
			       tracing->watch);
}

/* Find whose memory a copy writes. */
static uint32_t gt_trace_owner(const struct gt_engine *engine, uint32_t rank,
			       const char *at)
{
	static const int regions[] = {GT_CUDA_DATA, GT_CUDA_SCRATCH};
	const uint64_t bytes[] = {2 * engine->data_bytes,
				  engine->regions[GT_CUDA_SCRATCH].bytes};

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		for (int i = 0; i < 2; i++) {
			const char *base =
				engine->regions[regions[i]].at
					? gt_cuda_region_at(engine, regions[i],
							    rank, r)
					: NULL;

			if (base && at >= base && at < base + bytes[i])
				return r;
		}
	return rank;
}

int gt_cuda_trace_copy_begin(const struct gt_engine *engine, uint32_t rank,
			     cudaStream_t stream, const char *to,
			     uint64_t bytes)
{
	struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;
	struct gt_cuda_copy *copy;
	cudaError_t rc;

	if (!tracing || tracing->ncopies == GT_CUDA_COPIES)
		return cudaSuccess;
	copy = &tracing->copies[tracing->ncopies];
	rc = cudaEventCreate(&copy->begin);
	if (rc != cudaSuccess)
		return (int)rc;
	rc = cudaEventCreate(&copy->end);
	if (rc != cudaSuccess) {
		cudaEventDestroy(copy->begin);
		return (int)rc;
	}
	copy->moved.bytes = bytes;
	copy->moved.from = rank;
	copy->moved.to = gt_trace_owner(engine, rank, to);
	tracing->ncopies++;
	return (int)cudaEventRecord(copy->begin, stream);
}

int gt_cuda_trace_copy_end(const struct gt_engine *engine, uint32_t rank,
			   cudaStream_t stream)
{
	struct gt_cuda_tracing *tracing = engine->ranks[rank].tracing;

	if (!tracing)
		return cudaSuccess;
	return (int)cudaEventRecord(tracing->copies[tracing->ncopies - 1].end,
				    stream);
}
