/*
 * Chooses which part of a request takes a detour, what the plan's row says or
 * the shares that were measured, and what it leaves to the rest.
 */
#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/p2p.h"
#include "plan/ir/detour.h"

enum {
	/* All blocks together: smaller ones take no detour, even if a row says
	 * so. */
	GT_DETOUR_MIN_BYTES = 32 << 20,
	GT_DETOUR_PACK_BYTES = 16,
	GT_DETOUR_PERMILLE = 1000,
	/* One block of so many is left to what a detour runs beside. */
	GT_DETOUR_BLOCKS_OF = 4,
};

/*
 * Where at least so many bytes leave one of 2 GPUs, this part of them goes by a
 * detour: where one GPU sends, where one pulls, where both send, and where sums
 * are spread as well.  NVLink has 391 to 396 GB/s, PCIe 45 one way and 35 both
 * ways at once, and a detour takes time to fill.
 */
static const struct {
	uint64_t bytes;
	uint32_t one, pulled, both, sums; /* permille */
} gt_detour_shares[] = {
	{768ull << 20, 90, 80, 80, 80},
	{448ull << 20, 90, 80, 70, 70},
	{192ull << 20, 80, 60, 60, 0},
};

/* Say why nothing of a request can take a detour; NULL: it can. */
static const char *gt_detour_fault(const struct gt_engine *engine,
				   const struct gt_exec_request *req,
				   const struct gt_algo_choice *choice)
{
	if (!engine->has_detours ||
	    (engine->reserved_bytes && !engine->detour_slots.base))
		return "there are no detours: GPUs on one host, all on NVLink, "
		       "have them, where there is memory for them";
	if (!gt_detour_is_possible(choice->algo, choice->protocol, req->coll))
		return "only copy engines and a pulling root have one beside "
		       "them";
	if (choice->max_blocks < engine->processors)
		return "kernels add up and meet beside it, and blocks are "
		       "limited";
	if (choice->waits_apart && choice->protocol == GT_PROTOCOL_DIRECT)
		return "what waits apart has none beside it";
	if (choice->detour_permille > GT_DETOUR_MAX_PERMILLE)
		return "more than half would go by the detour";
	return NULL;
}

/* Find the share for a detour that is known to be the best. */
static uint32_t gt_detour_best(const struct gt_engine *engine,
			       const struct gt_exec_request *req)
{
	const size_t n = sizeof(gt_detour_shares) / sizeof(gt_detour_shares[0]);
	uint64_t bytes =
		gt_cuda_p2p_of(engine, req, GT_ALGO_ONE_SHOT, 0).count *
		gt_dtype_bytes(req->dtype);
	size_t i = 0;

	while (i < n && bytes < gt_detour_shares[i].bytes)
		i++;
	if (i == n || engine->plan->nranks != 2)
		return 0;
	switch (req->coll) {
	case GT_COLL_BROADCAST:
	case GT_COLL_GATHER:
	case GT_COLL_SCATTER:
		return gt_detour_shares[i].one;
	case GT_COLL_REDUCE:
		return gt_detour_shares[i].pulled;
	case GT_COLL_ALLREDUCE:
		return gt_detour_shares[i].sums;
	default:
		return gt_detour_shares[i].both;
	}
}

/* Take the row's share, unless another choice stands in for the row's. */
static uint32_t gt_detour_planned(const struct gt_plan_select *row,
				  const struct gt_algo_choice *choice)
{
	return row && row->algo == choice->algo &&
			       row->protocol == choice->protocol
		       ? row->detour_permille
		       : 0;
}

/* Choose for a request that leaves it to the plan, or to what is known. */
static void gt_detour_set(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_plan_select *row,
			  struct gt_algo_choice *choice)
{
	uint64_t bytes = req->count * gt_dtype_bytes(req->dtype), all = bytes;

	if (gt_coll_has_blocks(req->coll))
		all *= engine->plan->nranks;
	/*
	 * Traces do not show detours, and should show all.  What is added up
	 * would begin off a boundary of packs, and then go by elements.
	 */
	if (all < GT_DETOUR_MIN_BYTES || req->trace ||
	    (gt_coll_reduces(req->coll) && bytes % GT_DETOUR_PACK_BYTES) ||
	    gt_detour_fault(engine, req, choice))
		return;
	choice->detour_permille = engine->config.best
					  ? gt_detour_best(engine, req)
					  : gt_detour_planned(row, choice);
}

int gt_cuda_detour_choose(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_plan_select *row,
			  struct gt_algo_choice *choice, struct gt_err *err)
{
	const char *fault = NULL;

	if (!req->choice)
		gt_detour_set(engine, req, row, choice);
	else if (choice->detour_permille)
		fault = gt_detour_fault(engine, req, choice);
	return fault ? gt_err_set(err, GT_EINPUT, NULL,
				  "no part of %s can go through the host: %s",
				  gt_coll_name(req->coll), fault)
		     : GT_OK;
}

uint32_t gt_cuda_detour_leaves(const struct gt_algo_choice *choice,
			       uint32_t blocks)
{
	return choice->detour_permille ? blocks - blocks / GT_DETOUR_BLOCKS_OF
				       : blocks;
}

struct gt_exec_request gt_cuda_detour_rest(const struct gt_engine *engine,
					   const struct gt_exec_request *req)
{
	struct gt_exec_request rest = *req;
	/* All ranks' slices are alike where copy engines make sums, so that
	 * all do the same. */
	uint64_t grain = GT_CUDA_LINE_BYTES / gt_dtype_bytes(req->dtype) *
			 engine->plan->nranks;
	uint64_t away;

	if (!engine->choice.detour_permille)
		return rest;
	away = req->count / GT_DETOUR_PERMILLE *
	       engine->choice.detour_permille / grain * grain;
	if (away)
		rest.part_count = req->count - away;
	return rest;
}
