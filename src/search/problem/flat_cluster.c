/*
 * A cluster as one fabric: which nodes have which vertices and ranks, and the
 * order in which links and routes are made.
 */
#include "search/problem/flat_cluster.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/gpu_list.h"

enum { GT_FLAT_NAME_MAX = 512 };

static void *gt_flat_array(struct gt_flat_cluster *flat, size_t n,
			   size_t size_bytes)
{
	void *array = gt_arena_array(flat->arena, n, size_bytes);

	flat->failed |= !array;
	return array;
}

/* ---- ranks ------------------------------------------------------------ */

/* A node has a rank or more, so fewer GPUs of each do not help many nodes. */
static int gt_flat_refuse(const struct gt_flat_cluster *flat,
			  struct gt_err *err)
{
	int by_gpus = flat->cluster->nnodes <= flat->max_ranks;

	return gt_err_set(err, GT_EINPUT, flat->cluster->source,
			  "nodes or switches are not all alike, which is "
			  "searched up to %u GPUs; %s",
			  flat->max_ranks,
			  by_gpus ? "name fewer with --gpus"
				  : "take nodes out of the file");
}

static int gt_flat_node_ranks(struct gt_flat_cluster *flat, uint32_t node,
			      const char *gpus, struct gt_err *err)
{
	const struct gt_topo *topo =
		gt_cluster_kind_of(flat->cluster, node)->topo;
	char name[GT_FLAT_NAME_MAX];
	const uint32_t *list;
	uint32_t n;
	const char *text;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	gt_cluster_node_name(flat->cluster, node, name, sizeof(name));
	rc = gt_gpu_list_read(topo, gpus, flat->arena, &list, &n, &why);
	if (rc)
		return gt_err_set(err, rc, why.where, "node '%s': %s", name,
				  why.text);
	if (flat->fabric.nranks + n > flat->max_ranks)
		return gt_flat_refuse(flat, err);
	text = gt_arena_strdup(flat->arena, name);
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_node *gpu = gt_topo_node(topo, list[i]);
		uint32_t rank = flat->fabric.nranks++;

		flat->node_of[rank] = node;
		flat->gpu_of[rank] = list[i];
		flat->fabric.ranks[rank] = gt_flat_vertex(flat, node, list[i]);
		flat->ranks[rank] = (struct gt_plan_rank){
			.node = text,
			.device = gpu->bus_id,
			.name = gpu->name,
			.dev = (uint32_t)gpu->dev,
			.has_dev = gpu->dev >= 0,
		};
	}
	return text ? GT_OK : gt_err_nomem(err);
}

static int gt_flat_ranks(struct gt_flat_cluster *flat, const char *gpus,
			 struct gt_err *err)
{
	uint32_t most = flat->max_ranks;
	int rc = GT_OK;

	flat->fabric.ranks =
		gt_flat_array(flat, most, sizeof(*flat->fabric.ranks));
	flat->ranks = gt_flat_array(flat, most, sizeof(*flat->ranks));
	flat->node_of = gt_flat_array(flat, most, sizeof(uint32_t));
	flat->gpu_of = gt_flat_array(flat, most, sizeof(uint32_t));
	if (flat->failed)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < flat->cluster->nnodes && !rc; i++)
		rc = gt_flat_node_ranks(flat, i, gpus, err);
	return rc;
}

/* ---- the cluster ------------------------------------------------------- */

/*
 * A cluster is refused when its NVLinks go by rails, which would need
 * NVSwitches to be told apart.
 */
static int gt_flat_supports(const struct gt_cluster *cluster,
			    struct gt_err *err)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[GT_FABRIC_NVLINK];
	int apart = f->ncables > 0;

	for (uint32_t l = 0; l < f->nlevels; l++)
		apart |= f->levels[l].by_rail;
	for (uint32_t i = 0; f->nlevels && i < cluster->nkinds; i++)
		apart |= cluster->kinds[i].ports[GT_FABRIC_NVLINK].n &&
			 gt_flat_nvswitch(cluster->kinds[i].topo) == GT_NONE;
	if (!apart)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, cluster->source,
			  "NVLinks between nodes are planned for when they go "
			  "to switches of all rails");
}

static int gt_flat_vertices(struct gt_flat_cluster *flat)
{
	const struct gt_cluster *cluster = flat->cluster;
	uint32_t n = cluster->nnodes, vertices = 0;

	flat->first_vertex = gt_flat_array(flat, n + 1, sizeof(uint32_t));
	flat->first_link = gt_flat_array(flat, n + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < n && !flat->failed; i++) {
		flat->first_vertex[i] = vertices;
		vertices +=
			gt_topo_nnodes(gt_cluster_kind_of(cluster, i)->topo);
	}
	if (flat->failed)
		return 0;
	flat->first_vertex[n] = vertices;
	for (int o = 0; o < GT_NFABRICKINDS; o++) {
		vertices += cluster->fabrics[o].nswitches;
		for (uint32_t l = 0; l < cluster->fabrics[o].nlevels; l++)
			vertices += cluster->fabrics[o].levels[l].nswitches;
	}
	flat->fabric.nnodes = vertices;
	return 1;
}

/* Make room for all links, however many turn out to be there. */
static int gt_flat_count(struct gt_flat_cluster *flat)
{
	const struct gt_cluster *cluster = flat->cluster;
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
	flat->fabric.links =
		gt_flat_array(flat, links, sizeof(*flat->fabric.links));
	flat->link_ids = gt_flat_array(flat, links, sizeof(*flat->link_ids));
	flat->link_kinds =
		gt_flat_array(flat, links, sizeof(*flat->link_kinds));
	return !flat->failed;
}

/* All of the cluster but its routes. */
static int gt_flat_make(struct gt_flat_cluster *flat, const char *gpus,
			struct gt_err *err)
{
	int rc = gt_flat_supports(flat->cluster, err);

	if (rc)
		return rc;
	rc = gt_flat_vertices(flat) ? gt_flat_ranks(flat, gpus, err)
				    : gt_err_nomem(err);
	if (!rc && !gt_flat_count(flat))
		rc = gt_err_nomem(err);
	return rc ? rc : gt_flat_links(flat, err);
}

static struct gt_flat_cluster *gt_flat_begin(const struct gt_cluster *cluster,
					     struct gt_paths *const *paths,
					     struct gt_arena *arena,
					     uint32_t max_ranks)
{
	struct gt_flat_cluster *flat = gt_arena_alloc(arena, sizeof(*flat));

	if (!flat)
		return NULL;
	flat->cluster = cluster;
	flat->arena = arena;
	flat->paths = paths;
	flat->max_ranks = max_ranks;
	return flat;
}

int gt_flat_new(const struct gt_cluster *cluster, struct gt_paths *const *paths,
		const char *gpus, struct gt_arena *arena,
		struct gt_flat_cluster **out, struct gt_err *err)
{
	struct gt_flat_cluster *flat =
		gt_flat_begin(cluster, paths, arena, GT_FLAT_MAX_RANKS);
	int rc = flat ? gt_flat_make(flat, gpus, err) : gt_err_nomem(err);

	if (!rc)
		rc = gt_flat_routes(flat, err);
	if (!rc && flat->failed)
		rc = gt_err_nomem(err);
	*out = flat;
	return rc;
}

int gt_flat_new_open(const struct gt_cluster *cluster,
		     struct gt_paths *const *paths, const char *gpus,
		     struct gt_arena *arena, struct gt_flat_cluster **out,
		     struct gt_err *err)
{
	struct gt_flat_cluster *flat =
		gt_flat_begin(cluster, paths, arena, GT_FLAT_OPEN_RANKS);
	int rc = flat ? gt_flat_make(flat, gpus, err) : gt_err_nomem(err);

	if (!rc && flat->failed)
		rc = gt_err_nomem(err);
	if (!rc)
		flat->fabric.open = 1;
	*out = flat;
	return rc;
}
