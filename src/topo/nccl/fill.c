/*
 * Fills a machine with channels, depth first.
 */
#include "topo/nccl/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/topo.h"
#include "topo/nccl/system.h"

/* Where the next GPU of a channel comes from. */
enum gt_nccl_source {
	GT_NCCL_FREE,   /* all GPUs, the most promising first */
	GT_NCCL_LISTED, /* the order of the file */
	GT_NCCL_REPLAY, /* the order of the channel before */
};

struct gt_nccl_fill {
	struct gt_arena *arena;
	const struct gt_nccl_system *system;
	const struct gt_nccl_facts *facts;
	int64_t *room_kbs;      /* by link */
	uint64_t *used;         /* by GPU: the channels that it is in */
	uint32_t *sorted;       /* by GPU: the others, in the order of trial */
	uint32_t *next;         /* what is still to be tried, at each depth */
	struct gt_nccl_set now; /* the channels that are in */
	struct gt_nccl_set *best;
	int64_t tries;
};

void gt_nccl_fill_free(struct gt_nccl_fill *fill)
{
	if (fill)
		gt_arena_free(fill->arena);
}

/* Copies a set into another that has room for it. */
static void copy_set(struct gt_nccl_set *to, const struct gt_nccl_set *from)
{
	uint32_t *orders = to->orders;

	memcpy(orders, from->orders,
	       (size_t)from->nchannels * from->ngpus * sizeof(*orders));
	*to = *from;
	to->orders = orders;
}

/*
 * Takes (sign 1) the speed of a channel from one link, or gives it back (-1).
 * What PCI carries for GPUs through Intel's host bridge counts 6/5, and NVLink
 * into a POWER processor loads both directions.
 */
static int gt_nccl_take_link(struct gt_nccl_fill *fill, uint32_t link,
			     int overhead, int sign)
{
	const struct gt_nccl_links *links = fill->facts->links;
	const struct gt_link *what = gt_topo_link(links->topo, link);
	const struct gt_node *to = gt_topo_node(links->topo, what->to);
	int both = to->make == GT_CPU_POWER && what->kind == GT_LINK_NVL;
	int64_t kbs = fill->now.kbs;

	if (overhead && what->kind == GT_LINK_PCI)
		kbs = kbs * 6 / 5;
	if (sign > 0 && (fill->room_kbs[link] < kbs ||
			 (both && fill->room_kbs[links->back[link]] < kbs)))
		return 0;
	fill->room_kbs[link] -= sign * kbs;
	if (both)
		fill->room_kbs[links->back[link]] -= sign * kbs;
	return 1;
}

static void gt_nccl_give(struct gt_nccl_fill *fill,
			 const struct gt_nccl_path *path, uint32_t nlinks)
{
	while (nlinks)
		gt_nccl_take_link(fill, path->links[--nlinks], path->overhead,
				  -1);
}

/*
 * Takes a path if its kind is allowed and all its links have room; else takes
 * nothing.
 */
static const struct gt_nccl_path *gt_nccl_take(struct gt_nccl_fill *fill,
					       uint32_t from, uint32_t to)
{
	const struct gt_nccl_system *system = fill->system;
	const struct gt_nccl_path *path = gt_nccl_system_path(system, from, to);

	if (path->kind >= GT_PATH_DIS || path->kind > fill->now.kind)
		return NULL;
	if (fill->now.pattern != GT_NCCL_RING &&
	    gt_nccl_system_path(system, to, from)->kind > fill->now.kind)
		return NULL;
	for (uint32_t i = 0; i < path->nlinks; i++)
		if (!gt_nccl_take_link(fill, path->links[i], path->overhead,
				       1)) {
			gt_nccl_give(fill, path, i);
			return NULL;
		}
	fill->now.nhops += path->nhops;
	return path;
}

static void gt_nccl_give_back(struct gt_nccl_fill *fill,
			      const struct gt_nccl_path *path)
{
	gt_nccl_give(fill, path, path->nlinks);
	fill->now.nhops -= path->nhops;
}

/* More bandwidth is better, then fewer hops. */
static int gt_nccl_improves(const struct gt_nccl_set *now,
			    const struct gt_nccl_set *best)
{
	int64_t total = now->nchannels * now->kbs;
	int64_t best_total = best->nchannels * best->kbs;

	if (now->nchannels < now->min_channels)
		return 0;
	if (total != best_total)
		return total > best_total;
	return now->pattern == best->pattern &&
	       now->cross_nic == best->cross_nic && now->nhops < best->nhops;
}

static void gt_nccl_open(struct gt_nccl_fill *fill);

/* The channel is complete: keep the set if it is better, and go on. */
static void gt_nccl_complete(struct gt_nccl_fill *fill)
{
	struct gt_nccl_set *now = &fill->now;

	if (fill->tries <= 0)
		return;
	fill->tries--;
	now->nchannels++;
	if (gt_nccl_improves(now, fill->best)) {
		copy_set(fill->best, now);
		if (now->nchannels == now->max_channels)
			fill->tries = -1;
	}
	if (now->nchannels < now->max_channels)
		gt_nccl_open(fill);
	now->nchannels--;
}

/* Puts GPUs that are wide, near and soon in order first. */
static int gt_nccl_before(const struct gt_nccl_path *a,
			  const struct gt_nccl_path *b)
{
	int64_t a_gbs = a->kbs / 1000000, b_gbs = b->kbs / 1000000;

	return a_gbs != b_gbs ? a_gbs > b_gbs : a->nhops < b->nhops;
}

/* Moves a GPU to the front of a list; returns whether it is in it. */
static uint32_t gt_nccl_to_front(uint32_t *list, uint32_t n, uint32_t gpu)
{
	uint32_t i = 0;

	while (i < n && list[i] != gpu)
		i++;
	if (i == n)
		return 0;
	memmove(list + 1, list, i * sizeof(*list));
	list[0] = gpu;
	return 1;
}

/*
 * Keeps of a list only the neighbours in the file: with NVSwitches NCCL asks
 * for no others.
 */
static uint32_t gt_nccl_neighbours(const struct gt_nccl_fill *fill,
				   uint32_t gpu, uint32_t *list, uint32_t n)
{
	uint32_t ngpus = fill->facts->ngpus, kept = 0;
	uint32_t after = (gpu + 1) % ngpus, before = (gpu + ngpus - 1) % ngpus;

	if (fill->now.pattern == GT_NCCL_BALANCED_TREE && before != after)
		kept += gt_nccl_to_front(list, n, before);
	kept += gt_nccl_to_front(list, n, after);
	if (fill->now.pattern == GT_NCCL_RING && before != after)
		kept += gt_nccl_to_front(list, n, before);
	return kept;
}

/*
 * Sorts, once for each GPU, the others that it has a path to, the first to be
 * tried first; GT_NONE ends each list.
 */
static void gt_nccl_sort(struct gt_nccl_fill *fill)
{
	uint32_t ngpus = fill->facts->ngpus, *list, n, other, at;
	const struct gt_nccl_system *system = fill->system;
	const struct gt_nccl_path *path;

	for (uint32_t gpu = 0; gpu < ngpus; gpu++) {
		list = fill->sorted + (size_t)gpu * ngpus;
		n = 0;
		for (uint32_t i = 1; i < ngpus; i++) {
			other = (gpu + i) % ngpus;
			path = gt_nccl_system_path(system, gpu, other);
			if (!path->nhops)
				continue;
			for (at = n++;
			     at && gt_nccl_before(path, gt_nccl_system_path(
								system, gpu,
								list[at - 1]));
			     at--)
				list[at] = list[at - 1];
			list[at] = other;
		}
		list[n] = GT_NONE;
	}
}

/* Lists the GPUs that may follow this one, the first to be tried first. */
static uint32_t gt_nccl_candidates(const struct gt_nccl_fill *fill,
				   uint32_t gpu, uint32_t *list)
{
	uint64_t channel = (uint64_t)1 << fill->now.nchannels;
	const uint32_t *sorted;
	uint32_t n = 0;

	sorted = fill->sorted + (size_t)gpu * fill->facts->ngpus;
	for (; *sorted != GT_NONE; sorted++)
		if (!(fill->used[*sorted] & channel))
			list[n++] = *sorted;
	return fill->facts->switches ? gt_nccl_neighbours(fill, gpu, list, n)
				     : n;
}

static uint32_t gt_nccl_next(const struct gt_nccl_fill *fill, uint32_t gpu,
			     uint32_t place, enum gt_nccl_source source,
			     uint32_t *list)
{
	const struct gt_nccl_set *now = &fill->now;

	switch (source) {
	case GT_NCCL_LISTED:
		list[0] = place + 1;
		return 1;
	case GT_NCCL_REPLAY:
		list[0] = now->orders[(now->nchannels - 1) * now->ngpus +
				      place + 1];
		return 1;
	default:
		return gt_nccl_candidates(fill, gpu, list);
	}
}

/* A GPU takes its place in the channel: try all that may come after it. */
static void gt_nccl_visit(struct gt_nccl_fill *fill, uint32_t gpu,
			  uint32_t place, enum gt_nccl_source source)
{
	struct gt_nccl_set *now = &fill->now;
	uint32_t depth = now->nchannels * now->ngpus + place, n;
	uint32_t *list = fill->next + (size_t)depth * now->ngpus;
	uint64_t channel = (uint64_t)1 << now->nchannels;
	const struct gt_nccl_path *path;

	if (fill->tries <= 0)
		return;
	fill->tries--;
	now->orders[depth] = gpu;
	if (place + 1 == now->ngpus) {
		if (now->pattern != GT_NCCL_RING) {
			gt_nccl_complete(fill);
			return;
		}
		path = gt_nccl_take(fill, gpu, now->orders[depth - place]);
		if (!path)
			return;
		gt_nccl_complete(fill);
		gt_nccl_give_back(fill, path);
		return;
	}
	n = gt_nccl_next(fill, gpu, place, source, list);
	for (uint32_t i = 0; i < n; i++) {
		path = gt_nccl_take(fill, gpu, list[i]);
		if (!path)
			continue;
		fill->used[list[i]] ^= channel;
		gt_nccl_visit(fill, list[i], place + 1, source);
		fill->used[list[i]] ^= channel;
		gt_nccl_give_back(fill, path);
	}
}

static void gt_nccl_start(struct gt_nccl_fill *fill, uint32_t gpu,
			  enum gt_nccl_source source)
{
	uint64_t channel = (uint64_t)1 << fill->now.nchannels;

	fill->used[gpu] ^= channel;
	gt_nccl_visit(fill, gpu, 0, source);
	fill->used[gpu] ^= channel;
}

/*
 * Begins a channel: the first in the order of the file, another one like the
 * one before; then, unless all are to be alike, every way from every GPU.
 */
static void gt_nccl_open(struct gt_nccl_fill *fill)
{
	struct gt_nccl_set *now = &fill->now;

	if (now->nchannels)
		gt_nccl_start(fill,
			      now->orders[(now->nchannels - 1) * now->ngpus],
			      GT_NCCL_REPLAY);
	else
		gt_nccl_start(fill, 0, GT_NCCL_LISTED);
	for (uint32_t i = 0; i < now->ngpus && !(now->same && now->nchannels);
	     i++)
		gt_nccl_start(fill, i, GT_NCCL_FREE);
}

int gt_nccl_fill_new(const struct gt_nccl_system *system, uint32_t max_channels,
		     struct gt_nccl_fill **out, struct gt_err *err)
{
	const struct gt_nccl_facts *facts = gt_nccl_system_facts(system);
	size_t norders = (size_t)max_channels * facts->ngpus;
	struct gt_arena *arena = gt_arena_new();
	struct gt_nccl_fill *fill = NULL;

	if (arena)
		fill = gt_arena_alloc(arena, sizeof(*fill));
	if (!fill)
		goto nomem;
	fill->arena = arena;
	fill->system = system;
	fill->facts = facts;
	fill->room_kbs = gt_arena_array(
		arena, gt_topo_nlinks(facts->links->topo), sizeof(int64_t));
	fill->used = gt_arena_array(arena, facts->ngpus, sizeof(uint64_t));
	fill->next =
		gt_arena_array(arena, norders * facts->ngpus, sizeof(uint32_t));
	fill->sorted = gt_arena_array(
		arena, (size_t)facts->ngpus * facts->ngpus, sizeof(uint32_t));
	fill->now.orders = gt_arena_array(arena, norders, sizeof(uint32_t));
	if (!fill->room_kbs || !fill->used || !fill->next || !fill->sorted ||
	    !fill->now.orders)
		goto nomem;
	gt_nccl_sort(fill);
	*out = fill;
	return GT_OK;
nomem:
	gt_arena_free(arena);
	return gt_err_nomem(err);
}

int64_t gt_nccl_fill(struct gt_nccl_fill *fill, const struct gt_nccl_set *ask,
		     int64_t tries, struct gt_nccl_set *best)
{
	uint32_t *orders = fill->now.orders;
	const struct gt_nccl_links *links = fill->facts->links;

	memcpy(fill->room_kbs, links->kbs,
	       gt_topo_nlinks(links->topo) * sizeof(*links->kbs));
	fill->now = *ask;
	fill->now.orders = orders;
	fill->now.nchannels = 0;
	fill->now.nhops = 0;
	fill->best = best;
	fill->tries = tries;
	gt_nccl_open(fill);
	return fill->tries;
}
