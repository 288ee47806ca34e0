/*
 * How far a plan's proof could be checked, and what the checker's files
 * share.  Nothing here is shared with the search, so that a mistake there is
 * not repeated here.
 */
#ifndef GT_PLAN_CHECK_CHECK_H
#define GT_PLAN_CHECK_CHECK_H

#include <stdint.h>

struct gt_err;
struct gt_plan;
struct gt_plan_route;
struct gt_plan_channel;
struct gt_plan_select;
struct gt_rat;

enum gt_bound_state {
	GT_BOUND_ABSENT,    /* no such bound, or no certificate for it */
	GT_BOUND_NO_ROUTES, /* a certificate, but no routes to apply it to */
	GT_BOUND_TOO_MANY,  /* more ranks than all rings can be searched for */
	GT_BOUND_TOO_FINE,  /* prices without a common 58-bit denominator */
	GT_BOUND_PROVEN,
	GT_NBOUNDS
};

struct gt_plan_report {
	enum gt_bound_state bound;
	enum gt_bound_state any_bound;
	enum gt_bound_state equal; /* of rings of one share */
	uint32_t nopen; /* numbers of such rings for which nothing is proved */
};

/* As gt_plan_check(), and say what was proven. */
int gt_plan_check_report(const struct gt_plan *plan,
			 struct gt_plan_report *report, struct gt_err *err);

/* "proven", "not checked: ..." */
const char *gt_bound_state_text(enum gt_bound_state state);

/* The path of a value in the plan, as printf. */
struct gt_plan_at {
	char text[96];
};
struct gt_plan_at gt_plan_at(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Record that the plan is wrong at `at`: GT_ENO. */
int gt_plan_wrong(const struct gt_plan *plan, struct gt_plan_at at,
		  struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * What a unit of rate on a link costs that a route with this charge crosses:
 * the charge on PCI links, else 1.
 */
struct gt_rat gt_plan_link_charge(const struct gt_plan *plan, uint32_t link,
				  struct gt_rat charge);

/*
 * The parts of gt_plan_check(): graphs; steps; shares, values and roots; loads;
 * the proof.  Each may rely on those before.
 */
int gt_check_channels(const struct gt_plan *plan, struct gt_err *err);
int gt_check_programs(const struct gt_plan *plan, struct gt_err *err);
int gt_check_shares(const struct gt_plan *plan, struct gt_err *err);
int gt_check_loads(const struct gt_plan *plan, struct gt_err *err);
int gt_check_proof(const struct gt_plan *plan, struct gt_plan_report *report,
		   struct gt_err *err);

/*
 * Of a row of select or a measurement, list[index]: are channels, workers and
 * FIFO such that it can be run?  seen[c], of each channel, is 1 + the index
 * that used it last, and stands for one list.
 */
struct gt_check_use {
	const struct gt_plan *plan;
	const struct gt_plan_select *use;
	const char *list;
	uint32_t index;
	uint32_t *seen;
};
int gt_check_use(const struct gt_check_use *check, struct gt_err *err);

/*
 * Then: can the algorithm and these channels do the collective?  Without
 * seen.
 */
int gt_check_purpose(const struct gt_check_use *check, struct gt_err *err);

int gt_check_measurements(const struct gt_plan *plan, struct gt_err *err);

/* The channel's hop from one rank to another, or -1. */
int64_t gt_check_hop_find(const struct gt_plan_channel *channel, uint32_t from,
			  uint32_t to);

/*
 * A flow's paths, once its hops are known to be pairs of ranks; and has the
 * i-th channel of a use a way for all pairs that the collective needs?
 */
int gt_check_flow(const struct gt_plan *plan, uint32_t index,
		  struct gt_err *err);
int gt_check_flow_use(const struct gt_check_use *check, uint32_t i,
		      struct gt_err *err);

/* Do value, bound and `optimal` agree? */
int gt_check_claims(const struct gt_plan *plan, struct gt_err *err);

/*
 * The cut behind any_bound, or behind the bound of class any (plan/ir/plan.h).
 * table[from * nranks + to] is the pair's route, when there are routes.
 */
int gt_check_parts(const struct gt_plan *plan,
		   const struct gt_plan_route **table,
		   enum gt_bound_state *state, struct gt_err *err);

/*
 * What hops cost under prices of links, by from * nranks + to, in whole
 * multiples of 1 / unit; what costs `most` or more counts as that.  unit
 * becomes 0 when there is none up to unit_max.
 */
struct gt_hop_costs {
	int64_t *cost;
	int64_t most, unit, unit_max;
};
void gt_check_costs(const struct gt_plan *plan,
		    const struct gt_plan_route **table,
		    const struct gt_rat *prices, struct gt_hop_costs *costs);

/* One route's; 0 when it takes more than 64 bits.  And n of such as above. */
int gt_check_route_cost(const struct gt_plan *plan,
			const struct gt_plan_route *route,
			const struct gt_rat *prices, struct gt_rat *cost);
void gt_check_scale(const struct gt_rat *rats, uint32_t n,
		    struct gt_hop_costs *costs);

/* Does no ring through n ranks, of these costs, cost less than 1? */
int gt_check_ring_costs(const struct gt_plan *plan, uint32_t n,
			const struct gt_hop_costs *costs,
			enum gt_bound_state *state, struct gt_err *err);

/* Do these prices, and that of channels, prove a bound about rings? */
int gt_check_ring_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err);

/* Do no equal rings reach more than these (struct gt_plan_proof)? */
int gt_check_equal_shares(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  struct gt_plan_report *report, struct gt_err *err);

/* Do these prices prove a bound about trees, or about anything (plan/ir/plan.h)? */
int gt_check_tree_bound(const struct gt_plan *plan,
			const struct gt_plan_route **table,
			const struct gt_rat *prices, enum gt_bound_state *state,
			struct gt_err *err);

/*
 * Do these prices prove a bound about what only moves?  As lengths of links:
 * the shortest ways of all pairs cost 1 together.
 */
int gt_check_length_bound(const struct gt_plan *plan,
			  const struct gt_plan_route **table,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err);

/*
 * What the cheapest spanning tree away from the root costs (Edmonds, "Optimum
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
