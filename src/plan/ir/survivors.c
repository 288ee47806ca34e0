/* Makes the plan of those that are left: ranks, links, channels, rows. */
#include "plan/ir/survivors.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"

enum { GT_SURVIVORS_SLOTS = 4, GT_SURVIVORS_SLICE_BYTES = 131072 };

struct gt_survivors {
	const struct gt_plan *old;
	struct gt_plan *plan;
	uint32_t *olds;      /* [ranks that are left]: their old numbers */
	int64_t *news;       /* [old ranks]: their new numbers, or -1 */
	struct gt_rat *load; /* of each link */
	int has_routes;
	int failed; /* no memory */
};

static void *gt_survivors_array(struct gt_survivors *s, size_t n, size_t bytes)
{
	void *array = gt_arena_array(s->plan->arena, n, bytes);

	s->failed |= !array;
	return array;
}

static const char *gt_survivors_text(struct gt_survivors *s, const char *text)
{
	char *copy = text ? gt_arena_strdup(s->plan->arena, text) : NULL;

	s->failed |= text && !copy;
	return copy;
}

static void gt_survivors_ranks(struct gt_survivors *s, const uint8_t *gone)
{
	const struct gt_plan *old = s->old;
	uint32_t n = 0;

	s->olds = gt_survivors_array(s, old->nranks, sizeof(*s->olds));
	s->news = gt_survivors_array(s, old->nranks, sizeof(*s->news));
	s->plan->ranks =
		gt_survivors_array(s, old->nranks, sizeof(*s->plan->ranks));
	for (uint32_t r = 0; !s->failed && r < old->nranks; r++) {
		const struct gt_plan_rank *rank = &old->ranks[r];

		s->news[r] = gone[r] ? -1 : (int64_t)n;
		if (gone[r])
			continue;
		s->olds[n] = r;
		s->plan->ranks[n++] = (struct gt_plan_rank){
			.node = gt_survivors_text(s, rank->node),
			.device = gt_survivors_text(s, rank->device),
			.name = gt_survivors_text(s, rank->name),
			.dev = rank->dev,
			.has_dev = rank->has_dev,
		};
	}
	s->plan->nranks = n;
}

/* The plan's links; or one that is made up for each rank, and leaves it. */
static void gt_survivors_links(struct gt_survivors *s)
{
	struct gt_plan *plan = s->plan;
	uint32_t n = s->has_routes ? s->old->nlinks : plan->nranks;

	plan->links = gt_survivors_array(s, n, sizeof(*plan->links));
	s->load = gt_survivors_array(s, n, sizeof(*s->load));
	for (uint32_t i = 0; !s->failed && i < n; i++) {
		const struct gt_plan_link *link = &s->old->links[i];
		char *id = s->has_routes
				   ? gt_arena_strdup(plan->arena, link->id)
				   : gt_arena_printf(plan->arena, "%u>", i);

		s->failed |= !id;
		plan->links[i] = (struct gt_plan_link){
			.id = id,
			.kind = s->has_routes ? gt_survivors_text(s, link->kind)
					      : "SYS",
			.gbs = s->has_routes ? link->gbs : GT_RAT(1, 1),
		};
	}
	plan->nlinks = n;
}

static const struct gt_plan_route *gt_survivors_route(
	const struct gt_survivors *s, uint32_t from, uint32_t to)
{
	const struct gt_plan_proof *proof = &s->old->proof;

	for (uint32_t i = 0; i < proof->nroutes; i++)
		if (proof->routes[i].from == s->olds[from] &&
		    proof->routes[i].to == s->olds[to])
			return &proof->routes[i];
	return NULL;
}

/* The next hop of a channel, between ranks by their new numbers. */
static void gt_survivors_hop(struct gt_survivors *s,
			     struct gt_plan_channel *channel, uint32_t from,
			     uint32_t to)
{
	const struct gt_plan_route *route =
		s->has_routes ? gt_survivors_route(s, from, to) : NULL;
	uint32_t n = route ? route->nlinks : 1;
	uint32_t *links = gt_survivors_array(s, n, sizeof(*links));

	if (!links)
		return;
	*links = from;
	if (route)
		memcpy(links, route->links, n * sizeof(*links));
	channel->hops[channel->nhops++] = (struct gt_plan_hop){
		.from = from,
		.to = to,
		.transport = gt_plan_transport(s->plan, links, n,
					       route && route->is_staged),
		.charge = route ? route->charge : GT_RAT(1, 1),
		.nroute = n,
		.route = links,
	};
}

/* A ring over those that are left of an order, or of all where it is NULL. */
static void gt_survivors_ring(struct gt_survivors *s,
			      struct gt_plan_channel *channel,
			      const uint32_t *order)
{
	uint32_t n = s->plan->nranks;

	channel->shape = GT_SHAPE_RING;
	channel->order = gt_survivors_array(s, n, sizeof(*channel->order));
	channel->hops = gt_survivors_array(s, n, sizeof(*channel->hops));
	if (s->failed)
		return;
	for (uint32_t i = 0; i < s->old->nranks; i++) {
		int64_t rank = s->news[order ? order[i] : i];

		if (rank >= 0)
			channel->order[channel->norder++] = (uint32_t)rank;
	}
	for (uint32_t i = 0; n > 1 && i < n; i++)
		gt_survivors_hop(s, channel, channel->order[i],
				 channel->order[(i + 1) % n]);
}

static void gt_survivors_mesh(struct gt_survivors *s,
			      struct gt_plan_channel *channel)
{
	uint32_t n = s->plan->nranks;

	channel->shape = GT_SHAPE_MESH;
	channel->hops =
		gt_survivors_array(s, (size_t)n * n, sizeof(*channel->hops));
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n && !s->failed; b++)
			if (a != b)
				gt_survivors_hop(s, channel, a, b);
}

/* Add a channel's rate to the links of its hops; 0: no 64 bits hold it. */
static int gt_survivors_load(struct gt_survivors *s,
			     const struct gt_plan_channel *channel)
{
	struct gt_rat charge, more;

	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		for (uint32_t k = 0; k < hop->nroute; k++) {
			const char *kind = s->plan->links[hop->route[k]].kind;
			struct gt_rat *load = &s->load[hop->route[k]];

			charge = kind && !strcmp(kind, "PCI") ? hop->charge
							      : GT_RAT(1, 1);
			if (!gt_rat_mul(channel->gbs, charge, &more) ||
			    !gt_rat_add(*load, more, load))
				return 0;
		}
	}
	return 1;
}

/*
 * Find the largest factor by which channels that are used together may be
 * faster; 0: no 64 bits hold it, or nothing limits them.
 */
static int gt_survivors_factor(struct gt_survivors *s,
			       const struct gt_plan_channel *channels,
			       uint32_t n, struct gt_rat *factor)
{
	struct gt_rat room;
	int found = 0;

	for (uint32_t i = 0; i < s->plan->nlinks; i++)
		s->load[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < n; i++)
		if (!gt_survivors_load(s, &channels[i]))
			return 0;
	for (uint32_t i = 0; i < s->plan->nlinks; i++) {
		if (!s->load[i].num)
			continue;
		if (!gt_rat_div(s->plan->links[i].gbs, s->load[i], &room))
			return 0;
		*factor = found ? gt_rat_min(*factor, room) : room;
		found = 1;
	}
	return found;
}

/* Give channels of a row their shares and rates, as their weights are. */
static int gt_survivors_rate(struct gt_survivors *s,
			     struct gt_plan_channel *channels, uint32_t n)
{
	struct gt_rat sum = GT_RAT(0, 1), factor = GT_RAT(1, 1);

	if (s->plan->nranks > 1 &&
	    !gt_survivors_factor(s, channels, n, &factor))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (!gt_rat_add(sum, channels[i].gbs, &sum))
			return 0;
	for (uint32_t i = 0; i < n; i++)
		if (!gt_rat_div(channels[i].gbs, sum, &channels[i].share) ||
		    !gt_rat_mul(channels[i].gbs, factor, &channels[i].gbs))
			return 0;
	return 1;
}

/* The rings that the main row uses, or one in order of rank. */
static uint32_t gt_survivors_rings(struct gt_survivors *s)
{
	const struct gt_plan *old = s->old;
	const struct gt_plan_select *row = gt_plan_main_row(old);
	struct gt_plan_channel *channels = s->plan->channels;
	uint32_t n = 0;

	for (uint32_t i = 0;
	     s->has_routes && row->algo == GT_ALGO_RING && i < row->nchannels;
	     i++) {
		const struct gt_plan_channel *ring =
			&old->channels[row->channels[i]];

		channels[n].gbs = ring->gbs;
		gt_survivors_ring(s, &channels[n++], ring->order);
	}
	if (n && !s->failed && gt_survivors_rate(s, channels, n))
		return n;
	memset(channels, 0, sizeof(*channels));
	channels->gbs = GT_RAT(1, 1);
	gt_survivors_ring(s, channels, NULL);
	s->failed |= !gt_survivors_rate(s, channels, 1);
	return 1;
}

/* A row for the collective, over n channels from the first on. */
static void gt_survivors_row(struct gt_survivors *s, enum gt_coll coll,
			     uint32_t first, uint32_t n)
{
	const struct gt_plan_select *like =
		gt_plan_row(s->old, coll, UINT64_MAX);
	struct gt_plan_select *row = &s->plan->select[s->plan->nselect++];

	*row = (struct gt_plan_select){
		.max_bytes = UINT64_MAX,
		.coll = coll,
		.algo = first ? GT_ALGO_ONE_SHOT : GT_ALGO_RING,
		.protocol = GT_PROTOCOL_SIMPLE,
		.nchannels = n,
		.channels = gt_survivors_array(s, n, sizeof(*row->channels)),
		.workers = like->workers ? like->workers : 1,
		.max_blocks = like->max_blocks,
	};
	for (uint32_t i = 0; !s->failed && i < n; i++)
		row->channels[i] = first + i;
}

/* Channels and a row for each collective that the old plan served. */
static void gt_survivors_channels(struct gt_survivors *s)
{
	struct gt_plan *plan = s->plan;
	uint32_t most = gt_plan_main_row(s->old)->nchannels + 2, rings;
	int meshes = 0;

	plan->channels = gt_survivors_array(s, most, sizeof(*plan->channels));
	plan->select = gt_survivors_array(s, GT_NCOLLS, sizeof(*plan->select));
	if (s->failed)
		return;
	rings = gt_survivors_rings(s);
	for (int c = 0; !s->failed && c < GT_NCOLLS; c++) {
		/* Rings add up from rank to rank. */
		int by_ring =
			gt_algo_supports(GT_ALGO_RING, (enum gt_coll)c) &&
			!(plan->invariant && gt_coll_reduces((enum gt_coll)c));

		if (!gt_plan_row(s->old, (enum gt_coll)c, 0))
			continue;
		gt_survivors_row(s, (enum gt_coll)c, by_ring ? 0 : rings,
				 by_ring ? rings : 1);
		meshes |= !by_ring;
	}
	plan->nchannels = rings + (uint32_t)meshes;
	if (meshes && !s->failed) {
		plan->channels[rings].gbs = GT_RAT(1, 1);
		gt_survivors_mesh(s, &plan->channels[rings]);
		s->failed |= !gt_survivors_rate(s, &plan->channels[rings], 1);
	}
	for (uint32_t i = 0; i < plan->nchannels; i++)
		plan->channels[i].id = i;
}

int gt_plan_survivors(const struct gt_plan *plan, const uint8_t *gone,
		      int invariant, struct gt_plan **out, struct gt_err *err)
{
	struct gt_survivors s = {.old = plan, .plan = gt_plan_new()};
	int rc = gt_plan_need_even(plan, "going on with fewer ranks", err);

	if (!rc)
		rc = gt_plan_need_forwarding(plan, "going on with fewer ranks",
					     err);

	if (!s.plan)
		return gt_err_nomem(err);
	s.has_routes = !plan->cluster && plan->has_proof && plan->proof.nroutes;
	gt_survivors_ranks(&s, gone);
	if (!rc && !s.failed && !s.plan->nranks)
		rc = gt_err_set(err, GT_EINPUT, NULL, "no rank is left");
	if (rc || s.failed) {
		gt_plan_free(s.plan);
		return rc ? rc : gt_err_nomem(err);
	}
	s.plan->coll = plan->coll;
	s.plan->invariant = plan->invariant || invariant;
	s.plan->root =
		s.news[plan->root] < 0 ? 0 : (uint32_t)s.news[plan->root];
	s.plan->digest = gt_survivors_text(&s, plan->digest);
	s.plan->source = gt_survivors_text(&s, plan->source);
	s.plan->rates = gt_survivors_text(&s, plan->rates);
	s.plan->fifo_slots =
		plan->fifo_slots ? plan->fifo_slots : GT_SURVIVORS_SLOTS;
	s.plan->fifo_slice_bytes = plan->fifo_slice_bytes
					   ? plan->fifo_slice_bytes
					   : GT_SURVIVORS_SLICE_BYTES;
	gt_survivors_links(&s);
	if (!s.failed)
		gt_survivors_channels(&s);
	if (s.failed) {
		gt_plan_free(s.plan);
		return gt_err_nomem(err);
	}
	*out = s.plan;
	return GT_OK;
}
