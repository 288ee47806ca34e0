/* What bench/overlap times is also right: outputs beside products. */
#include "overlap.h"

#include "base/err.h"
#include "kernels/kernels.h"
#include "plan/lower/layout.h"
#include "world/world.h"

enum { CHECK_SEED = 20261124, CHECK_POISON = 0xa5 };

struct check {
	struct overlap_way *way;
	const struct gt_exec_request *req;
};

/* Set where a rank's input, or output, lies in the indices of the whole. */
static void set_range(const struct overlap *o,
		      const struct gt_exec_request *req,
		      struct gt_kernel_data *data, enum gt_extent extent)
{
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? o->nranks : 1;

	data->first = extent == GT_EXTENT_OWN ? req->count * data->rank : 0;
	data->count = extent == GT_EXTENT_NONE  ? 0
		      : extent == GT_EXTENT_OWN ? req->count
						: req->count * blocks;
}

static struct gt_kernel_data data_of(const struct overlap *o,
				     const struct gt_exec_request *req,
				     uint32_t rank)
{
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(req->coll, req->dtype, req->op,
					   o->nranks, CHECK_SEED),
		.block_elems = req->count,
		.wrong = o->ranks[rank].wrong,
		.rank = rank};

	data.pattern.root = req->root;
	data.pattern.rank = rank;
	return data;
}

static int fill_rank(struct overlap *o, uint32_t rank, void *arg)
{
	const struct check *check = arg;
	const struct gt_channel_use use = {.coll = check->req->coll,
					   .root = check->req->root};
	struct gt_buffers at = gt_overlap_way_buffers(o, check->way, rank);
	struct gt_kernel_data data = data_of(o, check->req, rank);
	cudaStream_t stream = o->ranks[rank].compute;
	cudaError_t rc;

	set_range(o, check->req, &data, gt_layout_input(&use, rank));
	data.data = (void *)at.input;
	rc = cudaMemsetAsync(at.output, CHECK_POISON, o->room, stream);
	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(data.wrong, 0, sizeof(*data.wrong),
				     stream);
	if (rc == cudaSuccess)
		rc = (cudaError_t)gt_kernel_fill(&data, stream);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(stream);
	return gt_overlap_cuda(rank, "write inputs", rc);
}

static int compare_rank(struct overlap *o, uint32_t rank, void *arg)
{
	const struct check *check = arg;
	const struct gt_channel_use use = {.coll = check->req->coll,
					   .root = check->req->root};
	struct gt_kernel_data data = data_of(o, check->req, rank);
	cudaStream_t stream = o->ranks[rank].compute;
	cudaError_t rc;

	set_range(o, check->req, &data, gt_layout_output(&use, rank));
	data.data = gt_overlap_way_buffers(o, check->way, rank).output;
	rc = (cudaError_t)gt_kernel_check(&data, stream);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(stream);
	return gt_overlap_cuda(rank, "compare outputs", rc);
}

static int count_wrong(struct overlap *o, uint64_t *wrong)
{
	uint64_t sum = 0, here = 0;
	cudaError_t rc;

	for (uint32_t r = o->first; r < o->end; r++) {
		rc = cudaSetDevice(o->ranks[r].gpu);
		if (rc == cudaSuccess)
			rc = cudaMemcpy(&here, o->ranks[r].wrong, sizeof(here),
					cudaMemcpyDeviceToHost);
		if (rc != cudaSuccess)
			return gt_overlap_cuda(r, "read the count", rc);
		sum += here;
	}
	*wrong = sum;
	return GT_OK;
}

/* The first product of a load, if it has one, and a collective of it. */
static void shorten(const struct overlap_load *load, int kind,
		    struct overlap_load *some)
{
	uint32_t i = 0;

	while (i < load->n && load->items[i].what != OVERLAP_PRODUCT)
		i++;
	if (i < load->n)
		gt_overlap_load_product(some, load->items[i].product.m,
					load->items[i].product.n,
					load->items[i].product.k);
	gt_overlap_load_collective(some, &load->kinds[kind]);
}

int gt_overlap_check(struct overlap *o, const struct overlap_run *like,
		     int kind, uint64_t *wrong)
{
	struct check check = {.way = like->way,
			      .req = &like->load->kinds[kind]};
	struct overlap_load some = {.items = NULL};
	struct overlap_run run = {.load = &some,
				  .way = like->way,
				  .priority = like->priority,
				  .products = o->options.mode != OVERLAP_ALONE};
	struct overlap_times times;
	int rc = gt_overlap_each(o, fill_rank, &check);

	shorten(like->load, kind, &some);
	if (!gt_overlap_most(o, rc != 0))
		rc = gt_overlap_run(o, &run, &times);
	gt_overlap_load_free(&some);
	if (!rc)
		rc = gt_overlap_each(o, compare_rank, &check);
	if (!rc)
		rc = count_wrong(o, wrong);
	if (gt_overlap_most(o, rc != 0))
		return GT_ESYS;
	return o->world && gt_world_sum(o->world, wrong, NULL) ? GT_ESYS
							       : GT_OK;
}
