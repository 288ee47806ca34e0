/* Solves the cluster again with each change, and keeps those that help. */
#include "search/whatif/cluster_full.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "search/cluster/ports.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "search/whatif/result.h"
#include "search/whatif/whatif.h"
#include "topo/cluster/cluster.h"

/* Beyond so many changes, full groups are no longer tried one by one. */
enum { MAX_TRIES = 24 };

/* A cluster that is as it is but for some wider links and one wider level. */
struct candidate {
	const char *name;
	uint8_t *doubled;  /* by link of the node */
	uint32_t level;    /* or UINT32_MAX */
	struct gt_rat gbs; /* of this level's uplinks then */
};

struct candidates {
	struct gt_whatif_cluster_state *s;
	struct gt_arena *arena;
	uint32_t n;
	struct candidate *list;
};

/* Add a candidate that changes nothing yet; NULL when memory ran out. */
static struct candidate *add_candidate(struct candidates *all, const char *name)
{
	struct candidate *one = &all->list[all->n];

	one->name = name;
	one->level = UINT32_MAX;
	one->doubled =
		gt_arena_array(all->arena, all->s->quotient->fabric->nlinks,
			       sizeof(*one->doubled));
	if (!name || !one->doubled)
		return NULL;
	all->n++;
	return one;
}

static void double_links(const struct candidates *all, struct candidate *one,
			 uint32_t a, uint32_t b)
{
	const struct gt_fabric *fabric = all->s->quotient->fabric;

	for (uint32_t i = 0; i < fabric->nlinks; i++) {
		const struct gt_fabric_link *l = &fabric->links[i];

		if ((l->from == a && l->to == b) ||
		    (l->from == b && l->to == a))
			one->doubled[i] = 1;
	}
}

/* A card of its own has a port, and a link to where the first one hangs. */
static void double_port(const struct candidates *all, struct candidate *one,
			uint32_t port)
{
	uint32_t net = all->s->quotient->ports[port];
	const struct gt_node *node = gt_whatif_cluster_node(all->s, net);
	uint32_t nic = node ? node->up : GT_NONE;

	if (nic == GT_NONE)
		return;
	double_links(all, one, net, nic);
	if (gt_topo_node(all->s->topo, nic)->up != GT_NONE)
		double_links(all, one, nic,
			     gt_topo_node(all->s->topo, nic)->up);
}

static int add_ports(struct candidates *all, struct candidate *ports_and_links)
{
	const struct gt_whatif_cluster_state *s = all->s;
	const struct gt_plan_cluster *cluster = &s->quotient->cluster;
	int nvlink = gt_quotient_fabric_kind(s->request->cluster) ==
		     GT_FABRIC_NVLINK;
	struct candidate *each =
		add_candidate(all, "a second port beside each");

	for (uint32_t p = 0; each && p < cluster->nports; p++) {
		struct candidate *one;

		double_port(all, each, p);
		double_port(all, ports_and_links, p);
		if (cluster->nports > MAX_TRIES / 2 || nvlink)
			continue;
		one = add_candidate(
			all, gt_arena_printf(all->arena,
					     "a second port on rail %" PRIu32
					     ", beside NET%d",
					     cluster->ports[p].rail,
					     gt_topo_node(s->topo,
							  s->quotient->ports[p])
						     ->dev));
		if (!one)
			return 0;
		double_port(all, one, p);
	}
	return !!each;
}

/* Names the links of a group, which may join the same kinds as another's. */
static const char *name_group(const struct candidates *all, uint32_t group)
{
	const struct gt_whatif_group *groups = all->s->groups;

	for (uint32_t g = 0; g < all->s->ngroups; g++)
		if (g != group && !strcmp(groups[g].name, groups[group].name))
			return gt_arena_printf(
				all->arena, "%s of %g GB/s", groups[group].name,
				gt_rat_double(groups[group].gbs));
	return groups[group].name;
}

static int add_groups(struct candidates *all, struct candidate *links,
		      struct candidate *ports_and_links)
{
	const struct gt_whatif_cluster_state *s = all->s;

	for (uint32_t g = 0; g < s->ngroups && all->n < MAX_TRIES; g++) {
		const struct gt_whatif_group *group = &s->groups[g];
		const char *name = name_group(all, g);
		struct candidate *one;

		if (!name)
			return 0;
		one = add_candidate(all,
				    gt_arena_printf(all->arena,
						    "a second link beside each "
						    "full %s",
						    name));
		if (!one)
			return 0;
		for (uint32_t i = 0; i < group->n; i++) {
			const struct gt_fabric_link *l =
				&s->quotient->fabric->links[group->links[i]];

			double_links(all, one, l->from, l->to);
			double_links(all, links, l->from, l->to);
			double_links(all, ports_and_links, l->from, l->to);
		}
	}
	return 1;
}

/*
 * Find what comes from below, where a level of the cluster has the same
 * switches.
 */
static struct gt_rat find_downlink(const struct gt_whatif_cluster_state *s,
				   uint32_t level)
{
	const struct gt_plan_level *at = &s->quotient->cluster.levels[level];
	const struct gt_cluster *cluster = s->request->cluster;
	enum gt_fabric_kind over = gt_quotient_fabric_kind(cluster);
	struct gt_rat gbs = at->gbs;
	struct gt_err ignored;

	gt_err_init(&ignored);
	for (uint32_t i = 0; i < cluster->fabrics[over].nlevels; i++)
		if (cluster->fabrics[over].levels[i].nodes == at->nodes)
			gt_cluster_downlink(cluster, over, i, 0, &gbs,
					    &ignored);
	return gbs;
}

static int add_levels(struct candidates *all)
{
	const struct gt_plan_cluster *cluster = &all->s->quotient->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		struct candidate *one;

		if (!gt_whatif_cluster_level_is_full(all->s, l))
			continue;
		one = add_candidate(
			all,
			gt_arena_printf(all->arena,
					"no oversubscription of the switches "
					"above %" PRIu32 " nodes",
					cluster->levels[l].nodes));
		if (!one)
			return 0;
		one->level = l;
		one->gbs = find_downlink(all->s, l);
	}
	return 1;
}

static int add_all(struct candidates *all)
{
	struct candidate *links, *ports_and_links;

	all->list = gt_arena_array(
		all->arena, 2 * MAX_TRIES + all->s->quotient->cluster.nlevels,
		sizeof(*all->list));
	if (!all->list)
		return 0;
	links = add_candidate(all, "a second link beside each full one");
	ports_and_links = add_candidate(all, "a second port beside each, and a "
					     "second link beside each full "
					     "one");
	return links && ports_and_links && add_ports(all, ports_and_links) &&
	       add_groups(all, links, ports_and_links) && add_levels(all);
}

/* Make fabric and q copies of the cluster's that have what the one asks for. */
static int change_copy(const struct gt_quotient *from,
		       const struct candidate *one, struct gt_arena *arena,
		       struct gt_fabric *fabric, struct gt_quotient *q)
{
	*fabric = *from->fabric;
	*q = *from;
	fabric->links =
		gt_arena_array(arena, fabric->nlinks, sizeof(*fabric->links));
	q->fabric = fabric;
	q->cluster.levels = gt_arena_array(arena, q->cluster.nlevels,
					   sizeof(*q->cluster.levels));
	if (!fabric->links || !q->cluster.levels)
		return 0;
	memcpy(fabric->links, from->fabric->links,
	       fabric->nlinks * sizeof(*fabric->links));
	memcpy(q->cluster.levels, from->cluster.levels,
	       q->cluster.nlevels * sizeof(*q->cluster.levels));
	for (uint32_t i = 0; i < fabric->nlinks; i++)
		if (one->doubled[i])
			gt_rat_mul(fabric->links[i].gbs, GT_RAT(2, 1),
				   &fabric->links[i].gbs);
	if (one->level != UINT32_MAX)
		q->cluster.levels[one->level].gbs = one->gbs;
	return 1;
}

static int try_candidate(const struct gt_whatif_cluster_state *s,
			 const struct candidate *one, double *gain,
			 struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_rat rate = GT_RAT(0, 1);
	struct gt_fabric fabric;
	struct gt_quotient q;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = change_copy(s->quotient, one, arena, &fabric, &q)
		     ? gt_whatif_cluster_rate(s, &q, arena, &rate, err)
		     : gt_err_nomem(err);
	if (!rc)
		*gain = gt_rat_double(rate) / gt_rat_double(s->rate);
	gt_arena_free(arena);
	return rc;
}

int gt_whatif_cluster_try(struct gt_whatif_cluster_state *s, struct gt_err *err)
{
	struct gt_whatif *result = s->result;
	struct candidates all = {.s = s, .arena = result->arena};
	int rc = add_all(&all) ? GT_OK : gt_err_nomem(err);

	if (rc)
		return rc;
	result->changes =
		gt_arena_array(result->arena, all.n, sizeof(*result->changes));
	if (!result->changes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < all.n && !rc; i++) {
		result->changes[i].name = all.list[i].name;
		rc = try_candidate(s, &all.list[i], &result->changes[i].gain,
				   err);
	}
	result->nchanges = all.n;
	gt_whatif_sort(result);
	return rc;
}
