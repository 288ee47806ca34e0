#include "search/cluster/block_trees.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

static void load_route(const struct gt_quotient *q,
		       const struct gt_quotient_rows *rows,
		       const struct gt_fabric_route *route, int32_t *loads)
{
	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];
		struct gt_rat load = q->fabric->links[link].charged
					     ? route->charge
					     : GT_RAT(1, 1);

		loads[link] += (int32_t)(load.num * (rows->unit / load.den));
	}
}

/* The blocks of all nodes that are not below a switch enter it, once each. */
static void load_uplinks(const struct gt_quotient *q,
			 const struct gt_quotient_rows *rows,
			 const struct gt_network_hop *net, int32_t *loads)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		int rails = cluster->levels[l].by_rail;
		uint32_t out = rails ? cluster->ports[net->out].rail : 0;
		uint32_t in = rails ? cluster->ports[net->in].rail : 0;
		int32_t load =
			(int32_t)(rows->unit *
				  (cluster->nnodes - cluster->levels[l].nodes));

		loads[gt_quotient_uplink_row(q, l, out, 0)] += load;
		loads[gt_quotient_uplink_row(q, l, in, 1)] += load;
	}
}

void gt_block_tree_load(const struct gt_quotient *q,
			const struct gt_quotient_rows *rows,
			struct gt_block_tree *tree)
{
	const struct gt_fabric *f = q->fabric;
	uint32_t n = f->nranks, nports = q->cluster.nports;
	int away = tree->root == n;

	memset(tree->loads, 0, rows->n * sizeof(*tree->loads));
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_network_hop *net = &tree->net[i];

		if (tree->parent[i] >= 0) {
			load_route(
				q, rows,
				&f->routes[(uint32_t)tree->parent[i] * n + i],
				tree->loads);
			continue;
		}
		if (!away)
			continue;
		load_route(q, rows, &q->out[net->from * nports + net->out],
			   tree->loads);
		load_route(q, rows, &q->in[i * nports + net->in], tree->loads);
	}
	if (!away)
		return;
	for (uint32_t r = 0; r < f->nlinks; r++)
		tree->loads[r] *= (int32_t)(q->cluster.nnodes - 1);
	for (uint32_t i = 0; i < n; i++)
		if (tree->parent[i] < 0)
			load_uplinks(q, rows, &tree->net[i], tree->loads);
}
