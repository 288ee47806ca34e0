/*
 * The kinds of certificates, one function each: does it prove the bound that
 * the proof claims?  All are exact, and none shares code with the search, so
 * that a mistake there is not repeated here.
 *
 * table[from * nranks + to] is the certificate's route for a pair of ranks, or
 * NULL when the certificate has no routes; prices[] are by link.
 */
#ifndef GT_PLAN_CHECK_BOUNDS_H
#define GT_PLAN_CHECK_BOUNDS_H

#include <stdint.h>

#include "plan/check/check.h"

struct gt_err;
struct gt_hop_costs;
struct gt_plan;
struct gt_plan_route;
struct gt_rat;

/* Do the value, the bound, the class and `optimal` agree with each other? */
int gt_check_claims(const struct gt_plan *plan, struct gt_err *err);

/*
 * Do the parts, sets of ranks and the links that leave them, prove any_bound,
 * or the bound of class any (plan/ir/plan.h)?
 */
int gt_check_parts(const struct gt_plan *plan,
		   const struct gt_plan_route **table,
		   enum gt_bound_state *state, struct gt_err *err);

/*
 * Parts without routes: do a part's links cut all paths along the plan's links
 * that leave it, or that enter it?  owner[] is by rank 1 + its part.  The state
 * says that there are no routes where links' ids, which name vertices, or hops,
 * which follow them, do not tell the paths.
 */
int gt_check_part_paths(const struct gt_plan *plan, const uint32_t *owner,
			int enter, enum gt_bound_state *state,
			struct gt_err *err);

/* Does every ring through n ranks cost 1 or more? */
int gt_check_ring_costs(const struct gt_plan *plan, uint32_t n,
			const struct gt_hop_costs *costs,
			enum gt_bound_state *state, struct gt_err *err);

/* Do the prices of links, and that of channels, prove a bound about rings? */
int gt_check_ring_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err);

/* Does no number of rings of one share reach more than the proof's value? */
int gt_check_equal_shares(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  struct gt_plan_report *report, struct gt_err *err);

/* Do the prices prove a bound about trees, or about any schedule? */
int gt_check_tree_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err);

/* Do the prices prove a bound about trees through the plan's switches? */
int gt_check_switch_bound(const struct gt_plan *plan,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err);

/*
 * Do the prices prove a bound about a collective that only moves blocks?  As
 * lengths of links they do when the shortest paths of all pairs of ranks that
 * have a block to move cost 1 or more together.
 */
int gt_check_length_bound(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err);

/*
 * The cost of the cheapest spanning tree away from the root (Edmonds, "Optimum
 * branchings", 1967), or -1 when memory ran out.  cost[i * n + j] is that of
 * the hop from i to j.
 */
int64_t gt_tree_cheapest(uint32_t n, const int64_t *cost, uint32_t root);

/*
 * The cheapest ring through n ranks, 2 <= n <= 17 (16 and the world outside),
 * by dynamic programming over subsets (Held and Karp, "A dynamic programming
 * approach to sequencing problems", 1962).  cost[i * n + j] is that of the hop
 * from i to j.  Writes the ring to order; -1 when memory ran out.
 */
enum { GT_RING_MAX = 17 };
int64_t gt_ring_cheapest(uint32_t n, const int64_t *cost, uint32_t *order);

#endif
