/* The vertices of one tree through switches that multicast and add up. */
#include "search/multicast/site.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "topo/graph/topo.h"

struct maker {
	const struct gt_multicast_site *site;
	struct gt_proposal_channel *channel;
	uint32_t *known; /* vertex of the graph -> 1 + that of the tree */
	int failed;
};

/* Add a vertex; one that has a parent gets its ways right after. */
static uint32_t add_vertex(struct maker *m, const char *name, uint32_t rank,
			   int drives)
{
	uint32_t i = m->channel->nvertices++;

	m->channel->vertices[i] = (struct gt_plan_vertex){
		.name = name, .rank = rank, .drives = drives, .parent = -1};
	return i;
}

/*
 * The links of the way from one vertex of the graph to a later one on its way
 * to a switch, and (back) the way back, into a list; their number.
 */
static uint32_t list_way(struct maker *m, const struct gt_switch_ways *ways,
			 uint32_t from, uint32_t to, int back, uint32_t **list)
{
	const struct gt_fabric *f = m->site->graph.fabric;
	uint32_t n = ways->dist[from] - ways->dist[to], at = from;

	*list = gt_arena_array(m->site->arena, n, sizeof(**list));
	m->failed |= !*list;
	for (uint32_t i = 0; i < n && !m->failed; i++) {
		(*list)[back ? n - 1 - i : i] =
			back ? ways->down[at] : ways->up[at];
		at = f->links[ways->up[at]].to;
	}
	return n;
}

/* Join a vertex to its parent, which is on its way to a switch. */
static void join_up(struct maker *m, uint32_t i, uint32_t parent,
		    const struct gt_switch_ways *ways, uint32_t from,
		    uint32_t to)
{
	enum gt_coll coll = m->site->graph.request->coll;
	struct gt_plan_vertex *vertex = &m->channel->vertices[i];

	vertex->parent = (int32_t)parent;
	if (gt_coll_goes_up(coll))
		vertex->nup = list_way(m, ways, from, to, 0, &vertex->up);
	if (gt_coll_goes_down(coll))
		vertex->ndown = list_way(m, ways, from, to, 1, &vertex->down);
}

/* Below a rank that drives hangs the switch, and from that all its ranks. */
static void add_below(struct maker *m, uint32_t driver, uint32_t rank)
{
	const struct gt_multicast_site *site = m->site;
	const struct gt_fabric *f = site->graph.fabric;
	uint32_t d = site->domain[rank], i, leaf;
	const struct gt_multicast_domain *domain = &site->domains[d];
	enum gt_coll coll = site->graph.request->coll;
	struct gt_plan_vertex *vertex;

	i = add_vertex(m, site->graph.names[domain->at], 0, 0);
	vertex = &m->channel->vertices[i];
	vertex->parent = (int32_t)driver;
	/* What goes up from the switch comes down to the rank. */
	if (gt_coll_goes_up(coll))
		vertex->nup = list_way(m, &domain->ways, f->ranks[rank],
				       domain->at, 1, &vertex->up);
	if (gt_coll_goes_down(coll))
		vertex->ndown = list_way(m, &domain->ways, f->ranks[rank],
					 domain->at, 0, &vertex->down);
	for (uint32_t r = 0; r < f->nranks; r++) {
		if (site->domain[r] != d)
			continue;
		leaf = add_vertex(m, NULL, r, 0);
		join_up(m, leaf, i, &domain->ways, f->ranks[r], domain->at);
	}
}

/*
 * Add the switches of the network on the way of a rank, from the top on, and
 * return the last one's place in the tree and in the graph.
 */
static uint32_t add_switches(struct maker *m, uint32_t tree, uint32_t vertex,
			     uint32_t *at)
{
	const struct gt_switch_graph *g = &m->site->graph;
	const struct gt_switch_ways *ways = &m->site->over[tree];
	uint32_t below = vertex, parent, i;

	/* The lowest switch above. */
	do
		below = g->fabric->links[ways->up[below]].to;
	while (g->node[below] != GT_NONE);
	*at = below;
	if (m->known[below])
		return m->known[below] - 1;
	parent = add_switches(m, tree, below, &i);
	vertex = add_vertex(m, g->names[below], 0, 0);
	m->known[below] = vertex + 1;
	join_up(m, vertex, parent, ways, below, i);
	return vertex;
}

static void add_network(struct maker *m, uint32_t tree)
{
	const struct gt_multicast_site *site = m->site;
	const struct gt_switch_graph *g = &site->graph;
	uint32_t root = site->roots[tree];

	m->known[root] = 1 + add_vertex(m, g->names[root], 0, 0);
	for (uint32_t r = 0; r < g->fabric->nranks && !m->failed; r++) {
		uint32_t v = g->fabric->ranks[r], parent, at, driver;

		if (site->place[r] != tree)
			continue;
		parent = add_switches(m, tree, v, &at);
		driver = add_vertex(m, NULL, r, 1);
		join_up(m, driver, parent, &site->over[tree], v, at);
		add_below(m, driver, r);
	}
}

int gt_multicast_tree(const struct gt_multicast_site *site, uint32_t tree,
		      struct gt_proposal_channel *channel, struct gt_err *err)
{
	const struct gt_fabric *f = site->graph.fabric;
	struct maker m = {.site = site, .channel = channel};

	m.known = gt_arena_array(site->arena, f->nnodes, sizeof(*m.known));
	channel->vertices =
		gt_arena_array(site->arena, 2 * (size_t)f->nranks + f->nnodes,
			       sizeof(*channel->vertices));
	if (!m.known || !channel->vertices)
		return gt_err_nomem(err);
	if (site->joins)
		add_network(&m, tree);
	else
		add_below(&m, add_vertex(&m, NULL, tree, 1), tree);
	return m.failed ? gt_err_nomem(err) : GT_OK;
}
