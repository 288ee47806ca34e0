/*
 * The sums that checks of a cluster's loads add to: their memory, the numbers
 * of uplinks, one hop's half of a route, and the comparison with the capacity.
 */
#include "plan/check/cluster_load.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/check/hop_costs.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

int gt_cluster_load_init(struct gt_cluster_load *load,
			 const struct gt_plan *plan, struct gt_arena *arena,
			 struct gt_err *err)
{
	uint32_t nup = plan->cluster->nlevels * plan->cluster->nrails;
	struct gt_rat **sums[5] = {&load->links, &load->odd, &load->back,
				   &load->up[0], &load->up[1]};

	load->plan = plan;
	for (int s = 0; s < 5; s++) {
		uint32_t n = s < 3 ? plan->nlinks : nup;

		*sums[s] = gt_arena_array(arena, n, sizeof(**sums[s]));
		if (!*sums[s])
			return gt_err_nomem(err);
		for (uint32_t i = 0; i < n; i++)
			(*sums[s])[i] = GT_RAT(0, 1);
	}
	return gt_link_graph_init(plan, arena, &load->vertices, err);
}

uint32_t gt_cluster_load_uplink(const struct gt_cluster_load *load,
				uint32_t level, uint32_t port)
{
	const struct gt_plan_cluster *cluster = load->plan->cluster;

	return gt_nodes_uplink(cluster, level, cluster->ports[port].rail, 0) /
	       2;
}

int gt_cluster_load_fits(const struct gt_plan *plan, struct gt_rat load,
			 struct gt_rat gbs, const char *what,
			 struct gt_err *err)
{
	char text[2][GT_RAT_TEXT_MAX];

	if (gt_rat_cmp(load, gbs) <= 0)
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("links"), err,
			     "'%s' would carry '%s' of '%s' GB/s", what,
			     gt_rat_print(load, text[0]),
			     gt_rat_print(gbs, text[1]));
}

int gt_cluster_load_half(struct gt_cluster_load *load,
			 const struct gt_plan_hop *hop, int in,
			 struct gt_rat *sum)
{
	const struct gt_link_graph *v = &load->vertices;
	struct gt_rat charge = in ? GT_RAT(1, 1) : hop->charge, rate;
	int inside = 0;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t link = hop->route[i];

		inside |= v->port[v->from[link]] != GT_NO_VERTEX;
		if (inside != in)
			continue;
		if (!gt_rat_mul(load->rate,
				gt_plan_link_charge(load->plan, link, charge),
				&rate) ||
		    !gt_rat_add(sum[link], rate, &sum[link]))
			return 0;
	}
	return 1;
}
