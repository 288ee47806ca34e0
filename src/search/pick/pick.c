/*
 * Goes through all choices in order of the GPUs' numbers and keeps the best
 * one.  A choice that can be no better by the quick bounds is passed over, so
 * few are bounded exactly.
 */
#include "search/pick/pick.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "search/pick/network.h"
#include "search/pick/routes.h"
#include "search/pick/worth.h"
#include "topo/graph/topo.h"

/* What counts of a choice, the more important first. */
struct rating {
	uint64_t choice;
	struct gt_rat gbs;
	int64_t net; /* times the routes' scale */
	uint32_t nnuma;
};

struct picker {
	struct gt_pick_routes routes;
	struct gt_pick_worth worth;
	struct gt_pick_network network;
	struct rating best;
	uint64_t nbounded;
};

/* ---- all choices -------------------------------------------------------- */

/* n of m, or more than GT_PICK_MAX_CHOICES. */
static uint64_t count_choices(uint32_t m, uint32_t n)
{
	uint64_t count = 1;

	if (n > m - n)
		n = m - n;
	for (uint32_t i = 1; i <= n && count <= GT_PICK_MAX_CHOICES; i++)
		count = count * (m - n + i) / i;
	return count;
}

/* The first n GPUs. */
static uint64_t first_choice(uint32_t n)
{
	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/*
 * The choice that comes next when numbers are compared from the left: the last
 * GPU that can move does so, and those behind it follow.  0 at the end.
 */
static uint64_t next_choice(uint64_t choice, uint32_t m)
{
	uint32_t behind = 0;

	for (uint32_t i = m; i-- > 0;) {
		if (!(choice >> i & 1))
			continue;
		choice &= ~((uint64_t)1 << i);
		behind++;
		if (i + behind < m)
			return choice | first_choice(behind) << (i + 1);
	}
	return 0;
}

/* ---- which is better ---------------------------------------------------- */

/* Does it send more, or lie on fewer NUMA nodes, than the best so far? */
static int sits_better(struct picker *p, struct rating *rating)
{
	const struct rating *best = &p->best;
	int64_t most = gt_pick_network_at_most(&p->network, rating->choice);

	rating->nnuma = gt_pick_count_numa(&p->routes, rating->choice);
	if (most < best->net ||
	    (most == best->net && rating->nnuma >= best->nnuma))
		return 0;
	rating->net = gt_pick_network_find(&p->network, rating->choice);
	if (rating->net != best->net)
		return rating->net > best->net;
	return rating->nnuma < best->nnuma;
}

static void keep(struct picker *p, const struct rating *rating)
{
	p->best = *rating;
	p->best.net = gt_pick_network_find(&p->network, rating->choice);
	p->best.nnuma = gt_pick_count_numa(&p->routes, rating->choice);
}

static int bound(struct picker *p, struct rating *rating, struct gt_err *err)
{
	rating->gbs = GT_RAT(0, 1);
	if (__builtin_popcountll(rating->choice) < 2)
		return GT_OK;
	p->nbounded++;
	gt_pick_routes_use(&p->routes, rating->choice);
	return gt_pick_worth_find(&p->worth, rating->choice, &rating->gbs, err);
}

/* Can the choice be worth more than the best so far, or, on 0, as much? */
static int may_be_worth(struct picker *p, uint64_t choice)
{
	struct gt_rat most = GT_RAT(0, 1);

	gt_pick_routes_use(&p->routes, choice);
	if (__builtin_popcountll(choice) > 1 &&
	    !gt_pick_worth_at_most(&p->worth, choice, &most))
		return 1;
	return gt_rat_cmp(most, p->best.gbs);
}

static int try_choice(struct picker *p, uint64_t choice, struct gt_err *err)
{
	struct rating rating = {.choice = choice};
	int more = may_be_worth(p, choice), rc;

	if (more < 0 || (!more && !sits_better(p, &rating)))
		return GT_OK;
	rc = bound(p, &rating, err);
	if (rc)
		return rc;
	more = gt_rat_cmp(rating.gbs, p->best.gbs);
	if (more > 0 || (!more && sits_better(p, &rating)))
		keep(p, &rating);
	return GT_OK;
}

/* ---- the answer --------------------------------------------------------- */

static int emit(struct picker *p, struct gt_arena *arena, struct gt_pick *pick,
		struct gt_err *err)
{
	const struct gt_pick_query *query = p->routes.query;

	pick->n = 0;
	pick->gpus = gt_arena_array(arena, query->n, sizeof(*pick->gpus));
	if (!pick->gpus)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < query->ngpus; i++) {
		const struct gt_pick_near *near = &p->routes.near[i];

		if (!(p->best.choice >> i & 1))
			continue;
		pick->gpus[pick->n++] = (struct gt_pick_gpu){
			.node = query->gpus[i],
			.numa = gt_pick_numa(query->topo, query->gpus[i]),
			.nports = near->n,
			.ports = near->ports,
		};
	}
	pick->gbs = p->best.gbs;
	pick->nbounded = p->nbounded;
	if (!gt_rat_make(p->best.net, p->routes.scale, &pick->net_gbs))
		pick->net_gbs = GT_RAT(0, 1);
	return GT_OK;
}

static int try_all(struct picker *p, struct gt_arena *arena,
		   struct gt_pick *pick, struct gt_err *err)
{
	const struct gt_pick_query *query = p->routes.query;
	struct rating first = {.choice = first_choice(query->n)};
	uint64_t choice = first.choice;
	int rc = bound(p, &first, err);

	pick->first_gbs = first.gbs;
	if (!rc)
		keep(p, &first);
	while (!rc && (choice = next_choice(choice, query->ngpus)))
		rc = try_choice(p, choice, err);
	if (!rc && query->n > 1 && !p->best.gbs.num)
		rc = gt_err_set(err, GT_ENO, gt_topo_source(query->topo),
				"has no %u GPUs to choose that reach each "
				"other",
				query->n);
	return rc ? rc : emit(p, arena, pick, err);
}

static int check(const struct gt_pick_query *query, uint64_t nchoices,
		 struct gt_err *err)
{
	if (query->n > query->ngpus)
		return gt_err_set(err, GT_ENO, gt_topo_source(query->topo),
				  "has %u GPU%s to choose from, not %u",
				  query->ngpus, gt_plural(query->ngpus),
				  query->n);
	if (query->ngpus > GT_PICK_MAX_GPUS || nchoices > GT_PICK_MAX_CHOICES)
		return gt_err_set(
			err, GT_EINPUT, gt_topo_source(query->topo),
			"there are too many choices of %u of %u GPUs; "
			"name fewer with --among",
			query->n, query->ngpus);
	return GT_OK;
}

int gt_pick_find(const struct gt_pick_query *query, struct gt_arena *arena,
		 struct gt_pick *pick, struct gt_err *err)
{
	struct picker picker = {.nbounded = 0};
	int rc;

	pick->nchoices = query->n <= query->ngpus
				 ? count_choices(query->ngpus, query->n)
				 : 0;
	rc = check(query, pick->nchoices, err);
	if (rc)
		return rc;
	rc = gt_pick_routes_init(&picker.routes, query, arena, err);
	if (!rc)
		rc = gt_pick_worth_init(&picker.worth, &picker.routes, arena,
					err);
	if (!rc)
		rc = gt_pick_network_init(&picker.network, &picker.routes,
					  arena, err);
	if (!rc)
		rc = try_all(&picker, arena, pick, err);
	gt_pick_network_release(&picker.network);
	gt_pick_routes_release(&picker.routes);
	return rc;
}
