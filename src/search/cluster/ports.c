/*
 * The ports of a cluster's node, either network ports or the one that stands
 * for all NVLinks that leave the node, with the routes between them and the
 * GPUs.
 */
#include "search/cluster/ports.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "topo/graph/path.h"

/* The vertex of the NVSwitches that the kind's GPUs hang on, or GT_NONE. */
static uint32_t find_nvswitch(const struct gt_cluster_kind *kind)
{
	const struct gt_topo *topo = kind->topo;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			return i;
	return GT_NONE;
}

enum gt_fabric_kind gt_quotient_fabric_kind(const struct gt_cluster *cluster)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[GT_FABRIC_NVLINK];
	const struct gt_cluster_kind *kind = cluster->kinds;

	if (!f->nlevels || f->levels[f->nlevels - 1].nodes < cluster->nnodes ||
	    find_nvswitch(kind) == GT_NONE ||
	    kind->ports[GT_FABRIC_NVLINK].n < gt_topo_ngpus(kind->topo))
		return GT_FABRIC_NET;
	for (uint32_t i = 0; i < f->nlevels; i++)
		if (f->levels[i].by_rail)
			return GT_FABRIC_NET;
	return GT_FABRIC_NVLINK;
}

static int set_names(const struct gt_topo *topo, const struct gt_fabric *node,
		     struct gt_arena *arena, struct gt_quotient *q)
{
	/* There is room for the vertex and the two links of NVLink ports. */
	const char **vertices =
		gt_arena_array(arena, node->nnodes + 1, sizeof(*vertices));
	const char **links =
		gt_arena_array(arena, node->nlinks + 2, sizeof(*links));
	const char **kinds =
		gt_arena_array(arena, node->nlinks + 2, sizeof(*kinds));

	if (!vertices || !links || !kinds)
		return GT_ESYS;
	for (uint32_t i = 0; i < node->nnodes; i++)
		vertices[i] = gt_topo_node(topo, i)->id;
	for (uint32_t i = 0; i < node->nlinks; i++) {
		links[i] = gt_topo_link(topo, i)->id;
		kinds[i] = gt_link_kind_name(gt_topo_link(topo, i)->kind);
	}
	q->vertex_ids = vertices;
	q->link_ids = links;
	q->link_kinds = kinds;
	return GT_OK;
}

/* ---- the network ------------------------------------------------------ */

static int add_network_ports(const struct gt_cluster_kind *kind,
			     struct gt_arena *arena, struct gt_quotient *q)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];
	uint32_t *nodes = gt_arena_array(arena, ports->n, sizeof(*nodes));
	struct gt_plan_cluster *out = &q->cluster;

	out->ports = gt_arena_array(arena, ports->n, sizeof(*out->ports));
	if (!nodes || !out->ports)
		return GT_ESYS;
	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];

		nodes[i] = port->device;
		out->ports[i].id = gt_topo_node(kind->topo, port->device)->id;
		out->ports[i].rail = port->rail;
		if (port->rail >= out->nrails)
			out->nrails = port->rail + 1;
	}
	out->nports = ports->n;
	q->ports = nodes;
	return GT_OK;
}

/*
 * The route of a path, or none if the path goes through another GPU: trees pass
 * data through GPUs by hops of their own.
 */
static struct gt_fabric_route route_of_path(const struct gt_path *path)
{
	struct gt_fabric_route route = {.charge = path->charge,
					.links = path->links};

	if (path->kind < GT_PATH_DIS && path->kind != GT_PATH_PXN)
		route.nlinks = path->nhops;
	return route;
}

static void add_network_routes(const struct gt_cluster_request *request,
			       const struct gt_quotient *q,
			       struct gt_fabric_route *out,
			       struct gt_fabric_route *in)
{
	uint32_t nports = q->cluster.nports;

	for (uint32_t i = 0; i < request->ngpus * nports; i++) {
		uint32_t gpu = request->gpus[i / nports];
		uint32_t port = q->ports[i % nports];

		out[i] = route_of_path(gt_paths_get(request->paths, gpu, port));
		in[i] = route_of_path(gt_paths_get(request->paths, port, gpu));
	}
}

/* ---- NVLink ----------------------------------------------------------- */

/* The link between two vertices, or GT_NONE. */
static uint32_t find_link(const struct gt_fabric *node, uint32_t from,
			  uint32_t to)
{
	for (uint32_t i = 0; i < node->nlinks; i++)
		if (node->links[i].from == from && node->links[i].to == to)
			return i;
	return GT_NONE;
}

/*
 * Add the vertex beyond a node's NVSwitches, and the links to it and back,
 * which are as wide as all NVLinks of the node's ports.
 */
static int add_nvlink_vertex(const struct gt_cluster_kind *kind,
			     struct gt_fabric *node, struct gt_arena *arena,
			     struct gt_quotient *q)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NVLINK];
	uint32_t nvs = find_nvswitch(kind), beyond = node->nnodes++;
	struct gt_fabric_link *links =
		gt_arena_array(arena, node->nlinks + 2, sizeof(*links));
	const char *name = q->vertex_ids[nvs];
	struct gt_rat gbs = GT_RAT(0, 1);

	if (!links)
		return GT_ESYS;
	memcpy(links, node->links, node->nlinks * sizeof(*links));
	for (uint32_t i = 0; i < ports->n; i++)
		if (!gt_rat_add(gbs, ports->list[i].gbs, &gbs))
			return GT_ESYS;
	for (int back = 0; back < 2; back++) {
		uint32_t i = node->nlinks++;

		links[i] = (struct gt_fabric_link){.from = back ? beyond : nvs,
						   .to = back ? nvs : beyond,
						   .gbs = gbs};
		q->link_kinds[i] = gt_link_kind_name(GT_LINK_NVL);
		q->link_ids[i] =
			back ? gt_arena_printf(arena, "NVLINK/0>%s", name)
			     : gt_arena_printf(arena, "%s>NVLINK/0", name);
		if (!q->link_ids[i])
			return GT_ESYS;
	}
	q->vertex_ids[beyond] = "NVLINK/0";
	node->links = links;
	return GT_OK;
}

static int add_nvlink_port(const struct gt_cluster_kind *kind,
			   struct gt_fabric *node, struct gt_arena *arena,
			   struct gt_quotient *q)
{
	uint32_t *vertex = gt_arena_alloc(arena, sizeof(*vertex));

	q->cluster.ports = gt_arena_alloc(arena, sizeof(*q->cluster.ports));
	if (!vertex || !q->cluster.ports ||
	    add_nvlink_vertex(kind, node, arena, q))
		return GT_ESYS;
	*vertex = node->nnodes - 1;
	q->cluster.ports->id = q->vertex_ids[*vertex];
	q->cluster.nports = q->cluster.nrails = 1;
	q->ports = vertex;
	return GT_OK;
}

/* Routes from each GPU over its NVSwitches to the port, and back. */
static int add_nvlink_routes(const struct gt_cluster_kind *kind,
			     const struct gt_quotient *q,
			     struct gt_arena *arena,
			     struct gt_fabric_route *out,
			     struct gt_fabric_route *in)
{
	const struct gt_fabric *node = q->fabric;
	uint32_t nvs = find_nvswitch(kind);

	for (uint32_t i = 0; i < node->nranks; i++) {
		uint32_t *links = gt_arena_array(arena, 4, sizeof(*links));
		uint32_t to = find_link(node, node->ranks[i], nvs);
		uint32_t from = find_link(node, nvs, node->ranks[i]);

		if (!links)
			return GT_ESYS;
		links[0] = to;
		links[1] = node->nlinks - 2;
		links[2] = node->nlinks - 1;
		links[3] = from;
		out[i] = in[i] = (struct gt_fabric_route){
			.charge = GT_RAT(1, 1), .links = links};
		in[i].links = links + 2;
		out[i].nlinks = to == GT_NONE ? 0 : 2;
		in[i].nlinks = from == GT_NONE ? 0 : 2;
	}
	return GT_OK;
}

int gt_quotient_ports_init(const struct gt_cluster_request *request,
			   struct gt_fabric *node, struct gt_arena *arena,
			   struct gt_quotient *q, struct gt_err *err)
{
	const struct gt_cluster_kind *kind = request->cluster->kinds;
	int nvlink =
		gt_quotient_fabric_kind(request->cluster) == GT_FABRIC_NVLINK;
	struct gt_fabric_route *out, *in;
	size_t n;

	q->cluster.nrails = 1;
	if (set_names(kind->topo, node, arena, q) ||
	    (nvlink ? add_nvlink_port(kind, node, arena, q)
		    : add_network_ports(kind, arena, q)))
		return gt_err_nomem(err);
	n = (size_t)request->ngpus * q->cluster.nports;
	out = gt_arena_array(arena, n, sizeof(*out));
	in = gt_arena_array(arena, n, sizeof(*in));
	if (!out || !in ||
	    (nvlink && add_nvlink_routes(kind, q, arena, out, in)))
		return gt_err_nomem(err);
	if (!nvlink)
		add_network_routes(request, q, out, in);
	q->out = out;
	q->in = in;
	return GT_OK;
}
