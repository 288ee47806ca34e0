/* Finds switches that multicast and add up, and how they join ranks. */
#include "search/multicast/site.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "topo/graph/topo.h"

/* NVSwitches do from the generation on that came with this GPU. */
enum { FIRST_SM = 90 };

static int check_sm(const struct gt_switch_graph *g, struct gt_err *err)
{
	for (uint32_t r = 0; r < g->fabric->nranks; r++)
		if (gt_switch_graph_sm(g, r) < FIRST_SM)
			return gt_err_set(
				err, GT_ENO, NULL,
				"NVSwitches multicast and add up for GPUs of "
				"Hopper and later (sm 90); rank %" PRIu32
				" has sm %d (0: unknown); --algo auto needs "
				"none",
				r, gt_switch_graph_sm(g, r));
	return GT_OK;
}

/* How far the ranks (of a node) are together; GT_NONE: not all get there. */
static uint32_t sum_dist(const struct gt_switch_graph *g,
			 const struct gt_switch_ways *ways, uint32_t node)
{
	uint32_t sum = 0;

	for (uint32_t r = 0; r < g->fabric->nranks; r++) {
		uint32_t v = g->fabric->ranks[r];

		if (node != GT_NONE && g->rank_node[r] != node)
			continue;
		if (ways->dist[v] == GT_NONE || ways->down[v] == GT_NONE)
			return GT_NONE;
		sum += ways->dist[v];
	}
	return sum;
}

/* Find the nearest switch that NVLinks join all ranks (of a node) to. */
static int add_domain(struct gt_multicast_site *site, uint32_t node,
		      struct gt_err *err)
{
	const struct gt_switch_graph *g = &site->graph;
	struct gt_multicast_domain *domain = &site->domains[site->ndomains];
	uint32_t best = GT_NONE, sum;
	struct gt_switch_ways ways;
	int rc = GT_OK;

	for (uint32_t v = 0; v < g->fabric->nnodes && !rc; v++) {
		if (g->is_gpu[v] || !g->has_nvl[v] ||
		    (node != GT_NONE && g->node[v] != node))
			continue;
		rc = gt_switch_ways_find(g, v, 1, node, site->arena, &ways,
					 err);
		sum = rc ? GT_NONE : sum_dist(g, &ways, node);
		if (sum >= best)
			continue;
		best = sum;
		*domain = (struct gt_multicast_domain){v, ways};
	}
	if (rc)
		return rc;
	if (best == GT_NONE)
		return gt_err_set(err, GT_ENO, NULL,
				  "there is no NVSwitch that all GPUs%s have "
				  "NVLinks to; plan for GPUs of one machine "
				  "that it joins (--gpus), or take --algo "
				  "auto, which needs none",
				  node == GT_NONE ? "" : " of each node");
	for (uint32_t r = 0; r < g->fabric->nranks; r++)
		if (node == GT_NONE || g->rank_node[r] == node)
			site->domain[r] = site->ndomains;
	site->ndomains++;
	return GT_OK;
}

/* ---- across the network ------------------------------------------------ */

/* Number the ranks of each node, of which there have to be as many. */
static int find_places(struct gt_multicast_site *site, struct gt_err *err)
{
	const struct gt_switch_graph *g = &site->graph;
	uint32_t *count =
		gt_arena_array(site->arena, g->nnodes, sizeof(*count));

	if (!count)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < g->fabric->nranks; r++)
		site->place[r] = count[g->rank_node[r]]++;
	for (uint32_t n = 0; n < g->nnodes; n++)
		if (count[n] != count[0])
			return gt_err_set(err, GT_ENO, NULL,
					  "--algo collnet needs as many GPUs "
					  "in each node; name GPUs with --gpus "
					  "that all nodes have");
	site->ntrees = count[0];
	return GT_OK;
}

/* How far the ranks of one place are from a switch together. */
static uint32_t place_dist(const struct gt_multicast_site *site,
			   const struct gt_switch_ways *ways, uint32_t place)
{
	const struct gt_fabric *f = site->graph.fabric;
	uint32_t sum = 0;

	for (uint32_t r = 0; r < f->nranks; r++) {
		uint32_t v = f->ranks[r];

		if (site->place[r] != place)
			continue;
		if (ways->dist[v] == GT_NONE || ways->down[v] == GT_NONE)
			return GT_NONE;
		sum += ways->dist[v];
	}
	return sum;
}

/*
 * Find for each place the nearest switch; of several equally near ones, each
 * place takes another.
 */
static int find_roots(struct gt_multicast_site *site, struct gt_err *err)
{
	const struct gt_switch_graph *g = &site->graph;
	uint32_t n = site->ntrees, first = UINT32_MAX;
	uint32_t *best = gt_arena_array(site->arena, n, sizeof(*best));
	uint32_t *ties = gt_arena_array(site->arena, n, sizeof(*ties));
	struct gt_switch_ways ways;
	int rc = best && ties ? GT_OK : gt_err_nomem(err);

	for (uint32_t k = 0; !rc && k < n; k++)
		best[k] = GT_NONE;
	for (uint32_t v = 0; v < g->fabric->nnodes && !rc; v++) {
		if (g->node[v] != GT_NONE || g->has_nvl[v])
			continue;
		first = first == UINT32_MAX ? v : first;
		rc = gt_switch_ways_find(g, v, 0, GT_NONE, site->arena, &ways,
					 err);
		for (uint32_t k = 0; k < n && !rc; k++) {
			uint32_t sum = place_dist(site, &ways, k);

			ties[k] = sum == best[k] ? ties[k] + 1 : 0;
			if (sum > best[k] || sum == GT_NONE ||
			    (sum == best[k] && ties[k] > k))
				continue;
			best[k] = sum;
			site->roots[k] = v;
			site->over[k] = ways;
		}
	}
	for (uint32_t k = 0; k < n && !rc; k++)
		if (best[k] == GT_NONE)
			rc = gt_err_set(err, GT_ENO, NULL,
					"there is no switch of the network "
					"that GPU %" PRIu32
					" of each node reaches; the cluster "
					"file's nets= says which ports it has",
					k);
	return rc;
}

static int join(struct gt_multicast_site *site, struct gt_err *err)
{
	const struct gt_switch_graph *g = &site->graph;
	int rc = find_places(site, err);

	if (rc)
		return rc;
	site->roots =
		gt_arena_array(site->arena, site->ntrees, sizeof(*site->roots));
	site->over =
		gt_arena_array(site->arena, site->ntrees, sizeof(*site->over));
	if (!site->roots || !site->over)
		return gt_err_nomem(err);
	for (uint32_t n = 0; n < g->nnodes && !rc; n++)
		rc = add_domain(site, n, err);
	return rc ? rc : find_roots(site, err);
}

int gt_multicast_site_init(struct gt_multicast_site *site,
			   const struct gt_search_request *request, int joins,
			   struct gt_arena *arena, struct gt_err *err)
{
	int rc;

	*site = (struct gt_multicast_site){.arena = arena, .joins = joins};
	rc = gt_switch_graph_init(&site->graph, request, arena, err);
	if (rc)
		return rc;
	site->domains = gt_arena_array(arena, site->graph.nnodes,
				       sizeof(*site->domains));
	site->domain =
		gt_arena_array(arena, request->nranks, sizeof(*site->domain));
	site->place =
		gt_arena_array(arena, request->nranks, sizeof(*site->place));
	if (!site->domains || !site->domain || !site->place)
		return gt_err_nomem(err);
	rc = check_sm(&site->graph, err);
	if (rc || joins)
		return rc ? rc : join(site, err);
	site->ntrees = request->nranks;
	return add_domain(site, GT_NONE, err);
}
