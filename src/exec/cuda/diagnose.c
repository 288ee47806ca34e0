/*
 * Reads the reports of blocks that waited when a request was aborted, and
 * follows them from rank to rank to the one that stopped.
 */
#include "exec/cuda/requests.h"

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/detour.h"
#include "plan/ir/plan.h"

/*
 * How many lanes does a channel have?  Their blocks are as many numbers apart
 * as there are workers.
 */
static uint32_t gt_diagnose_lanes(const struct gt_engine *engine)
{
	return gt_choice_is_p2p(&engine->choice) || !engine->nlanes
		       ? 1
		       : engine->nlanes;
}

/*
 * Find why a rank's block waits.  If it does not, take a block of another lane
 * of the same channel and worker: a lane may wait for what another one has to
 * send.
 */
static const struct gt_kernel_report *gt_report_of(
	const struct gt_engine *engine, uint32_t rank, uint32_t block)
{
	const struct gt_kernel_report *all =
		&engine->reports[(size_t)rank * engine->nblocks];
	uint32_t lanes = gt_diagnose_lanes(engine),
		 workers = engine->slicing.workers;
	uint32_t first;

	if (lanes == 1 || all[block].state)
		return &all[block];
	first = block / (workers * lanes) * workers * lanes + block % workers;
	for (uint32_t l = 0; l < lanes; l++)
		if (first + l * workers < engine->nblocks &&
		    all[first + l * workers].state)
			return &all[first + l * workers];
	return &all[block];
}

/*
 * Who waits for whom forms chains, one for each worker; the rank at the end
 * of a chain waits for nobody and is the one that stopped.
 */
static int gt_diagnose_block(const struct gt_engine *engine, uint32_t block,
			     struct gt_err *err)
{
	uint32_t nranks = engine->plan->nranks, first, at, hops;
	uint32_t lanes = gt_diagnose_lanes(engine), most = nranks * lanes;
	const struct gt_kernel_report *report, *last = NULL;

	for (first = 0; first < nranks; first++)
		if (gt_report_of(engine, first, block)->state)
			break;
	if (first == nranks)
		return GT_OK;
	for (at = first, hops = 0; hops < most; hops++) {
		report = gt_report_of(engine, at, block);
		if (!report->state)
			break;
		last = report;
		first = at;
		at = report->peer;
	}
	if (hops == most)
		return gt_err_set(err, GT_ESYS, NULL,
				  "all ranks wait for one another; rank %u for "
				  "%s of rank %u, channel %u step %u",
				  first,
				  last->state == GT_KERNEL_WAIT_DATA ? "data"
								     : "room",
				  at, last->channel / lanes, last->step);
	return gt_err_set(err, GT_ESYS, NULL,
			  "rank %u (%s) stopped: rank %u waited %.1f s for its "
			  "%s, channel %u step %u",
			  at, engine->plan->ranks[at].device, first,
			  (double)engine->config.timeout_ns / 1e9,
			  last->state == GT_KERNEL_WAIT_DATA ? "data" : "room",
			  last->channel / lanes, last->step);
}

/*
 * Copies through the host's memory: a rank that stopped may hold up another one
 * of its GPU before that can say whom it waits for.  In one process nobody else
 * ends the job meanwhile, so that what they come to is final in the end.
 */
static int gt_diagnose_staged(const struct gt_engine *engine,
			      struct gt_err *err)
{
	uint32_t n = engine->plan->nranks, last = n;

	if (engine->stages_in_host && !engine->group.world &&
	    engine->choice.protocol == GT_PROTOCOL_CE)
		last = gt_cuda_staged_laggard(engine);
	return last == n ? GT_OK
			 : gt_err_set(err, GT_ESYS, NULL,
				      "rank %u (%s) stopped: the others went "
				      "on to later copies",
				      last, engine->plan->ranks[last].device);
}

int gt_cuda_diagnose(const struct gt_engine *engine, uint32_t late,
		     struct gt_err *err)
{
	int rc = gt_cuda_sendrecv_diagnose(engine, err);

	if (rc)
		return rc;
	for (uint32_t b = 0; b < engine->nblocks; b++) {
		rc = gt_diagnose_block(engine, b, err);
		if (rc)
			return rc;
	}
	rc = gt_diagnose_staged(engine, err);
	if (rc)
		return rc;
	if (late < engine->plan->nranks)
		return gt_err_set(err, GT_ESYS, NULL,
				  "rank %u (%s) stopped: it did not end within "
				  "%.1f s of another rank",
				  late, engine->plan->ranks[late].device,
				  (double)engine->config.timeout_ns / 1e9);
	return gt_err_set(err, GT_ESYS, NULL,
			  "the collective was given up, no rank says why");
}
