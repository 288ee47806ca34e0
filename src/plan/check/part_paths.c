/*
 * Parts of a proof without routes: then any path along the plan's links counts,
 * so a part's links have to cut all of them.  Vertices are the names in links'
 * ids, as the hops of the plan have to follow them, too.
 */
#include "plan/check/bounds.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/plan.h"

struct gt_part_paths {
	const struct gt_plan *plan;
	struct gt_link_graph graph;
	int enter;         /* do bytes flow into parts? */
	uint32_t *first;   /* vertex -> its place in `links`; one more */
	uint32_t *links;   /* by the vertex that a part grows from */
	uint32_t *rank_at; /* vertex -> 1 + its rank, or 0 */
	uint32_t *seen;    /* vertex -> 1 + the part that reaches it */
	uint32_t *named;   /* link -> 1 + the part that it was named by last */
	uint32_t *queue;
};

static int gt_part_paths_room(struct gt_part_paths *p, struct gt_arena *arena)
{
	size_t n = p->graph.n, nlinks = p->plan->nlinks;

	p->first = gt_arena_array(arena, n + 2, sizeof(*p->first));
	p->links = gt_arena_array(arena, nlinks, sizeof(*p->links));
	p->rank_at = gt_arena_array(arena, n, sizeof(*p->rank_at));
	p->seen = gt_arena_array(arena, n, sizeof(*p->seen));
	p->named = gt_arena_array(arena, nlinks, sizeof(*p->named));
	p->queue = gt_arena_array(arena, n, sizeof(*p->queue));
	return p->first && p->links && p->rank_at && p->seen && p->named &&
	       p->queue;
}

static uint32_t gt_part_paths_near(const struct gt_part_paths *p, uint32_t link)
{
	return p->enter ? p->graph.to[link] : p->graph.from[link];
}

static uint32_t gt_part_paths_far(const struct gt_part_paths *p, uint32_t link)
{
	return p->enter ? p->graph.from[link] : p->graph.to[link];
}

/* Sort links by the vertex that they lead on from. */
static void gt_part_paths_sort(struct gt_part_paths *p)
{
	for (uint32_t i = 0; i < p->plan->nlinks; i++)
		p->first[gt_part_paths_near(p, i) + 2]++;
	for (uint32_t v = 0; v < p->graph.n; v++)
		p->first[v + 2] += p->first[v + 1];
	for (uint32_t i = 0; i < p->plan->nlinks; i++)
		p->links[p->first[gt_part_paths_near(p, i) + 1]++] = i;
}

/* Does the hop lead along its links, from its one rank to the other? */
static int gt_part_paths_follows(const struct gt_part_paths *p,
				 const struct gt_plan_hop *hop)
{
	uint32_t at = p->graph.rank[hop->from];

	for (uint32_t k = 0; k < hop->nroute; k++) {
		if (p->graph.from[hop->route[k]] != at)
			return 0;
		at = p->graph.to[hop->route[k]];
	}
	return at == p->graph.rank[hop->to];
}

/* Are all ranks vertices of the graph, and do all hops keep to its links? */
static int gt_part_paths_applies(const struct gt_part_paths *p)
{
	const struct gt_plan *plan = p->plan;

	for (uint32_t i = 0; i < plan->nranks; i++)
		if (p->graph.rank[i] == GT_NO_VERTEX)
			return 0;
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++)
			if (!gt_part_paths_follows(p,
						   &plan->channels[c].hops[i]))
				return 0;
	return 1;
}

/* Whatever the part's ranks reach without its links is no rank but theirs. */
static int gt_part_paths_cut(struct gt_part_paths *p, uint32_t part,
			     const uint32_t *owner, struct gt_err *err)
{
	const struct gt_plan_part *at = &p->plan->proof.parts[part];
	uint32_t n = 0;

	for (uint32_t i = 0; i < at->nlinks; i++)
		p->named[at->links[i]] = part + 1;
	for (uint32_t i = 0; i < at->nranks; i++) {
		p->queue[n++] = p->graph.rank[at->ranks[i]];
		p->seen[p->queue[i]] = part + 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = p->queue[i], rank = p->rank_at[v];

		if (rank && owner[rank - 1] != part + 1)
			return gt_plan_wrong(
				p->plan,
				gt_plan_at("proof.certificate.parts[%u]", part),
				err,
				"a path between it and rank %u crosses none of "
				"its links",
				rank - 1);
		for (uint32_t k = p->first[v]; k < p->first[v + 1]; k++) {
			uint32_t far = gt_part_paths_far(p, p->links[k]);

			if (p->named[p->links[k]] == part + 1 ||
			    p->seen[far] == part + 1)
				continue;
			p->seen[far] = part + 1;
			p->queue[n++] = far;
		}
	}
	return GT_OK;
}

static int gt_part_paths_run(struct gt_part_paths *p, const uint32_t *owner,
			     enum gt_bound_state *state, struct gt_err *err)
{
	int rc = GT_OK;

	*state = GT_BOUND_NO_ROUTES;
	if (!gt_part_paths_applies(p))
		return GT_OK;
	gt_part_paths_sort(p);
	for (uint32_t i = 0; i < p->plan->nranks; i++)
		p->rank_at[p->graph.rank[i]] = i + 1;
	for (uint32_t i = 0; i < p->plan->proof.nparts && !rc; i++)
		rc = gt_part_paths_cut(p, i, owner, err);
	if (!rc)
		*state = GT_BOUND_PROVEN;
	return rc;
}

int gt_check_part_paths(const struct gt_plan *plan, const uint32_t *owner,
			int enter, enum gt_bound_state *state,
			struct gt_err *err)
{
	struct gt_part_paths p = {.plan = plan, .enter = enter};
	struct gt_arena *arena = gt_arena_new();
	struct gt_err none;
	int rc = arena ? GT_OK : GT_ESYS;

	gt_err_init(&none);
	*state = GT_BOUND_NO_ROUTES;
	if (!rc)
		rc = gt_link_graph_init(plan, arena, &p.graph, &none);
	/* Links may be called anything; then nothing is known of paths. */
	if (rc && rc != GT_ESYS) {
		gt_arena_free(arena);
		return GT_OK;
	}
	if (!rc && gt_part_paths_room(&p, arena))
		rc = gt_part_paths_run(&p, owner, state, err);
	else
		rc = gt_err_nomem(err);
	gt_arena_free(arena);
	return rc;
}
