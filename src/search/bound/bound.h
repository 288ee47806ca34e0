/*
 * The rate that no schedule can exceed on a fabric, exactly, with its
 * certificate.
 *
 * All-gather: the blocks of the ranks in any node set S that leaves some rank
 * outside have to leave S, so its rate is at most nranks * min B+(S) / |S|,
 * B+ the capacity leaving S and |S| its ranks.  The minimum is found exactly
 * by Newton's method on ratios (Dinkelbach, "On nonlinear fractional
 * programming", 1967), each step a few maximum flows; it is what packings of
 * trees attain when switches only forward (Edmonds, "Edge-disjoint branchings",
 * 1973).  Reduce-scatter is all-gather with all links turned round.
 * Broadcast is bounded by the minimum cuts from the root, reduce by those to
 * it.
 *
 * All-reduce: for any partition of the ranks into p parts each element needs
 * p - 1 messages between parts to be combined and p - 1 to be spread (one-way
 * gossiping: Harary and Schwenk, "The communication problem on graphs and
 * digraphs", 1974), so the elements' rate is at most sum B+ / (2 (p - 1)).
 * The best partition is found exactly by Newton's method on the Dilworth
 * truncation of the cut function (Frank and Tardos, "Generalized
 * polymatroids and submodular flows", 1988; Cunningham, "Optimal attack and
 * reinforcement of a network", 1985), one maximum flow a rank and step.
 *
 * All values are in the unit of a ring's rate v: what it moves on each of its
 * hops.  Its all-gather makes N / (N - 1) * v of output a second, its
 * all-reduce half of that; broadcast and reduce make v.
 */
#ifndef GT_SEARCH_BOUND_BOUND_H
#define GT_SEARCH_BOUND_BOUND_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"
#include "search/bound/cut.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;

struct gt_bound {
	/* no: fewer than two ranks, numbers beyond 64 bit, other collectives */
	int found;
	struct gt_rat value;
	uint32_t nparts; /* one; all-reduce: a partition */
	struct gt_bound_part *parts;
};

struct gt_bound_query {
	const struct gt_fabric *fabric;
	enum gt_coll coll;
	uint32_t root; /* of a broadcast or reduce */
};

/* Memory is the arena's.  Only GT_ESYS (memory) can fail. */
int gt_bound_find(const struct gt_bound_query *ask, struct gt_arena *arena,
		  struct gt_bound *bound, struct gt_err *err);

/*
 * The bound on schedules that keep to the fabric's routes: links that no route
 * crosses do not count.  Where a pair has no route all links do, since the plan
 * then has no routes that its bound could be about.
 */
int gt_bound_find_routed(const struct gt_bound_query *ask,
			 struct gt_arena *arena, struct gt_bound *bound,
			 struct gt_err *err);

#endif
