/*
 * All files of the engine ask this of its state: where a rank's input and
 * output of a request lie, and the words for what CUDA could not do.
 *
 * Data lie in the engine's own region or in the caller's buffers, and the input
 * is multiplied where the operator asks for it.
 */
#include "exec/cuda/device/state.h"

#include "base/err.h"
#include "plan/lower/layout.h"

static struct gt_range gt_cuda_range(const struct gt_engine *engine,
				     const struct gt_exec_request *req,
				     enum gt_extent extent, uint32_t rank)
{
	uint64_t blocks =
		gt_coll_has_blocks(req->coll) ? engine->plan->nranks : 1;

	if (extent == GT_EXTENT_OWN)
		return (struct gt_range){req->count * rank, req->count};
	if (extent == GT_EXTENT_NONE)
		return (struct gt_range){0, 0};
	return (struct gt_range){0, req->count * blocks};
}

struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_exec_request *req,
				    uint32_t viewer, uint32_t rank)
{
	char *data = gt_cuda_region_at(engine, GT_CUDA_DATA, viewer, rank);
	const struct gt_channel_use use = {.coll = req->coll,
					   .root = req->root};
	size_t elem = gt_dtype_bytes(req->dtype);
	struct gt_range in =
		gt_cuda_range(engine, req, gt_layout_input(&use, rank), rank);
	struct gt_range out =
		gt_cuda_range(engine, req, gt_layout_output(&use, rank), rank);
	struct gt_cuda_span span = {.input = data + req->shift * elem,
				    .output = data + engine->data_bytes +
					      req->shift * elem,
				    .input_first = in.offset,
				    .output_first = out.offset,
				    .input_count = in.count,
				    .output_count = out.count};

	if (req->buffers) {
		span.input = (char *)req->buffers[rank].input;
		span.output = req->buffers[rank].output;
	} else if (req->inplace) {
		/* A block lies where it is in the whole buffer. */
		span.input = span.output + in.offset * elem;
		span.output += out.offset * elem;
	}
	if (req->premultiplied)
		span.input =
			gt_cuda_premul_input(engine, span.input, viewer, rank);
	span.input += req->part_first * elem;
	span.output += req->part_first * elem;
	return span;
}

/* It lies as far from a boundary as the input: packs stay packs. */
char *gt_cuda_premul_input(const struct gt_engine *engine, const char *input,
			   uint32_t viewer, uint32_t rank)
{
	return gt_cuda_region_at(engine, GT_CUDA_PREMUL, viewer, rank) +
	       (uintptr_t)input % GT_PREMUL_EDGE_BYTES;
}

uint32_t gt_cuda_local_devices(const struct gt_engine *engine,
			       int devices[GT_P2P_RANKS])
{
	const struct gt_process_group *group = &engine->group;
	uint32_t n = 0;

	for (uint32_t r = group->first; r < group->end && n < GT_P2P_RANKS; r++)
		devices[n++] = engine->ranks[r].device;
	return n;
}

int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err)
{
	cudaGetLastError();
	return gt_err_set(err, GT_ESYS, NULL, "rank %u (%s): cannot %s: %s",
			  rank, engine->plan->ranks[rank].device, what,
			  cudaGetErrorString((cudaError_t)code));
}
