/*
 * From a schedule over rails to channels: each is one part of all blocks, and
 * the links around the GPU or node that bounds it are the prices.
 */
#include "search/flow/by_rails.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"
#include "search/rails/rails.h"

/* Farther than any way is long. */
#define NO_WAY (INT64_C(1) << 40)

struct by_rails {
	const struct gt_shape_args *args;
	struct gt_rails *rails;
	struct gt_rails_schedule *schedule;
	uint64_t *units;       /* [from * n + to], and none on the diagonal */
	struct gt_rat slowest; /* the time of a unit's parts together */
	uint32_t npairs, npaths;
	struct gt_proposal_path *paths; /* [pair * nrails + rail], where used */
};

/* ---- the proof ---------------------------------------------------------- */

/* The links that the cut is about; returns how many. */
static uint32_t list_cut(const struct gt_rails *m, struct gt_rails_cut cut,
			 uint32_t links[GT_RAILS_MAX])
{
	int in = cut.kind == GT_RAILS_TO_GPU || cut.kind == GT_RAILS_TO_NODE;
	uint32_t i = cut.which;

	if (cut.kind == GT_RAILS_FROM_GPU || cut.kind == GT_RAILS_TO_GPU) {
		links[0] =
			m->link[in ? gt_rails_down(m, i) : gt_rails_up(m, i)];
		links[1] = in ? m->enter[i] : m->leave[i];
		return links[1] == links[0] ? 1 : 2;
	}
	for (uint32_t r = 0; r < m->nrails; r++)
		links[r] = m->link[in ? gt_rails_in(m, i, r)
				      : gt_rails_out(m, i, r)];
	return m->nrails;
}

/* How often a route crosses the links; a charge below 1 counts as nothing. */
static int64_t crossings(const struct gt_fabric *f,
			 const struct gt_fabric_route *route,
			 const uint32_t *links, uint32_t n)
{
	int64_t count = 0;

	for (uint32_t k = 0; k < route->nlinks; k++)
		for (uint32_t i = 0; i < n; i++)
			count += route->links[k] == links[i] &&
				 (!f->links[links[i]].charged ||
				  gt_rat_cmp(route->charge, GT_RAT(1, 1)) >= 0);
	return count;
}

/* How often all units together have to cross the links, whatever their way. */
static int count_crossings(const struct by_rails *b, const uint32_t *links,
			   uint32_t nlinks, int64_t *sum)
{
	const struct gt_fabric *f = b->args->fabric;
	uint32_t n = f->nranks, parent[GT_RAILS_MAX_RANKS];
	int64_t far[GT_RAILS_MAX_RANKS];
	int64_t *cost =
		gt_arena_array(b->args->arena, (size_t)n * n, sizeof(*cost));

	if (!cost)
		return GT_ESYS;
	for (uint32_t i = 0; i < n * n; i++)
		cost[i] = f->routes[i].nlinks
				  ? crossings(f, &f->routes[i], links, nlinks)
				  : NO_WAY;
	*sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		gt_shortest_paths(n, cost, i, far, parent);
		for (uint32_t k = 0; k < n; k++)
			*sum += (int64_t)b->units[i * n + k] * far[k];
	}
	return GT_OK;
}

/* All links of the cut have one price, such that all units cost 1. */
static int prove(const struct by_rails *b, struct gt_proposal *proposal)
{
	const struct gt_fabric *f = b->args->fabric;
	uint32_t links[GT_RAILS_MAX];
	uint32_t n = list_cut(b->rails, b->schedule->cut, links);
	struct gt_rat price, product;
	int64_t sum;

	proposal->prices =
		gt_arena_array(b->args->arena, n, sizeof(*proposal->prices));
	if (!proposal->prices || count_crossings(b, links, n, &sum))
		return GT_ESYS;
	if (!gt_rat_make(b->args->demand->most, sum, &price))
		return GT_ENO;
	proposal->bound = GT_RAT(0, 1);
	for (uint32_t i = 0; i < n; i++) {
		proposal->prices[i] =
			(struct gt_proposal_price){links[i], price};
		if (!gt_rat_mul(f->links[links[i]].gbs, price, &product) ||
		    !gt_rat_add(proposal->bound, product, &proposal->bound))
			return GT_ENO;
	}
	proposal->nprices = n;
	proposal->has_bound = 1;
	return GT_OK;
}

/* What the largest block has of the time that all parts take; is it best? */
static int weigh(const struct by_rails *b, struct gt_proposal *proposal)
{
	int64_t parts = b->schedule->parts;
	int rc;

	if (!gt_rat_div(GT_RAT(b->args->demand->most * parts, 1), b->slowest,
			&proposal->value))
		return GT_ENO;
	rc = prove(b, proposal);
	if (rc)
		return rc;
	return gt_rat_cmp(proposal->value, proposal->bound) ? GT_ENO : GT_OK;
}

/* ---- channels ----------------------------------------------------------- */

/* The path of a pair by a rail; within a node there is one. */
static int set_path(const struct by_rails *b, uint32_t pair, uint32_t rail,
		    struct gt_proposal_path *path)
{
	const struct gt_fabric *f = b->args->fabric;
	uint32_t n = f->nranks, from = pair / n, to = pair % n;
	uint32_t *ranks = gt_arena_array(b->args->arena, GT_RAILS_MAX_HOPS + 1,
					 sizeof(*ranks));

	path->routes = gt_arena_array(b->args->arena, GT_RAILS_MAX_HOPS,
				      sizeof(*path->routes));
	if (!ranks || !path->routes)
		return GT_ESYS;
	if (b->rails->node[from] == b->rails->node[to]) {
		ranks[0] = from;
		ranks[1] = to;
		path->nhops = 1;
	} else {
		path->nhops = gt_rails_path(b->rails, from, to, rail, ranks);
	}
	path->ranks = ranks;
	for (uint32_t h = 0; h < path->nhops; h++)
		path->routes[h] = &f->routes[ranks[h] * n + ranks[h + 1]];
	return GT_OK;
}

static int set_paths(struct by_rails *b)
{
	uint32_t n = b->rails->n, nrails = b->rails->nrails;

	b->paths = gt_arena_array(b->args->arena, (size_t)n * n * nrails,
				  sizeof(*b->paths));
	if (!b->paths)
		return GT_ESYS;
	for (uint32_t i = 0; i < n * n; i++) {
		int within = b->rails->node[i / n] == b->rails->node[i % n];

		b->npairs += b->units[i] > 0;
		for (uint32_t r = 0; b->units[i] && r < nrails; r++) {
			if (within ? r : !b->schedule->share[i * nrails + r])
				continue;
			b->npaths++;
			if (set_path(b, i, r, &b->paths[i * nrails + r]))
				return GT_ESYS;
		}
	}
	return GT_OK;
}

/* The rail of a pair's part; pairs begin with different ones. */
static uint32_t rail_at(const struct by_rails *b, uint32_t pair, uint32_t part)
{
	const struct gt_rails *m = b->rails;
	uint32_t at = (part + pair / m->n + pair % m->n) % b->schedule->parts;
	uint32_t r = 0;

	if (m->node[pair / m->n] == m->node[pair % m->n])
		return 0;
	while (at >= b->schedule->share[pair * m->nrails + r])
		at -= b->schedule->share[pair * m->nrails + r++];
	return r;
}

/*
 * A channel a part; of whole blocks two, as each begins with another peer
 * (search/flow/shape.c) and a rank's links are its switch's and its rail's.
 */
static int set_channels(const struct by_rails *b, uint32_t limit,
			struct gt_proposal *proposal)
{
	uint32_t parts = b->schedule->parts, n = b->rails->n;
	struct gt_arena *arena = b->args->arena;

	if (parts == 1 && limit > 1)
		parts = 2;
	proposal->channels =
		gt_arena_array(arena, parts, sizeof(*proposal->channels));
	if (!proposal->channels)
		return GT_ESYS;
	proposal->nchannels = parts;
	for (uint32_t c = 0; c < parts; c++) {
		struct gt_proposal_channel *out = &proposal->channels[c];

		out->paths =
			gt_arena_array(arena, b->npairs, sizeof(*out->paths));
		if (!out->paths)
			return GT_ESYS;
		if (!gt_rat_div(proposal->value, GT_RAT(parts, 1), &out->gbs))
			return GT_ENO;
		for (uint32_t i = 0; i < n * n; i++)
			if (b->units[i])
				out->paths[out->npaths++] =
					b->paths[i * b->rails->nrails +
						 rail_at(b, i, c)];
	}
	return GT_OK;
}

/* Plan, and check what was planned; GT_ENO: it is not the best, or too much. */
static int plan(struct by_rails *b, uint32_t limit)
{
	const struct gt_shape_args *args = b->args;
	uint32_t n = args->fabric->nranks;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_rails_new(args->fabric, args->arena, &b->rails, &why);
	if (rc)
		return rc;
	b->schedule = gt_rails_schedule_new(b->rails, args->arena);
	b->units =
		gt_arena_array(args->arena, (size_t)n * n, sizeof(*b->units));
	if (!b->schedule || !b->units)
		return GT_ESYS;
	for (uint32_t i = 0; i < n * n; i++)
		b->units[i] = args->demand->units[i];
	gt_rails_plan(b->rails, b->units, b->schedule);
	if (b->schedule->parts > limit)
		return GT_ENO;
	/* A fabric that this does not understand is the program's to plan. */
	rc = gt_rails_check(b->rails, b->units, b->schedule, &b->slowest, &why);
	return rc == GT_EINPUT ? GT_ENO : rc;
}

int gt_flow_by_rails(const struct gt_shape_args *args, uint32_t limit,
		     struct gt_proposal *proposal, struct gt_err *err)
{
	struct by_rails b = {.args = args};
	struct gt_proposal found = *proposal;
	int rc = plan(&b, limit);

	if (!rc)
		rc = weigh(&b, &found);
	if (!rc && set_paths(&b))
		rc = GT_ESYS;
	if (!rc)
		rc = set_channels(&b, limit, &found);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (rc)
		return rc;
	found.nrows = b.rails->nrows;
	found.ncolumns = b.npaths;
	*proposal = found;
	return rc;
}
