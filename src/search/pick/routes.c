/*
 * Takes routes that relay through no GPU, notes which GPUs relay as well as
 * these, and so has the links of any choice without a search for routes.
 */
#include "search/pick/routes.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/pick/pick.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

static const struct gt_path *path_of(const struct gt_pick_routes *r,
				     uint32_t from, uint32_t to)
{
	return gt_paths_get(r->paths, r->query->gpus[from], r->query->gpus[to]);
}

/* ---- what links carry --------------------------------------------------- */

/* Divides what the PCI links of a route carry if it is charged. */
static int charge(struct gt_pick_routes *r, const struct gt_path *path)
{
	if (path->kind >= GT_PATH_DIS || path->charge.num == path->charge.den)
		return 1;
	for (uint32_t i = 0; i < path->nhops; i++) {
		struct gt_pick_link *link = &r->links[path->links[i]];
		struct gt_rat gbs;

		if (gt_topo_link(r->query->topo, path->links[i])->kind !=
		    GT_LINK_PCI)
			continue;
		if (!gt_rat_div(link->gbs[0], path->charge, &gbs))
			return 0;
		/* The least charge bounds what all together carry. */
		if (!gt_rat_cmp(link->gbs[0], link->gbs[1]) ||
		    gt_rat_cmp(gbs, link->gbs[1]) > 0)
			link->gbs[1] = gbs;
	}
	return 1;
}

/* The least common denominator of all rates, if small; else 0. */
static int64_t denominator(const struct gt_pick_routes *r)
{
	enum { LARGEST = 10000 };
	uint64_t all = 1;

	for (uint32_t i = 0; i < 2 * r->nlinks; i++) {
		uint64_t den = (uint64_t)r->links[i / 2].gbs[i % 2].den;

		if (den > LARGEST)
			return 0;
		all *= den / gt_rat_gcd(all, den);
		if (all > LARGEST)
			return 0;
	}
	return (int64_t)all;
}

/* A rate times the scale, rounded up; INT32_MAX GB/s is as good as any more. */
static int64_t scaled(struct gt_rat gbs, int64_t scale)
{
	__int128 n = (__int128)gbs.num * scale + gbs.den - 1;

	n /= gbs.den;
	return n > INT32_MAX * scale ? INT32_MAX * scale : (int64_t)n;
}

/* Rates that are no fractions of small numbers are bounded from above. */
static void scale_rates(struct gt_pick_routes *r)
{
	enum { ROUNDED = 1000 };

	r->scale = denominator(r);
	if (!r->scale)
		r->scale = ROUNDED;
	for (uint32_t i = 0; i < r->nlinks; i++)
		for (int k = 0; k < 2; k++)
			r->links[i].scaled[k] =
				scaled(r->links[i].gbs[k], r->scale);
}

static int rate_links(struct gt_pick_routes *r, struct gt_err *err)
{
	const struct gt_pick_query *query = r->query;
	int good = 1;

	for (uint32_t i = 0; i < r->nlinks; i++) {
		const struct gt_link *link = gt_topo_link(query->topo, i);

		r->links[i].from = link->from;
		r->links[i].to = link->to;
		r->links[i].gbs[0] = r->links[i].gbs[1] = link->gbs;
	}
	for (uint32_t i = 0; i < query->ngpus; i++) {
		for (uint32_t j = 0; j < query->ngpus; j++)
			good &= charge(r, path_of(r, i, j));
		for (uint32_t k = 0; k < r->near[i].n; k++)
			good &= charge(r, r->near[i].paths[k]);
	}
	if (!good)
		return gt_err_set(err, GT_EINPUT, gt_topo_source(query->topo),
				  "has rates that are no fractions of 64 bits");
	scale_rates(r);
	return GT_OK;
}

/* ---- who relays, and which ports are near ------------------------------- */

static int is_cable(const struct gt_path *path)
{
	return path->kind == GT_PATH_NVL && path->nhops == 1;
}

/*
 * As search/problem/request.h has it: those more than three times as wide as
 * the pair's own route.
 */
static uint64_t relays_of(const struct gt_pick_routes *r, uint32_t from,
			  uint32_t to)
{
	const struct gt_path *own = path_of(r, from, to);
	struct gt_rat room = GT_RAT(0, 1);
	uint64_t relays = 0;

	if (own->kind == GT_PATH_NVL || own->is_staged ||
	    !gt_rat_mul(own->gbs, GT_RAT(3, 1), &room))
		return 0;
	for (uint32_t via = 0; via < r->query->ngpus; via++) {
		const struct gt_path *in = path_of(r, from, via);
		const struct gt_path *out = path_of(r, via, to);

		if (is_cable(in) && is_cable(out) &&
		    gt_rat_cmp(gt_rat_min(in->gbs, out->gbs), room) > 0)
			relays |= (uint64_t)1 << via;
	}
	return relays;
}

/* Is the one route of a better kind, or of the same kind and wider? */
static int is_nearer(const struct gt_path *a, const struct gt_path *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return gt_rat_cmp(a->gbs, b->gbs) > 0;
}

static int find_near(const struct gt_pick_routes *r, uint32_t gpu,
		     struct gt_arena *arena, struct gt_pick_near *near)
{
	const struct gt_pick_query *query = r->query;

	near->ports =
		gt_arena_array(arena, query->nports, sizeof(*near->ports));
	near->paths =
		gt_arena_array(arena, query->nports, sizeof(*near->paths));
	if (!near->ports || !near->paths)
		return GT_ESYS;
	for (uint32_t i = 0; i < query->nports; i++) {
		const struct gt_path *path = gt_paths_get(
			r->paths, query->gpus[gpu], query->ports[i]);

		if (path->kind >= GT_PATH_DIS ||
		    (near->n && is_nearer(near->paths[0], path)))
			continue;
		if (near->n && is_nearer(path, near->paths[0]))
			near->n = 0;
		near->ports[near->n] = query->ports[i];
		near->paths[near->n++] = path;
	}
	return GT_OK;
}

int gt_pick_routes_init(struct gt_pick_routes *r,
			const struct gt_pick_query *query,
			struct gt_arena *arena, struct gt_err *err)
{
	uint32_t n = query->ngpus;
	int rc;

	*r = (struct gt_pick_routes){
		.query = query,
		.nlinks = gt_topo_nlinks(query->topo),
	};
	rc = gt_paths_new_direct(query->topo, &r->paths, err);
	if (rc)
		return rc;
	r->links = gt_arena_array(arena, r->nlinks, sizeof(*r->links));
	r->used = gt_arena_array(arena, r->nlinks, sizeof(*r->used));
	r->use = gt_arena_array(arena, r->nlinks, sizeof(*r->use));
	r->relays = gt_arena_array(arena, (size_t)n * n, sizeof(*r->relays));
	r->near = gt_arena_array(arena, n, sizeof(*r->near));
	if (!r->links || !r->used || !r->use || !r->relays || !r->near)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < n; j++)
			r->relays[i * n + j] = relays_of(r, i, j);
		if (find_near(r, i, arena, &r->near[i]))
			return gt_err_nomem(err);
	}
	return rate_links(r, err);
}

void gt_pick_routes_release(struct gt_pick_routes *routes)
{
	gt_paths_free(routes->paths);
}

/* ---- the links of a choice ---------------------------------------------- */

static void use_path(struct gt_pick_routes *r, const struct gt_path *path)
{
	unsigned char use = path->charge.num == path->charge.den
				    ? GT_PICK_PLAIN
				    : GT_PICK_CHARGED;

	if (path->kind >= GT_PATH_DIS)
		return;
	for (uint32_t i = 0; i < path->nhops; i++) {
		uint32_t link = path->links[i];

		if (!r->use[link])
			r->used[r->nused++] = link;
		if (r->use[link] < use)
			r->use[link] = use;
	}
}

void gt_pick_routes_use(struct gt_pick_routes *r, uint64_t choice)
{
	uint32_t n = r->query->ngpus;

	while (r->nused)
		r->use[r->used[--r->nused]] = GT_PICK_UNUSED;
	for (uint32_t i = 0; i < n; i++) {
		if (!(choice >> i & 1))
			continue;
		for (uint32_t j = 0; j < n; j++)
			if (i != j && choice >> j & 1 &&
			    !(r->relays[i * n + j] & choice))
				use_path(r, path_of(r, i, j));
	}
}

void gt_pick_routes_add_ports(struct gt_pick_routes *r, uint64_t choice)
{
	for (uint32_t i = 0; i < r->query->ngpus; i++)
		for (uint32_t k = 0; k < r->near[i].n; k++)
			if (choice >> i & 1)
				use_path(r, r->near[i].paths[k]);
}
