/*
 * Memory that all p2p requests share: for each sender a part of the LL buffer
 * and one of the LL128 buffer, for operations of even and of odd number, and
 * flags.
 */
#include "exec/cuda/p2p/p2p.h"

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"

/* A sender has so many bytes for one shot of two. */
enum {
	GT_CUDA_LL_PART_BYTES = 512 << 10,
	GT_CUDA_LL128_PART_BYTES = 4608 << 10,
};

uint64_t gt_cuda_ll_part_bytes(int ll128)
{
	return ll128 ? GT_CUDA_LL128_PART_BYTES : GT_CUDA_LL_PART_BYTES;
}

uint64_t gt_cuda_ll_buffer_bytes(int ll128)
{
	return 2 * gt_cuda_ll_part_bytes(ll128);
}

/*
 * A rank's buffer of a protocol has two parts for every parity and rank.  In
 * the host's memory LL128 has none: nobody may use it there.
 */
static uint64_t gt_ll_buffers_bytes(const struct gt_engine *engine, int ll128)
{
	if (ll128 && engine->stages_in_host)
		return 0;
	return 2 * gt_cuda_ll_buffer_bytes(ll128) * engine->plan->nranks;
}

uint64_t gt_cuda_p2p_room(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_algo_choice *choice)
{
	struct gt_p2p flow = gt_cuda_p2p_of(engine, req, choice->algo, 0);
	int ll128 = choice->protocol == GT_PROTOCOL_LL128;
	uint64_t data = ll128 ? GT_LL128_CHUNK_DATA : GT_LL_CHUNK_DATA;
	uint64_t room = gt_cuda_ll_part_bytes(ll128);

	if (!(flow.flags & GT_P2P_SPREAD))
		room *= 2;
	return room / GT_PACKET_CHUNK_BYTES * data;
}

int gt_cuda_p2p_fits(const struct gt_engine *engine,
		     const struct gt_exec_request *req,
		     const struct gt_algo_choice *choice)
{
	struct gt_p2p flow = gt_cuda_p2p_of(engine, req, choice->algo, 0);

	return flow.count * gt_dtype_bytes(req->dtype) <=
	       gt_cuda_p2p_room(engine, req, choice);
}

char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128)
{
	return gt_cuda_region_at(engine, GT_CUDA_LL_BUFFERS, viewer, rank) +
	       (ll128 ? gt_ll_buffers_bytes(engine, 0) : 0);
}

/* Of one lane. */
static uint64_t gt_p2p_flags_bytes(const struct gt_engine *engine)
{
	return (uint64_t)engine->processors * GT_P2P_RANKS * sizeof(uint64_t);
}

uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank)
{
	char *mail = gt_cuda_ll_buffer_at(engine, viewer, rank, 1);

	return (void *)(mail + gt_ll_buffers_bytes(engine, 1) +
			engine->lane * gt_p2p_flags_bytes(engine));
}

/* Make LL buffers, flags and epochs in the ranks' memory, zeros. */
static int gt_p2p_alloc(struct gt_engine *engine, struct gt_err *err)
{
	const size_t epochs = 2 * sizeof(struct gt_kernel_epoch);
	uint64_t bytes[GT_P2P_RANKS];
	int rc;

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		bytes[r] = gt_ll_buffers_bytes(engine, 0) +
			   gt_ll_buffers_bytes(engine, 1) +
			   2 * gt_p2p_flags_bytes(engine);
	rc = gt_cuda_region_new(engine, GT_CUDA_LL_BUFFERS, bytes, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++) {
		struct gt_cuda_rank *me = &engine->ranks[r];
		cudaError_t done = cudaSetDevice(me->device);

		if (done == cudaSuccess)
			done = cudaMalloc((void **)&me->epoch, epochs);
		if (done == cudaSuccess)
			done = cudaMemsetAsync(me->epoch, 0, epochs, me->own);
		if (done == cudaSuccess)
			done = cudaStreamSynchronize(me->own);
		if (done == cudaSuccess)
			done = (cudaError_t)gt_group_prepare();
		if (done == cudaSuccess)
			done = (cudaError_t)gt_barrier_prepare();
		if (done != cudaSuccess)
			rc = gt_cuda_fail(engine, r, (int)done,
					  "allocate counters", err);
	}
	return rc;
}

int gt_cuda_p2p_load(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err)
{
	if (engine->p2p_dtypes >> dtype & 1)
		return GT_OK;
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaError_t done = cudaSetDevice(engine->ranks[r].device);

		if (done == cudaSuccess)
			done = (cudaError_t)gt_p2p_prepare(dtype);
		if (done != cudaSuccess)
			return gt_cuda_fail(engine, r, (int)done,
					    "load the kernels", err);
	}
	engine->p2p_dtypes |= 1u << dtype;
	return GT_OK;
}

int gt_cuda_p2p_open(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err)
{
	int rc = GT_OK;

	if (!engine->regions[GT_CUDA_LL_BUFFERS].at)
		rc = gt_p2p_alloc(engine, err);
	return rc ? rc : gt_cuda_p2p_load(engine, dtype, err);
}

void gt_cuda_p2p_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		cudaFree(engine->ranks[r].epoch);
	}
}
