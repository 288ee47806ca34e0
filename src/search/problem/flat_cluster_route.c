/*
 * The routes of a flat cluster: within a node those of its topology, between
 * nodes the widest way from port to port.
 */
#include "search/problem/flat_cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/path.h"

/* A port of a node, with the widest paths from it through the network. */
struct gt_flat_gateway {
	uint32_t node, device, vertex;
	int nvlink;
	uint32_t *by;   /* vertex -> link that it is reached by, or GT_NONE */
	double *width;  /* vertex -> GB/s; 0: not reached */
	uint32_t *hops; /* vertex -> links */
	/* To and from the port, by rank of its node. */
	struct gt_path *parts[2];
};

struct gt_flat_gateways {
	struct gt_flat_cluster *flat;
	uint32_t n;
	struct gt_flat_gateway *list;
	uint32_t *first; /* node -> its first; one more at the end */
};

/* One path from a GPU to a GPU of another node. */
struct gt_flat_route {
	const struct gt_flat_gateway *out, *in;
	const struct gt_path *from, *to; /* to and from the ports */
	double width;
	int kind; /* the worse of both; NVLink before all */
	uint32_t hops;
};

/* Widest first, then nearest: few vertices, so again until nothing changes. */
static void gt_flat_spread(const struct gt_flat_cluster *flat,
			   struct gt_flat_gateway *gate)
{
	int changed = 1;

	gate->width[gate->vertex] = 1e300;
	while (changed) {
		changed = 0;
		for (uint32_t i = flat->first_net; i < flat->fabric.nlinks;
		     i++) {
			const struct gt_fabric_link *l = &flat->fabric.links[i];
			double width = gt_rat_double(l->gbs);
			uint32_t hops = gate->hops[l->from] + 1;

			if ((l->from != gate->vertex &&
			     l->from < flat->first_vertex[flat->cluster
								  ->nnodes]) ||
			    l->to == gate->vertex)
				continue; /* ports do not pass on */
			if (width > gate->width[l->from])
				width = gate->width[l->from];
			if (width < gate->width[l->to] || width <= 0 ||
			    (width <= gate->width[l->to] &&
			     hops >= gate->hops[l->to]))
				continue;
			gate->width[l->to] = width;
			gate->hops[l->to] = hops;
			gate->by[l->to] = i;
			changed = 1;
		}
	}
}

/* The link of the node's topology from one device to another, or GT_NONE. */
static uint32_t gt_flat_find(const struct gt_topo *topo, uint32_t from,
			     uint32_t to, enum gt_link_kind kind)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->from == from && link->to == to && link->kind == kind)
			return i;
	}
	return GT_NONE;
}

/*
 * The path reversed, link by link; it leads nowhere when a link has no other
 * direction.
 */
static int gt_flat_reverse(const struct gt_flat_cluster *flat,
			   const struct gt_topo *topo,
			   const struct gt_path *path, struct gt_path *back)
{
	uint32_t *links =
		gt_arena_array(flat->arena, path->nhops, sizeof(*links));

	if (!links)
		return GT_ESYS;
	*back = *path;
	back->links = links;
	for (uint32_t i = 0; i < path->nhops; i++) {
		const struct gt_link *link =
			gt_topo_link(topo, path->links[path->nhops - 1 - i]);

		links[i] = gt_flat_find(topo, link->to, link->from, link->kind);
		if (links[i] == GT_NONE)
			back->kind = GT_PATH_DIS;
	}
	return GT_OK;
}

/*
 * Through no other GPU, as trees pass data through GPUs themselves: what
 * would go so takes the way that comes from the port.
 */
static int gt_flat_part(const struct gt_flat_cluster *flat, uint32_t rank,
			const struct gt_flat_gateway *gate, int in,
			struct gt_path *part)
{
	const struct gt_cluster *cluster = flat->cluster;
	uint32_t node = flat->node_of[rank];
	const struct gt_cluster_kind *kind = gt_cluster_kind_of(cluster, node);
	const struct gt_paths *paths = flat->paths[kind - cluster->kinds];
	const uint32_t ends[2] = {flat->gpu_of[rank], gate->device};
	const struct gt_path *path;
	uint32_t *link;

	if (!gate->nvlink) {
		path = gt_paths_get(paths, ends[in], ends[!in]);
		if (path->kind == GT_PATH_PXN)
			return gt_flat_reverse(
				flat, kind->topo,
				gt_paths_get(paths, ends[!in], ends[in]), part);
		*part = *path;
		return GT_OK;
	}
	link = gt_arena_alloc(flat->arena, sizeof(*link));
	if (!link)
		return GT_ESYS;
	*link = gt_flat_find(kind->topo, ends[in], ends[!in], GT_LINK_NVL);
	*part = (struct gt_path){.kind = GT_PATH_DIS};
	if (*link != GT_NONE)
		*part = (struct gt_path){
			.kind = GT_PATH_NVL,
			.gbs = gt_topo_link(kind->topo, *link)->gbs,
			.charge = GT_RAT(1, 1),
			.nhops = 1,
			.links = link};
	return GT_OK;
}

static int gt_flat_parts(const struct gt_flat_cluster *flat,
			 struct gt_flat_gateway *gate)
{
	int rc = GT_OK;

	for (int in = 0; in < 2; in++) {
		gate->parts[in] =
			gt_arena_array(flat->arena, flat->fabric.nranks,
				       sizeof(*gate->parts[in]));
		if (!gate->parts[in])
			return GT_ESYS;
		for (uint32_t i = 0; i < flat->fabric.nranks && !rc; i++)
			if (flat->node_of[i] == gate->node)
				rc = gt_flat_part(flat, i, gate, in,
						  &gate->parts[in][i]);
	}
	return rc;
}

static int gt_flat_gateway(struct gt_flat_gateways *gates,
			   enum gt_fabric_kind over, uint32_t node,
			   uint32_t port)
{
	struct gt_flat_cluster *flat = gates->flat;
	struct gt_flat_gateway *gate = &gates->list[gates->n++];
	uint32_t n = flat->fabric.nnodes;

	gate->node = node;
	gate->vertex = gt_flat_port(flat, over, node, port);
	gate->device = gate->vertex - flat->first_vertex[node];
	gate->nvlink = over == GT_FABRIC_NVLINK;
	gate->by = gt_arena_array(flat->arena, n, sizeof(*gate->by));
	gate->width = gt_arena_array(flat->arena, n, sizeof(*gate->width));
	gate->hops = gt_arena_array(flat->arena, n, sizeof(*gate->hops));
	if (!gate->by || !gate->width || !gate->hops)
		return GT_ESYS;
	gt_flat_spread(flat, gate);
	return gt_flat_parts(flat, gate);
}

static int gt_flat_gateways_init(struct gt_flat_gateways *gates,
				 struct gt_flat_cluster *flat)
{
	const struct gt_cluster *cluster = flat->cluster;
	size_t n = 0;

	gates->flat = flat;
	for (uint32_t i = 0; i < cluster->nnodes; i++)
		n += gt_cluster_kind_of(cluster, i)->ports[GT_FABRIC_NET].n + 1;
	gates->list = gt_arena_array(flat->arena, n, sizeof(*gates->list));
	gates->first = gt_arena_array(flat->arena, cluster->nnodes + 1,
				      sizeof(*gates->first));
	if (!gates->list || !gates->first)
		return GT_ESYS;
	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		const struct gt_cluster_ports *ports =
			gt_cluster_kind_of(cluster, i)->ports;

		gates->first[i] = gates->n;
		if (cluster->fabrics[GT_FABRIC_NVLINK].nlevels &&
		    ports[GT_FABRIC_NVLINK].n &&
		    gt_flat_gateway(gates, GT_FABRIC_NVLINK, i, 0))
			return GT_ESYS;
		for (uint32_t k = 0; k < ports[GT_FABRIC_NET].n; k++)
			if (gt_flat_gateway(gates, GT_FABRIC_NET, i, k))
				return GT_ESYS;
	}
	gates->first[cluster->nnodes] = gates->n;
	return GT_OK;
}

/* Is path a worse than, as good as or better than path b: -1, 0, 1. */
static int gt_flat_compare(const struct gt_flat_route *a,
			   const struct gt_flat_route *b)
{
	if (!b->out)
		return 1;
	if (a->width != b->width)
		return a->width < b->width ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? 1 : -1;
	return a->hops != b->hops ? (a->hops < b->hops ? 1 : -1) : 0;
}

static int gt_flat_route(const uint32_t ranks[2],
			 const struct gt_flat_gateway *const ends[2],
			 struct gt_flat_route *way)
{
	const struct gt_flat_gateway *out = ends[0], *in = ends[1];

	*way = (struct gt_flat_route){.out = out, .in = in};
	if (out->nvlink != in->nvlink || out->width[in->vertex] <= 0)
		return 0;
	way->from = &out->parts[0][ranks[0]];
	way->to = &in->parts[1][ranks[1]];
	if (way->from->kind >= GT_PATH_DIS || way->to->kind >= GT_PATH_DIS)
		return 0;
	way->width = out->width[in->vertex];
	if (way->width > gt_rat_double(way->from->gbs))
		way->width = gt_rat_double(way->from->gbs);
	if (way->width > gt_rat_double(way->to->gbs))
		way->width = gt_rat_double(way->to->gbs);
	way->kind = (int)(way->from->kind > way->to->kind ? way->from->kind
							  : way->to->kind);
	way->hops = way->from->nhops + way->to->nhops + out->hops[in->vertex];
	return way->width > 0;
}

/*
 * Write the links of a path; those of the network are known from its far end.
 */
static int gt_flat_links_of(struct gt_flat_cluster *flat,
			    const struct gt_flat_route *way,
			    struct gt_fabric_route *route)
{
	uint32_t *links =
		gt_arena_array(flat->arena, way->hops, sizeof(*links));
	uint32_t at = way->in->vertex, n = way->from->nhops;
	uint32_t net = way->out->hops[at];

	if (!links)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		links[i] =
			flat->first_link[way->out->node] + way->from->links[i];
	for (uint32_t i = net; i--;) {
		links[n + i] = way->out->by[at];
		at = flat->fabric.links[way->out->by[at]].from;
	}
	n += net;
	for (uint32_t i = 0; i < way->to->nhops; i++)
		links[n + i] =
			flat->first_link[way->in->node] + way->to->links[i];
	route->links = links;
	route->nlinks = way->hops;
	route->charge = gt_rat_cmp(way->from->charge, way->to->charge) > 0
				? way->from->charge
				: way->to->charge;
	return GT_OK;
}

/*
 * Give the i-th pair of ports, the same for both directions; 0 when there are
 * no more.
 */
static int gt_flat_pair(const struct gt_flat_gateways *gates,
			const uint32_t ranks[2], uint32_t i,
			const struct gt_flat_gateway *ends[2])
{
	const struct gt_flat_cluster *flat = gates->flat;
	int low = ranks[0] > ranks[1];
	uint32_t a = flat->node_of[ranks[low]], b = flat->node_of[ranks[!low]];
	uint32_t n = gates->first[b + 1] - gates->first[b];

	if (!n || i / n >= gates->first[a + 1] - gates->first[a])
		return 0;
	ends[low] = &gates->list[gates->first[a] + i / n];
	ends[!low] = &gates->list[gates->first[b] + i % n];
	return 1;
}

/*
 * The best way between two ranks; of several that are as good one by turns,
 * so that all ports of a node are used.
 */
static int gt_flat_between(const struct gt_flat_gateways *gates,
			   const uint32_t ranks[2],
			   struct gt_fabric_route *route)
{
	const struct gt_flat_gateway *ends[2];
	struct gt_flat_route best = {.out = NULL}, way;
	uint32_t equal = 0, turn;

	route->charge = GT_RAT(1, 1);
	for (uint32_t i = 0; gt_flat_pair(gates, ranks, i, ends); i++) {
		int cmp = gt_flat_route(ranks, ends, &way)
				  ? gt_flat_compare(&way, &best)
				  : -1;

		if (cmp > 0)
			best = way;
		if (cmp >= 0)
			equal = cmp ? 1 : equal + 1;
	}
	turn = equal ? (ranks[0] + ranks[1]) % equal : 0;
	for (uint32_t i = 0; gt_flat_pair(gates, ranks, i, ends); i++)
		if (gt_flat_route(ranks, ends, &way) &&
		    !gt_flat_compare(&way, &best) && !turn--)
			return gt_flat_links_of(gates->flat, &way, route);
	return GT_OK;
}

static int gt_flat_within(struct gt_flat_cluster *flat, const uint32_t ranks[2],
			  struct gt_fabric_route *route)
{
	uint32_t node = flat->node_of[ranks[0]];
	const struct gt_cluster_kind *kind =
		gt_cluster_kind_of(flat->cluster, node);
	const struct gt_path *path =
		gt_paths_get(flat->paths[kind - flat->cluster->kinds],
			     flat->gpu_of[ranks[0]], flat->gpu_of[ranks[1]]);
	uint32_t *links;

	route->charge = path->charge;
	if (path->kind >= GT_PATH_DIS || ranks[0] == ranks[1])
		return GT_OK;
	links = gt_arena_array(flat->arena, path->nhops, sizeof(*links));
	if (!links)
		return GT_ESYS;
	for (uint32_t i = 0; i < path->nhops; i++)
		links[i] = flat->first_link[node] + path->links[i];
	route->nlinks = path->nhops;
	route->links = links;
	route->is_staged = path->is_staged;
	return GT_OK;
}

int gt_flat_routes(struct gt_flat_cluster *flat, struct gt_err *err)
{
	struct gt_flat_gateways gates = {0};
	uint32_t n = flat->fabric.nranks;

	flat->fabric.routes = gt_arena_array(flat->arena, (size_t)n * n,
					     sizeof(*flat->fabric.routes));
	if (!flat->fabric.routes || gt_flat_gateways_init(&gates, flat))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n * n; i++) {
		uint32_t ranks[2] = {i / n, i % n};
		struct gt_fabric_route *route = &flat->fabric.routes[i];

		if (flat->node_of[ranks[0]] == flat->node_of[ranks[1]]
			    ? gt_flat_within(flat, ranks, route)
			    : gt_flat_between(&gates, ranks, route))
			return gt_err_nomem(err);
	}
	return GT_OK;
}
