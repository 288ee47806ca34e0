/*
 * The fabric that rings through all nodes are searched on: a node's links,
 * those of a node that is gone through backwards, and uplinks.
 */
#include "search/cluster/ring.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

struct gt_ring_fabric_builder {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	struct gt_cluster_ring_fabric *rings;
	struct gt_external_ports *ports;
	int failed;
};

static void *new_array(struct gt_ring_fabric_builder *b, size_t n,
		       size_t size_bytes)
{
	void *array = gt_arena_array(b->arena, n, size_bytes);

	b->failed |= !array;
	return array;
}

/*
 * Where a ring alternates, a hop of one node is the way back in the next: do
 * the two routes of a pair exist together, and have one charge?
 */
static int is_reversible(const struct gt_fabric_route *a,
			 const struct gt_fabric_route *b)
{
	return !a->nlinks == !b->nlinks &&
	       (!a->nlinks || !gt_rat_cmp(a->charge, b->charge));
}

int gt_cluster_ring_takes(const struct gt_cluster_ring_fabric *rings,
			  const struct gt_fabric_route *there,
			  const struct gt_fabric_route *back)
{
	if (!there->nlinks || !rings->alternate)
		return there->nlinks > 0;
	return back->nlinks && !gt_rat_cmp(there->charge, GT_RAT(1, 1)) &&
	       !gt_rat_cmp(back->charge, GT_RAT(1, 1));
}

int gt_cluster_ring_takes_all(const struct gt_cluster_ring_fabric *rings,
			      const struct gt_quotient *q)
{
	uint32_t n = q->fabric->nranks * q->cluster.nports;

	for (uint32_t i = 0; i < n; i++)
		if (!gt_cluster_ring_takes(rings, &q->out[i], &q->in[i]) ||
		    !gt_cluster_ring_takes(rings, &q->in[i], &q->out[i]))
			return 0;
	return 1;
}

/*
 * Rings can alternate if all hops are reversible, and two ranks (or the only
 * one) reach a port both ways.
 */
static int can_alternate(const struct gt_quotient *q)
{
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports, near = 0;
	const struct gt_cluster_ring_fabric as_if = {.alternate = 1};
	const struct gt_fabric_route *routes = q->fabric->routes;

	for (uint32_t i = 0; i < n * n; i++)
		if (!is_reversible(&routes[i], &routes[i % n * n + i / n]))
			return 0;
	for (uint32_t i = 0; i < n; i++) {
		int reaches = 0;

		for (uint32_t p = i * nports; p < (i + 1) * nports; p++) {
			reaches |= gt_cluster_ring_takes(&as_if, &q->out[p],
							 &q->in[p]);
		}
		near += (uint32_t)reaches;
	}
	return near >= (n > 1 ? 2 : 1);
}

static void build_links(struct gt_ring_fabric_builder *b)
{
	const struct gt_fabric *node = b->quotient->fabric;
	const struct gt_plan_cluster *cluster = &b->quotient->cluster;
	uint32_t nup = gt_nodes_nuplinks(cluster), first = b->rings->first;
	struct gt_fabric *f = b->rings->fabric;

	f->nlinks = first + node->nlinks + nup;
	f->links = new_array(b, f->nlinks, sizeof(*f->links));
	if (b->failed)
		return;
	memcpy(f->links, node->links, first * sizeof(*f->links));
	memcpy(f->links + first, node->links, node->nlinks * sizeof(*f->links));
	for (uint32_t i = 0; i < nup; i++)
		f->links[first + node->nlinks + i].gbs =
			cluster->levels[i / 2 / cluster->nrails].gbs;
}

/* A route and, where rings alternate, the way back in a node of odd number. */
static struct gt_fabric_route build_route(struct gt_ring_fabric_builder *b,
					  const struct gt_fabric_route *there,
					  const struct gt_fabric_route *back)
{
	uint32_t nback = b->rings->alternate ? back->nlinks : 0;
	struct gt_fabric_route route = {.charge = there->charge};
	uint32_t *links = new_array(b, there->nlinks + nback, sizeof(*links));

	for (uint32_t k = 0; k < there->nlinks && !b->failed; k++)
		links[route.nlinks++] = b->rings->first + there->links[k];
	for (uint32_t k = 0; k < nback && !b->failed; k++)
		links[route.nlinks++] = back->links[k];
	route.links = links;
	return route;
}

static void build_routes(struct gt_ring_fabric_builder *b)
{
	const struct gt_quotient *q = b->quotient;
	const struct gt_fabric *node = q->fabric;
	uint32_t n = node->nranks, nports = q->cluster.nports;
	struct gt_fabric_route *routes, *out, *in;

	routes = new_array(b, (size_t)n * n, sizeof(*routes));
	out = new_array(b, (size_t)n * nports, sizeof(*out));
	in = new_array(b, (size_t)n * nports, sizeof(*in));
	for (uint32_t i = 0; i < n * n && !b->failed; i++)
		routes[i] = build_route(b, &node->routes[i],
					&node->routes[i % n * n + i / n]);
	for (uint32_t i = 0; i < n * nports && !b->failed; i++) {
		if (!gt_cluster_ring_takes(b->rings, &q->out[i], &q->in[i]))
			continue;
		out[i] = build_route(b, &q->out[i], &q->in[i]);
	}
	for (uint32_t i = 0; i < n * nports && !b->failed; i++) {
		if (!gt_cluster_ring_takes(b->rings, &q->in[i], &q->out[i]))
			continue;
		in[i] = build_route(b, &q->in[i], &q->out[i]);
		in[i].charge = GT_RAT(1, 1); /* it ends at the port */
	}
	b->rings->fabric->routes = routes;
	b->ports->out = out;
	b->ports->in = in;
}

/*
 * What a ring loads between two nodes: it goes up and down once a switch.  One
 * that alternates uses the rail that it enters nodes of even number by.
 */
static void build_crossing(struct gt_ring_fabric_builder *b, uint32_t out,
			   uint32_t in, struct gt_fabric_route *route)
{
	const struct gt_plan_cluster *cluster = &b->quotient->cluster;
	uint32_t first = b->rings->first + b->quotient->fabric->nlinks;
	uint32_t *links =
		new_array(b, 2 * (size_t)cluster->nlevels, sizeof(*links));

	route->charge = GT_RAT(1, 1);
	route->links = links;
	if (b->rings->alternate)
		out = in;
	for (uint32_t l = 0; l + 1 < cluster->nlevels && !b->failed; l++) {
		if (cluster->levels[l].nodes == cluster->nnodes)
			continue;
		links[route->nlinks++] =
			first + gt_nodes_uplink(cluster, l,
						cluster->ports[out].rail, 0);
		links[route->nlinks++] =
			first +
			gt_nodes_uplink(cluster, l, cluster->ports[in].rail, 1);
	}
}

static void build_crossings(struct gt_ring_fabric_builder *b)
{
	const struct gt_plan_cluster *cluster = &b->quotient->cluster;
	uint32_t nports = cluster->nports;
	int apart = cluster->levels[0].by_rail && !b->rings->alternate;
	size_t pairs = (size_t)nports * nports;
	struct gt_fabric_route *across = new_array(b, pairs, sizeof(*across));
	unsigned char *joined = new_array(b, pairs, 1);
	uint32_t *group = new_array(b, nports, sizeof(*group));

	for (uint32_t i = 0; i < pairs && !b->failed; i++) {
		build_crossing(b, i / nports, i % nports, &across[i]);
		joined[i] = !apart ||
			    gt_quotient_ports_joined(b->quotient, i / nports,
						     i % nports);
	}
	for (uint32_t i = 0; i < nports && apart && !b->failed; i++)
		group[i] = cluster->ports[i].rail;
	b->ports->nports = nports;
	b->ports->across = across;
	b->ports->joined = joined;
	b->ports->group = group;
	b->ports->ngroups = apart ? cluster->nrails : 1;
}

int gt_cluster_ring_fabric_new(const struct gt_quotient *q,
			       struct gt_arena *arena,
			       struct gt_cluster_ring_fabric *rings,
			       struct gt_err *err)
{
	struct gt_ring_fabric_builder b = {
		.quotient = q, .arena = arena, .rings = rings};
	const struct gt_plan_cluster *cluster = &q->cluster;
	int can = cluster->levels[0].by_rail &&
		  !gt_nodes_ring_keeps_rail(cluster);

	if (cluster->nnodes < 2)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a ring of a cluster needs two nodes");
	rings->alternate = can && can_alternate(q);
	rings->complete = !can || rings->alternate;
	rings->first = rings->alternate ? q->fabric->nlinks : 0;
	rings->fabric = new_array(&b, 1, sizeof(*rings->fabric));
	b.ports = new_array(&b, 1, sizeof(*b.ports));
	if (b.failed)
		return gt_err_nomem(err);
	*rings->fabric = *q->fabric;
	rings->fabric->external = b.ports;
	build_links(&b);
	build_routes(&b);
	build_crossings(&b);
	return b.failed ? gt_err_nomem(err) : GT_OK;
}
