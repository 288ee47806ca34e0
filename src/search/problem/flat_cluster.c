#include "search/problem/flat_cluster.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/request.h"

enum { GT_FLAT_NAME_MAX = 512 };

uint32_t gt_flat_vertex(const struct gt_flat_cluster *whole, uint32_t node,
			uint32_t device)
{
	return whole->first_vertex[node] + device;
}

/* NVSwitches that GPUs hang on stand for the GPUs' links to other nodes. */
static uint32_t gt_flat_nvs(const struct gt_topo *topo)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			return i;
	return GT_NONE;
}

uint32_t gt_flat_port(const struct gt_flat_cluster *whole,
		      enum gt_fabric_kind over, uint32_t node, uint32_t port)
{
	const struct gt_cluster_kind *kind =
		gt_cluster_kind_of(whole->cluster, node);

	return gt_flat_vertex(whole, node,
			      over == GT_FABRIC_NVLINK
				      ? gt_flat_nvs(kind->topo)
				      : kind->ports[over].list[port].device);
}

static void *gt_flat_array(struct gt_flat_cluster *w, size_t n,
			   size_t size_bytes)
{
	void *array = gt_arena_array(w->arena, n, size_bytes);

	w->failed |= !array;
	return array;
}

/* ---- ranks ------------------------------------------------------------ */

static int gt_flat_node_ranks(struct gt_flat_cluster *w, uint32_t node,
			      const char *gpus, struct gt_err *err)
{
	const struct gt_topo *topo = gt_cluster_kind_of(w->cluster, node)->topo;
	char name[GT_FLAT_NAME_MAX];
	const uint32_t *list;
	uint32_t n;
	const char *text;
	int rc = gt_request_gpus(topo, gpus, w->arena, &list, &n, err);

	if (rc)
		return rc;
	if (w->fabric.nranks + n > GT_FLAT_MAX_RANKS)
		return gt_err_set(err, GT_EINPUT, w->cluster->source,
				  "nodes or switches are not all alike, which "
				  "is searched up to %d GPUs; name fewer with "
				  "--gpus",
				  GT_FLAT_MAX_RANKS);
	gt_cluster_node_name(w->cluster, node, name, sizeof(name));
	text = gt_arena_strdup(w->arena, name);
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_node *gpu = gt_topo_node(topo, list[i]);
		uint32_t rank = w->fabric.nranks++;

		w->node_of[rank] = node;
		w->gpu_of[rank] = list[i];
		w->fabric.ranks[rank] = gt_flat_vertex(w, node, list[i]);
		w->ranks[rank] = (struct gt_plan_rank){
			.node = text,
			.device = gpu->bus_id,
			.name = gpu->name,
			.dev = (uint32_t)gpu->dev,
			.has_dev = gpu->dev >= 0,
		};
	}
	return text ? GT_OK : gt_err_nomem(err);
}

static int gt_flat_ranks(struct gt_flat_cluster *w, const char *gpus,
			 struct gt_err *err)
{
	int rc = GT_OK;

	w->fabric.ranks =
		gt_flat_array(w, GT_FLAT_MAX_RANKS, sizeof(*w->fabric.ranks));
	w->ranks = gt_flat_array(w, GT_FLAT_MAX_RANKS, sizeof(*w->ranks));
	w->node_of = gt_flat_array(w, GT_FLAT_MAX_RANKS, sizeof(uint32_t));
	w->gpu_of = gt_flat_array(w, GT_FLAT_MAX_RANKS, sizeof(uint32_t));
	if (w->failed)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < w->cluster->nnodes && !rc; i++)
		rc = gt_flat_node_ranks(w, i, gpus, err);
	return rc;
}

/* ---- links ------------------------------------------------------------ */

static const char *gt_flat_name(struct gt_flat_cluster *w, uint32_t vertex)
{
	const struct gt_cluster *cluster = w->cluster;
	uint32_t node = cluster->nnodes, base = w->first_vertex[node];
	char name[GT_FLAT_NAME_MAX];

	for (int over = 0; over < GT_NFABRICKINDS && vertex >= base; over++) {
		const struct gt_cluster_fabric *f = &cluster->fabrics[over];

		if (vertex - base < f->nswitches)
			return f->switches[vertex - base];
		base += f->nswitches;
		for (uint32_t l = 0; l < f->nlevels; l++) {
			if (vertex - base < f->levels[l].nswitches)
				return gt_arena_printf(
					w->arena, "%sswitch%u.%u",
					over == GT_FABRIC_NVLINK ? "nv" : "", l,
					vertex - base);
			base += f->levels[l].nswitches;
		}
	}
	while (w->first_vertex[node] > vertex)
		node--;
	gt_cluster_node_name(cluster, node, name, sizeof(name));
	return gt_arena_printf(
		w->arena, "%s:%s", name,
		gt_topo_node(gt_cluster_kind_of(cluster, node)->topo,
			     vertex - w->first_vertex[node])
			->id);
}

static void gt_flat_link(struct gt_flat_cluster *w, uint32_t from, uint32_t to,
			 struct gt_rat gbs, const char *kind)
{
	uint32_t i = w->fabric.nlinks++;
	const char *a = gt_flat_name(w, from), *b = gt_flat_name(w, to);

	w->fabric.links[i] =
		(struct gt_fabric_link){.from = from, .to = to, .gbs = gbs};
	w->link_kinds[i] = kind;
	w->link_ids[i] =
		a && b ? gt_arena_printf(w->arena, "%s>%s", a, b) : NULL;
	w->failed |= !w->link_ids[i];
}

static void gt_flat_cable(struct gt_flat_cluster *w, uint32_t a, uint32_t b,
			  struct gt_rat gbs, const char *kind)
{
	gt_flat_link(w, a, b, gbs, kind);
	gt_flat_link(w, b, a, gbs, kind);
}

static void gt_flat_node_links(struct gt_flat_cluster *w, uint32_t node)
{
	const struct gt_topo *topo = gt_cluster_kind_of(w->cluster, node)->topo;
	char name[GT_FLAT_NAME_MAX];

	gt_cluster_node_name(w->cluster, node, name, sizeof(name));
	w->first_link[node] = w->fabric.nlinks;
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		uint32_t at = w->fabric.nlinks++;

		w->fabric.links[at] = (struct gt_fabric_link){
			.from = gt_flat_vertex(w, node, link->from),
			.to = gt_flat_vertex(w, node, link->to),
			.gbs = link->gbs,
			.charged = link->kind == GT_LINK_PCI,
		};
		w->link_kinds[at] = gt_link_kind_name(link->kind);
		w->link_ids[at] =
			gt_arena_printf(w->arena, "%s:%s", name, link->id);
		w->failed |= !w->link_ids[at];
	}
}

static uint32_t gt_flat_switch(const struct gt_flat_cluster *w,
			       enum gt_fabric_kind over, uint32_t level,
			       uint32_t which)
{
	const struct gt_cluster *cluster = w->cluster;
	uint32_t at = w->first_vertex[cluster->nnodes];

	for (int o = 0; o < GT_NFABRICKINDS; o++) {
		const struct gt_cluster_fabric *f = &cluster->fabrics[o];
		uint32_t n =
			(enum gt_fabric_kind)o == over ? level : f->nlevels;

		at += f->nswitches;
		for (uint32_t l = 0; l < n; l++)
			at += f->levels[l].nswitches;
		if ((enum gt_fabric_kind)o == over)
			break;
	}
	return at + which;
}

/* The explicit switch of that number. */
static uint32_t gt_flat_named_switch(const struct gt_flat_cluster *w,
				     enum gt_fabric_kind over, uint32_t which)
{
	return gt_flat_switch(w, over, 0, which) -
	       w->cluster->fabrics[over].nswitches;
}

/*
 * A node's port and the switch above it.  NVLinks of one node come to the same
 * NVSwitches, where each of its GPUs adds its own.
 */
static void gt_flat_ports(struct gt_flat_cluster *w, enum gt_fabric_kind over,
			  uint32_t node)
{
	const struct gt_cluster_ports *ports =
		&gt_cluster_kind_of(w->cluster, node)->ports[over];
	const char *kind = over == GT_FABRIC_NET ? "NET" : "NVL";

	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];
		struct gt_rat gbs = port->gbs;

		if (over == GT_FABRIC_NVLINK && i)
			return;
		for (uint32_t k = 1; over == GT_FABRIC_NVLINK && k < ports->n;
		     k++)
			w->failed |= !gt_rat_add(gbs, ports->list[k].gbs, &gbs);
		gt_flat_cable(
			w, gt_flat_port(w, over, node, i),
			gt_flat_switch(w, over, 0,
				       gt_cluster_switch(w->cluster, over, 0,
							 node, port->rail)),
			gbs, kind);
	}
}

static int gt_flat_levels(struct gt_flat_cluster *w, enum gt_fabric_kind over,
			  struct gt_err *err)
{
	const struct gt_cluster *cluster = w->cluster;
	const struct gt_cluster_fabric *f = &cluster->fabrics[over];
	struct gt_rat gbs;
	int rc = GT_OK;

	for (uint32_t i = 0; f->nlevels && i < cluster->nnodes; i++)
		gt_flat_ports(w, over, i);
	for (uint32_t l = 0; l + 1 < f->nlevels; l++)
		for (uint32_t i = 0; i < f->levels[l].nswitches && !rc; i++) {
			rc = gt_cluster_uplink(cluster, over, l, i, &gbs, err);
			if (rc || !gbs.num)
				continue;
			gt_flat_cable(
				w, gt_flat_switch(w, over, l, i),
				gt_flat_switch(w, over, l + 1,
					       gt_cluster_parent_switch(
						       cluster, over, l, i)),
				gbs, over == GT_FABRIC_NET ? "NET" : "NVL");
		}
	return rc;
}

static void gt_flat_cables(struct gt_flat_cluster *w, enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *f = &w->cluster->fabrics[over];
	uint32_t at[2];

	for (uint32_t i = 0; i < f->ncables; i++) {
		const struct gt_cluster_cable *cable = &f->cables[i];

		for (int k = 0; k < 2; k++) {
			const struct gt_cluster_end *end = &cable->ends[k];

			at[k] = end->node == GT_NONE
					? gt_flat_named_switch(w, over, end->at)
					: gt_flat_port(w, over, end->node,
						       end->at);
		}
		gt_flat_cable(w, at[0], at[1], cable->gbs,
			      over == GT_FABRIC_NET ? "NET" : "NVL");
	}
}

/* Rails of NVLink would need NVSwitches told apart. */
static int gt_flat_supports(const struct gt_cluster *cluster,
			    struct gt_err *err)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[GT_FABRIC_NVLINK];
	int apart = f->ncables > 0;

	for (uint32_t l = 0; l < f->nlevels; l++)
		apart |= f->levels[l].by_rail;
	for (uint32_t i = 0; f->nlevels && i < cluster->nkinds; i++)
		apart |= cluster->kinds[i].ports[GT_FABRIC_NVLINK].n &&
			 gt_flat_nvs(cluster->kinds[i].topo) == GT_NONE;
	if (!apart)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, cluster->source,
			  "NVLinks between nodes are planned for when they go "
			  "to switches of all rails");
}

static int gt_flat_vertices(struct gt_flat_cluster *w)
{
	const struct gt_cluster *cluster = w->cluster;
	uint32_t n = cluster->nnodes, vertices = 0;

	w->first_vertex = gt_flat_array(w, n + 1, sizeof(uint32_t));
	w->first_link = gt_flat_array(w, n + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < n && !w->failed; i++) {
		w->first_vertex[i] = vertices;
		vertices +=
			gt_topo_nnodes(gt_cluster_kind_of(cluster, i)->topo);
	}
	if (w->failed)
		return 0;
	w->first_vertex[n] = vertices;
	for (int o = 0; o < GT_NFABRICKINDS; o++) {
		vertices += cluster->fabrics[o].nswitches;
		for (uint32_t l = 0; l < cluster->fabrics[o].nlevels; l++)
			vertices += cluster->fabrics[o].levels[l].nswitches;
	}
	w->fabric.nnodes = vertices;
	return 1;
}

/* Room for all links. */
static int gt_flat_count(struct gt_flat_cluster *w)
{
	const struct gt_cluster *cluster = w->cluster;
	size_t links = 0;

	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		const struct gt_cluster_kind *kind =
			gt_cluster_kind_of(cluster, i);

		links += gt_topo_nlinks(kind->topo);
		for (int o = 0; o < GT_NFABRICKINDS; o++)
			links += 2 * (size_t)kind->ports[o].n;
	}
	for (int o = 0; o < GT_NFABRICKINDS; o++) {
		const struct gt_cluster_fabric *f = &cluster->fabrics[o];

		links += 2 * (size_t)f->ncables;
		for (uint32_t l = 0; l < f->nlevels; l++)
			links += 2 * (size_t)f->levels[l].nswitches;
	}
	w->fabric.links = gt_flat_array(w, links, sizeof(*w->fabric.links));
	w->link_ids = gt_flat_array(w, links, sizeof(*w->link_ids));
	w->link_kinds = gt_flat_array(w, links, sizeof(*w->link_kinds));
	return !w->failed;
}

static int gt_flat_links(struct gt_flat_cluster *w, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < w->cluster->nnodes; i++)
		gt_flat_node_links(w, i);
	w->first_net = w->fabric.nlinks;
	for (int o = 0; o < GT_NFABRICKINDS && !rc; o++) {
		rc = gt_flat_levels(w, (enum gt_fabric_kind)o, err);
		gt_flat_cables(w, (enum gt_fabric_kind)o);
	}
	return rc;
}

int gt_flat_new(const struct gt_cluster *cluster, struct gt_paths *const *paths,
		const char *gpus, struct gt_arena *arena,
		struct gt_flat_cluster **whole, struct gt_err *err)
{
	struct gt_flat_cluster *w = gt_arena_alloc(arena, sizeof(*w));
	int rc = gt_flat_supports(cluster, err);

	if (!w)
		return gt_err_nomem(err);
	if (rc)
		return rc;
	w->cluster = cluster;
	w->arena = arena;
	w->paths = paths;
	rc = gt_flat_vertices(w) ? gt_flat_ranks(w, gpus, err)
				 : gt_err_nomem(err);
	if (!rc && !gt_flat_count(w))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_flat_links(w, err);
	if (!rc)
		rc = gt_flat_routes(w, err);
	if (!rc && w->failed)
		rc = gt_err_nomem(err);
	*whole = w;
	return rc;
}
