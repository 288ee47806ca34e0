/* A maximum flow from the GPUs of a choice to the ports near them. */
#include "search/pick/network.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/graph/graph.h"
#include "search/pick/pick.h"
#include "search/pick/routes.h"
#include "topo/graph/topo.h"

/* What a choice sends over the links that the routes now use. */
static int64_t send(struct gt_pick_network *network, uint64_t choice)
{
	const struct gt_pick_routes *routes = network->routes;
	const struct gt_pick_query *query = routes->query;
	uint32_t nnodes = gt_topo_nnodes(query->topo);

	if (!query->nports)
		return 0;
	for (uint32_t i = 0; i < routes->nlinks; i++)
		gt_maxflow_set(network->flow, i,
			       routes->use[i] ? gt_pick_link_scaled(routes, i)
					      : 0);
	for (uint32_t i = 0; i < query->ngpus; i++)
		gt_maxflow_set(network->flow, routes->nlinks + i,
			       choice >> i & 1 ? GT_MAXFLOW_INF : 0);
	return gt_maxflow_run(network->flow, nnodes, nnodes + 1);
}

/* Leaves the routes with the links between a choice and its ports alone. */
static void use_ports(struct gt_pick_routes *routes, uint64_t choice)
{
	gt_pick_routes_use(routes, 0);
	gt_pick_routes_add_ports(routes, choice);
}

/* Arcs are the links, then one from the source to each GPU, then to the sink.
 */
int gt_pick_network_init(struct gt_pick_network *network,
			 struct gt_pick_routes *routes, struct gt_arena *arena,
			 struct gt_err *err)
{
	const struct gt_pick_query *query = routes->query;
	uint32_t nnodes = gt_topo_nnodes(query->topo);

	network->routes = routes;
	network->alone =
		gt_arena_array(arena, query->ngpus, sizeof(*network->alone));
	network->flow = gt_maxflow_new(
		nnodes + 2, routes->nlinks + query->ngpus + query->nports);
	if (!network->flow || !network->alone)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < routes->nlinks; i++)
		gt_maxflow_add(network->flow, routes->links[i].from,
			       routes->links[i].to);
	for (uint32_t i = 0; i < query->ngpus; i++)
		gt_maxflow_add(network->flow, nnodes, query->gpus[i]);
	for (uint32_t i = 0; i < query->nports; i++) {
		uint32_t arc = gt_maxflow_add(network->flow, query->ports[i],
					      nnodes + 1);

		gt_maxflow_set(network->flow, arc, GT_MAXFLOW_INF);
	}
	/* Over the links of all, so that no choice gives a GPU more. */
	use_ports(routes, UINT64_MAX);
	for (uint32_t i = 0; i < query->ngpus; i++)
		network->alone[i] = send(network, (uint64_t)1 << i);
	return GT_OK;
}

void gt_pick_network_release(struct gt_pick_network *network)
{
	gt_maxflow_free(network->flow);
}

int64_t gt_pick_network_find(struct gt_pick_network *network, uint64_t choice)
{
	use_ports(network->routes, choice);
	return send(network, choice);
}

int64_t gt_pick_network_at_most(const struct gt_pick_network *network,
				uint64_t choice)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < network->routes->query->ngpus; i++)
		if (choice >> i & 1)
			sum += network->alone[i];
	return sum;
}

uint32_t gt_pick_numa(const struct gt_topo *topo, uint32_t node)
{
	for (uint32_t steps = 0; steps < gt_topo_nnodes(topo); steps++) {
		const struct gt_node *at = gt_topo_node(topo, node);

		if (at->kind == GT_NODE_CPU)
			return node;
		if (at->up == GT_NONE)
			break;
		node = at->up;
	}
	return GT_NONE;
}

uint32_t gt_pick_count_numa(const struct gt_pick_routes *routes,
			    uint64_t choice)
{
	const struct gt_pick_query *query = routes->query;
	uint32_t count = 0;

	for (uint32_t i = 0; i < query->ngpus; i++) {
		uint32_t cpu, before = 0;

		if (!(choice >> i & 1))
			continue;
		cpu = gt_pick_numa(query->topo, query->gpus[i]);
		for (uint32_t j = 0; j < i; j++)
			before |= choice >> j & 1 &&
				  gt_pick_numa(query->topo, query->gpus[j]) ==
					  cpu;
		count += !before;
	}
	return count;
}
