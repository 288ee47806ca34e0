#include "search/cluster/ring.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/block_trees.h"

struct gt_hier_door {
	const struct gt_quotient *hier;
	struct gt_arena *arena;
	struct gt_cluster_ring_fabric *out;
	struct gt_external_ports *doors;
	int failed;
};

static void *gt_door_array(struct gt_hier_door *d, size_t n, size_t size_bytes)
{
	void *array = gt_arena_array(d->arena, n, size_bytes);

	d->failed |= !array;
	return array;
}

/* Of nodes that are gone through the other way: what is there is here back. */
static int gt_door_turns(const struct gt_fabric_route *a,
			 const struct gt_fabric_route *b)
{
	return !a->nlinks == !b->nlinks &&
	       (!a->nlinks || !gt_rat_cmp(a->charge, b->charge));
}

int gt_cluster_ring_takes(const struct gt_cluster_ring_fabric *doors,
			  const struct gt_fabric_route *way,
			  const struct gt_fabric_route *back)
{
	if (!way->nlinks || !doors->alternate)
		return way->nlinks > 0;
	return back->nlinks && !gt_rat_cmp(way->charge, GT_RAT(1, 1)) &&
	       !gt_rat_cmp(back->charge, GT_RAT(1, 1));
}

int gt_cluster_ring_takes_all(const struct gt_cluster_ring_fabric *doors,
			      const struct gt_quotient *hier)
{
	uint32_t n = hier->box->nranks * hier->cluster.nports;

	for (uint32_t i = 0; i < n; i++)
		if (!gt_cluster_ring_takes(doors, &hier->out[i],
					   &hier->in[i]) ||
		    !gt_cluster_ring_takes(doors, &hier->in[i], &hier->out[i]))
			return 0;
	return 1;
}

/* One charge has to do for a route and the way back; two ranks reach doors. */
static int gt_door_can_alternate(const struct gt_quotient *hier)
{
	uint32_t n = hier->box->nranks, nports = hier->cluster.nports, near = 0;
	const struct gt_cluster_ring_fabric as_if = {.alternate = 1};
	const struct gt_fabric_route *routes = hier->box->routes;

	for (uint32_t i = 0; i < n * n; i++)
		if (!gt_door_turns(&routes[i], &routes[i % n * n + i / n]))
			return 0;
	for (uint32_t i = 0; i < n; i++) {
		int reaches = 0;

		for (uint32_t p = i * nports; p < (i + 1) * nports; p++) {
			reaches |= gt_cluster_ring_takes(&as_if, &hier->out[p],
							 &hier->in[p]);
		}
		near += (uint32_t)reaches;
	}
	return near >= (n > 1 ? 2 : 1);
}

static void gt_door_links(struct gt_hier_door *d)
{
	const struct gt_fabric *box = d->hier->box;
	const struct gt_plan_cluster *cluster = &d->hier->cluster;
	uint32_t nup = gt_nodes_nuplinks(cluster), first = d->out->first;
	struct gt_fabric *f = d->out->fabric;

	f->nlinks = first + box->nlinks + nup;
	f->links = gt_door_array(d, f->nlinks, sizeof(*f->links));
	if (d->failed)
		return;
	memcpy(f->links, box->links, first * sizeof(*f->links));
	memcpy(f->links + first, box->links, box->nlinks * sizeof(*f->links));
	for (uint32_t i = 0; i < nup; i++)
		f->links[first + box->nlinks + i].gbs =
			cluster->levels[i / 2 / cluster->nrails].gbs;
}

/* A route, and where rings alternate the way back in a node of odd number. */
static struct gt_fabric_route gt_door_route(struct gt_hier_door *d,
					    const struct gt_fabric_route *way,
					    const struct gt_fabric_route *back)
{
	uint32_t nback = d->out->alternate ? back->nlinks : 0;
	struct gt_fabric_route route = {.charge = way->charge};
	uint32_t *links = gt_door_array(d, way->nlinks + nback, sizeof(*links));

	for (uint32_t k = 0; k < way->nlinks && !d->failed; k++)
		links[route.nlinks++] = d->out->first + way->links[k];
	for (uint32_t k = 0; k < nback && !d->failed; k++)
		links[route.nlinks++] = back->links[k];
	route.links = links;
	return route;
}

static void gt_door_routes(struct gt_hier_door *d)
{
	const struct gt_quotient *hier = d->hier;
	const struct gt_fabric *box = hier->box;
	uint32_t n = box->nranks, nports = hier->cluster.nports;
	struct gt_fabric_route *routes, *out, *in;

	routes = gt_door_array(d, (size_t)n * n, sizeof(*routes));
	out = gt_door_array(d, (size_t)n * nports, sizeof(*out));
	in = gt_door_array(d, (size_t)n * nports, sizeof(*in));
	for (uint32_t i = 0; i < n * n && !d->failed; i++)
		routes[i] = gt_door_route(d, &box->routes[i],
					  &box->routes[i % n * n + i / n]);
	for (uint32_t i = 0; i < n * nports && !d->failed; i++) {
		if (!gt_cluster_ring_takes(d->out, &hier->out[i], &hier->in[i]))
			continue;
		out[i] = gt_door_route(d, &hier->out[i], &hier->in[i]);
	}
	for (uint32_t i = 0; i < n * nports && !d->failed; i++) {
		if (!gt_cluster_ring_takes(d->out, &hier->in[i], &hier->out[i]))
			continue;
		in[i] = gt_door_route(d, &hier->in[i], &hier->out[i]);
		in[i].charge = GT_RAT(1, 1); /* it ends at the port */
	}
	d->out->fabric->routes = routes;
	d->doors->out = out;
	d->doors->in = in;
}

/*
 * A ring goes up and down once a switch.  In rails of their own: where it
 * alternates by the rail that it enters nodes of even number by.
 */
static void gt_door_cross(struct gt_hier_door *d, uint32_t out, uint32_t in,
			  struct gt_fabric_route *route)
{
	const struct gt_plan_cluster *cluster = &d->hier->cluster;
	uint32_t first = d->out->first + d->hier->box->nlinks;
	uint32_t *links =
		gt_door_array(d, 2 * (size_t)cluster->nlevels, sizeof(*links));

	route->charge = GT_RAT(1, 1);
	route->links = links;
	if (d->out->alternate)
		out = in;
	for (uint32_t l = 0; l + 1 < cluster->nlevels && !d->failed; l++) {
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

static void gt_door_across(struct gt_hier_door *d)
{
	const struct gt_plan_cluster *cluster = &d->hier->cluster;
	uint32_t nports = cluster->nports;
	int apart = cluster->levels[0].by_rail && !d->out->alternate;
	size_t pairs = (size_t)nports * nports;
	struct gt_fabric_route *across =
		gt_door_array(d, pairs, sizeof(*across));
	unsigned char *joined = gt_door_array(d, pairs, 1);
	uint32_t *group = gt_door_array(d, nports, sizeof(*group));

	for (uint32_t i = 0; i < pairs && !d->failed; i++) {
		gt_door_cross(d, i / nports, i % nports, &across[i]);
		joined[i] = !apart || gt_quotient_ports_joined(
					      d->hier, i / nports, i % nports);
	}
	for (uint32_t i = 0; i < nports && apart && !d->failed; i++)
		group[i] = cluster->ports[i].rail;
	d->doors->nports = nports;
	d->doors->across = across;
	d->doors->joined = joined;
	d->doors->group = group;
	d->doors->ngroups = apart ? cluster->nrails : 1;
}

int gt_cluster_ring_fabric_new(const struct gt_quotient *hier,
			       struct gt_arena *arena,
			       struct gt_cluster_ring_fabric *doors,
			       struct gt_err *err)
{
	struct gt_hier_door d = {.hier = hier, .arena = arena, .out = doors};
	const struct gt_plan_cluster *cluster = &hier->cluster;
	int can = cluster->levels[0].by_rail &&
		  !gt_nodes_ring_keeps_rail(cluster);

	if (cluster->nnodes < 2)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a ring of a cluster needs two nodes");
	doors->alternate = can && gt_door_can_alternate(hier);
	doors->complete = !can || doors->alternate;
	doors->first = doors->alternate ? hier->box->nlinks : 0;
	doors->fabric = gt_door_array(&d, 1, sizeof(*doors->fabric));
	d.doors = gt_door_array(&d, 1, sizeof(*d.doors));
	if (d.failed)
		return gt_err_nomem(err);
	*doors->fabric = *hier->box;
	doors->fabric->doors = d.doors;
	gt_door_links(&d);
	gt_door_routes(&d);
	gt_door_across(&d);
	return d.failed ? gt_err_nomem(err) : GT_OK;
}
