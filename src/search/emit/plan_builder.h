/*
 * A plan while the search writes it, whether of one machine
 * (search/emit/emit.h) or of a cluster (search/cluster/emit.h).
 *
 * Everything that is written lives in the plan's arena, so the finished plan
 * owes nothing to what it was made from.  When memory runs out `failed` is set
 * and stays set: callers look at it before they use an array, and need not
 * report it, for gt_plan_builder_finish() does.
 */
#ifndef GT_SEARCH_EMIT_PLAN_BUILDER_H
#define GT_SEARCH_EMIT_PLAN_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "plan/ir/plan.h"
#include "topo/graph/topo.h"

struct gt_err;
struct gt_fabric_route;

struct gt_plan_builder {
	struct gt_plan *plan;
	/* By a fabric's link, the plan's link; NULL when the plan has all. */
	const uint32_t *link_map;
	int failed;
};

/* What a plan says of itself before it says anything of its ranks. */
struct gt_plan_head {
	enum gt_coll coll;
	uint32_t root;
	enum gt_rates rates;
	const struct gt_topo *topo; /* whose digests it carries, or NULL */
};

/* Begin an empty plan.  GT_ESYS when there is no memory for it. */
int gt_plan_builder_init(struct gt_plan_builder *b, struct gt_err *err);

/*
 * Hand the plan over if it was written without failure and passes
 * gt_plan_check(); a wrong plan is the search's fault, not the input's, and
 * gives GT_ESYS.  The plan is freed when this fails.
 */
int gt_plan_builder_finish(struct gt_plan_builder *b, struct gt_plan **plan,
			   struct gt_err *err);

/* An array of zeros; NULL sets failed. */
void *gt_plan_builder_array(struct gt_plan_builder *b, size_t n,
			    size_t size_bytes);

/* A copy of an array; NULL sets failed. */
void *gt_plan_builder_copy(struct gt_plan_builder *b, const void *from,
			   size_t n, size_t size_bytes);

/* A copy of a string, or NULL if it is NULL. */
const char *gt_plan_builder_text(struct gt_plan_builder *b, const char *text);

/* The collective, where the machine was read from, and the FIFO. */
void gt_plan_builder_head(struct gt_plan_builder *b,
			  const struct gt_plan_head *head);

/* Links of the fabric as links of the plan. */
uint32_t *gt_plan_builder_links(struct gt_plan_builder *b,
				const uint32_t *links, uint32_t n);

/*
 * A hop over a route.  A hop over the network goes over two: `route` leads to
 * the sender's port and `arrival`, which is NULL within a node, leads from the
 * receiver's port to it.  The charge is that of the first.
 */
struct gt_plan_hop gt_plan_builder_hop(struct gt_plan_builder *b, uint32_t from,
				       uint32_t to,
				       const struct gt_fabric_route *route,
				       const struct gt_fabric_route *arrival);

/* Room for n channels, none of which is there yet. */
void gt_plan_builder_channels(struct gt_plan_builder *b, size_t n);

/* The next channel; its id is its index. */
struct gt_plan_channel *gt_plan_builder_channel(struct gt_plan_builder *b,
						enum gt_shape shape);

/*
 * The only row of `select`: all channels, for messages of any size, driven by
 * `workers` thread blocks together, but by at least one each.
 */
struct gt_plan_select *gt_plan_builder_select(struct gt_plan_builder *b,
					      enum gt_algo algo,
					      uint32_t workers);

/* The proof's statement: what the plan reaches and what bounds its class. */
void gt_plan_builder_proof(struct gt_plan_builder *b,
			   enum gt_proof_class class_, struct gt_rat value,
			   struct gt_rat bound);

/* Append a route to those of the proof, whose array has room for it. */
void gt_plan_builder_route(struct gt_plan_builder *b, uint32_t from,
			   uint32_t to, const struct gt_fabric_route *route);

#endif
