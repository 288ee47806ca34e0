/*
 * This finds a rank's input and output of a request: they lie in the engine's own
 * data region or in the caller's buffers, and the input is multiplied where the
 * operator asks for it.
 */
#include "exec/cuda/device/span.h"

#include "exec/cuda/device/state.h"
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
