/*
 * What training sends beside what it computes, as loads of bench/overlap.
 *
 * A layer has two matrices of hidden x 4 hidden parameters in bf16.  A forward
 * pass is a product with each, a backward pass two with each: of the gradient
 * that goes on and of the parameters' own.
 */
#include "overlap.h"

#include "plan/ir/plan.h"

enum {
	MODEL_STEPS = 3,
	MODEL_BUCKET_BYTES = 25 << 20,
	MODEL_BYTES = 2, /* of a parameter */
	/* Edges: a layer has come, and has been used; two layers at a time. */
	MODEL_COME = 0,
	MODEL_USED = 2,
};

uint64_t gt_overlap_layer_bytes(int hidden)
{
	return 8 * (uint64_t)hidden * (uint64_t)hidden * MODEL_BYTES;
}

uint64_t gt_overlap_model_bytes(int hidden)
{
	uint64_t bytes = gt_overlap_layer_bytes(hidden);

	return bytes > MODEL_BUCKET_BYTES ? bytes : MODEL_BUCKET_BYTES;
}

static void put(const struct overlap *o, struct overlap_load *load,
		enum gt_coll coll, uint64_t bytes)
{
	const struct gt_exec_request req = {
		.coll = coll,
		.dtype = GT_DTYPE_BF16,
		.count = bytes / MODEL_BYTES /
			 (gt_coll_has_blocks(coll) ? o->nranks : 1)};

	gt_overlap_load_collective(load, &req);
}

static void forward(const struct overlap *o, int h, struct overlap_load *load)
{
	int t = o->options.tokens;

	gt_overlap_load_product(load, t, 4 * h, h);
	gt_overlap_load_product(load, t, h, 4 * h);
}

/* One of the two matrices: the second one comes first. */
static void backward(const struct overlap *o, int h, int matrix,
		     struct overlap_load *load)
{
	int t = o->options.tokens;
	int rows = matrix ? 4 * h : h, columns = matrix ? h : 4 * h;

	gt_overlap_load_product(load, t, rows, columns);
	gt_overlap_load_product(load, rows, columns, t);
}

/*
 * Fetch the parameters of the n-th layer that is computed with, when the one
 * whose place they take is not needed any more.
 */
static void fetch(const struct overlap *o, int h, int n,
		  struct overlap_load *load)
{
	if (n > 1)
		gt_overlap_load_edge(load, OVERLAP_AWAIT, 1,
				     MODEL_USED + n % 2);
	put(o, load, GT_COLL_ALLGATHER, gt_overlap_layer_bytes(h));
	gt_overlap_load_edge(load, OVERLAP_MARK, 1, MODEL_COME + n % 2);
}

/* Layers forward, then backward; the next one's parameters come meanwhile. */
static void fsdp(const struct overlap *o, int h, struct overlap_load *load)
{
	int layers = o->options.layers, last = 2 * layers - 1;

	fetch(o, h, 0, load);
	for (int n = 0; n <= last; n++) {
		if (n < last)
			fetch(o, h, n + 1, load);
		gt_overlap_load_edge(load, OVERLAP_AWAIT, 0,
				     MODEL_COME + n % 2);
		if (n < layers) {
			forward(o, h, load);
		} else {
			backward(o, h, 1, load);
			backward(o, h, 0, load);
		}
		gt_overlap_load_edge(load, OVERLAP_MARK, 0, MODEL_USED + n % 2);
		if (n < layers)
			continue;
		gt_overlap_load_edge(load, OVERLAP_AWAIT, 1,
				     MODEL_USED + n % 2);
		put(o, load, GT_COLL_REDUCESCATTER, gt_overlap_layer_bytes(h));
	}
}

/* Gradients that are ready go in buckets, as many as are full. */
static uint64_t empty(const struct overlap *o, uint64_t ready,
		      struct overlap_load *load)
{
	if (ready < MODEL_BUCKET_BYTES)
		return ready;
	gt_overlap_load_edge(load, OVERLAP_MARK, 0, MODEL_USED);
	gt_overlap_load_edge(load, OVERLAP_AWAIT, 1, MODEL_USED);
	for (; ready >= MODEL_BUCKET_BYTES; ready -= MODEL_BUCKET_BYTES)
		put(o, load, GT_COLL_ALLREDUCE, MODEL_BUCKET_BYTES);
	return ready;
}

static void ddp(const struct overlap *o, int h, struct overlap_load *load)
{
	uint64_t ready = 0;

	for (int n = 0; n < o->options.layers; n++)
		forward(o, h, load);
	for (int n = 0; n < o->options.layers; n++)
		for (int matrix = 1; matrix >= 0; matrix--) {
			backward(o, h, matrix, load);
			ready += gt_overlap_layer_bytes(h) / 2;
			ready = empty(o, ready, load);
		}
	if (!ready)
		return;
	gt_overlap_load_edge(load, OVERLAP_MARK, 0, MODEL_USED);
	gt_overlap_load_edge(load, OVERLAP_AWAIT, 1, MODEL_USED);
	put(o, load, GT_COLL_ALLREDUCE, ready);
}

/* A step ends when all has come: the optimizer would follow. */
void gt_overlap_model(const struct overlap *o, int hidden,
		      struct overlap_load *load)
{
	for (int step = 0; step < MODEL_STEPS; step++) {
		if (o->options.mode == OVERLAP_FSDP)
			fsdp(o, hidden, load);
		else
			ddp(o, hidden, load);
		gt_overlap_load_edge(load, OVERLAP_MARK, 1, MODEL_COME);
		gt_overlap_load_edge(load, OVERLAP_AWAIT, 0, MODEL_COME);
		gt_overlap_load_edge(load, OVERLAP_MARK, 0, MODEL_USED);
		gt_overlap_load_edge(load, OVERLAP_AWAIT, 1, MODEL_USED);
	}
}
