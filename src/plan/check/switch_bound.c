/*
 * The bound about trees through switches that multicast and add up.  Whatever
 * tree it is, all ranks hang as leaves from the switches that they hang from in
 * the plan, and each such switch is driven by a rank: one of those that drive
 * it in the plan, or any of its ranks where nothing joins several switches.
 * Under the certificate's prices that costs 1 or more, for collectives with
 * blocks on average over the ranks whose block it is.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"

struct member {
	const struct gt_plan_vertex *leaf;
	const char *below;   /* the switch that it is a leaf of */
	struct gt_rat leafs; /* what its leaf costs */
	struct gt_rat drive; /* what driving costs, the way on included */
	int drives;
};

struct pricing {
	const struct gt_plan *plan;
	const struct gt_rat *prices;
	struct member *members; /* by rank */
	int joined;             /* several switches are joined by others */
};

/* Add the prices of a vertex's links; `swap`: of the ways turned round. */
static int add_costs(const struct pricing *p,
		     const struct gt_plan_vertex *vertex, int swap,
		     struct gt_rat *sum)
{
	enum gt_coll coll = p->plan->coll;
	int up = swap ? gt_coll_goes_down(coll) : gt_coll_goes_up(coll);
	int down = swap ? gt_coll_goes_up(coll) : gt_coll_goes_down(coll);

	for (uint32_t i = 0; up && i < vertex->nup; i++)
		if (!gt_rat_add(*sum, p->prices[vertex->up[i]], sum))
			return 0;
	for (uint32_t i = 0; down && i < vertex->ndown; i++)
		if (!gt_rat_add(*sum, p->prices[vertex->down[i]], sum))
			return 0;
	return 1;
}

static int same_links(uint32_t n, const uint32_t *a, uint32_t m,
		      const uint32_t *b)
{
	return n == m && (!n || !memcmp(a, b, n * sizeof(*a)));
}

/* Note a rank's leaf, which is the same in all channels. */
static int note_leaf(struct pricing *p, const struct gt_plan_channel *channel,
		     uint32_t i, struct gt_err *err)
{
	const struct gt_plan_vertex *vertex = &channel->vertices[i];
	struct member *member = &p->members[vertex->rank];
	const char *below = channel->vertices[vertex->parent].name;

	if (member->leaf &&
	    (strcmp(member->below, below) ||
	     !same_links(member->leaf->nup, member->leaf->up, vertex->nup,
			 vertex->up) ||
	     !same_links(member->leaf->ndown, member->leaf->down, vertex->ndown,
			 vertex->down)))
		return gt_plan_wrong(
			p->plan,
			gt_plan_at("channels[%u].vertices[%u]", channel->id, i),
			err,
			"rank %u is not the leaf that it is "
			"in another channel",
			vertex->rank);
	member->leaf = vertex;
	member->below = below;
	return GT_OK;
}

/* Note that a rank drives, and the cheapest way on to a switch above. */
static int note_driver(struct pricing *p, const struct gt_plan_vertex *vertex,
		       struct gt_err *err)
{
	struct member *member = &p->members[vertex->rank];
	struct gt_rat way = GT_RAT(0, 1);

	if (!add_costs(p, vertex, 0, &way))
		return gt_plan_wrong(p->plan,
				     gt_plan_at("proof.certificate.prices"),
				     err, "sums need more than 64 bits");
	p->joined |= vertex->parent >= 0;
	member->drive = member->drives ? gt_rat_min(member->drive, way) : way;
	member->drives = 1;
	return GT_OK;
}

static int note_channels(struct pricing *p, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(p->plan);
	int rc = GT_OK;

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&p->plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nvertices && !rc; i++) {
			const struct gt_plan_vertex *v = &channel->vertices[i];

			if (!v->name && v->drives)
				rc = note_driver(p, v, err);
			else if (!v->name)
				rc = note_leaf(p, channel, i, err);
		}
	}
	return rc;
}

/* May the rank drive, for this collective? */
static int may_drive(const struct pricing *p, uint32_t rank)
{
	if (gt_coll_is_rooted(p->plan->coll))
		return rank == p->plan->root;
	return !p->joined || p->members[rank].drives;
}

/* The least that driving a switch costs; -1 where nobody may. */
static int find_least(const struct pricing *p, const char *below,
		      struct gt_rat *least)
{
	int found = 0;

	for (uint32_t r = 0; r < p->plan->nranks; r++) {
		const struct member *member = &p->members[r];

		if (strcmp(member->below, below) || !may_drive(p, r))
			continue;
		*least = found ? gt_rat_min(*least, member->drive)
			       : member->drive;
		found = 1;
	}
	return found;
}

/* The first rank below a switch stands for it. */
static int is_first(const struct pricing *p, uint32_t rank)
{
	for (uint32_t r = 0; r < rank; r++)
		if (!strcmp(p->members[r].below, p->members[rank].below))
			return 0;
	return 1;
}

/* What all leaves cost, and for each switch the least of those who drive. */
static int add_tree(const struct pricing *p, struct gt_rat *sum)
{
	int blocks = gt_coll_has_blocks(p->plan->coll), fits = 1;
	struct gt_rat part, least;

	*sum = GT_RAT(0, 1);
	for (uint32_t r = 0; r < p->plan->nranks && fits; r++) {
		const struct member *member = &p->members[r];

		fits = gt_rat_add(*sum, member->leafs, sum);
		if (fits && blocks)
			fits = gt_rat_mul(member->drive,
					  GT_RAT(1, p->plan->nranks), &part) &&
			       gt_rat_add(*sum, part, sum);
		else if (fits && is_first(p, r) &&
			 find_least(p, member->below, &least))
			fits = gt_rat_add(*sum, least, sum);
	}
	return fits;
}

/* Whoever drives a switch has the ways of its leaf, turned round. */
static int price_members(struct pricing *p)
{
	int fits = 1;

	for (uint32_t r = 0; r < p->plan->nranks && fits; r++) {
		struct member *member = &p->members[r];

		member->leafs = GT_RAT(0, 1);
		fits = add_costs(p, member->leaf, 0, &member->leafs) &&
		       add_costs(p, member->leaf, 1, &member->drive);
	}
	return fits;
}

int gt_check_switch_bound(const struct gt_plan *plan,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err)
{
	struct pricing p = {.plan = plan, .prices = prices};
	struct gt_rat sum;
	int rc;

	p.members = calloc(plan->nranks, sizeof(*p.members));
	if (!p.members)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < plan->nranks; r++)
		p.members[r].drive = GT_RAT(0, 1);
	rc = note_channels(&p, err);
	if (!rc && (!price_members(&p) || !add_tree(&p, &sum)))
		*state = GT_BOUND_TOO_FINE;
	else if (!rc && gt_rat_cmp(sum, GT_RAT(1, 1)) < 0)
		rc = gt_plan_wrong(plan, gt_plan_at("proof.certificate.prices"),
				   err,
				   "a tree through the switches costs "
				   "less than 1");
	else if (!rc)
		*state = GT_BOUND_PROVEN;
	free(p.members);
	return rc;
}
