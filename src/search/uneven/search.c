/*
 * From a flat cluster to a plan: the links that ways use, the bound over them,
 * the trees, and their exact rates.
 */
#include "search/uneven/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/emit/emit.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/shape.h"
#include "search/uneven/balance.h"
#include "search/uneven/mix.h"
#include "search/uneven/ways.h"

/*
 * How many trees there are: of collectives with blocks from each root as many
 * as come to about MANY together, of others SOME.  A plan has at most 1024
 * channels.
 */
enum { MANY = 512, MOST_EACH = 8, SOME = 32 };

/*
 * Trees from each root of more ranks than this are so many that they are even
 * without being mixed.
 */
enum { MIXED_RANKS = 64 };

/*
 * How often trees more are grown for a mix, and how often for nothing;
 * what is better than before, and good enough; and the part of the mean of
 * those that limit that a link costs in any case.
 */
enum { TURNS = 16, IDLE = 3 };
#define BETTER 1.001
#define ENOUGH 0.98
#define SPARE  0.05

/* Where trees reach less of the bound, others may take dear ways as well. */
#define TRY_DEAR 0.99

struct search {
	const struct gt_search_request *request;
	struct gt_arena *arena;
	struct gt_ways *ways;
	struct gt_fabric fabric; /* its links are those that paths use */
	struct gt_bound bound;
	struct gt_rat most; /* the bound as a sum of trees' rates */
	struct gt_balance balance;
	struct gt_rat *load; /* by link, of parts */
	struct gt_proposal proposal;
};

/* ---- the bound --------------------------------------------------------- */

/* The fabric with the links that no path uses leading nowhere. */
static int use_links(struct search *s, struct gt_err *err)
{
	const struct gt_fabric *f = &s->request->flat->fabric;

	s->fabric = *f;
	s->fabric.links =
		gt_arena_array(s->arena, f->nlinks, sizeof(*f->links));
	if (!s->fabric.links)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->nlinks; i++) {
		s->fabric.links[i] = f->links[i];
		if (!s->ways->used[i])
			s->fabric.links[i].to = f->links[i].from;
	}
	return GT_OK;
}

static int find_bound(struct search *s, struct gt_err *err)
{
	const struct gt_search_request *request = s->request;
	struct gt_bound_query ask = {&s->fabric, request->coll, request->root};
	int64_t n = request->nranks;
	int64_t each = request->coll == GT_COLL_ALLREDUCE ? 2 : 1;
	int rc = gt_bound_find(&ask, s->arena, &s->bound, err);

	if (rc)
		return rc;
	s->most = s->bound.value;
	if (!s->bound.found ||
	    (!gt_coll_is_rooted(request->coll) &&
	     !gt_rat_mul(s->bound.value, GT_RAT(n, each * (n - 1)), &s->most)))
		return gt_err_set(err, GT_ENO, NULL,
				  "the bound needs more than 64 bits");
	if (s->most.num > 0)
		return GT_OK;
	return gt_err_set(err, GT_ENO, NULL,
			  "no tree joins all %u GPUs: there are no routes for "
			  "one",
			  request->nranks);
}

/* ---- the trees --------------------------------------------------------- */

static uint32_t count_trees(const struct gt_search_request *request)
{
	uint32_t each = MANY / request->nranks;

	if (!gt_coll_has_blocks(request->coll))
		return SOME;
	if (each > MOST_EACH)
		each = MOST_EACH;
	return (each ? each : 1) * request->nranks;
}

static uint32_t root_of(const struct search *s, uint32_t tree)
{
	uint32_t n = s->request->nranks;

	if (gt_coll_is_rooted(s->request->coll))
		return s->request->root;
	if (gt_coll_has_blocks(s->request->coll))
		return tree % n;
	return (uint32_t)((uint64_t)tree * n / s->balance.ntrees);
}

/*
 * Grow trees that may take dear ways, too, and keep them if they carry more:
 * without, NVLinks may limit what a GPU whose card has failed sends.
 */
static int try_dear(struct search *s, struct gt_err *err)
{
	struct gt_balance *b = &s->balance, again = *b;
	struct gt_ways *ways;
	int rc = gt_ways_new(s->request->flat, s->request->coll, 1, s->arena,
			     &ways, err);

	if (rc)
		return rc;
	again.ways = ways;
	again.trees = NULL;
	again.nkept = 0;
	rc = gt_balance_run(&again, err);
	if (!rc && again.gbs > b->gbs) {
		struct gt_balance less = *b;

		*b = again;
		again = less;
	}
	gt_balance_release(&again);
	return rc;
}

static int find_trees(struct search *s, struct gt_err *err)
{
	struct gt_balance *b = &s->balance;
	int rc;

	b->ways = s->ways;
	b->budget = s->request->budget;
	b->all = !gt_coll_has_blocks(s->request->coll);
	b->ntrees = count_trees(s->request);
	b->most_gbs = gt_rat_double(s->most) / b->ntrees;
	b->roots = gt_arena_array(s->arena, b->ntrees, sizeof(*b->roots));
	if (!b->roots)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < b->ntrees; i++)
		b->roots[i] = root_of(s, i);
	rc = gt_balance_run(b, err);
	if (!rc && !b->all && s->ways->ndear &&
	    s->request->nranks <= MIXED_RANKS &&
	    b->gbs < gt_rat_double(s->most) * TRY_DEAR)
		rc = try_dear(s, err);
	return rc;
}

/* ---- what they load, exactly ------------------------------------------- */

/* The route of a hop there, or back by the pairs of its ways. */
static const struct gt_fabric_route *make_route(struct search *s,
						const uint32_t *ways,
						uint32_t n, int back)
{
	struct gt_fabric_route *route =
		gt_arena_alloc(s->arena, sizeof(*route));
	uint32_t *links, nlinks = 0;

	for (uint32_t i = 0; i < n; i++)
		nlinks += s->ways->ways[ways[i] ^ (uint32_t)back].nlinks;
	links = gt_arena_array(s->arena, nlinks, sizeof(*links));
	if (!route || !links)
		return NULL;
	route->charge = GT_RAT(1, 1);
	route->links = links;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = ways[back ? n - 1 - i : i] ^ (uint32_t)back;
		const struct gt_way *way = &s->ways->ways[at];

		memcpy(&links[route->nlinks], way->links,
		       way->nlinks * sizeof(*links));
		route->nlinks += way->nlinks;
		if (gt_rat_cmp(way->charge, route->charge) > 0)
			route->charge = way->charge;
	}
	return route;
}

/* Add a hop of so many parts. */
static int add_load(struct search *s, const struct gt_fabric_route *route,
		    struct gt_rat parts)
{
	struct gt_rat load;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat charge = s->fabric.links[link].charged
					       ? route->charge
					       : GT_RAT(1, 1);

		if (!gt_rat_mul(charge, parts, &load) ||
		    !gt_rat_add(s->load[link], load, &s->load[link]))
			return 0;
	}
	return 1;
}

/* One tree as a channel, and its loads. */
static int make_channel(struct search *s, const struct gt_grown *tree,
			struct gt_proposal_channel *out, struct gt_err *err)
{
	uint32_t n = s->request->nranks;
	int down = gt_coll_goes_down(s->request->coll);
	int up = gt_coll_goes_up(s->request->coll);

	out->root = tree->root;
	out->parent = tree->parent;
	out->down = gt_arena_array(s->arena, n, sizeof(*out->down));
	out->up = gt_arena_array(s->arena, n, sizeof(*out->up));
	if (!out->down || !out->up)
		return gt_err_nomem(err);
	for (uint32_t v = 0; v < n; v++) {
		const uint32_t *ways = &tree->ways[tree->first[v]];
		uint32_t nways = tree->first[v + 1] - tree->first[v];

		if (v == tree->root)
			continue;
		if (down)
			out->down[v] = make_route(s, ways, nways, 0);
		if (up)
			out->up[v] = make_route(s, ways, nways, 1);
		if ((down && !out->down[v]) || (up && !out->up[v]))
			return gt_err_nomem(err);
		if ((down && !add_load(s, out->down[v], out->gbs)) ||
		    (up && !add_load(s, out->up[v], out->gbs)))
			return gt_err_set(err, GT_ENO, NULL,
					  "loads need more than 64 bits");
	}
	return GT_OK;
}

/* The largest rate that all trees can have at once. */
static int find_rate(const struct search *s, struct gt_rat *rate)
{
	struct gt_rat one;
	int found = 0;

	for (uint32_t i = 0; i < s->fabric.nlinks; i++) {
		if (!s->load[i].num)
			continue;
		if (!gt_rat_div(s->fabric.links[i].gbs, s->load[i], &one))
			return 0;
		*rate = found ? gt_rat_min(*rate, one) : one;
		found = 1;
	}
	return found;
}

static int same_tree(const struct gt_grown *a, const struct gt_grown *b,
		     uint32_t n)
{
	return a->root == b->root &&
	       !memcmp(a->parent, b->parent, n * sizeof(*a->parent)) &&
	       !memcmp(a->first, b->first,
		       ((size_t)n + 1) * sizeof(*a->first)) &&
	       !memcmp(a->ways, b->ways, a->first[n] * sizeof(*a->ways));
}

/* Trees that are the same share a channel: of the first, so many times. */
static void count_same(const struct search *s, int64_t *times)
{
	const struct gt_balance *b = &s->balance;

	for (uint32_t i = 0; i < b->nkept; i++) {
		uint32_t k = 0;

		while (k < i &&
		       !(times[k] && same_tree(&b->trees[k], &b->trees[i],
					       s->request->nranks)))
			k++;
		times[k]++;
	}
}

/* What links are worth now and were before; none costs nothing. */
static void smooth(const struct search *s, const double *worth, double gbs,
		   double *prices)
{
	uint32_t nlinks = s->fabric.nlinks, n = 0;

	for (uint32_t i = 0; i < nlinks; i++)
		n += worth[i] > 0;
	for (uint32_t i = 0; i < nlinks; i++)
		prices[i] = (prices[i] + worth[i] / gbs * n + SPARE) / 2;
}

/* Parts of trees that were not there yet are 0. */
static void take_better(const struct gt_mix *mix, uint32_t ntrees,
			struct gt_mix *best)
{
	if (mix->gbs <= best->gbs)
		return;
	best->gbs = mix->gbs;
	memcpy(best->parts, mix->parts, ntrees * sizeof(*best->parts));
}

/* How many trees join at a time: as many from each root. */
static uint32_t count_added(const struct search *s)
{
	uint32_t n = s->request->nranks;

	return s->balance.all ? SOME : (SOME + n - 1) / n * n;
}

/*
 * Mix the trees, and grow others where the mix finds links to be worth
 * something, until it carries nearly all that is possible or no more than
 * before: as column generation does, with a pricing that is not exact.  As
 * neither the mix is, a later one may carry less: the best is kept.
 */
static int find_mix(struct search *s, struct gt_mix *mix, struct gt_mix *best,
		    struct gt_err *err)
{
	struct gt_balance *b = &s->balance;
	struct gt_mix_of of = {.each = !b->all};
	double *prices =
		gt_arena_array(s->arena, s->fabric.nlinks, sizeof(*prices));
	double most = gt_rat_double(s->most), before = 0;
	int rc = prices ? GT_OK : gt_err_nomem(err);

	for (uint32_t turn = 0, idle = 0; !rc; turn++) {
		of.trees = b->trees;
		of.n = b->nkept;
		if (gt_mix_trees(b->ways, &of, mix))
			return gt_err_nomem(err);
		take_better(mix, b->nkept, best);
		idle = best->gbs > before * BETTER ? 0 : idle + 1;
		before = best->gbs;
		if (best->gbs > most * ENOUGH || turn == TURNS ||
		    idle == IDLE || gt_budget_is_spent(b->budget))
			break;
		smooth(s, mix->worth, mix->gbs, prices);
		gt_balance_drop(b, mix->parts, best->parts);
		rc = gt_balance_add(b, count_added(s), prices, err);
	}
	return rc;
}

/* How much each tree carries: all as much, or where roots allow what is best */
static int find_parts(struct search *s, int64_t **times, struct gt_err *err)
{
	struct gt_balance *b = &s->balance;
	uint32_t most = b->nkept + TURNS * count_added(s);
	struct gt_mix mix = {
		.parts = gt_arena_array(s->arena, most, sizeof(*mix.parts)),
		.worth = gt_arena_array(s->arena, s->fabric.nlinks,
					sizeof(*mix.worth))};
	struct gt_mix best = {
		.parts = gt_arena_array(s->arena, most, sizeof(*best.parts))};

	if (!mix.parts || !mix.worth || !best.parts)
		return gt_err_nomem(err);
	*times = best.parts;
	if (b->all || (s->request->nranks <= MIXED_RANKS &&
		       b->gbs < gt_rat_double(s->most) * ENOUGH))
		return find_mix(s, &mix, &best, err);
	count_same(s, best.parts);
	return GT_OK;
}

/* Rates of channels are parts so far; make them as large as links allow. */
static int find_rates(struct search *s)
{
	struct gt_proposal *p = &s->proposal;
	struct gt_rat rate;

	p->value = GT_RAT(0, 1);
	if (!find_rate(s, &rate))
		return 0;
	for (uint32_t i = 0; i < p->nchannels; i++) {
		struct gt_rat *gbs = &p->channels[i].gbs;

		if (!gt_rat_mul(*gbs, rate, gbs) ||
		    !gt_rat_add(p->value, *gbs, &p->value))
			return 0;
	}
	return 1;
}

static int find_channels(struct search *s, struct gt_err *err)
{
	const struct gt_balance *b = &s->balance;
	struct gt_proposal *p = &s->proposal;
	int64_t *parts = NULL;
	int rc = find_parts(s, &parts, err);

	if (rc)
		return rc;
	p->channels = gt_arena_array(s->arena, b->nkept, sizeof(*p->channels));
	s->load = gt_arena_array(s->arena, s->fabric.nlinks, sizeof(*s->load));
	if (!p->channels || !s->load)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < s->fabric.nlinks; i++)
		s->load[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < b->nkept && !rc; i++) {
		struct gt_proposal_channel *out = &p->channels[p->nchannels];

		if (!parts[i])
			continue;
		out->gbs = GT_RAT(parts[i], 1);
		p->nchannels++;
		rc = make_channel(s, &b->trees[i], out, err);
	}
	if (rc)
		return rc;
	return find_rates(s) ? GT_OK
			     : gt_err_set(err, GT_ENO, NULL,
					  "rates need more than 64 bits");
}

/* ---- together ---------------------------------------------------------- */

static void claim(struct search *s)
{
	struct gt_proposal *p = &s->proposal;

	p->shape = GT_SHAPE_TREE;
	p->class_ = GT_PROOF_ANY;
	p->has_bound = 1;
	p->bound = s->most;
	p->cut = &s->bound;
}

static int run(struct search *s, struct gt_plan **plan, struct gt_err *err)
{
	const struct gt_solution found = {s->request, &s->fabric, &s->proposal};
	int rc = gt_ways_new(s->request->flat, s->request->coll, 0, s->arena,
			     &s->ways, err);

	if (!rc)
		rc = use_links(s, err);
	if (!rc)
		rc = find_bound(s, err);
	if (!rc)
		rc = find_trees(s, err);
	if (!rc)
		rc = find_channels(s, err);
	claim(s);
	return rc ? rc : gt_emit(&found, plan, err);
}

int gt_uneven_search(const struct gt_search_request *request,
		     struct gt_plan **plan, struct gt_uneven_stats *stats,
		     struct gt_err *err)
{
	struct search s = {.request = request, .arena = gt_arena_new()};
	int rc = s.arena ? run(&s, plan, err) : gt_err_nomem(err);

	*stats = (struct gt_uneven_stats){.ntrees = s.balance.nkept,
					  .nrounds = s.balance.nrounds};
	for (uint32_t i = 0; !rc && i < s.fabric.nlinks; i++)
		stats->nlinks += s.ways->used[i];
	gt_balance_release(&s.balance);
	gt_arena_free(s.arena);
	return rc;
}
