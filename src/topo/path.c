#include "topo/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph.h"

static const struct gt_path gt_path_none = {
	.kind = GT_PATH_DIS,
	.gbs = {0, 1},
	.charge = {1, 1},
};

struct gt_paths {
	struct gt_arena *arena;
	const struct gt_topo *topo;
	uint32_t *ends;  /* nodes: GPUs, then ports */
	uint32_t *place; /* a node's index in ends, or GT_NONE */
	uint32_t nends;
	struct gt_path *paths; /* nends x nends */
};

/* Working memory for one source after another. */
struct gt_walk {
	const struct gt_topo *topo;
	struct gt_arena *arena; /* of the results */
	int *rank;              /* of a link: by gbs, narrowest 0 */
	int *step;              /* of a link: the path kind it makes */
	int nranks;
	int *width;      /* of a node: rank of the widest route, -1 none */
	uint32_t *via;   /* of a node: the link that first reached it */
	uint32_t *queue; /* of nodes */
	char *queued;
};

static const struct gt_topo *gt_rank_topo(const void *arg)
{
	return arg;
}

static int gt_rank_order(const void *left, const void *right, void *arg)
{
	const struct gt_topo *topo = gt_rank_topo(arg);

	return gt_rat_cmp(topo->links[*(const uint32_t *)left].gbs,
			  topo->links[*(const uint32_t *)right].gbs);
}

/* Small integers compare faster than rationals. */
static int gt_walk_rank(struct gt_walk *walk)
{
	const struct gt_topo *topo = walk->topo;
	uint32_t n = topo->nlinks;
	uint32_t *order = calloc(n + 1, sizeof(*order));

	if (!order)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), gt_rank_order, (void *)topo);
	for (uint32_t i = 0; i < n; i++) {
		if (i && gt_rat_cmp(topo->links[order[i - 1]].gbs,
				    topo->links[order[i]].gbs))
			walk->nranks++;
		walk->rank[order[i]] = walk->nranks;
	}
	walk->nranks++;
	free(order);
	return 1;
}

/* What passing over a link makes of a route, in NCCL's terms. */
static int gt_walk_step(const struct gt_topo *topo, const struct gt_link *link)
{
	enum gt_node_kind from = topo->nodes[link->from].kind;
	enum gt_node_kind to = topo->nodes[link->to].kind;

	if (from == GT_NODE_PCI && to == GT_NODE_PCI)
		return GT_PATH_PXB;
	switch (link->kind) {
	case GT_LINK_NVL:
		return GT_PATH_NVL;
	case GT_LINK_C2C:
		return GT_PATH_C2C;
	case GT_LINK_PCI:
		return from == GT_NODE_CPU || to == GT_NODE_CPU ? GT_PATH_PHB
								: GT_PATH_PIX;
	case GT_LINK_SYS:
		return GT_PATH_SYS;
	default:
		return GT_PATH_LOC;
	}
}

static int gt_walk_passes(const struct gt_topo *topo, uint32_t node)
{
	return topo->nodes[node].kind != GT_NODE_GPU &&
	       topo->nodes[node].kind != GT_NODE_NET;
}

/* The rank of the widest route from source to every node. */
static void gt_walk_widths(struct gt_walk *walk, uint32_t source)
{
	const struct gt_topo *topo = walk->topo;
	uint32_t node, link, to, n = topo->nnodes, head = 0, waiting = 1;
	int width;

	for (uint32_t i = 0; i < n; i++)
		walk->width[i] = -1;
	walk->width[source] = walk->nranks;
	walk->queue[0] = source;
	while (waiting) {
		node = walk->queue[head];
		head = (head + 1) % n;
		waiting--;
		walk->queued[node] = 0;
		if (node != source && !gt_walk_passes(topo, node))
			continue;
		for (link = topo->first[node]; link != GT_NONE;
		     link = topo->next[link]) {
			to = topo->links[link].to;
			width = walk->rank[link] < walk->width[node]
					? walk->rank[link]
					: walk->width[node];
			if (width <= walk->width[to])
				continue;
			walk->width[to] = width;
			if (walk->queued[to])
				continue;
			walk->queued[to] = 1;
			walk->queue[(head + waiting++) % n] = to;
		}
	}
}

/* Breadth first over links at least this wide and no worse than `kind`. */
static void gt_walk_hops(struct gt_walk *walk, uint32_t source, int rank,
			 int kind)
{
	const struct gt_topo *topo = walk->topo;
	uint32_t node, link, to, nqueue = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		walk->via[i] = GT_NONE;
	walk->queue[nqueue++] = source;
	for (uint32_t i = 0; i < nqueue; i++) {
		node = walk->queue[i];
		if (node != source && !gt_walk_passes(topo, node))
			continue;
		for (link = topo->first[node]; link != GT_NONE;
		     link = topo->next[link]) {
			to = topo->links[link].to;
			if (walk->rank[link] < rank ||
			    walk->step[link] > kind || to == source ||
			    walk->via[to] != GT_NONE)
				continue;
			walk->via[to] = link;
			walk->queue[nqueue++] = to;
		}
	}
}

/* Two nodes' direct link of a kind, or GT_NONE. */
static uint32_t gt_link_find(const struct gt_topo *topo, uint32_t from,
			     uint32_t to, enum gt_link_kind kind)
{
	uint32_t link = topo->first[from];

	while (link != GT_NONE &&
	       (topo->links[link].to != to || topo->links[link].kind != kind))
		link = topo->next[link];
	return link;
}

/* PCI links of a GPU's traffic through an Intel host bridge carry less. */
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

/* The path's bottleneck, with its charge taken off PCI links. */
static int gt_path_measure(const struct gt_topo *topo, struct gt_path *path)
{
	const struct gt_link *link;
	struct gt_rat gbs;

	path->charge = gt_path_charge(topo, path);
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

/* The kind of a path by the worst of its steps. */
static enum gt_path_kind gt_path_classify(const struct gt_walk *walk,
					  const struct gt_path *path)
{
	enum gt_path_kind kind = GT_PATH_LOC;
	int c2c = 0;

	for (uint32_t i = 0; i < path->nhops; i++) {
		c2c |= walk->step[path->links[i]] == GT_PATH_C2C;
		if (walk->step[path->links[i]] > (int)kind)
			kind = (enum gt_path_kind)walk->step[path->links[i]];
	}
	return c2c && kind == GT_PATH_PHB ? GT_PATH_P2C : kind;
}

/* Fill *path from links; NULL-safe on memory (returns 0). */
static int gt_path_set(const struct gt_walk *walk, const uint32_t *links,
		       uint32_t nhops, struct gt_path *path)
{
	uint32_t *own = gt_arena_array(walk->arena, nhops, sizeof(*own));

	if (!own)
		return 0;
	memcpy(own, links, nhops * sizeof(*own));
	path->links = own;
	path->nhops = nhops;
	path->kind = gt_path_classify(walk, path);
	return gt_path_measure(walk->topo, path);
}

/* The route that gt_walk_hops found to `to`. */
static int gt_walk_route(struct gt_walk *walk, uint32_t source, uint32_t to,
			 struct gt_path *path)
{
	uint32_t *links = walk->queue, n = 0;

	for (uint32_t node = to; node != source;
	     node = walk->topo->links[walk->via[node]].from)
		links[n++] = walk->via[node];
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t swap = links[i];

		links[i] = links[n - 1 - i];
		links[n - 1 - i] = swap;
	}
	return gt_path_set(walk, links, n, path);
}

/* The routes to all targets of one width that are still open. */
static int gt_walk_width(struct gt_walk *walk, const struct gt_paths *paths,
			 uint32_t from, uint32_t *todo)
{
	uint32_t source = paths->ends[from], to, left = 0;
	struct gt_path *row = paths->paths + (size_t)from * paths->nends;
	int rank = -1;

	for (uint32_t i = 0; i < paths->nends; i++) {
		if (i == from || row[i].kind != GT_PATH_DIS)
			continue;
		if (rank < 0)
			rank = walk->width[paths->ends[i]];
		left += rank >= 0 && walk->width[paths->ends[i]] == rank;
	}
	for (int kind = GT_PATH_LOC; left; kind++) {
		gt_walk_hops(walk, source, rank, kind);
		for (uint32_t i = 0; i < paths->nends; i++) {
			to = paths->ends[i];
			if (i == from || row[i].kind != GT_PATH_DIS ||
			    walk->width[to] != rank || walk->via[to] == GT_NONE)
				continue;
			if (!gt_walk_route(walk, source, to, &row[i]))
				return 0;
			left--;
			--*todo;
		}
	}
	return 1;
}

/*
 * The routes of one source that relay through no GPU: the widest, of those the
 * best kind, of those the fewest hops.  The three do not agree along a route
 * (a wide start may be of a bad kind), so each is settled for its target.
 */
static int gt_walk_plain(struct gt_walk *walk, const struct gt_paths *paths,
			 uint32_t from)
{
	uint32_t source = paths->ends[from], todo = 0;
	struct gt_path *row = paths->paths + (size_t)from * paths->nends;

	gt_walk_widths(walk, source);
	for (uint32_t i = 0; i < paths->nends; i++) {
		row[i] = gt_path_none;
		todo += i != from && walk->width[paths->ends[i]] >= 0;
	}
	row[from].kind = GT_PATH_LOC;
	row[from].gbs = GT_RAT(5000, 1);
	while (todo)
		if (!gt_walk_width(walk, paths, from, &todo))
			return 0;
	return 1;
}

/* Links of the direct NVLink, or of the way through NVSwitch; their number. */
static uint32_t gt_walk_direct(const struct gt_walk *walk, uint32_t from,
			       uint32_t to, uint32_t links[2])
{
	const struct gt_topo *topo = walk->topo;
	uint32_t middle;

	links[0] = gt_link_find(topo, from, to, GT_LINK_NVL);
	if (links[0] != GT_NONE)
		return 1;
	for (links[0] = topo->first[from]; links[0] != GT_NONE;
	     links[0] = topo->next[links[0]]) {
		middle = topo->links[links[0]].to;
		if (topo->nodes[middle].kind != GT_NODE_NVS)
			continue;
		links[1] = gt_link_find(topo, middle, to, GT_LINK_NVL);
		if (links[1] != GT_NONE)
			return 2;
	}
	return 0;
}

/* Take `path` where it carries more, or as much in a better way. */
static void gt_path_prefer(struct gt_path *best, const struct gt_path *path)
{
	int order = gt_rat_cmp(path->gbs, best->gbs);

	if (order > 0 || (!order && path->kind < best->kind) ||
	    (!order && path->kind == best->kind && path->nhops < best->nhops))
		*best = *path;
}

/* GPU to GPU: NVLink where there is one, else perhaps through a third GPU. */
static int gt_walk_gpus(const struct gt_walk *walk,
			const struct gt_paths *paths, uint32_t from,
			uint32_t to)
{
	const struct gt_topo *topo = walk->topo;
	struct gt_path *best = &paths->paths[(size_t)from * paths->nends + to];
	struct gt_path path;
	uint32_t links[2], n;

	n = gt_walk_direct(walk, paths->ends[from], paths->ends[to], links);
	if (n)
		return gt_path_set(walk, links, n, best);
	for (links[0] = topo->first[paths->ends[from]]; links[0] != GT_NONE;
	     links[0] = topo->next[links[0]]) {
		const struct gt_link *link = &topo->links[links[0]];

		if (link->kind != GT_LINK_NVL ||
		    topo->nodes[link->to].kind != GT_NODE_GPU)
			continue;
		links[1] = gt_link_find(topo, link->to, paths->ends[to],
					GT_LINK_NVL);
		if (links[1] == GT_NONE)
			continue;
		if (!gt_path_set(walk, links, 2, &path))
			return 0;
		path.kind = GT_PATH_NVB;
		gt_path_prefer(best, &path);
	}
	return 1;
}

/* GPU to port: perhaps over NVLink to a GPU that is near the card (PXN). */
static int gt_walk_pxn(const struct gt_walk *walk, const struct gt_paths *paths,
		       uint32_t from, uint32_t to)
{
	struct gt_path *best = &paths->paths[(size_t)from * paths->nends + to];
	const struct gt_path *near;
	struct gt_path path;
	uint32_t links[64], n;

	for (uint32_t via = 0; via < walk->topo->ngpus; via++) {
		near = &paths->paths[(size_t)via * paths->nends + to];
		n = via == from ? 0
				: gt_walk_direct(walk, paths->ends[from],
						 paths->ends[via], links);
		if (!n || near->kind >= GT_PATH_PXN || near->nhops > 64 - n ||
		    gt_rat_cmp(near->gbs, best->gbs) < 0)
			continue;
		memcpy(links + n, near->links, near->nhops * sizeof(*links));
		if (!gt_path_set(walk, links, n + near->nhops, &path))
			return 0;
		path.kind = GT_PATH_PXN;
		gt_path_prefer(best, &path);
	}
	return 1;
}

static int gt_walk_all(struct gt_walk *walk, const struct gt_paths *paths)
{
	uint32_t ngpus = walk->topo->ngpus;
	int good = 1;

	for (uint32_t i = 0; i < paths->nends && good; i++)
		good = gt_walk_plain(walk, paths, i);
	for (uint32_t i = 0; i < ngpus; i++)
		for (uint32_t j = 0; j < paths->nends && good; j++)
			if (i != j)
				good = j < ngpus
					       ? gt_walk_gpus(walk, paths, i, j)
					       : gt_walk_pxn(walk, paths, i, j);
	return good;
}

static int gt_walk_init(struct gt_walk *walk)
{
	uint32_t n = walk->topo->nnodes, nlinks = walk->topo->nlinks;

	walk->rank = calloc(nlinks + 1, sizeof(*walk->rank));
	walk->step = calloc(nlinks + 1, sizeof(*walk->step));
	walk->width = calloc(n + 1, sizeof(*walk->width));
	walk->via = calloc(n + 1, sizeof(*walk->via));
	walk->queue = calloc(n + 1, sizeof(*walk->queue));
	walk->queued = calloc(n + 1, sizeof(*walk->queued));
	if (!walk->rank || !walk->step || !walk->width || !walk->via ||
	    !walk->queue || !walk->queued)
		return 0;
	for (uint32_t i = 0; i < nlinks; i++)
		walk->step[i] = gt_walk_step(walk->topo, &walk->topo->links[i]);
	return gt_walk_rank(walk);
}

static void gt_walk_release(struct gt_walk *walk)
{
	free(walk->rank);
	free(walk->step);
	free(walk->width);
	free(walk->via);
	free(walk->queue);
	free(walk->queued);
}

static struct gt_paths *gt_paths_alloc(const struct gt_topo *topo)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_paths *paths;
	uint32_t n = topo->ngpus + topo->nnets;

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
	if (!paths->ends || !paths->place || !paths->paths)
		goto free_arena;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		paths->place[i] = GT_NONE;
	for (uint32_t i = 0; i < n; i++) {
		paths->ends[i] = i < topo->ngpus ? topo->gpus[i]
						 : topo->nets[i - topo->ngpus];
		paths->place[paths->ends[i]] = i;
	}
	return paths;
free_arena:
	gt_arena_free(arena);
	return NULL;
}

int gt_paths_new(const struct gt_topo *topo, struct gt_paths **out,
		 struct gt_err *err)
{
	struct gt_paths *paths = gt_paths_alloc(topo);
	struct gt_walk walk = {.topo = topo};
	int good;

	if (!paths)
		return gt_err_nomem(err);
	walk.arena = paths->arena;
	good = gt_walk_init(&walk) && gt_walk_all(&walk, paths);
	gt_walk_release(&walk);
	if (!good) {
		gt_paths_free(paths);
		return gt_err_nomem(err);
	}
	*out = paths;
	return GT_OK;
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
	return &paths->paths[(size_t)paths->place[from] * paths->nends +
			     paths->place[to]];
}

const char *gt_path_kind_name(enum gt_path_kind kind)
{
	static const char *const names[GT_NPATHKINDS] = {
		"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
		"P2C", "PXN", "PHB", "SYS", "NET", "DIS",
	};

	return names[kind];
}
