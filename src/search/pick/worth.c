/*
 * Bounds a choice by the parts that the levels of the machine make of it, and
 * exactly, on a fabric of its links alone.
 */
#include "search/pick/worth.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/pick/pick.h"
#include "search/pick/routes.h"
#include "search/problem/fabric.h"
#include "topo/graph/topo.h"

/* ---- the parts of each level -------------------------------------------- */

/* What is `level` steps above a GPU; CPUs and what is loose are the top. */
static uint32_t above(const struct gt_topo *topo, uint32_t node, uint32_t level)
{
	const struct gt_node *at = gt_topo_node(topo, node);

	while (level-- && at->kind != GT_NODE_CPU && at->up != GT_NONE) {
		node = at->up;
		at = gt_topo_node(topo, node);
	}
	return node;
}

/* All nodes below what is so far above some GPU are a part. */
static void mark_level(const struct gt_topo *topo, uint32_t level,
		       uint32_t *part)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		part[i] = GT_NONE;
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		uint32_t top = above(topo, gt_topo_gpu(topo, i), level);

		part[top] = top;
	}
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		for (uint32_t up = 1; up < GT_PICK_LEVELS; up++)
			if (part[above(topo, i, up)] == above(topo, i, up))
				part[i] = above(topo, i, up);
}

static int same_parts(const struct gt_topo *topo, const uint32_t *a,
		      const uint32_t *b)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

int gt_pick_worth_init(struct gt_pick_worth *worth,
		       const struct gt_pick_routes *routes,
		       struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_topo *topo = routes->query->topo;
	uint32_t n = gt_topo_nnodes(topo);

	*worth = (struct gt_pick_worth){.routes = routes};
	worth->seen = gt_arena_array(arena, n, sizeof(*worth->seen));
	if (!worth->seen)
		return gt_err_nomem(err);
	for (uint32_t level = 0; level < GT_PICK_LEVELS; level++) {
		uint32_t *part = gt_arena_array(arena, n, sizeof(*part));

		if (!part)
			return gt_err_nomem(err);
		mark_level(topo, level, part);
		if (level && same_parts(topo, part, worth->part[level - 1]))
			break;
		worth->part[worth->nlevels++] = part;
	}
	return GT_OK;
}

/* ---- the quick bound ---------------------------------------------------- */

/* Count the parts with GPUs of the choice, and note which they are. */
static uint32_t count_parts(struct gt_pick_worth *worth, const uint32_t *part,
			    uint64_t choice)
{
	const struct gt_pick_query *query = worth->routes->query;
	uint32_t count = 0;

	worth->question++;
	for (uint32_t i = 0; i < query->ngpus; i++) {
		uint32_t of = part[query->gpus[i]];

		if (!(choice >> i & 1) || worth->seen[of] == worth->question)
			continue;
		worth->seen[of] = worth->question;
		count++;
	}
	return count;
}

/* The sum of what leaves each of these parts. */
static int64_t leaves_parts(const struct gt_pick_worth *worth,
			    const uint32_t *part)
{
	const struct gt_pick_routes *routes = worth->routes;
	int64_t sum = 0;

	for (uint32_t i = 0; i < routes->nused; i++) {
		uint32_t link = routes->used[i];
		uint32_t from = part[routes->links[link].from];

		if (from != GT_NONE && from != part[routes->links[link].to] &&
		    worth->seen[from] == worth->question)
			sum += gt_pick_link_scaled(routes, link);
	}
	return sum;
}

int gt_pick_worth_at_most(struct gt_pick_worth *worth, uint64_t choice,
			  struct gt_rat *gbs)
{
	int64_t n = __builtin_popcountll(choice);
	int found = 0;

	for (uint32_t k = 0; k < worth->nlevels; k++) {
		const uint32_t *part = worth->part[k];
		int64_t nparts = count_parts(worth, part, choice);
		struct gt_rat one;

		if (nparts < 2 ||
		    !gt_rat_make(leaves_parts(worth, part),
				 worth->routes->scale * (nparts - 1), &one) ||
		    !gt_rat_mul(one, GT_RAT(n - 1, n), &one))
			continue;
		*gbs = found ? gt_rat_min(*gbs, one) : one;
		found = 1;
	}
	return found;
}

/* ---- the exact bound ---------------------------------------------------- */

/* The choice's links alone, and its GPUs as ranks. */
static int make_fabric(const struct gt_pick_routes *routes, uint64_t choice,
		       struct gt_arena *arena, struct gt_fabric *f)
{
	const struct gt_pick_query *query = routes->query;

	f->nnodes = gt_topo_nnodes(query->topo);
	f->links = gt_arena_array(arena, routes->nused, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, query->ngpus, sizeof(*f->ranks));
	if (!f->links || !f->ranks)
		return GT_ESYS;
	for (uint32_t i = 0; i < routes->nused; i++) {
		uint32_t link = routes->used[i];

		f->links[f->nlinks++] = (struct gt_fabric_link){
			.from = routes->links[link].from,
			.to = routes->links[link].to,
			.gbs = gt_pick_link_gbs(routes, link),
		};
	}
	for (uint32_t i = 0; i < query->ngpus; i++)
		if (choice >> i & 1)
			f->ranks[f->nranks++] = query->gpus[i];
	return GT_OK;
}

int gt_pick_worth_find(const struct gt_pick_worth *worth, uint64_t choice,
		       struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric fabric = {.nnodes = 0};
	struct gt_bound_query ask = {.fabric = &fabric,
				     .coll = GT_COLL_ALLREDUCE};
	struct gt_bound bound = {.found = 0};
	int rc = GT_ESYS;

	if (arena && !make_fabric(worth->routes, choice, arena, &fabric))
		rc = gt_bound_find(&ask, arena, &bound, err);
	if (rc == GT_ESYS)
		rc = gt_err_nomem(err);
	if (!rc && !bound.found)
		rc = gt_err_set(err, GT_EINPUT,
				gt_topo_source(worth->routes->query->topo),
				"has rates that are no fractions of 64 bits");
	if (!rc)
		*gbs = bound.value;
	gt_arena_free(arena);
	return rc;
}
