/*
 * Fills the table of routes between all devices.  First every pair gets the
 * best route that relays through no GPU (route_search.h); pairs of GPUs then
 * get NVLink, direct or through one other GPU, and pairs of a GPU and a port
 * perhaps a route over the NVLink of a GPU that is near the card (PXN).
 */
#include "topo/graph/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/inside.h"
#include "topo/graph/topo.h"
#include "topo/graph/route_search.h"

static const struct gt_path gt_path_none = {
	.kind = GT_PATH_DIS,
	.gbs = {0, 1},
	.charge = {1, 1},
};

/* Ends of routes are numbered: GPUs first, then ports, each in order of dev. */
struct gt_paths {
	struct gt_arena *arena;
	const struct gt_topo *topo;
	uint32_t *ends;  /* nodes */
	uint32_t *place; /* an end's number by node, or GT_NONE */
	uint32_t nends;
	struct gt_path *paths; /* nends x nends */
	struct gt_path *peer;  /* ngpus x ngpus, with no GPU between */
	uint32_t *nvlink;      /* direct links, ngpus x ngpus, or GT_NONE */
	uint32_t *to_nvs, *from_nvs; /* a GPU's links to and from NVSwitch */
	int relayed;                 /* may GPUs relay? */
	int open;                    /* do all have peer access anyhow? */
};

static struct gt_path *gt_paths_at(const struct gt_paths *paths, uint32_t from,
				   uint32_t to)
{
	return &paths->paths[(size_t)from * paths->nends + to];
}

/* Notes where the NVLinks go, so that pairs of GPUs need no search. */
static void gt_paths_nvlinks(const struct gt_paths *paths)
{
	const struct gt_topo *topo = paths->topo;
	uint32_t ngpus = topo->ngpus, from, to;

	memset(paths->nvlink, 0xff, (size_t)ngpus * ngpus * sizeof(uint32_t));
	memset(paths->to_nvs, 0xff, ngpus * sizeof(uint32_t));
	memset(paths->from_nvs, 0xff, ngpus * sizeof(uint32_t));
	for (uint32_t i = 0; i < topo->nlinks; i++) {
		if (topo->links[i].kind != GT_LINK_NVL)
			continue;
		from = paths->place[topo->links[i].from];
		to = paths->place[topo->links[i].to];
		if (from < ngpus && to < ngpus)
			paths->nvlink[(size_t)from * ngpus + to] = i;
		else if (from < ngpus &&
			 topo->nodes[topo->links[i].to].kind == GT_NODE_NVS)
			paths->to_nvs[from] = i;
		else if (to < ngpus &&
			 topo->nodes[topo->links[i].from].kind == GT_NODE_NVS)
			paths->from_nvs[to] = i;
	}
}

/*
 * Returns the factor by which PCI links carry less of this path: traffic of a
 * GPU through an Intel host bridge is charged 6/5.
 */
static struct gt_rat gt_path_charge(const struct gt_topo *topo,
				    const struct gt_path *path)
{
	const struct gt_link *link = &topo->links[path->links[0]];

	if (path->kind != GT_PATH_PHB ||
	    topo->nodes[link->from].kind != GT_NODE_GPU)
		return GT_RAT(1, 1);
	for (uint32_t i = 0; i < path->nhops; i++) {
		link = &topo->links[path->links[i]];
		if (topo->nodes[link->to].kind == GT_NODE_CPU)
			return topo->nodes[link->to].charge;
	}
	return GT_RAT(1, 1);
}

/*
 * Computes the bandwidth of the path's narrowest link, after its charge is
 * taken off PCI links; 0 when that is no 64-bit fraction.
 */
static int gt_path_measure(const struct gt_topo *topo, struct gt_path *path)
{
	const struct gt_link *link;
	struct gt_rat gbs;

	/* What goes to memory is no traffic between peers. */
	path->charge =
		path->is_staged ? GT_RAT(1, 1) : gt_path_charge(topo, path);
	for (uint32_t i = 0; i < path->nhops; i++) {
		link = &topo->links[path->links[i]];
		gbs = link->gbs;
		if (link->kind == GT_LINK_PCI &&
		    !gt_rat_div(gbs, path->charge, &gbs))
			return 0;
		if (!i || gt_rat_cmp(gbs, path->gbs) < 0)
			path->gbs = gbs;
	}
	return 1;
}

/*
 * Returns the kind of a path, which is the worst of its links' kinds; C2C and
 * then PCI is P2C.
 */
static enum gt_path_kind gt_path_classify(const struct gt_topo *topo,
					  const struct gt_path *path)
{
	enum gt_path_kind kind = GT_PATH_LOC, step;
	int c2c = 0;

	for (uint32_t i = 0; i < path->nhops; i++) {
		step = gt_link_path_kind(topo, path->links[i]);
		c2c |= step == GT_PATH_C2C;
		if (step > kind)
			kind = step;
	}
	return c2c && kind == GT_PATH_PHB ? GT_PATH_P2C : kind;
}

/* Fill *path from links; 0 when memory ran out. */
static int gt_path_set(const struct gt_paths *paths, const uint32_t *links,
		       uint32_t nhops, struct gt_path *path)
{
	uint32_t *own = gt_arena_array(paths->arena, nhops, sizeof(*own));

	if (!own)
		return 0;
	memcpy(own, links, nhops * sizeof(*own));
	path->links = own;
	path->nhops = nhops;
	path->kind = gt_path_classify(paths->topo, path);
	return gt_path_measure(paths->topo, path);
}

int gt_topo_may_access(const struct gt_topo *topo, uint32_t from, uint32_t to)
{
	const char *word = topo->nodes[topo->gpus[from]].p2p;
	int may = 1;
	uint32_t n;

	for (n = 0; word && *word; n++) {
		size_t len = strcspn(word, " ");

		if (n == to)
			may = len < 2 || (word[0] == 'r' && word[1] == 'w');
		word += len;
		word += strspn(word, " ");
	}
	return n != topo->ngpus || may;
}

/* Do two ends have to go through the host's memory? */
static int gt_paths_are_apart(const struct gt_paths *paths, uint32_t a,
			      uint32_t b)
{
	uint32_t ngpus = paths->topo->ngpus;

	return a != b && a < ngpus && b < ngpus && !paths->open &&
	       (!gt_topo_may_access(paths->topo, a, b) ||
		!gt_topo_may_access(paths->topo, b, a));
}

static uint32_t gt_paths_link(const struct gt_topo *topo, uint32_t from,
			      uint32_t to)
{
	for (uint32_t i = 0; i < topo->nlinks; i++)
		if (topo->links[i].from == from && topo->links[i].to == to)
			return i;
	return GT_NONE;
}

/*
 * Gives the links from a GPU up to its CPU, and the ones that lead down again,
 * in their order from the GPU; returns their number, or 0 if it has no CPU.
 */
static uint32_t gt_paths_climb(const struct gt_paths *paths, uint32_t end,
			       uint32_t *up, uint32_t *down)
{
	const struct gt_topo *topo = paths->topo;
	uint32_t at = paths->ends[end], above, n = 0;

	while (topo->nodes[at].kind != GT_NODE_CPU) {
		above = topo->nodes[at].up;
		if (above == GT_NONE || n == topo->nnodes)
			return 0;
		up[n] = gt_paths_link(topo, at, above);
		down[n] = gt_paths_link(topo, above, at);
		if (up[n] == GT_NONE || down[n] == GT_NONE)
			return 0;
		n++;
		at = above;
	}
	return n;
}

/*
 * Gives the links out of a CPU's memory and into it, in the order from a GPU,
 * and returns their number; 0 if it is left out.
 */
static uint32_t gt_paths_wait(const struct gt_topo *topo, uint32_t cpu,
			      uint32_t *links)
{
	for (uint32_t i = 0; i < topo->nlinks; i++) {
		if (topo->links[i].kind != GT_LINK_MEM ||
		    topo->links[i].from != cpu)
			continue;
		links[0] = gt_paths_link(topo, topo->links[i].to, cpu);
		links[1] = i;
		return links[0] == GT_NONE ? 0 : 2;
	}
	return 0;
}

/*
 * Gives the links of two GPUs' route through their CPUs and the memory of the
 * second one's, where its rank polls: reads across sockets wait for an answer,
 * and writes do not.  There is room for five times as many as nodes.  Returns
 * the links' number; 0: there is no route.
 */
static uint32_t gt_paths_over_cpus(const struct gt_paths *paths, uint32_t from,
				   uint32_t to, uint32_t *links)
{
	const struct gt_topo *topo = paths->topo;
	uint32_t *down = links + 2 * (size_t)topo->nnodes + 2;
	uint32_t *aside = down + topo->nnodes, between;
	uint32_t n = gt_paths_climb(paths, from, links, aside), ndown, there;

	ndown = n ? gt_paths_climb(paths, to, aside, down) : 0;
	if (!ndown)
		return 0;
	there = topo->links[down[ndown - 1]].from;
	if (topo->links[links[n - 1]].to != there) {
		between = gt_paths_link(topo, topo->links[links[n - 1]].to,
					there);
		if (between == GT_NONE)
			return 0;
		links[n++] = between;
	}
	ndown += gt_paths_wait(topo, there, down + ndown);
	while (ndown)
		links[n++] = down[--ndown];
	return n;
}

/* Has two GPUs without access go over their CPUs, or not reach each other. */
static int gt_paths_stage(const struct gt_paths *paths, uint32_t from,
			  uint32_t to)
{
	struct gt_path *path = gt_paths_at(paths, from, to);
	size_t room = (size_t)paths->topo->nnodes * 5 + 4;
	uint32_t *links = calloc(room, sizeof(*links)), n;
	int good = links != NULL;

	*path = gt_path_none;
	path->is_staged = 1;
	n = good ? gt_paths_over_cpus(paths, from, to, links) : 0;
	if (n)
		good = gt_path_set(paths, links, n, path);
	free(links);
	return good;
}

/* Fills the row of an end with routes that relay through no GPU. */
static int gt_paths_plain(const struct gt_paths *paths,
			  struct gt_route_search *search, uint32_t from)
{
	const uint32_t *links;
	struct gt_path *path;
	uint32_t n;

	if (!gt_route_search_from(search, paths->ends[from]))
		return 0;
	for (uint32_t to = 0; to < paths->nends; to++) {
		path = gt_paths_at(paths, from, to);
		*path = gt_path_none;
		n = to == from ? 0
			       : gt_route_search_to(search, paths->ends[to],
						    &links);
		if (n && !gt_path_set(paths, links, n, path))
			return 0;
		if (gt_paths_are_apart(paths, from, to) &&
		    !gt_paths_stage(paths, from, to))
			return 0;
	}
	path = gt_paths_at(paths, from, from);
	path->kind = GT_PATH_LOC;
	path->gbs = GT_RAT(5000, 1);
	return 1;
}

/*
 * Gives the links of the direct NVLink, or of the two through NVSwitch, and
 * returns their number; 0 when there are none.
 */
static uint32_t gt_paths_direct(const struct gt_paths *paths, uint32_t from,
				uint32_t to, uint32_t links[2])
{
	links[0] = paths->nvlink[(size_t)from * paths->topo->ngpus + to];
	if (links[0] != GT_NONE)
		return 1;
	links[0] = paths->to_nvs[from];
	links[1] = paths->from_nvs[to];
	return links[0] != GT_NONE && links[1] != GT_NONE ? 2 : 0;
}

/* Returns whether a path of this width and kind beats the best one known. */
static int gt_path_beats(struct gt_rat gbs, enum gt_path_kind kind,
			 const struct gt_path *best)
{
	int order = gt_rat_cmp(gbs, best->gbs);

	return order > 0 || (!order && kind < best->kind);
}

/*
 * Gives a pair of GPUs its NVLink where there is one, else a route through a
 * third GPU if that beats the route found so far.
 */
static int gt_paths_gpus(const struct gt_paths *paths, uint32_t from,
			 uint32_t to)
{
	const struct gt_topo *topo = paths->topo;
	struct gt_path *best = gt_paths_at(paths, from, to);
	uint32_t links[2], n = gt_paths_direct(paths, from, to, links);

	if (best->is_staged)
		return 1;
	if (n && !gt_path_set(paths, links, n, best))
		return 0;
	paths->peer[(size_t)from * topo->ngpus + to] = *best;
	if (n)
		return 1;
	for (uint32_t via = 0; via < topo->ngpus && paths->relayed; via++) {
		links[0] = paths->nvlink[(size_t)from * topo->ngpus + via];
		links[1] = paths->nvlink[(size_t)via * topo->ngpus + to];
		if (links[0] == GT_NONE || links[1] == GT_NONE ||
		    !gt_path_beats(gt_rat_min(topo->links[links[0]].gbs,
					      topo->links[links[1]].gbs),
				   GT_PATH_NVB, best))
			continue;
		if (!gt_path_set(paths, links, 2, best))
			return 0;
		best->kind = GT_PATH_NVB;
	}
	return 1;
}

/*
 * Gives a GPU and a port the route over NVLink to the GPU `via`, which is near
 * the card, if that beats what they have (PXN).
 */
static int gt_paths_pxn(const struct gt_paths *paths, uint32_t from,
			uint32_t via, uint32_t to)
{
	struct gt_path *best = gt_paths_at(paths, from, to);
	const struct gt_path *nvlink = gt_paths_at(paths, from, via);
	const struct gt_path *near = gt_paths_at(paths, via, to);
	uint32_t *links;

	if (near->kind >= GT_PATH_PXN ||
	    !gt_path_beats(gt_rat_min(nvlink->gbs, near->gbs), GT_PATH_PXN,
			   best))
		return 1;
	links = gt_arena_array(paths->arena, nvlink->nhops + near->nhops,
			       sizeof(*links));
	if (!links)
		return 0;
	memcpy(links, nvlink->links, nvlink->nhops * sizeof(*links));
	memcpy(links + nvlink->nhops, near->links,
	       near->nhops * sizeof(*links));
	best->links = links;
	best->nhops = nvlink->nhops + near->nhops;
	best->kind = GT_PATH_PXN;
	return gt_path_measure(paths->topo, best);
}

static int gt_paths_fill(const struct gt_paths *paths,
			 struct gt_route_search *search)
{
	uint32_t ngpus = paths->topo->ngpus;
	int good = 1;

	gt_paths_nvlinks(paths);
	for (uint32_t i = 0; i < paths->nends && good; i++)
		good = gt_paths_plain(paths, search, i);
	for (uint32_t i = 0; i < ngpus; i++)
		for (uint32_t j = 0; j < ngpus && good; j++)
			good = i == j || gt_paths_gpus(paths, i, j);
	for (uint32_t i = 0; i < ngpus && paths->relayed; i++)
		for (uint32_t via = 0; via < ngpus; via++) {
			if (via == i ||
			    gt_paths_at(paths, i, via)->kind != GT_PATH_NVL)
				continue;
			for (uint32_t j = ngpus; j < paths->nends && good; j++)
				good = gt_paths_pxn(paths, i, via, j);
		}
	return good;
}

static struct gt_paths *gt_paths_alloc(const struct gt_topo *topo)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_paths *paths;
	uint32_t n = gt_topo_ndevices(topo);

	if (!arena)
		return NULL;
	paths = gt_arena_alloc(arena, sizeof(*paths));
	if (!paths)
		goto free_arena;
	paths->arena = arena;
	paths->topo = topo;
	paths->nends = n;
	paths->ends = gt_arena_array(arena, n, sizeof(*paths->ends));
	paths->place =
		gt_arena_array(arena, topo->nnodes, sizeof(*paths->place));
	paths->paths =
		gt_arena_array(arena, (size_t)n * n, sizeof(*paths->paths));
	paths->peer = gt_arena_array(arena, (size_t)topo->ngpus * topo->ngpus,
				     sizeof(*paths->peer));
	paths->nvlink = gt_arena_array(arena, (size_t)topo->ngpus * topo->ngpus,
				       sizeof(*paths->nvlink));
	paths->to_nvs =
		gt_arena_array(arena, topo->ngpus, sizeof(*paths->to_nvs));
	paths->from_nvs =
		gt_arena_array(arena, topo->ngpus, sizeof(*paths->from_nvs));
	if (!paths->ends || !paths->place || !paths->paths || !paths->peer ||
	    !paths->nvlink || !paths->to_nvs || !paths->from_nvs)
		goto free_arena;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		paths->place[i] = GT_NONE;
	for (uint32_t i = 0; i < n; i++) {
		paths->ends[i] = gt_topo_device(topo, i);
		paths->place[paths->ends[i]] = i;
	}
	return paths;
free_arena:
	gt_arena_free(arena);
	return NULL;
}

static int gt_paths_make(const struct gt_topo *topo, int relayed, int open,
			 struct gt_paths **out, struct gt_err *err)
{
	struct gt_paths *paths = gt_paths_alloc(topo);
	struct gt_route_search *search = gt_route_search_new(topo);
	int good = paths && search;

	if (good) {
		paths->relayed = relayed;
		paths->open = open;
		good = gt_paths_fill(paths, search);
	}
	gt_route_search_free(search);
	if (!good) {
		gt_paths_free(paths);
		return gt_err_nomem(err);
	}
	*out = paths;
	return GT_OK;
}

int gt_paths_new(const struct gt_topo *topo, struct gt_paths **paths,
		 struct gt_err *err)
{
	return gt_paths_make(topo, 1, 0, paths, err);
}

int gt_paths_new_direct(const struct gt_topo *topo, struct gt_paths **paths,
			struct gt_err *err)
{
	return gt_paths_make(topo, 0, 0, paths, err);
}

int gt_paths_new_open(const struct gt_topo *topo, struct gt_paths **paths,
		      struct gt_err *err)
{
	return gt_paths_make(topo, 1, 1, paths, err);
}

void gt_paths_free(struct gt_paths *paths)
{
	if (paths)
		gt_arena_free(paths->arena);
}

const struct gt_path *gt_paths_get(const struct gt_paths *paths, uint32_t from,
				   uint32_t to)
{
	if (paths->place[from] == GT_NONE || paths->place[to] == GT_NONE)
		return &gt_path_none;
	return gt_paths_at(paths, paths->place[from], paths->place[to]);
}

const struct gt_path *gt_paths_peer(const struct gt_paths *paths, uint32_t from,
				    uint32_t to)
{
	const struct gt_path *path = gt_paths_get(paths, from, to);
	size_t ngpus = paths->topo->ngpus;

	return path->kind != GT_PATH_NVB
		       ? path
		       : &paths->peer[paths->place[from] * ngpus +
				      paths->place[to]];
}
