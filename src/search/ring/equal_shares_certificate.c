/*
 * Prices for each number of equal rings, found by solving the packing in
 * capacities that are rounded down to whole rings.
 */
#include "search/ring/equal_shares.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* Larger machines' programs take too long to be solved for each number. */
enum { GT_EQUAL_PROVE_MAX = 8 };

/*
 * Each link as wide as what k rings of more than value / k may load it with;
 * 0: beyond 64 bits.
 */
static int gt_equal_narrow(struct gt_fabric *f, struct gt_rat value, uint32_t k,
			   int64_t unit)
{
	for (uint32_t i = 0; i < f->nlinks; i++) {
		struct gt_rat room;
		int64_t most;

		if (!gt_rat_div(f->links[i].gbs, value, &room) ||
		    !gt_rat_mul(room, GT_RAT(k * unit, 1), &room))
			return 0;
		most = room.num / room.den - (room.den == 1);
		if (!gt_rat_make(most > 0 ? most : 0, unit, &f->links[i].gbs))
			return 0;
	}
	return 1;
}

/* Has no ring of such a share room there, though some route takes it? */
static int gt_equal_shut(const struct gt_fabric *f, uint32_t link)
{
	uint32_t nn = f->nranks * f->nranks;

	if (f->links[link].gbs.num)
		return 0;
	for (uint32_t i = 0; i < nn; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++)
			if (f->routes[i].links[k] == link)
				return 1;
	return 0;
}

static int gt_equal_hop(const struct gt_fabric *f, uint32_t from, uint32_t to)
{
	const struct gt_fabric_route *route = &f->routes[from * f->nranks + to];
	uint32_t k = 0;

	while (k < route->nlinks && f->links[route->links[k]].gbs.num)
		k++;
	return route->nlinks && k == route->nlinks;
}

/* Is there a ring that has room everywhere?  Goes on from `at`. */
static int gt_equal_ring(const struct gt_fabric *f, uint32_t at, uint32_t seen)
{
	uint32_t all = (1u << f->nranks) - 1;

	if (seen == all)
		return gt_equal_hop(f, at, 0);
	for (uint32_t next = 1; next < f->nranks; next++)
		if (!(seen >> next & 1) && gt_equal_hop(f, at, next) &&
		    gt_equal_ring(f, next, seen | 1u << next))
			return 1;
	return 0;
}

/*
 * Prices by which all that fits is worth less than k, or none.  Those of the
 * shape are about rings that there is room for: over the other links a ring
 * costs 1, which is worth nothing.
 */
static int gt_equal_price(const struct gt_shape_args *args,
			  const struct gt_shape_entry *shape, uint32_t k,
			  struct gt_arena *keep,
			  struct gt_proposal_prices *prices)
{
	const struct gt_fabric *f = args->fabric;
	struct gt_proposal made = {0};
	int rc = shape->propose(args, &made, NULL);

	if (rc && rc != GT_ENO)
		return rc;
	if (rc && gt_equal_ring(f, 0, 1))
		return GT_OK;
	if (!rc && (!made.has_bound || !made.nprices ||
		    gt_rat_cmp(made.bound, GT_RAT(k, 1)) >= 0))
		return GT_OK;
	prices->list = gt_arena_array(keep, made.nprices + f->nlinks,
				      sizeof(*prices->list));
	if (!prices->list)
		return GT_ESYS;
	for (uint32_t i = 0; !rc && i < made.nprices; i++)
		if (f->links[made.prices[i].link].gbs.num)
			prices->list[prices->n++] = made.prices[i];
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (gt_equal_shut(f, i))
			prices->list[prices->n++] =
				(struct gt_proposal_price){i, GT_RAT(1, 1)};
	return GT_OK;
}

static int gt_equal_one(const struct gt_equal_query *ask, int64_t unit,
			uint32_t k, struct gt_proposal *proposal)
{
	const struct gt_fabric *f = ask->args->fabric;
	struct gt_shape_args args = *ask->args;
	struct gt_fabric narrow = *f;
	int rc = GT_OK;

	args.arena = gt_arena_new();
	if (!args.arena)
		return GT_ESYS;
	args.fabric = &narrow;
	args.bare = 1;
	args.max_channels = 0;
	narrow.links = gt_arena_array(args.arena, f->nlinks, sizeof(*f->links));
	if (narrow.links) {
		memcpy(narrow.links, f->links, f->nlinks * sizeof(*f->links));
		if (gt_equal_narrow(&narrow, proposal->value, k, unit))
			rc = gt_equal_price(&args, ask->shape, k,
					    ask->args->arena,
					    &proposal->equal[k - 1]);
	} else {
		rc = GT_ESYS;
	}
	gt_arena_free(args.arena);
	return rc;
}

int gt_equal_prove(const struct gt_equal_query *ask,
		   struct gt_proposal *proposal, struct gt_err *err)
{
	int64_t unit = gt_equal_unit(ask->args->fabric);
	int rc = GT_OK;

	if (ask->shape->shape != GT_SHAPE_RING ||
	    ask->args->fabric->nranks > GT_EQUAL_PROVE_MAX ||
	    !gt_rat_cmp(proposal->value, proposal->bound))
		return GT_OK;
	proposal->equal = gt_arena_array(ask->args->arena, ask->max,
					 sizeof(*proposal->equal));
	if (!proposal->equal)
		return gt_err_nomem(err);
	proposal->nequal = ask->max;
	for (uint32_t k = 1; k <= ask->max && !rc; k++)
		if (!gt_budget_is_spent(ask->args->budget))
			rc = gt_equal_one(ask, unit, k, proposal);
	return rc == GT_ESYS ? gt_err_nomem(err) : rc;
}
