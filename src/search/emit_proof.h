/* The proof's part of search/emit.h, and what both parts share. */
#ifndef GT_SEARCH_EMIT_PROOF_H
#define GT_SEARCH_EMIT_PROOF_H

#include <stddef.h>
#include <stdint.h>

struct gt_found;
struct gt_plan;

struct gt_emit {
	const struct gt_found *found;
	struct gt_plan *plan;
	uint32_t *link; /* of the fabric -> of the plan */
	int failed;     /* memory ran out; the rest does not matter */
};

/* In the plan's arena; NULL sets failed. */
void *gt_emit_array(struct gt_emit *e, size_t n, size_t size_bytes);

/* Links of the fabric as links of the plan. */
uint32_t *gt_emit_map(struct gt_emit *e, const uint32_t *links, uint32_t n);

void gt_emit_proof(struct gt_emit *e);

#endif
