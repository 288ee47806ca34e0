#include "search/cluster/ports.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/search.h"
#include "topo/graph/path.h"

/* The NVSwitches that GPUs of the kind hang on, or GT_NONE. */
static uint32_t gt_hier_nvs(const struct gt_cluster_kind *kind)
{
	const struct gt_topo *topo = kind->topo;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			return i;
	return GT_NONE;
}

enum gt_fabric_kind gt_quotient_over(const struct gt_cluster *cluster)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[GT_FABRIC_NVLINK];
	const struct gt_cluster_kind *kind = cluster->kinds;

	if (!f->nlevels || f->levels[f->nlevels - 1].nodes < cluster->nnodes ||
	    gt_hier_nvs(kind) == GT_NONE ||
	    kind->ports[GT_FABRIC_NVLINK].n < gt_topo_ngpus(kind->topo))
		return GT_FABRIC_NET;
	for (uint32_t i = 0; i < f->nlevels; i++)
		if (f->levels[i].by_rail)
			return GT_FABRIC_NET;
	return GT_FABRIC_NVLINK;
}

static int gt_hier_names(const struct gt_topo *topo,
			 const struct gt_fabric *box, struct gt_arena *arena,
			 struct gt_quotient *hier)
{
	/* With room for those of NVLinks. */
	const char **vertices =
		gt_arena_array(arena, box->nnodes + 1, sizeof(*vertices));
	const char **links =
		gt_arena_array(arena, box->nlinks + 2, sizeof(*links));
	const char **kinds =
		gt_arena_array(arena, box->nlinks + 2, sizeof(*kinds));

	if (!vertices || !links || !kinds)
		return GT_ESYS;
	for (uint32_t i = 0; i < box->nnodes; i++)
		vertices[i] = gt_topo_node(topo, i)->id;
	for (uint32_t i = 0; i < box->nlinks; i++) {
		links[i] = gt_topo_link(topo, i)->id;
		kinds[i] = gt_link_kind_name(gt_topo_link(topo, i)->kind);
	}
	hier->vertex_ids = vertices;
	hier->link_ids = links;
	hier->link_kinds = kinds;
	return GT_OK;
}

/* ---- the network ------------------------------------------------------ */

static int gt_hier_nets(const struct gt_cluster_kind *kind,
			struct gt_arena *arena, struct gt_quotient *hier)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];
	uint32_t *nodes = gt_arena_array(arena, ports->n, sizeof(*nodes));
	struct gt_plan_cluster *out = &hier->cluster;

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
	hier->ports = nodes;
	return GT_OK;
}

/* Through no other GPU: trees pass data through GPUs themselves. */
static struct gt_fabric_route gt_hier_route(const struct gt_path *path)
{
	struct gt_fabric_route route = {.charge = path->charge,
					.links = path->links};

	if (path->kind < GT_PATH_DIS && path->kind != GT_PATH_PXN)
		route.nlinks = path->nhops;
	return route;
}

static void gt_hier_net_routes(const struct gt_cluster_request *request,
			       const struct gt_quotient *hier,
			       struct gt_fabric_route *out,
			       struct gt_fabric_route *in)
{
	uint32_t nports = hier->cluster.nports;

	for (uint32_t i = 0; i < request->ngpus * nports; i++) {
		uint32_t gpu = request->gpus[i / nports];
		uint32_t port = hier->ports[i % nports];

		out[i] = gt_hier_route(gt_paths_get(request->paths, gpu, port));
		in[i] = gt_hier_route(gt_paths_get(request->paths, port, gpu));
	}
}

/* ---- NVLink ----------------------------------------------------------- */

/* The link between two vertices, or GT_NONE. */
static uint32_t gt_hier_find(const struct gt_fabric *box, uint32_t from,
			     uint32_t to)
{
	for (uint32_t i = 0; i < box->nlinks; i++)
		if (box->links[i].from == from && box->links[i].to == to)
			return i;
	return GT_NONE;
}

/* The vertex beyond a node's NVSwitches, and the links to it and back. */
static int gt_hier_beyond(const struct gt_cluster_kind *kind,
			  struct gt_fabric *box, struct gt_arena *arena,
			  struct gt_quotient *hier)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NVLINK];
	uint32_t nvs = gt_hier_nvs(kind), beyond = box->nnodes++;
	struct gt_fabric_link *links =
		gt_arena_array(arena, box->nlinks + 2, sizeof(*links));
	const char *name = hier->vertex_ids[nvs];
	struct gt_rat gbs = GT_RAT(0, 1);

	if (!links)
		return GT_ESYS;
	memcpy(links, box->links, box->nlinks * sizeof(*links));
	for (uint32_t i = 0; i < ports->n; i++)
		if (!gt_rat_add(gbs, ports->list[i].gbs, &gbs))
			return GT_ESYS;
	for (int back = 0; back < 2; back++) {
		uint32_t i = box->nlinks++;

		links[i] = (struct gt_fabric_link){.from = back ? beyond : nvs,
						   .to = back ? nvs : beyond,
						   .gbs = gbs};
		hier->link_kinds[i] = gt_link_kind_name(GT_LINK_NVL);
		hier->link_ids[i] =
			back ? gt_arena_printf(arena, "NVLINK/0>%s", name)
			     : gt_arena_printf(arena, "%s>NVLINK/0", name);
		if (!hier->link_ids[i])
			return GT_ESYS;
	}
	hier->vertex_ids[beyond] = "NVLINK/0";
	box->links = links;
	return GT_OK;
}

static int gt_hier_nvlink(const struct gt_cluster_kind *kind,
			  struct gt_fabric *box, struct gt_arena *arena,
			  struct gt_quotient *hier)
{
	uint32_t *node = gt_arena_alloc(arena, sizeof(*node));

	hier->cluster.ports =
		gt_arena_alloc(arena, sizeof(*hier->cluster.ports));
	if (!node || !hier->cluster.ports ||
	    gt_hier_beyond(kind, box, arena, hier))
		return GT_ESYS;
	*node = box->nnodes - 1;
	hier->cluster.ports->id = hier->vertex_ids[*node];
	hier->cluster.nports = hier->cluster.nrails = 1;
	hier->ports = node;
	return GT_OK;
}

/* From a GPU over its NVSwitches, and back. */
static int gt_hier_nvlink_routes(const struct gt_cluster_kind *kind,
				 const struct gt_quotient *hier,
				 struct gt_arena *arena,
				 struct gt_fabric_route *out,
				 struct gt_fabric_route *in)
{
	const struct gt_fabric *box = hier->box;
	uint32_t nvs = gt_hier_nvs(kind);

	for (uint32_t i = 0; i < box->nranks; i++) {
		uint32_t *links = gt_arena_array(arena, 4, sizeof(*links));
		uint32_t to = gt_hier_find(box, box->ranks[i], nvs);
		uint32_t from = gt_hier_find(box, nvs, box->ranks[i]);

		if (!links)
			return GT_ESYS;
		links[0] = to;
		links[1] = box->nlinks - 2;
		links[2] = box->nlinks - 1;
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
			   struct gt_fabric *box, struct gt_arena *arena,
			   struct gt_quotient *hier, struct gt_err *err)
{
	const struct gt_cluster_kind *kind = request->cluster->kinds;
	int nvlink = gt_quotient_over(request->cluster) == GT_FABRIC_NVLINK;
	struct gt_fabric_route *out, *in;
	size_t n;

	hier->cluster.nrails = 1;
	if (gt_hier_names(kind->topo, box, arena, hier) ||
	    (nvlink ? gt_hier_nvlink(kind, box, arena, hier)
		    : gt_hier_nets(kind, arena, hier)))
		return gt_err_nomem(err);
	n = (size_t)request->ngpus * hier->cluster.nports;
	out = gt_arena_array(arena, n, sizeof(*out));
	in = gt_arena_array(arena, n, sizeof(*in));
	if (!out || !in ||
	    (nvlink && gt_hier_nvlink_routes(kind, hier, arena, out, in)))
		return gt_err_nomem(err);
	if (!nvlink)
		gt_hier_net_routes(request, hier, out, in);
	hier->out = out;
	hier->in = in;
	return GT_OK;
}
