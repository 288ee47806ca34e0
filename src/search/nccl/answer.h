/*
 * NCCL's choice on a machine beside the proved best, and why it is no better.
 *
 * Bandwidths are of rings together, in GB/s, which is the bus bandwidth of an
 * all-reduce, all of it with NCCL's rates.
 */
#ifndef GT_SEARCH_NCCL_ANSWER_H
#define GT_SEARCH_NCCL_ANSWER_H

#include "topo/nccl/fill.h"
#include "topo/nccl/reason.h"
#include "topo/nccl/system.h"

struct gt_arena;
struct gt_budget;
struct gt_err;
struct gt_topo;

/*
 * The most channels of a graph file that NCCL uses all of: it doubles them up
 * to 32.
 */
enum { GT_NCCL_GRAPH_CHANNELS = 16 };

struct gt_nccl_answer {
	/*
	 * The machine as NCCL takes it, and, where it leaves GPUs out, as with
	 * NCCL_NET_DISABLE_INTRA=1; else NULL.
	 */
	struct gt_nccl_system *as_is, *together;
	const struct gt_nccl_facts *facts; /* as it is */
	/* that of the two of which rings and trees are */
	const struct gt_nccl_system *system;
	struct gt_nccl_set rings, trees;
	double gbs;       /* NCCL's rings */
	double best_gbs;  /* the best rings that were found */
	double bound_gbs; /* what no rings exceed */
	/*
	 * the best equal ones that fit into a graph file; 0: none were found
	 * in time
	 */
	double graph_gbs;
	/* Reasons are there where NCCL's rings are not the best. */
	int has_reasons;
	struct gt_nccl_reasons reasons;
};

/*
 * Answer for all GPUs of a machine, a topology with GT_RATES_NCCL, which has to
 * outlive what is in the arena.  GT_ENO, and why, where NCCL gives up on it or
 * there are no rings.
 */
int gt_nccl_answer(struct gt_topo *topo, const struct gt_budget *budget,
		   struct gt_nccl_answer *answer, struct gt_arena *arena,
		   struct gt_err *err);

/*
 * Frees what is not in the arena; an answer of zeros, or of a call that failed,
 * is fine.
 */
void gt_nccl_answer_release(struct gt_nccl_answer *answer);

#endif
