/* The parts of search/emit/emit.h that have files of their own, and what all share. */
#ifndef GT_SEARCH_EMIT_PROOF_H
#define GT_SEARCH_EMIT_PROOF_H

#include <stddef.h>
#include <stdint.h>

struct gt_fabric_route;
struct gt_solution;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_hop;
struct gt_proposal_channel;

struct gt_emit {
	const struct gt_solution *found;
	struct gt_plan *plan;
	uint32_t *link; /* of the fabric -> of the plan */
	int failed;     /* memory ran out; the rest does not matter */
};

/* In the plan's arena; NULL sets failed. */
void *gt_emit_array(struct gt_emit *e, size_t n, size_t size_bytes);

/* Links of the fabric as links of the plan. */
uint32_t *gt_emit_map(struct gt_emit *e, const uint32_t *links, uint32_t n);

void gt_emit_hop(struct gt_emit *e, struct gt_plan_hop *hop, uint32_t from,
		 uint32_t to, const struct gt_fabric_route *route);

void gt_emit_proof(struct gt_emit *e);

/* The graph of a flow's channel, and that of a mesh. */
void gt_emit_flow(struct gt_emit *e, const struct gt_proposal_channel *in,
		  struct gt_plan_channel *out);
void gt_emit_mesh(struct gt_emit *e, struct gt_plan_channel *out);

#endif
