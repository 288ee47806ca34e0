/*
 * A ring through all nodes of a cluster: the order of a node's ranks, the hops
 * along it, and what it loads.
 */
#include "plan/check/cluster.h"

#include "base/err.h"
#include "plan/check/cluster_load.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* The order names every rank of a node once. */
static int gt_check_ring_order(const struct gt_plan *plan, uint32_t c,
			       struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	uint32_t n = plan->cluster->nlocal;

	if (channel->norder != n)
		return gt_plan_wrong(plan, gt_plan_at("channels[%u].order", c),
				     err, "has %u entries for %u ranks a node",
				     channel->norder, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t same = 0;

		while (same < i && channel->order[same] != channel->order[i])
			same++;
		if (channel->order[i] >= n || same < i)
			return gt_plan_wrong(
				plan,
				gt_plan_at("channels[%u].order[%u]", c, i), err,
				"'%u' is no rank of a node, or named twice",
				channel->order[i]);
	}
	return GT_OK;
}

/*
 * Hop i goes along the order, the n-th to the next node; a ring that alternates
 * has n more, along the order backwards.
 */
static int gt_check_ring_hop(const struct gt_plan *plan, uint32_t c, uint32_t i,
			     struct gt_err *err)
{
	const struct gt_plan_channel *channel = &plan->channels[c];
	const struct gt_plan_hop *hop = &channel->hops[i];
	const uint32_t *order = channel->order;
	uint32_t n = plan->cluster->nlocal, at = i % n, from, to;
	int alternate = gt_nodes_ring_alternates(plan->cluster, channel);

	from = order[i < n ? at : n - 1 - at];
	if (at < n - 1)
		to = order[i < n ? at + 1 : n - 2 - at];
	else
		to = alternate ? from : order[0];
	if (hop->from == from && hop->to == to && hop->network == (at == n - 1))
		return GT_OK;
	return gt_plan_wrong(plan, gt_plan_at("channels[%u].hops[%u]", c, i),
			     err,
			     "goes from %u to %u where the order goes from %u "
			     "to %u%s",
			     hop->from, hop->to, from, to,
			     at == n - 1 ? " of the next node" : "");
}

int gt_check_cluster_ring(const struct gt_plan *plan, uint32_t c,
			  struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	const struct gt_plan_channel *channel = &plan->channels[c];
	uint32_t odd = cluster->nnodes % 2;
	int rc = gt_check_ring_order(plan, c, err);

	if (!rc && cluster->nnodes < 2)
		rc = gt_plan_wrong(plan, gt_plan_at("channels[%u]", c), err,
				   "a ring of a cluster needs two nodes");
	if (!rc && channel->nhops != cluster->nlocal &&
	    channel->nhops != 2 * cluster->nlocal)
		rc = gt_plan_wrong(plan, gt_plan_at("channels[%u].hops", c),
				   err,
				   "there are %u for a ring through %u ranks a "
				   "node, which needs as many or, to "
				   "alternate, twice as many",
				   channel->nhops, cluster->nlocal);
	for (uint32_t l = 0; l < cluster->nlevels; l++)
		odd |= cluster->levels[l].nodes % 2;
	if (!rc && odd && gt_nodes_ring_alternates(cluster, channel))
		rc = gt_plan_wrong(
			plan, gt_plan_at("channels[%u].hops", c), err,
			"a ring cannot alternate where an odd number "
			"of nodes hangs below a switch");
	for (uint32_t i = 0; i < channel->nhops && !rc; i++)
		rc = gt_check_ring_hop(plan, c, i, err);
	return rc;
}

/*
 * Add a ring's load on uplinks: it enters and leaves each switch once, unless
 * all nodes hang below it.
 */
static int gt_load_ring_uplinks(struct gt_cluster_load *load,
				const struct gt_plan_hop *hop)
{
	const struct gt_link_graph *v = &load->vertices;
	const struct gt_plan_cluster *cluster = load->plan->cluster;

	for (uint32_t i = 0; i < hop->nroute; i++) {
		uint32_t port = v->port[v->to[hop->route[i]]];

		for (uint32_t l = 0;
		     port != GT_NO_VERTEX && l + 1 < cluster->nlevels; l++) {
			struct gt_rat *up = &load->up[0][gt_cluster_load_uplink(
				load, l, port)];

			if (cluster->levels[l].nodes < cluster->nnodes &&
			    !gt_rat_add(*up, load->rate, up))
				return 0;
		}
	}
	return 1;
}

/*
 * The hops of nodes of even number load `links`, those of odd number `odd`.
 * All switches hold an even number of nodes where the ring alternates: it
 * enters them by its last hop.
 */
int gt_cluster_load_ring(struct gt_cluster_load *load,
			 const struct gt_plan_channel *channel)
{
	uint32_t n = load->plan->cluster->nlocal;
	int alternate = gt_nodes_ring_alternates(load->plan->cluster, channel);
	int ok = 1;

	load->rate = channel->gbs;
	for (uint32_t i = 0; i < channel->nhops && ok; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (i < n || !alternate)
			ok = gt_cluster_load_half(load, hop, 0, load->links);
		if (ok && (i >= n || !alternate))
			ok = gt_cluster_load_half(load, hop, 0, load->odd);
		/*
		 * The half behind the port, which is in the node where the hop
		 * ends; it is empty unless the hop crosses the network.
		 */
		if (ok && (i >= n || !alternate))
			ok = gt_cluster_load_half(load, hop, 1, load->links);
		if (ok && (i < n || !alternate))
			ok = gt_cluster_load_half(load, hop, 1, load->odd);
	}
	return ok &&
	       gt_load_ring_uplinks(load, &channel->hops[channel->nhops - 1]);
}
