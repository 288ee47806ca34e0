#include "search/hier_request.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "search/fabric.h"
#include "search/hier.h"
#include "search/hier_trees.h"
#include "search/request.h"
#include "topo/cluster.h"
#include "topo/path.h"

/* Up to this many below one switch a block goes to each at once. */
enum { GT_HIER_STAR_MAX = 4 };

/* Does the level limit anything: are uplinks narrower than what they serve? */
static int gt_hier_limits(const struct gt_cluster *cluster, uint32_t level,
			  struct gt_rat *uplink, int *limits,
			  struct gt_err *err)
{
	struct gt_rat below;
	int rc = gt_cluster_uplink(cluster, GT_OVER_NET, level, 0, uplink, err);

	if (!rc)
		rc = gt_cluster_downlink(cluster, GT_OVER_NET, level, 0, &below,
					 err);
	if (!rc)
		*limits = gt_rat_cmp(*uplink, below) < 0;
	return rc;
}

/* Add a level, unless nothing is lost where all is joined at once. */
static int gt_hier_level(const struct gt_cluster *cluster, uint32_t i,
			 struct gt_plan_cluster *out, struct gt_err *err)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[GT_OVER_NET];
	const struct gt_cluster_level *from = &fabric->levels[i];
	struct gt_plan_level *level = &out->levels[out->nlevels];
	int last = i + 1 == fabric->nlevels, limits = 1, rc;
	uint32_t below = out->nlevels ? level[-1].nodes : 1;

	level->nodes = last ? cluster->nnodes : from->nodes;
	level->by_rail = from->by_rail;
	level->gbs = GT_RAT(0, 1);
	rc = last ? GT_OK
		  : gt_hier_limits(cluster, i, &level->gbs, &limits, err);
	if (rc || !limits)
		return rc;
	if (last && from->nodes < cluster->nnodes)
		return gt_err_set(err, GT_ENO, cluster->source,
				  "the fabric does not join all %u nodes",
				  cluster->nnodes);
	if (level->nodes % below || cluster->nnodes % level->nodes)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "%u nodes do not fill switches of %u; "
				  "templates need switches that are alike",
				  cluster->nnodes, level->nodes);
	if (out->nlevels && level->by_rail && !level[-1].by_rail)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "switches of all rails below switches of one "
				  "are not supported");
	level->spread = level->nodes / below <= GT_HIER_STAR_MAX
				? GT_SPREAD_STAR
				: GT_SPREAD_BINOMIAL;
	out->nlevels++;
	return GT_OK;
}

static int gt_hier_levels(const struct gt_cluster *cluster,
			  struct gt_arena *arena, struct gt_plan_cluster *out,
			  struct gt_err *err)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[GT_OVER_NET];
	int rc = GT_OK;

	if (cluster->fabrics[GT_OVER_NVLINK].nlevels ||
	    cluster->fabrics[GT_OVER_NVLINK].ncables)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "NVLinks between nodes are not supported");
	if (!fabric->nlevels)
		return gt_err_set(err, fabric->ncables ? GT_EINPUT : GT_ENO,
				  cluster->source,
				  fabric->ncables
					  ? "templates need a fabric of levels"
					  : "no fabric joins the nodes' ports");
	out->levels =
		gt_arena_array(arena, fabric->nlevels, sizeof(*out->levels));
	if (!out->levels)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < fabric->nlevels && !rc; i++)
		rc = gt_hier_level(cluster, i, out, err);
	return rc;
}

static int gt_hier_ports(const struct gt_hier_request *request,
			 struct gt_arena *arena, struct gt_hier *hier,
			 struct gt_err *err)
{
	const struct gt_cluster_kind *kind = request->cluster->kinds;
	const struct gt_cluster_ports *ports = &kind->ports[GT_OVER_NET];
	uint32_t *nodes = gt_arena_array(arena, ports->n, sizeof(*nodes));
	struct gt_plan_cluster *out = &hier->cluster;

	out->ports = gt_arena_array(arena, ports->n, sizeof(*out->ports));
	if (!nodes || !out->ports)
		return gt_err_nomem(err);
	out->nrails = 1;
	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];

		nodes[i] = port->device;
		out->ports[i].id = gt_topo_node(kind->topo, port->device)->id;
		out->ports[i].rail = port->rail;
		if (port->rail >= out->nrails)
			out->nrails = port->rail + 1;
	}
	out->nports = ports->n;
	hier->ports = nodes;
	return GT_OK;
}

/* Through no other GPU: trees pass data through GPUs themselves. */
static void gt_hier_route(const struct gt_path *path,
			  struct gt_fabric_route *route)
{
	route->charge = path->charge;
	route->links = path->links;
	if (path->kind < GT_PATH_DIS && path->kind != GT_PATH_PXN)
		route->nlinks = path->nhops;
}

static int gt_hier_routes(const struct gt_hier_request *request,
			  struct gt_arena *arena, struct gt_hier *hier,
			  struct gt_err *err)
{
	uint32_t n = request->ngpus, nports = hier->cluster.nports;
	struct gt_fabric_route *out, *in;

	out = gt_arena_array(arena, (size_t)n * nports, sizeof(*out));
	in = gt_arena_array(arena, (size_t)n * nports, sizeof(*in));
	if (!out || !in)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n * nports; i++) {
		uint32_t gpu = request->gpus[i / nports];
		uint32_t port = hier->ports[i % nports];

		gt_hier_route(gt_paths_get(request->paths, gpu, port), &out[i]);
		gt_hier_route(gt_paths_get(request->paths, port, gpu), &in[i]);
	}
	hier->out = out;
	hier->in = in;
	return GT_OK;
}

int gt_hier_new(const struct gt_hier_request *request, struct gt_arena *arena,
		struct gt_hier **out, struct gt_err *err)
{
	const struct gt_cluster *cluster = request->cluster;
	struct gt_request box = {.topo = cluster->kinds[0].topo,
				 .paths = request->paths,
				 .rates = request->rates,
				 .coll = request->coll,
				 .nranks = request->ngpus,
				 .gpus = request->gpus};
	struct gt_hier *hier = gt_arena_alloc(arena, sizeof(*hier));
	struct gt_fabric *fabric;
	int rc;

	if (!hier)
		return gt_err_nomem(err);
	if (cluster->nkinds != 1)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "templates need nodes that are all alike; "
				  "there are %u kinds",
				  cluster->nkinds);
	if ((uint64_t)cluster->nnodes * request->ngpus > INT32_MAX)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "there are too many GPUs");
	hier->cluster.nnodes = cluster->nnodes;
	hier->cluster.nlocal = request->ngpus;
	rc = gt_request_fabric(&box, arena, &fabric, err);
	hier->box = fabric;
	if (!rc)
		rc = gt_hier_levels(cluster, arena, &hier->cluster, err);
	if (!rc)
		rc = gt_hier_ports(request, arena, hier, err);
	if (!rc)
		rc = gt_hier_routes(request, arena, hier, err);
	*out = hier;
	return rc;
}

int gt_hier_search(const struct gt_hier_request *request, struct gt_plan **plan,
		   struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_hier_trees trees;
	struct gt_hier_bound bound;
	struct gt_hier_found found = {request, NULL, &trees, &bound};
	struct gt_hier *hier;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_hier_new(request, arena, &hier, err);
	found.hier = hier;
	if (!rc)
		rc = gt_hier_solve(hier, request->coll, arena, &trees, err);
	if (!rc)
		rc = gt_hier_bound_find(hier, request->coll, arena, &bound,
					err);
	if (!rc)
		rc = gt_hier_emit(&found, plan, err);
	gt_arena_free(arena);
	return rc;
}
