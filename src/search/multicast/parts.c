/*
 * Of an all-reduce let X go through the switches together, y of it by tree k.
 * The links of a rank carry X and, where it drives, its tree's part: so y is at
 * most B - X, B being what its links carry, and at most what its way into a
 * network carries.  The largest X with a sum of these that reaches it is where
 * the two meet; links at which a minimum is have the price.  In a network these
 * are the links of a least cut (exits.h), as other ways and drivers than the
 * plan's may get more into it.
 *
 * Other collectives have no choice: each block, or all, has its one tree.
 */
#include "search/multicast/parts.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/multicast/exits.h"
#include "search/multicast/site.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "topo/graph/topo.h"

/* The narrowest link of some ways, and what of it one of those has. */
struct narrow {
	uint32_t link; /* GT_NONE: nothing limits */
	struct gt_rat gbs;
};

struct parts {
	const struct gt_multicast_site *site;
	struct gt_proposal *proposal;
	uint32_t *sharers;  /* by link: ways of ranks over it, up or down */
	struct narrow *own; /* by rank: its leaf, either way */
	struct narrow *out; /* by rank: its way into the network */
	struct gt_err *err;
	int failed, rc; /* rc: of what failed otherwise */
};

static const struct gt_fabric *fabric_of(const struct parts *p)
{
	return p->site->graph.fabric;
}

static uint32_t rank_vertex(const struct parts *p, uint32_t rank)
{
	return fabric_of(p)->ranks[rank];
}

/* Count a way, or find its narrowest link once all are counted. */
static void walk(struct parts *p, const struct gt_switch_ways *ways,
		 uint32_t from, int count, struct narrow *narrow)
{
	const struct gt_fabric *f = fabric_of(p);

	for (uint32_t at = from; ways->up[at] != GT_NONE;
	     at = f->links[ways->up[at]].to) {
		uint32_t both[] = {ways->up[at], ways->down[at]};

		for (int i = 0; i < 2; i++) {
			struct gt_rat gbs = f->links[both[i]].gbs;

			if (count) {
				p->sharers[both[i]]++;
				continue;
			}
			p->failed |= !gt_rat_div(
				gbs, GT_RAT(p->sharers[both[i]], 1), &gbs);
			if (narrow->link == GT_NONE ||
			    gt_rat_cmp(gbs, narrow->gbs) < 0)
				*narrow = (struct narrow){both[i], gbs};
		}
	}
}

static void walk_all(struct parts *p, int count)
{
	const struct gt_multicast_site *site = p->site;

	for (uint32_t r = 0; r < fabric_of(p)->nranks; r++) {
		uint32_t v = rank_vertex(p, r);

		walk(p, &site->domains[site->domain[r]].ways, v, count,
		     &p->own[r]);
		if (site->joins)
			walk(p, &site->over[site->place[r]], v, count,
			     &p->out[r]);
	}
}

/* A part of y = B - X costs this tree no more than its way out. */
static int limited_by_own(const struct parts *p, uint32_t rank,
			  struct gt_rat all)
{
	struct gt_rat left;

	if (p->out[rank].link == GT_NONE)
		return 1;
	return gt_rat_sub(p->own[rank].gbs, all, &left) &&
	       gt_rat_cmp(left, p->out[rank].gbs) < 0;
}

/* Sum the limits of a node's ranks: `all` says which limit each has. */
static int sum_limits(const struct parts *p, uint32_t domain, struct gt_rat all,
		      struct gt_rat *sum, uint32_t *nown)
{
	*sum = GT_RAT(0, 1);
	*nown = 0;
	for (uint32_t r = 0; r < fabric_of(p)->nranks; r++) {
		int own;

		if (p->site->domain[r] != domain)
			continue;
		own = limited_by_own(p, r, all);
		*nown += (uint32_t)own;
		if (!gt_rat_add(*sum, own ? p->own[r].gbs : p->out[r].gbs, sum))
			return 0;
	}
	return 1;
}

/*
 * What all of a node's ranks carry together, for which `all` only falls: from
 * an X that is too large more ranks are limited by their own links.
 */
static int meet(const struct parts *p, uint32_t domain, struct gt_rat *all)
{
	uint32_t nown, before = UINT32_MAX;
	struct gt_rat sum;

	*all = GT_RAT(0, 1);
	do {
		if (!sum_limits(p, domain, *all, &sum, &nown))
			return 0;
		if (nown == before)
			return 1;
		before = nown;
		if (!gt_rat_div(sum, GT_RAT((int64_t)nown + 1, 1), all))
			return 0;
	} while (1);
}

static void add_price(struct parts *p, uint32_t link, struct gt_rat price)
{
	struct gt_proposal *out = p->proposal;
	struct gt_rat part;

	for (uint32_t i = 0; i < out->nprices; i++)
		if (out->prices[i].link == link)
			return;
	out->prices[out->nprices++] = (struct gt_proposal_price){link, price};
	p->failed |= !gt_rat_mul(price, fabric_of(p)->links[link].gbs, &part) ||
		     !gt_rat_add(out->bound, part, &out->bound);
}

/* One link that all bytes cross proves the bound by itself. */
static void price_one(struct parts *p, uint32_t link, struct gt_rat price)
{
	p->proposal->nprices = 0;
	p->proposal->bound = GT_RAT(0, 1);
	add_price(p, link, price);
}

/* All ranks of the one domain have prices. */
static void price_domain(struct parts *p)
{
	uint32_t n = fabric_of(p)->nranks;

	for (uint32_t r = 0; r < n; r++)
		add_price(p, p->own[r].link, GT_RAT(1, (int64_t)n + 1));
}

/* What no ranks get out of their node, of the one that carries least. */
static void price_exits(struct parts *p)
{
	const struct gt_multicast_site *site = p->site;
	struct gt_multicast_exits exits, least = {.nterms = 0};
	uint32_t n = fabric_of(p)->nranks;
	struct gt_rat *own = gt_arena_array(site->arena, n, sizeof(*own));

	if (!own)
		p->rc = gt_err_nomem(p->err);
	for (uint32_t r = 0; own && r < n; r++)
		own[r] = p->own[r].gbs;
	for (uint32_t i = 0; i < 2 * site->ndomains && !p->rc; i++) {
		p->rc = gt_multicast_exits_find(site, i / 2, own, i % 2, &exits,
						p->err);
		if (!p->rc &&
		    (!least.nterms || gt_rat_cmp(exits.bound, least.bound) < 0))
			least = exits;
	}
	for (uint32_t i = 0; i < least.nlinks && !p->rc; i++)
		add_price(p, least.links[i], GT_RAT(1, least.nterms));
	for (uint32_t r = 0; r < n && !p->rc; r++)
		if (least.is_own[r])
			add_price(p, p->own[r].link, GT_RAT(1, least.nterms));
}

/* The part of a tree: what the least of its ranks leaves. */
static struct gt_rat tree_part(struct parts *p, uint32_t tree,
			       struct gt_rat all)
{
	struct gt_rat part = GT_RAT(0, 1), left;
	int found = 0;

	for (uint32_t r = 0; r < fabric_of(p)->nranks; r++) {
		if (p->site->joins ? p->site->place[r] != tree : r != tree)
			continue;
		p->failed |= !gt_rat_sub(p->own[r].gbs, all, &left);
		if (!limited_by_own(p, r, all))
			left = p->out[r].gbs;
		part = found ? gt_rat_min(part, left) : left;
		found = 1;
	}
	return part.num > 0 ? part : GT_RAT(0, 1);
}

static void share_allreduce(struct parts *p)
{
	const struct gt_multicast_site *site = p->site;
	struct gt_rat least = GT_RAT(0, 1), all, narrow = GT_RAT(0, 1);
	uint32_t n = fabric_of(p)->nranks, thin = 0;

	for (uint32_t d = 0; d < site->ndomains && !p->failed; d++) {
		p->failed |= !meet(p, d, &all);
		least = d ? gt_rat_min(least, all) : all;
	}
	for (uint32_t r = 0; r < n; r++)
		if (!r || gt_rat_cmp(p->own[r].gbs, narrow) < 0) {
			narrow = p->own[r].gbs;
			thin = r;
		}
	if (site->joins)
		price_exits(p);
	else
		price_domain(p);
	if (gt_rat_cmp(narrow, p->proposal->bound) < 0 && !p->failed)
		price_one(p, p->own[thin].link, GT_RAT(1, 1));
	least = gt_rat_min(least, narrow);
	for (uint32_t k = 0; k < site->ntrees; k++)
		p->proposal->channels[k].gbs = tree_part(p, k, least);
}

/* The narrowest link of all ranks' ways, up or down. */
static struct narrow narrowest(const struct parts *p, int up, uint32_t only)
{
	const struct gt_multicast_site *site = p->site;
	const struct gt_fabric *f = fabric_of(p);
	struct narrow least = {GT_NONE, GT_RAT(0, 1)};

	for (uint32_t r = 0; r < f->nranks; r++) {
		const struct gt_switch_ways *ways =
			&site->domains[site->domain[r]].ways;

		if (only != GT_NONE && r != only)
			continue;
		for (uint32_t at = f->ranks[r]; ways->up[at] != GT_NONE;
		     at = f->links[ways->up[at]].to) {
			uint32_t link = up ? ways->up[at] : ways->down[at];
			struct gt_rat gbs = f->links[link].gbs;

			/* Over a link that ranks share it goes for each. */
			if (!gt_rat_div(gbs, GT_RAT(p->sharers[link], 1), &gbs))
				continue;
			if (least.link == GT_NONE ||
			    gt_rat_cmp(gbs, least.gbs) < 0)
				least = (struct narrow){link, gbs};
		}
	}
	return least;
}

/*
 * All that leaves the ranks' one tree each, or that of the root, crosses the
 * leaves' links; a driver's link the other way carries its own tree's part.
 */
static void share_others(struct parts *p)
{
	struct gt_proposal *out = p->proposal;
	enum gt_coll coll = p->site->graph.request->coll;
	int up = gt_coll_goes_up(coll), blocks = gt_coll_has_blocks(coll);
	uint32_t root = p->site->graph.request->root;
	int64_t n = fabric_of(p)->nranks, trees = blocks ? n : 1;
	struct narrow leaf = narrowest(p, up, GT_NONE);
	struct narrow driver = narrowest(p, !up, blocks ? GT_NONE : root);
	struct gt_rat most, part;

	p->failed |= !gt_rat_mul(driver.gbs, GT_RAT(trees, 1), &most);
	if (gt_rat_cmp(leaf.gbs, most) <= 0) {
		most = leaf.gbs;
		price_one(p, leaf.link, GT_RAT(1, p->sharers[leaf.link]));
	} else {
		price_one(p, driver.link,
			  GT_RAT(trees, p->sharers[driver.link]));
	}
	p->failed |= !gt_rat_div(most, GT_RAT(trees, 1), &part);
	for (uint32_t k = 0; k < p->site->ntrees; k++)
		out->channels[k].gbs =
			blocks || k == root ? part : GT_RAT(0, 1);
}

/* Keep the channels that carry something. */
static void drop_empty(struct gt_proposal *out)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < out->nchannels; i++)
		if (out->channels[i].gbs.num > 0)
			out->channels[kept++] = out->channels[i];
	out->nchannels = kept;
}

static int add_load(const struct gt_proposal_channel *channel, uint32_t n,
		    const uint32_t *links, struct gt_rat *loads)
{
	for (uint32_t i = 0; i < n; i++)
		if (!gt_rat_add(loads[links[i]], channel->gbs,
				&loads[links[i]]))
			return 0;
	return 1;
}

/* Take rates down until no link carries more than it can; sum them up. */
static void fit(struct parts *p, struct gt_rat *loads)
{
	struct gt_proposal *out = p->proposal;
	const struct gt_fabric *f = fabric_of(p);
	struct gt_rat over = GT_RAT(1, 1), ratio;

	for (uint32_t i = 0; i < f->nlinks; i++)
		loads[i] = GT_RAT(0, 1);
	for (uint32_t c = 0; c < out->nchannels; c++)
		for (uint32_t i = 0; i < out->channels[c].nvertices; i++) {
			const struct gt_plan_vertex *v =
				&out->channels[c].vertices[i];

			p->failed |= !add_load(&out->channels[c], v->nup, v->up,
					       loads) ||
				     !add_load(&out->channels[c], v->ndown,
					       v->down, loads);
		}
	for (uint32_t i = 0; i < f->nlinks && !p->failed; i++) {
		if (gt_rat_cmp(loads[i], f->links[i].gbs) <= 0)
			continue;
		p->failed |= !gt_rat_div(f->links[i].gbs, loads[i], &ratio);
		over = gt_rat_min(over, ratio);
	}
	out->value = GT_RAT(0, 1);
	for (uint32_t c = 0; c < out->nchannels; c++)
		p->failed |= !gt_rat_mul(out->channels[c].gbs, over,
					 &out->channels[c].gbs) ||
			     !gt_rat_add(out->value, out->channels[c].gbs,
					 &out->value);
}

int gt_multicast_parts(const struct gt_multicast_site *site,
		       struct gt_proposal *proposal, struct gt_err *err)
{
	struct parts p = {.site = site, .proposal = proposal, .err = err};
	uint32_t n = site->graph.fabric->nranks;
	size_t nlinks = site->graph.fabric->nlinks;
	struct gt_rat *loads =
		gt_arena_array(site->arena, nlinks, sizeof(*loads));

	p.sharers = gt_arena_array(site->arena, nlinks, sizeof(*p.sharers));
	p.own = gt_arena_array(site->arena, n, sizeof(*p.own));
	p.out = gt_arena_array(site->arena, n, sizeof(*p.out));
	proposal->prices = gt_arena_array(site->arena, n + nlinks,
					  sizeof(*proposal->prices));
	if (!loads || !p.sharers || !p.own || !p.out || !proposal->prices)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < n; r++)
		p.own[r].link = p.out[r].link = GT_NONE;
	proposal->bound = GT_RAT(0, 1);
	walk_all(&p, 1);
	walk_all(&p, 0);
	if (site->graph.request->coll == GT_COLL_ALLREDUCE)
		share_allreduce(&p);
	else
		share_others(&p);
	if (p.rc)
		return p.rc;
	drop_empty(proposal);
	if (!p.failed)
		fit(&p, loads);
	return p.failed ? gt_err_set(err, GT_ENO, NULL,
				     "rates need more than 64 bits")
			: GT_OK;
}
