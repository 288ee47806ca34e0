/*
 * The what-if analysis of a plan on one machine, or on a cluster that was
 * flattened to one fabric: find the links that the plan fills, double each of
 * them and all of them, and search again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/hop_uses.h"
#include "plan/ir/plan.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "search/whatif/bridge.h"
#include "search/whatif/in_switch.h"
#include "search/whatif/result.h"
#include "search/whatif/whatif.h"
#include "topo/graph/edit.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* So many machines are searched again at most; the other links are left out. */
enum { MAX_TRIES = 24, MAX_FLAT_TRIES = 8 };

/* Two vertices that the plan fills a link between. */
struct full_pair {
	uint32_t a, b;
	struct gt_rat gbs; /* one way */
	const char *name;
	double gain;
};

struct edge {
	uint32_t from, to;
	const char *id;
	struct gt_rat gbs;
};

struct analysis {
	const struct gt_whatif_machine *ask;
	struct gt_whatif *result;
	struct gt_rat *gbs; /* of the machine's links, as they were */
	uint32_t npairs;
	struct full_pair *pairs;
	double access_gain; /* of peer access; 0: there is no lack of it */
	struct gt_whatif_bridges bridges;
	double bridges_gain;
};

static uint32_t count_links(const struct gt_whatif_machine *ask)
{
	const struct gt_flat_cluster *flat = ask->request->flat;

	return flat ? flat->fabric.nlinks : gt_topo_nlinks(ask->topo);
}

static struct edge get_link(const struct gt_whatif_machine *ask, uint32_t i)
{
	const struct gt_flat_cluster *flat = ask->request->flat;
	const struct gt_link *link;

	if (flat)
		return (struct edge){
			flat->fabric.links[i].from, flat->fabric.links[i].to,
			flat->link_ids[i], flat->fabric.links[i].gbs};
	link = gt_topo_link(ask->topo, i);
	return (struct edge){link->from, link->to, link->id, link->gbs};
}

static void set_link(const struct gt_whatif_machine *ask, uint32_t i,
		     struct gt_rat gbs)
{
	const struct gt_flat_cluster *flat = ask->request->flat;

	if (flat)
		flat->fabric.links[i].gbs = gbs;
	else
		gt_topo_set_gbs(ask->topo, i, gbs);
}

/* A vertex of a flattened cluster has the name that its links' ids give it. */
static const char *name_flat_vertex(const struct analysis *a, uint32_t vertex)
{
	for (uint32_t i = 0; i < count_links(a->ask); i++) {
		struct edge edge = get_link(a->ask, i);

		if (edge.from == vertex)
			return gt_arena_printf(a->result->arena, "%.*s",
					       (int)strcspn(edge.id, ">"),
					       edge.id);
	}
	return "";
}

static const char *name_vertex(const struct analysis *a, uint32_t vertex)
{
	if (a->ask->request->flat)
		return name_flat_vertex(a, vertex);
	return gt_whatif_device(a->result->arena, a->ask->topo, vertex);
}

/* ---- full links ------------------------------------------------------- */

/* The machine's link with the plan's id; GT_NONE if it is gone. */
static uint32_t find_link(const struct gt_whatif_machine *ask,
			  uint32_t plan_link)
{
	const char *id = ask->plan->links[plan_link].id;

	for (uint32_t i = 0; i < count_links(ask); i++)
		if (!strcmp(get_link(ask, i).id, id))
			return i;
	return GT_NONE;
}

/* Add what a channel of the row brings to the loads of the plan's links. */
static int add_channel_loads(const struct gt_plan *plan,
			     const struct gt_plan_select *row,
			     const struct gt_plan_channel *channel,
			     double *loads)
{
	uint32_t *uses = calloc((size_t)channel->nhops + 1, sizeof(*uses));
	int rc = uses ? gt_plan_hop_uses(plan, row, channel, uses) : GT_ESYS;

	for (uint32_t i = 0; !rc && i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];
		double gbs = gt_rat_double(channel->gbs) * uses[i] /
			     gt_plan_most_units(plan, row->coll);

		for (uint32_t k = 0; k < hop->nroute; k++) {
			uint32_t link = hop->route[k];

			loads[link] +=
				strcmp(plan->links[link].kind, "PCI")
					? gbs
					: gbs * gt_rat_double(hop->charge);
		}
	}
	free(uses);
	return rc;
}

static double *find_loads(const struct analysis *a)
{
	const struct gt_plan *plan = a->ask->plan;
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	double *loads =
		gt_arena_array(a->result->arena, plan->nlinks, sizeof(*loads));

	for (uint32_t c = 0; loads && c < row->nchannels; c++)
		if (add_channel_loads(plan, row,
				      &plan->channels[row->channels[c]], loads))
			return NULL;
	return loads;
}

/* Add the link's vertices unless its other direction stands there. */
static void add_pair(struct analysis *a, const struct edge *edge,
		     struct gt_rat gbs)
{
	uint32_t k = 0;

	while (k < a->npairs &&
	       !(a->pairs[k].a == edge->to && a->pairs[k].b == edge->from))
		k++;
	if (k == a->npairs)
		a->pairs[a->npairs++] = (struct full_pair){
			.a = edge->from, .b = edge->to, .gbs = gbs, .gain = 1};
}

static int find_pairs(struct analysis *a, struct gt_err *err)
{
	const struct gt_plan *plan = a->ask->plan;
	struct gt_arena *arena = a->result->arena;
	const double *loads = find_loads(a);

	a->pairs = gt_arena_array(arena, plan->nlinks, sizeof(*a->pairs));
	a->gbs = gt_arena_array(arena, count_links(a->ask), sizeof(*a->gbs));
	if (!loads || !a->pairs || !a->gbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < count_links(a->ask); i++)
		a->gbs[i] = get_link(a->ask, i).gbs;
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		uint32_t link = find_link(a->ask, i);
		struct edge edge;

		if (link == GT_NONE ||
		    loads[i] <= gt_rat_double(plan->links[i].gbs) * (1 - 1e-9))
			continue;
		edge = get_link(a->ask, link);
		add_pair(a, &edge, plan->links[i].gbs);
	}
	return GT_OK;
}

static int list_full(struct analysis *a, struct gt_err *err)
{
	struct gt_whatif *result = a->result;

	result->full =
		gt_arena_array(result->arena, a->npairs, sizeof(*result->full));
	if (!result->full)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < a->npairs; i++) {
		struct full_pair *pair = &a->pairs[i];

		pair->name =
			gt_whatif_link(result->arena, name_vertex(a, pair->a),
				       name_vertex(a, pair->b));
		if (!pair->name)
			return gt_err_nomem(err);
		result->full[i] = (struct gt_whatif_full){
			.name = pair->name, .gbs = pair->gbs, .n = 1};
	}
	result->nfull = a->npairs;
	return GT_OK;
}

/* ---- what more of them brings ------------------------------------------ */

/* Double the rates of a pair's links, both ways. */
static void double_pair(const struct analysis *a, const struct full_pair *pair)
{
	for (uint32_t i = 0; i < count_links(a->ask); i++) {
		struct edge edge = get_link(a->ask, i);
		struct gt_rat gbs;

		if (!(edge.from == pair->a && edge.to == pair->b) &&
		    !(edge.from == pair->b && edge.to == pair->a))
			continue;
		if (gt_rat_mul(a->gbs[i], GT_RAT(2, 1), &gbs))
			set_link(a->ask, i, gbs);
	}
}

static void restore_links(const struct analysis *a)
{
	for (uint32_t i = 0; i < count_links(a->ask); i++)
		set_link(a->ask, i, a->gbs[i]);
}

/*
 * Search with links as they are now, or as if all GPUs had peer access, and
 * compare with the plan.
 */
static int search_again(const struct analysis *a, int open, double *gain,
			struct gt_err *err)
{
	struct gt_search_request request = *a->ask->request;
	struct gt_paths *paths = NULL;
	struct gt_plan *plan;
	int rc = GT_OK;

	/* The routes of a flattened cluster stay what they are. */
	if (!request.flat)
		rc = (open ? gt_paths_new_open : gt_paths_new)(a->ask->topo,
							       &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	request.budget = NULL;
	rc = gt_search(&request, a->ask->algo, &plan, NULL, err);
	if (!rc) {
		*gain = gt_plan_algbw(plan, plan->proof.value) /
			a->result->value_gbs;
		gt_plan_free(plan);
	}
	gt_paths_free(paths);
	return rc;
}

static int try_pairs(struct analysis *a, struct gt_err *err)
{
	uint32_t tries = a->ask->request->flat ? MAX_FLAT_TRIES : MAX_TRIES;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < a->npairs && i < tries; i++) {
		double_pair(a, &a->pairs[i]);
		rc = search_again(a, 0, &a->pairs[i].gain, err);
		restore_links(a);
	}
	for (uint32_t i = 0; i < a->npairs; i++)
		double_pair(a, &a->pairs[i]);
	if (!rc && a->npairs > 1)
		rc = search_again(a, 0, &a->result->all_gain, err);
	restore_links(a);
	return rc;
}

static enum gt_rates find_rates(const struct gt_plan *plan)
{
	return plan->rates && !strcmp(plan->rates, gt_rates_name(GT_RATES_LINE))
		       ? GT_RATES_LINE
		       : GT_RATES_NCCL;
}

static int try_bridges(struct analysis *a, struct gt_err *err)
{
	const struct gt_search_request *request = a->ask->request;
	int rc = gt_whatif_bridges_put(
		a->ask->topo, request->gpus, request->nranks,
		find_rates(a->ask->plan), a->result->arena, &a->bridges, err);

	if (!rc && a->bridges.n)
		rc = search_again(a, 0, &a->bridges_gain, err);
	gt_whatif_bridges_take(a->ask->topo, &a->bridges);
	return rc;
}

/* Peer access, where there is a lack of it, is told of whatever it brings. */
static void list_other_changes(struct analysis *a)
{
	struct gt_whatif *result = a->result;

	if (a->access_gain > 0)
		result->changes[result->nchanges++] = (struct gt_whatif_change){
			.name = "peer access between all GPUs",
			.gain = a->access_gain,
			.order = UINT64_MAX,
			.is_told = 1};
	if (a->bridges_gain > 0)
		result->changes[result->nchanges++] = (struct gt_whatif_change){
			.name = a->bridges.name,
			.gain = a->bridges_gain,
			.order = UINT64_MAX,
			.is_told = a->access_gain > 0};
}

/* What a change at a pair's links is called. */
static const char *name_change(const struct analysis *a,
			       const struct full_pair *pair)
{
	struct gt_arena *arena = a->result->arena;
	const struct gt_topo *topo = a->ask->topo;
	int from_memory, memory;

	if (a->ask->request->flat)
		return gt_arena_printf(arena, "a second link %s", pair->name);
	from_memory = gt_topo_node(topo, pair->a)->kind == GT_NODE_MEM;
	memory =
		from_memory || gt_topo_node(topo, pair->b)->kind == GT_NODE_MEM;
	return memory ? gt_arena_printf(
				arena, "twice the memory channels of %s",
				name_vertex(a, from_memory ? pair->b : pair->a))
		      : gt_arena_printf(arena, "a second link %s", pair->name);
}

static int list_changes(struct analysis *a, struct gt_err *err)
{
	struct gt_whatif *result = a->result;

	result->changes = gt_arena_array(result->arena, a->npairs + 2,
					 sizeof(*result->changes));
	if (!result->changes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < a->npairs; i++) {
		const struct full_pair *pair = &a->pairs[i];
		const char *name = name_change(a, pair);

		if (!name)
			return gt_err_nomem(err);
		result->changes[result->nchanges++] = (struct gt_whatif_change){
			.name = name,
			.link = pair->name,
			.gain = pair->gain,
			.order = (uint64_t)pair->a << 32 | pair->b};
	}
	list_other_changes(a);
	gt_whatif_sort(result);
	return GT_OK;
}

static int analyse(struct analysis *a, struct gt_err *err)
{
	int rc = find_pairs(a, err);

	if (!rc)
		rc = list_full(a, err);
	if (!rc && a->npairs && a->ask->algo)
		rc = try_pairs(a, err);
	if (!rc && a->ask->algo && !a->ask->request->flat) {
		if (gt_plan_is_staged(a->ask->plan))
			rc = search_again(a, 1, &a->access_gain, err);
		if (!rc)
			rc = try_bridges(a, err);
	}
	return rc ? rc : list_changes(a, err);
}

int gt_whatif_of_machine(const struct gt_whatif_machine *machine,
			 struct gt_whatif **whatif, struct gt_err *err)
{
	const struct gt_plan *plan = machine->plan;
	struct analysis a = {.ask = machine, .result = gt_whatif_new()};
	int rc = GT_OK;

	if (!a.result)
		return gt_err_nomem(err);
	a.result->coll = plan->coll;
	a.result->cannot_try = !machine->algo;
	a.result->in_switch_gbs = gt_whatif_in_switch(machine->request);
	if (plan->has_proof && plan->nranks > 1) {
		a.result->value_gbs = gt_plan_algbw(plan, plan->proof.value);
		rc = analyse(&a, err);
	}
	if (rc)
		gt_whatif_free(a.result);
	else
		*whatif = a.result;
	return rc;
}
