/* Counts the steps of copies through the host's memory, and prices them. */
#include "plan/cost/copies.h"

#include <math.h>

/* As the engine cuts blocks (exec/cuda/p2p/detour.c and detour_slots.h). */
enum {
	GT_COST_STEP_LEAST_BYTES = 512 << 10, /* of all items of a step */
	GT_COST_STEP_MOST_BYTES = 8 << 20,    /* the same; shared by ranks */
	GT_COST_CHUNK_MOST_BYTES = 4 << 20,
	GT_COST_STEPS = 24,
	GT_COST_LANES = 2,
	GT_COST_LAST_STEPS = 3, /* of a lane, until the last sum is taken */
};

/* Are sums sent on, and not made by everyone? */
static int gt_cost_spreads(const struct gt_cost_copies *copies)
{
	return copies->nranks > 2 && (copies->coll == GT_COLL_ALLREDUCE ||
				      copies->coll == GT_COLL_REDUCE);
}

/* The bytes that a rank puts out for another one. */
static double gt_cost_block(const struct gt_cost_copies *copies)
{
	int parts = gt_coll_has_blocks(copies->coll) || gt_cost_spreads(copies);

	return copies->bytes / (parts ? copies->nranks : 1);
}

static double gt_cost_chunks(const struct gt_cost_copies *copies)
{
	double block = gt_cost_block(copies), chunk;
	int one = copies->coll == GT_COLL_BROADCAST ||
		  copies->coll == GT_COLL_SENDRECV;
	double items = one ? 1 : copies->nranks - 1;

	chunk = fmax(block / GT_COST_STEPS, GT_COST_STEP_LEAST_BYTES / items);
	chunk = fmin(chunk, fmin(GT_COST_STEP_MOST_BYTES / copies->nranks,
				 GT_COST_CHUNK_MOST_BYTES));
	return ceil(block / chunk);
}

double gt_cost_copies_us(const struct gt_cost_copies *copies,
			 const struct gt_cost_params *params)
{
	double chunks = gt_cost_chunks(copies), steps = chunks + 1;

	if (chunks < 1)
		return 0;
	if (gt_cost_spreads(copies))
		steps += (GT_COST_LAST_STEPS - 1) * GT_COST_LANES;
	return steps *
	       (params->hop_us[GT_COST_HOP_HOST] + copies->busy_us / chunks);
}
