/*
 * Of an all-reduce let X go through a node's switch, y of it driven by rank r,
 * whose leaf carries B: X + y is at most B, and all y together, which are X,
 * are a flow into the network.  By its cuts X is at most
 *
 *	(sum of B in R + least cut between the other ranks and the network)
 *	/ (1 + |R|)
 *
 * for any set R of the ranks, and the least of these is reached.  From a set
 * one gets to a better one by a maximum flow in which each rank may send B - X
 * (Dinkelbach, "On nonlinear fractional programming", 1967).  Capacities are
 * whole numbers there, a little too small; as any set proves its bound, only
 * that is computed exactly.
 */
#include "search/multicast/exits.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/graph.h"
#include "search/multicast/site.h"
#include "search/problem/fabric.h"
#include "topo/graph/topo.h"

/* Parts of a GB/s in the flow, in which a million GB/s are as good as more. */
enum { PARTS = 1 << 20, WIDEST_GBS = 1 << 20 };

struct finder {
	const struct gt_multicast_site *site;
	const struct gt_rat *own;
	uint32_t domain;
	int down;
	struct gt_maxflow *flow;
	uint32_t *local;   /* vertex -> 1 + its number in the flow */
	uint32_t nlocal;   /* 0: source, 1: sink, which is the network */
	uint32_t *arcs;    /* arc -> link */
	uint32_t narcs;    /* those come after the ranks' */
	uint32_t *members; /* the domain's ranks; the first arcs are theirs */
	uint32_t nmembers;
};

static const struct gt_fabric *fabric_of(const struct finder *f)
{
	return f->site->graph.fabric;
}

static int64_t whole(struct gt_rat gbs)
{
	if (gbs.num <= 0)
		return 0;
	return gt_rat_floor_mul(gt_rat_min(gbs, GT_RAT(WIDEST_GBS, 1)), PARTS);
}

/* A vertex's number in the flow: all outside the node are the sink. */
static uint32_t number(struct finder *f, uint32_t vertex)
{
	if (f->site->graph.node[vertex] != f->domain)
		return 1;
	if (!f->local[vertex])
		f->local[vertex] = 1 + f->nlocal++;
	return f->local[vertex] - 1;
}

/* Does a way out, or one in, cross this link?  None leads through a GPU. */
static int crosses(const struct finder *f, uint32_t link)
{
	const struct gt_switch_graph *g = &f->site->graph;
	const struct gt_fabric_link *l = &g->fabric->links[link];
	uint32_t from = f->down ? l->to : l->from;
	uint32_t to = f->down ? l->from : l->to;

	return g->node[from] == f->domain && !g->is_gpu[to];
}

/* Ranks first, then links, as arcs that lead to the network. */
static int build(struct finder *f)
{
	const struct gt_fabric *fabric = fabric_of(f);
	uint32_t n = 2, most = fabric->nlinks + fabric->nranks;

	for (uint32_t v = 0; v < fabric->nnodes; v++)
		n += f->site->graph.node[v] == f->domain;
	f->nlocal = 2;
	f->local = gt_arena_array(f->site->arena, fabric->nnodes,
				  sizeof(*f->local));
	f->arcs = gt_arena_array(f->site->arena, most, sizeof(*f->arcs));
	f->members = gt_arena_array(f->site->arena, fabric->nranks,
				    sizeof(*f->members));
	f->flow = gt_maxflow_new(n, most);
	if (!f->local || !f->arcs || !f->members || !f->flow)
		return 0;
	for (uint32_t r = 0; r < fabric->nranks; r++) {
		if (f->site->domain[r] != f->domain)
			continue;
		f->members[f->nmembers++] = r;
		gt_maxflow_add(f->flow, 0, number(f, fabric->ranks[r]));
	}
	for (uint32_t i = 0; i < fabric->nlinks; i++) {
		const struct gt_fabric_link *l = &fabric->links[i];

		if (!crosses(f, i))
			continue;
		f->arcs[f->narcs++] = i;
		gt_maxflow_add(f->flow, number(f, f->down ? l->to : l->from),
			       number(f, f->down ? l->from : l->to));
	}
	return 1;
}

/* Links from the source's side of the cut to the other, and their sum. */
static int list_cut(struct finder *f, struct gt_multicast_exits *exits,
		    struct gt_rat *sum)
{
	const struct gt_fabric *fabric = fabric_of(f);

	exits->nlinks = 0;
	for (uint32_t i = 0; i < f->narcs; i++) {
		const struct gt_fabric_link *l = &fabric->links[f->arcs[i]];
		uint32_t from = number(f, f->down ? l->to : l->from);
		uint32_t to = number(f, f->down ? l->from : l->to);

		if (!gt_maxflow_is_source_side(f->flow, from) ||
		    gt_maxflow_is_source_side(f->flow, to))
			continue;
		exits->links[exits->nlinks++] = f->arcs[i];
		if (!gt_rat_add(*sum, l->gbs, sum))
			return 0;
	}
	return 1;
}

/* The bound of the set that the least cut for this X cuts off. */
static int cut(struct finder *f, struct gt_rat all,
	       struct gt_multicast_exits *exits)
{
	struct gt_rat sum = GT_RAT(0, 1), left;

	for (uint32_t i = 0; i < f->nmembers; i++) {
		if (!gt_rat_sub(f->own[f->members[i]], all, &left))
			return 0;
		gt_maxflow_set(f->flow, i, whole(left));
	}
	gt_maxflow_run(f->flow, 0, 1);
	exits->nterms = 1;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		uint32_t r = f->members[i];
		uint32_t at = number(f, fabric_of(f)->ranks[r]);

		exits->is_own[r] = !gt_maxflow_is_source_side(f->flow, at);
		exits->nterms += exits->is_own[r];
		if (exits->is_own[r] && !gt_rat_add(sum, f->own[r], &sum))
			return 0;
	}
	return list_cut(f, exits, &sum) &&
	       gt_rat_div(sum, GT_RAT(exits->nterms, 1), &exits->bound);
}

static int room(const struct finder *f, struct gt_multicast_exits *exits)
{
	exits->is_own = gt_arena_array(f->site->arena, fabric_of(f)->nranks, 1);
	exits->links = gt_arena_array(f->site->arena, f->narcs + (size_t)1,
				      sizeof(*exits->links));
	return exits->is_own && exits->links;
}

/* From all ranks as the set on, as long as bounds fall. */
static int improve(struct finder *f, struct gt_multicast_exits *exits)
{
	struct gt_multicast_exits next = *exits;
	struct gt_rat sum = GT_RAT(0, 1);

	for (uint32_t i = 0; i < f->nmembers; i++) {
		exits->is_own[f->members[i]] = 1;
		if (!gt_rat_add(sum, f->own[f->members[i]], &sum))
			return 0;
	}
	exits->nterms = f->nmembers + 1;
	if (!gt_rat_div(sum, GT_RAT(exits->nterms, 1), &exits->bound) ||
	    !room(f, &next))
		return 0;
	for (;;) {
		struct gt_multicast_exits kept = *exits;

		if (!cut(f, exits->bound, &next))
			return 0;
		if (gt_rat_cmp(next.bound, exits->bound) >= 0)
			return 1;
		*exits = next;
		next = kept;
	}
}

int gt_multicast_exits_find(const struct gt_multicast_site *site,
			    uint32_t domain, const struct gt_rat *own, int down,
			    struct gt_multicast_exits *exits,
			    struct gt_err *err)
{
	struct finder f = {
		.site = site, .own = own, .domain = domain, .down = down};
	int rc = GT_OK, made = build(&f);

	*exits = (struct gt_multicast_exits){.nlinks = 0};
	if (!made || !room(&f, exits)) {
		rc = gt_err_nomem(err);
	} else {
		for (uint32_t i = 0; i < f.narcs; i++)
			gt_maxflow_set(
				f.flow, f.nmembers + i,
				whole(fabric_of(&f)->links[f.arcs[i]].gbs));
		if (!improve(&f, exits))
			rc = gt_err_set(err, GT_ENO, NULL,
					"rates need more than 64 bits");
	}
	gt_maxflow_free(f.flow);
	return rc;
}
