/*
 * Fixes routes as NCCL does, in waves from the target.
 */
#include "topo/nccl/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "topo/graph/topo.h"

/* What leaves a node, while it is sorted. */
struct gt_nccl_exit {
	uint32_t from, link;
	uint32_t rank; /* among those that are as wide */
	int up;
	int64_t kbs;
};

static int gt_nccl_exit_order(const void *left, const void *right)
{
	const struct gt_nccl_exit *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->up != b->up)
		return a->up - b->up;
	if (a->kbs != b->kbs)
		return a->kbs > b->kbs ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int64_t gt_nccl_kbs(struct gt_rat gbs)
{
	return (int64_t)(gt_rat_double(gbs) * 1e6 + 0.5);
}

static uint32_t gt_nccl_reverse(const struct gt_topo *topo,
				const uint32_t *first, const uint32_t *links,
				uint32_t link)
{
	const struct gt_link *there = gt_topo_link(topo, link), *back;

	for (uint32_t i = first[there->to]; i < first[there->to + 1]; i++) {
		back = gt_topo_link(topo, links[i]);
		if (back->to == there->from && back->kind == there->kind)
			return links[i];
	}
	return GT_NONE;
}

/*
 * Lists all links with what orders them.  A GPU's own stand as in the file, all
 * others as the nodes that they lead to.
 */
static void gt_nccl_exits(const struct gt_nccl_links *links,
			  const uint32_t *places, struct gt_nccl_exit *exits)
{
	const struct gt_topo *topo = links->topo;
	const struct gt_link *link;
	const struct gt_node *from;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		link = gt_topo_link(topo, i);
		from = gt_topo_node(topo, link->from);
		links->kbs[i] = gt_nccl_kbs(link->gbs);
		exits[i] = (struct gt_nccl_exit){
			.from = link->from,
			.link = i,
			.rank = from->kind == GT_NODE_GPU ? i
							  : places[link->to],
			.up = link->kind == GT_LINK_PCI && from->up == link->to,
			.kbs = links->kbs[i]};
		links->first[link->from + 1]++;
	}
}

int gt_nccl_links_new(const struct gt_topo *topo, const uint32_t *places,
		      struct gt_arena *arena, struct gt_nccl_links *links,
		      struct gt_err *err)
{
	uint32_t n = gt_topo_nlinks(topo), nnodes = gt_topo_nnodes(topo);
	struct gt_nccl_exit *exits = gt_arena_array(arena, n, sizeof(*exits));

	links->topo = topo;
	links->first = gt_arena_array(arena, nnodes + 1, sizeof(uint32_t));
	links->links = gt_arena_array(arena, n, sizeof(uint32_t));
	links->back = gt_arena_array(arena, n, sizeof(uint32_t));
	links->kbs = gt_arena_array(arena, n, sizeof(int64_t));
	if (!exits || !links->first || !links->links || !links->back ||
	    !links->kbs)
		return gt_err_nomem(err);
	gt_nccl_exits(links, places, exits);
	qsort(exits, n, sizeof(*exits), gt_nccl_exit_order);
	for (uint32_t i = 0; i < n; i++)
		links->links[i] = exits[i].link;
	for (uint32_t i = 0; i < nnodes; i++)
		links->first[i + 1] += links->first[i];
	for (uint32_t i = 0; i < n; i++)
		links->back[i] =
			gt_nccl_reverse(topo, links->first, links->links, i);
	return GT_OK;
}

/* The nodes of a wave, in the order in which they were reached. */
struct gt_nccl_wave {
	uint32_t *nodes, n;
	unsigned char *in; /* by node */
};

struct gt_nccl_spread {
	const struct gt_nccl_links *links;
	struct gt_arena *arena;
	struct gt_nccl_route *routes;
	struct gt_nccl_wave now, next;
	uint32_t target;
};

/* May a GPU that is not the target pass its route on over this link? */
static int gt_nccl_relays(const struct gt_nccl_spread *spread,
			  const struct gt_link *link, uint32_t nhops)
{
	return link->kind == GT_LINK_NVL && nhops < 2 &&
	       gt_topo_node(spread->links->topo, link->to)->kind == GT_NODE_GPU;
}

static int gt_nccl_better(const struct gt_nccl_route *offer,
			  const struct gt_nccl_route *held)
{
	if (offer->kind != held->kind)
		return offer->kind < held->kind;
	return offer->kbs != held->kbs ? offer->kbs > held->kbs
				       : offer->nhops < held->nhops;
}

/* Offers the node at the other end of a link a route over this node. */
static int gt_nccl_offer(struct gt_nccl_spread *spread, uint32_t node,
			 uint32_t index, struct gt_err *err)
{
	const struct gt_topo *topo = spread->links->topo;
	const struct gt_link *link = gt_topo_link(topo, index);
	const struct gt_nccl_route *held = &spread->routes[node];
	struct gt_nccl_route offer = {gt_link_path_kind(topo, index),
				      held->nhops + 1,
				      spread->links->kbs[index], NULL};
	int relays = gt_topo_node(topo, node)->kind == GT_NODE_GPU &&
		     node != spread->target;
	struct gt_nccl_step *step;

	if (relays && !gt_nccl_relays(spread, link, held->nhops))
		return GT_OK;
	if (relays && held->kind == GT_PATH_NVL && held->nhops == 1)
		offer.kind = GT_PATH_NVB;
	if (offer.kind < held->kind)
		offer.kind = held->kind;
	if (offer.kbs > held->kbs)
		offer.kbs = held->kbs;
	if (!gt_nccl_better(&offer, &spread->routes[link->to]))
		return GT_OK;
	if (spread->links->back[index] == GT_NONE)
		return gt_err_set(err, GT_ENO, gt_topo_source(topo),
				  "link '%s' has no reverse; NCCL gives up on "
				  "such a machine",
				  link->id);
	step = gt_arena_alloc(spread->arena, sizeof(*step));
	if (!step)
		return gt_err_nomem(err);
	*step = (struct gt_nccl_step){spread->links->back[index], held->steps};
	offer.steps = step;
	spread->routes[link->to] = offer;
	if (!spread->next.in[link->to]) {
		spread->next.in[link->to] = 1;
		spread->next.nodes[spread->next.n++] = link->to;
	}
	return GT_OK;
}

static int gt_nccl_wave_pass(struct gt_nccl_spread *spread, struct gt_err *err)
{
	const struct gt_nccl_links *links = spread->links;
	uint32_t node;
	int rc = GT_OK;

	for (uint32_t i = 0; i < spread->now.n && !rc; i++) {
		node = spread->now.nodes[i];
		for (uint32_t l = links->first[node];
		     l < links->first[node + 1] && !rc; l++)
			rc = gt_nccl_offer(spread, node, links->links[l], err);
	}
	return rc;
}

int gt_nccl_spread(const struct gt_nccl_links *links, uint32_t target,
		   struct gt_arena *arena, struct gt_nccl_route *routes,
		   struct gt_err *err)
{
	uint32_t nnodes = gt_topo_nnodes(links->topo);
	struct gt_nccl_spread spread = {.links = links,
					.arena = arena,
					.routes = routes,
					.target = target};
	struct gt_nccl_wave *waves[] = {&spread.now, &spread.next}, done;
	int rc = GT_OK;

	for (int i = 0; i < 2; i++) {
		waves[i]->nodes =
			gt_arena_array(arena, nnodes, sizeof(uint32_t));
		waves[i]->in = gt_arena_alloc(arena, nnodes);
		if (!waves[i]->nodes || !waves[i]->in)
			return gt_err_nomem(err);
	}
	for (uint32_t i = 0; i < nnodes; i++)
		routes[i] = (struct gt_nccl_route){.kind = GT_PATH_DIS};
	routes[target] = (struct gt_nccl_route){.kind = GT_PATH_LOC,
						.kbs = GT_NCCL_LOCAL_KBS};
	spread.now.nodes[spread.now.n++] = target;
	while (spread.now.n && !rc) {
		rc = gt_nccl_wave_pass(&spread, err);
		done = spread.now;
		spread.now = spread.next;
		spread.next = done;
		spread.next.n = 0;
		memset(spread.now.in, 0, nnodes);
	}
	return rc;
}
