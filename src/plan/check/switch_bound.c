/*
 * The bound about trees through switches that multicast and add up.  Whatever
 * tree it is, all ranks hang as leaves from the switches that they hang from in
 * the plan, and each such switch is driven by a rank, whichever of its own.
 * Where others join several, that rank has some way along the plan's links, not
 * through another GPU, to one of those that join in the plan.  Under the
 * certificate's prices that costs 1 or more, for collectives with blocks on
 * average over the ranks whose block it is.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/plan.h"

struct member {
	const struct gt_plan_vertex *leaf;
	const char *below;   /* the switch that it is a leaf of */
	struct gt_rat leafs; /* what its leaf costs */
	struct gt_rat drive; /* what driving costs, the way on included */
	int stays;           /* no way leads on: it cannot drive */
};

/* What the cheapest way between a vertex and a switch that joins costs. */
struct exit_cost {
	struct gt_rat sum;
	int known;
};

struct pricing {
	const struct gt_plan *plan;
	const struct gt_rat *prices;
	struct member *members; /* by rank */
	struct gt_link_graph graph;
	int joined; /* several switches are joined by others */
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

/*
 * The vertices that join switches: those above ranks that drive.  No way has to
 * go beyond the first of them.
 */
static void note_joint(const struct pricing *p,
		       const struct gt_plan_channel *channel, uint32_t i,
		       struct exit_cost *costs)
{
	const struct gt_plan_vertex *vertex = &channel->vertices[i];
	uint32_t at;

	if (!vertex->name ||
	    (vertex->parent >= 0 && !channel->vertices[vertex->parent].name))
		return;
	at = gt_link_graph_find(&p->graph, vertex->name);
	if (at != GT_NO_VERTEX)
		costs[at] = (struct exit_cost){GT_RAT(0, 1), 1};
}

/* Take a link if that is cheaper; -1 when sums need more than 64 bits. */
static int relax(const struct pricing *p, uint32_t link, int back,
		 struct exit_cost *costs)
{
	uint32_t from = (back ? p->graph.to : p->graph.from)[link];
	uint32_t to = (back ? p->graph.from : p->graph.to)[link];
	struct gt_rat sum;

	if (!costs[to].known || strstr(p->graph.names[to], "GPU/"))
		return 0;
	if (!gt_rat_add(costs[to].sum, p->prices[link], &sum))
		return -1;
	if (costs[from].known && gt_rat_cmp(sum, costs[from].sum) >= 0)
		return 0;
	costs[from] = (struct exit_cost){sum, 1};
	return 1;
}

/*
 * Add what the cheapest way of each rank to a switch that joins costs, or
 * (back) the one from there, as Bellman and Ford find it.
 */
static int add_exits(struct pricing *p, int back, struct exit_cost *costs)
{
	const struct gt_plan_select *row = gt_plan_main_row(p->plan);
	int changed, taken;

	memset(costs, 0, p->graph.n * sizeof(*costs));
	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&p->plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nvertices; i++)
			note_joint(p, channel, i, costs);
	}
	do {
		changed = 0;
		for (uint32_t i = 0; i < p->plan->nlinks; i++) {
			taken = relax(p, i, back, costs);
			if (taken < 0)
				return 0;
			changed |= taken;
		}
	} while (changed);
	for (uint32_t r = 0; r < p->plan->nranks; r++) {
		uint32_t at = p->graph.rank[r];
		struct member *member = &p->members[r];

		member->stays |= at == GT_NO_VERTEX || !costs[at].known;
		if (!member->stays &&
		    !gt_rat_add(member->drive, costs[at].sum, &member->drive))
			return 0;
	}
	return 1;
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
				p->joined |= v->parent >= 0;
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
	return !p->members[rank].stays;
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

/* Only an all-reduce joins switches, so ways lead up and back. */
static int price_exits(struct pricing *p, struct gt_arena *arena)
{
	struct exit_cost *costs =
		gt_arena_array(arena, p->graph.n, sizeof(*costs));

	return costs && add_exits(p, 0, costs) && add_exits(p, 1, costs);
}

int gt_check_switch_bound(const struct gt_plan *plan,
			  const struct gt_rat *prices,
			  enum gt_bound_state *state, struct gt_err *err)
{
	struct pricing p = {.plan = plan, .prices = prices};
	struct gt_arena *arena = gt_arena_new();
	struct gt_rat sum;
	int rc;

	p.members = calloc(plan->nranks, sizeof(*p.members));
	rc = p.members && arena ? gt_link_graph_init(plan, arena, &p.graph, err)
				: gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < plan->nranks; r++)
		p.members[r].drive = GT_RAT(0, 1);
	if (!rc)
		rc = note_channels(&p, err);
	if (!rc &&
	    (!price_members(&p) || (p.joined && !price_exits(&p, arena)) ||
	     !add_tree(&p, &sum)))
		*state = GT_BOUND_TOO_FINE;
	else if (!rc && gt_rat_cmp(sum, GT_RAT(1, 1)) < 0)
		rc = gt_plan_wrong(plan, gt_plan_at("proof.certificate.prices"),
				   err,
				   "a tree through the switches costs "
				   "less than 1");
	else if (!rc)
		*state = GT_BOUND_PROVEN;
	free(p.members);
	gt_arena_free(arena);
	return rc;
}
