/*
 * Detours: the last elements of every block go through the host's memory, over
 * PCIe, beside those that go over NVLink.  Everything else of the engine knows
 * only these functions, and a request's part_count, which is not 0 when a part
 * of it takes a detour.  Where GPUs do not reach each other, requests go so as
 * a whole: they are staged.
 */
#ifndef GT_EXEC_CUDA_P2P_DETOUR_H
#define GT_EXEC_CUDA_P2P_DETOUR_H

#include "exec/cuda/device/state.h"

/* Does a part of the request take a detour, and not only come later? */
static inline int gt_cuda_takes_detour(const struct gt_engine *engine,
				       const struct gt_exec_request *req)
{
	return req->part_count && engine->choice.detour_permille;
}

/* Ask all processes whether there are to be detours: a meeting. */
int gt_cuda_detour_open(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_detour_release(struct gt_engine *engine);

/*
 * Choose how many of a request's bytes take a detour: what the plan's row says,
 * or what is known to be the best; row is NULL if the plan has none for it.
 * GT_EINPUT if the request names a share itself and can have none.
 */
int gt_cuda_detour_choose(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_plan_select *row,
			  struct gt_algo_choice *choice, struct gt_err *err);

/* Say how many of a kernel's thread blocks a detour beside it leaves to it. */
uint32_t gt_cuda_detour_leaves(const struct gt_algo_choice *choice,
			       uint32_t blocks);

/*
 * Make what detours need, for the first request whose engine->choice has one: a
 * meeting.  Where a process cannot, no process has engine->has_detours any
 * more, and who wants to know is told; that is GT_ENO, and the request is to be
 * chosen again, which refuses it if it names a choice with a detour.
 */
int gt_cuda_detour_need(struct gt_engine *engine, struct gt_err *err);

/*
 * Several processes on callers' streams make it when they register buffers, if
 * any request may want it, and have none before: a meeting.
 */
int gt_cuda_detour_reserve(struct gt_engine *engine, struct gt_err *err);

/*
 * Say what of a request does not take the detour; part_count is 0 if that is
 * all.
 */
struct gt_exec_request gt_cuda_detour_rest(const struct gt_engine *engine,
					   const struct gt_exec_request *req);

/*
 * Whoever launches the rest puts the detour beside it: it goes on from where a
 * rank's stream comes to _begin until where it comes to _launch; cudaError_ts.
 */
int gt_cuda_detour_begin(const struct gt_engine *engine, uint32_t rank);
int gt_cuda_detour_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *rest, uint32_t rank);

/* Make what staged requests need, unless it is there: a meeting. */
int gt_cuda_staged_need(struct gt_engine *engine, struct gt_err *err);

/*
 * Find the one rank that came to fewer meetings than all others; nranks if
 * there is none.  When a request was given up, those that were held up come to
 * all of theirs, and the one that stopped does not; on callers' streams this
 * waits until they have, 0.1 s or more.
 */
uint32_t gt_cuda_staged_laggard(const struct gt_engine *engine);

/* Say why nothing can be staged, because ranks share a GPU; NULL: it can. */
const char *gt_cuda_staged_fault(const struct gt_engine *engine);

/*
 * Put the parts of local ranks [first, end) on their streams, step by step: so
 * one thread never has a rank wait for another one whose turn has not come.  A
 * cudaError_t.
 */
int gt_cuda_staged_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t first,
			  uint32_t end);

/*
 * Put a reduction that its root pulls on a rank's stream by direct loads, and
 * the detour beside it; a cudaError_t.
 */
int gt_cuda_detour_pull(const struct gt_engine *engine,
			const struct gt_exec_request *rest, uint32_t rank);

#endif
