/*
 * Adds up the loads of a plan's main row: hops of plans that list their ranks
 * one by one, and templates of nodes that are alike.
 */
#include "search/job/loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/check/cluster_load.h"
#include "plan/check/hop_costs.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/hop_uses.h"
#include "plan/ir/plan.h"
#include "search/job/links.h"
#include "topo/cluster/cluster.h"

enum { ID_MAX = 1024 };

/* The sums of one plan, under way. */
struct sums {
	struct gt_group_plan *group;
	struct gt_job_links *links;
	const struct gt_cluster *part; /* or NULL */
	const struct gt_plan *plan;
	/*
	 * Of nodes that are alike: bytes of a block over the network for each
	 * byte of the buffer, [((class * 2 + up) * nrails + out) * nrails + in]
	 * by class of nodes (of templates 0) and rails of the ports.
	 */
	double *crossing;
	int failed;
};

static void add(struct sums *s, const struct gt_group_load *load)
{
	struct gt_group_plan *group = s->group;
	struct gt_group_load *loads = group->loads;

	for (uint32_t i = 0; i < group->nloads; i++) {
		struct gt_group_load *old = &loads[i];

		if (old->member == load->member && old->local == load->local &&
		    old->fabric == load->fabric && old->level == load->level &&
		    old->rail == load->rail && old->in == load->in) {
			old->portion += load->portion;
			return;
		}
	}
	loads = gt_vec_grow_in(s->links->arena, loads, group->nloads,
			       &group->loads_room, sizeof(*loads));
	if (!loads) {
		s->failed = 1;
		return;
	}
	group->loads = loads;
	loads[group->nloads++] = *load;
}

static void add_local(struct sums *s, uint32_t member, const char *name,
		      struct gt_rat gbs, double portion)
{
	uint32_t local = gt_job_links_local(s->links, name, gbs);
	struct gt_group_load load = {
		.member = member, .local = local, .portion = portion};

	if (local == UINT32_MAX)
		s->failed = 1;
	else
		add(s, &load);
}

/* ---- plans that list their ranks ---------------------------------------- */

/* Which node of the part the name begins with, and what comes behind it. */
static uint32_t find_member(const struct sums *s, const char *id,
			    const char **rest)
{
	char name[ID_MAX];

	for (uint32_t i = 0; i < s->part->nnodes; i++) {
		size_t n;

		gt_cluster_node_name(s->part, i, name, sizeof(name));
		n = strlen(name);
		if (!strncmp(id, name, n) && id[n] == ':') {
			*rest = id + n + 1;
			return i;
		}
	}
	return UINT32_MAX;
}

/* An uplink is known by a node below the switch, and the rail. */
static int add_uplink(struct sums *s, const char *id, double portion)
{
	struct gt_group_load load = {.local = UINT32_MAX, .portion = portion};
	const struct gt_cluster_fabric *f;
	unsigned from[2], to[2], which;

	if (!strncmp(id, "nv", 2))
		load.fabric = GT_FABRIC_NVLINK;
	if (sscanf(id,
		   load.fabric ? "nvswitch%u.%u>nvswitch%u.%u"
			       : "switch%u.%u>switch%u.%u",
		   &from[0], &from[1], &to[0], &to[1]) != 4)
		return 0;
	load.in = from[0] > to[0];
	load.level = load.in ? to[0] : from[0];
	which = load.in ? to[1] : from[1];
	f = &s->part->fabrics[load.fabric];
	for (load.member = 0; load.member < s->part->nnodes; load.member++)
		for (load.rail = 0; load.rail < f->nrails; load.rail++)
			if (gt_cluster_switch(s->part,
					      (enum gt_fabric_kind)load.fabric,
					      load.level, load.member,
					      load.rail) == which) {
				add(s, &load);
				return 1;
			}
	return 0;
}

/* A link of a flattened cluster: a node's, a port's to or from its switch. */
static int add_flat(struct sums *s, const struct gt_plan_link *link,
		    double portion)
{
	const char *rest, *to = strchr(link->id, '>');
	uint32_t member = find_member(s, link->id, &rest);
	char name[ID_MAX];

	if (member != UINT32_MAX) {
		const char *above = strstr(rest, ">switch");

		above = above ? above : strstr(rest, ">nvswitch");
		snprintf(name, sizeof(name), "%.*s%s",
			 (int)(above ? above - rest : (long)strlen(rest)), rest,
			 above ? ">switch" : "");
		add_local(s, member, name, link->gbs, portion);
		return 1;
	}
	member = to ? find_member(s, to + 1, &rest) : UINT32_MAX;
	if (member == UINT32_MAX)
		return add_uplink(s, link->id, portion);
	snprintf(name, sizeof(name), "switch>%s", rest);
	add_local(s, member, name, link->gbs, portion);
	return 1;
}

/* What a hop of the plan carries for each byte of the buffer. */
static int add_hop(struct sums *s, const struct gt_plan_hop *hop,
		   double portion)
{
	const struct gt_plan *plan = s->plan;

	for (uint32_t k = 0; k < hop->nroute; k++) {
		const struct gt_plan_link *link = &plan->links[hop->route[k]];
		double times = gt_rat_double(
			gt_plan_link_charge(plan, hop->route[k], hop->charge));

		if (!s->part)
			add_local(s, 0, link->id, link->gbs, portion * times);
		else if (!add_flat(s, link, portion * times))
			return 0;
	}
	return 1;
}

static int add_listed_channel(struct sums *s, const struct gt_plan_select *row,
			      const struct gt_plan_channel *channel)
{
	uint32_t *uses = calloc((size_t)channel->nhops + 1, sizeof(*uses));
	double unit = gt_rat_double(channel->gbs) /
		      (double)gt_plan_most_units(s->plan, row->coll) /
		      s->group->algbw_gbs;
	int rc = uses ? gt_plan_hop_uses(s->plan, row, channel, uses) : GT_ESYS;

	for (uint32_t i = 0; i < channel->nhops && !rc; i++)
		if (uses[i] && !add_hop(s, &channel->hops[i], unit * uses[i]))
			rc = GT_ENO;
	free(uses);
	return rc;
}

/* ---- nodes that are alike ----------------------------------------------- */

static int has_crossing(struct sums *s)
{
	const struct gt_plan_cluster *c = s->plan->cluster;
	size_t n = 2 * ((size_t)c->nlevels + 1) * c->nrails * c->nrails;

	s->crossing = gt_arena_array(s->links->arena, n, sizeof(double));
	return s->crossing != NULL;
}

static double *crossing_of(struct sums *s, uint32_t class_, int up,
			   uint32_t out, uint32_t in)
{
	uint32_t n = s->plan->cluster->nrails;

	return &s->crossing[(((size_t)class_ * 2 + (size_t)up) * n + out) * n +
			    in];
}

/* Note which rails a hop over the network goes between; others do not. */
static void note_crossing(struct sums *s, const struct gt_link_graph *v,
			  const struct gt_plan_hop *hop, uint32_t class_,
			  int up, double block)
{
	const struct gt_plan_cluster *c = s->plan->cluster;
	uint32_t out = GT_NO_VERTEX, in = GT_NO_VERTEX;

	for (uint32_t k = 0; k < hop->nroute; k++) {
		uint32_t link = hop->route[k];

		if (v->port[v->to[link]] != GT_NO_VERTEX)
			out = c->ports[v->port[v->to[link]]].rail;
		if (v->port[v->from[link]] != GT_NO_VERTEX)
			in = c->ports[v->port[v->from[link]]].rail;
	}
	if (out != GT_NO_VERTEX && in != GT_NO_VERTEX)
		*crossing_of(s, class_, up, out, in) += block;
}

/*
 * How often a block goes from one node to another, [from * nnodes + to]: of a
 * flow once if they are of the class, of templates once for each node that the
 * block may begin in and that has the one before the other in its tree.
 */
static void count_pairs(const struct gt_plan_cluster *c, uint32_t class_,
			uint32_t *times)
{
	uint32_t n = c->nnodes;

	memset(times, 0, (size_t)n * n * sizeof(*times));
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++) {
			if (class_ && gt_nodes_class(c, a, b) == class_)
				times[(size_t)a * n + b] = 1;
			if (!class_ && b)
				times[(size_t)gt_nodes_at(
					      c, a, gt_nodes_parent(c, b)) *
					      n +
				      gt_nodes_at(c, a, b)]++;
		}
}

/* The sums of one level's uplinks, out of each switch and (1) into it. */
struct uplinks {
	enum gt_fabric_kind over;
	uint32_t level;
	const uint32_t *times; /* of pairs of nodes */
	double *sums;          /* [switch * 2 + in] */
};

/* A block crosses uplinks where its two ports have no switch in common. */
static void add_pairs(struct sums *s, const struct uplinks *up, uint32_t class_,
		      uint32_t out, uint32_t in)
{
	double down = *crossing_of(s, class_, 0, out, in);
	double back = *crossing_of(s, class_, 1, out, in);
	uint32_t n = s->part->nnodes;

	for (uint32_t a = 0; a < n && down + back > 0; a++)
		for (uint32_t b = 0; b < n; b++) {
			double times = up->times[(size_t)a * n + b];
			uint32_t from, to;

			if (times <= 0)
				continue;
			from = gt_cluster_switch(s->part, up->over, up->level,
						 a, out);
			to = gt_cluster_switch(s->part, up->over, up->level, b,
					       in);
			if (from == to)
				continue;
			up->sums[from * 2] += times * down;
			up->sums[to * 2 + 1] += times * down;
			up->sums[to * 2] += times * back;
			up->sums[from * 2 + 1] += times * back;
		}
}

/* Emit the sums of a level, each with a node and a rail below its switch. */
static void add_level(struct sums *s, const struct uplinks *up)
{
	const struct gt_cluster_fabric *f = &s->part->fabrics[up->over];
	struct gt_group_load load = {
		.local = UINT32_MAX, .fabric = up->over, .level = up->level};
	uint32_t nrails = f->levels[up->level].by_rail ? f->nrails : 1;

	for (load.member = 0; load.member < s->part->nnodes;
	     load.member += f->levels[up->level].nodes)
		for (uint32_t i = 0; i < 2 * nrails; i++) {
			load.rail = i / 2;
			load.in = (int)(i % 2);
			load.portion =
				up->sums[2 * gt_cluster_switch(
						     s->part, up->over,
						     up->level, load.member,
						     load.rail) +
					 i % 2];
			if (load.portion > 0)
				add(s, &load);
		}
}

/*
 * Add up what crosses the uplinks of the part as it is; its plan knows only of
 * levels that limit it.
 */
static void add_uplinks(struct sums *s, enum gt_fabric_kind over)
{
	const struct gt_plan_cluster *c = s->plan->cluster;
	const struct gt_cluster_fabric *f = &s->part->fabrics[over];
	uint32_t *times = gt_arena_array(
		s->links->arena, (size_t)c->nnodes * c->nnodes, sizeof(*times));
	struct uplinks up = {.over = over, .times = times};

	for (; times && up.level + 1 < f->nlevels; up.level++) {
		up.sums = gt_arena_array(
			s->links->arena,
			2 * (size_t)f->levels[up.level].nswitches,
			sizeof(*up.sums));
		for (uint32_t k = 0; up.sums && k <= c->nlevels; k++) {
			count_pairs(c, k, times);
			for (uint32_t i = 0; i < c->nrails * c->nrails; i++)
				add_pairs(s, &up, k, i / c->nrails,
					  i % c->nrails);
		}
		if (up.sums)
			add_level(s, &up);
		s->failed |= !up.sums;
	}
	s->failed |= !times;
}

/*
 * A hop of a tree that `times` of a node's blocks take, away from their roots
 * or, with `up`, the other way.
 */
static void add_template_hop(struct sums *s, const struct gt_link_graph *v,
			     const struct gt_plan_hop *hop, double block,
			     uint32_t times, int up)
{
	struct gt_rat charge = hop->charge;

	note_crossing(s, v, hop, 0, up, block);
	for (uint32_t k = 0; k < hop->nroute; k++) {
		uint32_t link = hop->route[k];
		uint32_t port = v->port[v->from[link]];
		double portion;

		if (port != GT_NO_VERTEX)
			charge = GT_RAT(1, 1);
		portion = block * times *
			  gt_rat_double(
				  gt_plan_link_charge(s->plan, link, charge));
		link = up ? v->back[link] : link;
		add_local(s, GT_EVERY_MEMBER, s->plan->links[link].id,
			  s->plan->links[link].gbs, portion);
	}
}

static const struct gt_plan_hop *find_hop(const struct gt_plan_channel *channel,
					  int32_t from, uint32_t to)
{
	const struct gt_plan_hop *hop = channel->hops;

	while (hop->network || hop->from != (uint32_t)from || hop->to != to)
		hop++;
	return hop;
}

static void add_template(struct sums *s, const struct gt_link_graph *v,
			 const struct gt_plan_channel *channel,
			 const struct gt_plan_template *tree, int up)
{
	const struct gt_plan_cluster *c = s->plan->cluster;
	double block = gt_rat_double(channel->gbs) / s->plan->nranks /
		       s->group->algbw_gbs;

	for (uint32_t i = 0; i < c->nlocal; i++) {
		const struct gt_plan_hop *hop = &channel->hops[tree->net[i]];

		if (tree->home[i] >= 0)
			add_template_hop(s, v,
					 find_hop(channel, tree->home[i], i),
					 block, 1, up);
		if (tree->away[i] >= 0)
			hop = find_hop(channel, tree->away[i], i);
		add_template_hop(s, v, hop, block, c->nnodes - 1, up);
	}
}

static int add_templates(struct sums *s, const struct gt_plan_select *row,
			 struct gt_err *err)
{
	struct gt_link_graph v;
	int rc = gt_link_graph_init(s->plan, s->links->arena, &v, err);

	for (uint32_t i = 0; i < row->nchannels && !rc; i++) {
		const struct gt_plan_channel *channel =
			&s->plan->channels[row->channels[i]];

		if (channel->shape != GT_SHAPE_TEMPLATE)
			return gt_err_set(err, GT_ENO, NULL,
					  "loads of channels of this shape are "
					  "not added up");
		for (uint32_t t = 0; t < s->plan->cluster->nlocal; t++)
			for (int up = 0; up < 2; up++)
				if (up ? gt_coll_goes_up(row->coll)
				       : gt_coll_goes_down(row->coll))
					add_template(s, &v, channel,
						     &channel->templates[t],
						     up);
	}
	return rc;
}

static void note_paths(struct sums *s, const struct gt_link_graph *v,
		       const struct gt_plan_channel *channel)
{
	double block = gt_rat_double(channel->gbs) / s->group->algbw_gbs;

	for (uint32_t p = 0; p < channel->npaths; p++)
		for (uint32_t k = 0; k < channel->paths[p].nhops; k++)
			note_crossing(s, v,
				      &channel->hops[channel->paths[p].hops[k]],
				      channel->paths[p].class_, 0, block);
}

/* Add up what flows of the row put on the links of each node, and uplinks. */
static int add_flows(struct sums *s, const struct gt_plan_select *row,
		     struct gt_err *err)
{
	const struct gt_plan *plan = s->plan;
	struct gt_cluster_load load = {0};
	int rc = gt_cluster_load_init(&load, plan, s->links->arena, err);

	for (uint32_t i = 0; i < row->nchannels && !rc; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];

		if (!gt_cluster_load_flow(&load, channel))
			rc = gt_err_set(err, GT_ENO, NULL,
					"loads need more than 64 bits");
		else
			note_paths(s, &load.vertices, channel);
	}
	for (uint32_t i = 0; i < plan->nlinks && !rc; i++)
		if (load.links[i].num)
			add_local(s, GT_EVERY_MEMBER, plan->links[i].id,
				  plan->links[i].gbs,
				  gt_rat_double(load.links[i]) /
					  s->group->algbw_gbs);
	return rc;
}

int gt_group_loads_find(struct gt_group_plan *group, struct gt_job_links *links,
			const struct gt_cluster *part, struct gt_err *err)
{
	const struct gt_plan_select *row = gt_plan_main_row(group->plan);
	struct sums s = {group, links, part, group->plan, NULL, 0};
	int rc = GT_OK;

	if (group->plan->cluster) {
		if (!has_crossing(&s))
			return gt_err_nomem(err);
		rc = row->algo == GT_ALGO_FLOW ? add_flows(&s, row, err)
					       : add_templates(&s, row, err);
		if (!rc)
			add_uplinks(&s, part->fabrics[GT_FABRIC_NVLINK].nlevels
						? GT_FABRIC_NVLINK
						: GT_FABRIC_NET);
	} else {
		for (uint32_t i = 0; i < row->nchannels && !rc; i++)
			rc = add_listed_channel(
				&s, row,
				&group->plan->channels[row->channels[i]]);
		if (rc == GT_ENO)
			gt_err_set(err, rc, NULL,
				   "a link of the plan is none of its cluster");
		if (rc == GT_ESYS)
			gt_err_nomem(err);
	}
	return !rc && s.failed ? gt_err_nomem(err) : rc;
}
