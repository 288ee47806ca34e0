/*
 * The parts of search/cluster/emit.h that have files of their own.  They are
 * for emit.c, and share what it has begun.
 */
#ifndef GT_SEARCH_CLUSTER_EMIT_PARTS_H
#define GT_SEARCH_CLUSTER_EMIT_PARTS_H

#include "base/rat.h"
#include "search/cluster/emit.h"
#include "search/emit/plan_builder.h"

struct gt_cluster_emitter {
	struct gt_plan_builder b;
	const struct gt_cluster_solution *solution;
	struct gt_rat value; /* what the channels reach, in the proof's unit */
};

/* emit_channels.c: the channels of what was found. */
void gt_cluster_emit_templates(struct gt_cluster_emitter *e);
void gt_cluster_emit_lag(struct gt_cluster_emitter *e);
void gt_cluster_emit_double_trees(struct gt_cluster_emitter *e);
void gt_cluster_emit_rings(struct gt_cluster_emitter *e);
void gt_cluster_emit_alltoall(struct gt_cluster_emitter *e);

/*
 * emit_proof.c: the proof of what was found, if there is a bound.  That of
 * templates and double trees is a cut, that of rings prices or a cut, that of
 * an all-to-all prices.
 */
void gt_cluster_emit_cut_proof(struct gt_cluster_emitter *e);
void gt_cluster_emit_ring_proof(struct gt_cluster_emitter *e);
void gt_cluster_emit_alltoall_proof(struct gt_cluster_emitter *e);

#endif
