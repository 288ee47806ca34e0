/*
 * The test data of the host engine's ranks: what they send, and whether what
 * they received is right.
 */
#include "exec/host/host.h"

#include <string.h>

#include "kernels/pattern.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"

enum { GT_HOST_BATCH = 1024 }; /* elements between two signs of life */

static struct gt_pattern gt_data_pattern(const struct gt_engine *engine)
{
	const struct gt_exec_request *req = &engine->req;
	struct gt_pattern pattern = gt_pattern_make(
		req->coll, req->dtype, req->op, engine->nranks, req->seed);

	pattern.root = req->root;
	return pattern;
}

static void gt_data_put(char *at, uint64_t bits, size_t elem_bytes)
{
	uint8_t b8 = (uint8_t)bits;
	uint16_t b16 = (uint16_t)bits;
	uint32_t b32 = (uint32_t)bits;

	switch (elem_bytes) {
	case 1:
		memcpy(at, &b8, sizeof(b8));
		break;
	case 2:
		memcpy(at, &b16, sizeof(b16));
		break;
	case 4:
		memcpy(at, &b32, sizeof(b32));
		break;
	default:
		memcpy(at, &bits, sizeof(bits));
		break;
	}
}

/*
 * Fill an output with all bits set, which is NaN or a number that is seldom
 * right.
 */
static void gt_data_poison(struct gt_host_rank *rank)
{
	const struct gt_host_buffer *out = &rank->output;
	size_t elem = gt_dtype_bytes(rank->engine->req.dtype);
	uint64_t left = out->has.count, at = out->has.offset, n;

	for (; left && !gt_host_aborted(rank->engine); at += n, left -= n) {
		n = left < GT_HOST_BATCH ? left : GT_HOST_BATCH;
		memset(gt_host_element(out, at, elem), 0xff, n * elem);
		gt_host_beat(rank);
	}
}

void gt_host_fill(struct gt_host_rank *rank)
{
	struct gt_pattern pattern = gt_data_pattern(rank->engine);
	const struct gt_host_buffer *in = &rank->input;
	size_t elem = gt_dtype_bytes(rank->engine->req.dtype);
	uint64_t end = in->has.offset + in->has.count, bits;

	gt_data_poison(rank);
	for (uint64_t i = in->has.offset; i < end; i++) {
		bits = gt_pattern_input(&pattern, rank->rank, i);
		gt_data_put(gt_host_element(in, i, elem), bits, elem);
		if (i % GT_HOST_BATCH)
			continue;
		gt_host_beat(rank);
		if (gt_host_aborted(rank->engine))
			return;
	}
}

static uint64_t gt_data_differ(const char *a, const char *b, uint64_t n,
			       size_t elem_bytes)
{
	uint64_t differ = 0;

	if (!memcmp(a, b, n * elem_bytes))
		return 0;
	for (uint64_t i = 0; i < n; i++)
		differ += !!memcmp(a + i * elem_bytes, b + i * elem_bytes,
				   elem_bytes);
	return differ;
}

/*
 * Count wrong elements among [at, at + n) in the outputs of all ranks that have
 * them.
 */
static uint64_t gt_data_compare(const struct gt_engine *engine,
				const char *want, uint64_t at, uint64_t n)
{
	size_t elem = gt_dtype_bytes(engine->req.dtype);
	uint64_t wrong = 0;

	for (uint32_t r = engine->first; r < engine->end; r++) {
		const struct gt_host_buffer *out = &engine->ranks[r].output;

		if (at >= out->has.offset &&
		    at - out->has.offset < out->has.count)
			wrong += gt_data_differ(
				want, gt_host_element(out, at, elem), n, elem);
	}
	return wrong;
}

/* The part of the index space that the rank's thread checks. */
static struct gt_range gt_data_part(const struct gt_host_rank *rank)
{
	const struct gt_engine *engine = rank->engine;
	const struct gt_exec_request *req = &engine->req;
	uint32_t n = gt_host_nlocal(engine), i = rank->rank - engine->first;
	uint64_t begin = gt_cut(req->count, i, n, 1);
	uint64_t end = gt_cut(req->count, i + 1, n, 1);

	if (!gt_coll_reduces(req->coll) || gt_coll_has_blocks(req->coll))
		return rank->output.has;
	return (struct gt_range){begin, end - begin};
}

/*
 * What an element of a rank's output has to be.  Behind the block of a pair
 * that has less than others nothing is written.
 */
static uint64_t gt_data_want(const struct gt_host_rank *rank,
			     const struct gt_pattern *pattern, uint64_t index)
{
	const struct gt_exec_request *req = &rank->engine->req;
	const struct gt_plan *plan = rank->engine->config.plan;
	uint64_t from = index / req->count;

	if (!gt_plan_blocks_differ(plan, req->coll) ||
	    index % req->count <
		    gt_demand_elems(plan->demand,
				    (uint32_t)from * plan->nranks + rank->rank,
				    req->count))
		return gt_pattern_output(pattern, req->count, index);
	return UINT64_MAX; /* as gt_data_poison() left it: out of place */
}

/*
 * The result of a reduction is costly to compute and the same on all ranks, so
 * each rank's thread checks one part of the index space, in the output of every
 * rank of this process.  Of other collectives it checks its own rank's output.
 */
void gt_host_check(struct gt_host_rank *rank)
{
	struct gt_engine *engine = rank->engine;
	struct gt_pattern pattern = gt_data_pattern(engine);
	const struct gt_exec_request *req = &engine->req;
	size_t elem = gt_dtype_bytes(req->dtype);
	_Alignas(8) char want[GT_HOST_BATCH * 8];
	struct gt_range part = gt_data_part(rank);
	uint64_t n;

	pattern.rank = rank->rank;
	rank->wrong = 0;
	for (; part.count; part.offset += n, part.count -= n) {
		n = part.count < GT_HOST_BATCH ? part.count : GT_HOST_BATCH;
		for (uint64_t i = 0; i < n; i++)
			gt_data_put(
				want + i * elem,
				gt_data_want(rank, &pattern, part.offset + i),
				elem);
		if (gt_coll_reduces(req->coll))
			rank->wrong +=
				gt_data_compare(engine, want, part.offset, n);
		else
			rank->wrong += gt_data_differ(
				want,
				gt_host_element(&rank->output, part.offset,
						elem),
				n, elem);
		gt_host_beat(rank);
		if (gt_host_aborted(engine))
			return;
	}
}
