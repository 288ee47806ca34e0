/*
 * Makes clusters that no file describes: an empty one, one switch that joins
 * all nodes, copies of one machine.
 */
#include "topo/cluster/make.h"

#include "base/arena.h"
#include "base/err.h"

int gt_cluster_new(const char *source, struct gt_cluster **out,
		   struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster *cluster =
		arena ? gt_arena_alloc(arena, sizeof(*cluster)) : NULL;

	if (cluster) {
		cluster->arena = arena;
		cluster->source = gt_arena_strdup(arena, source);
	}
	if (!cluster || !cluster->source) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	*out = cluster;
	return GT_OK;
}

int gt_cluster_one_switch(struct gt_cluster *cluster, enum gt_fabric_kind over,
			  struct gt_err *err)
{
	struct gt_cluster_fabric *fabric = &cluster->fabrics[over];

	fabric->levels =
		gt_arena_alloc(cluster->arena, sizeof(*fabric->levels));
	if (!fabric->levels)
		return gt_err_nomem(err);
	*fabric->levels =
		(struct gt_cluster_level){.nodes = cluster->nnodes,
					  .nswitches = 1,
					  .oversubscription = GT_RAT(1, 1),
					  .uplink_gbs = GT_RAT(0, 1)};
	fabric->nlevels = 1;
	return GT_OK;
}

int gt_cluster_copies(const struct gt_topo *topo, uint32_t nnodes,
		      const char *nets, struct gt_cluster **out,
		      struct gt_err *err)
{
	struct gt_cluster_kind kind = {
		.name = "node", .file = gt_topo_source(topo), .topo = topo};
	struct gt_cluster *cluster;
	int rc = gt_cluster_new(gt_topo_source(topo), &cluster, err);

	if (rc)
		return rc;
	rc = gt_cluster_add_kind(cluster, &kind, nets, err);
	if (!rc && !nnodes)
		rc = gt_err_set(err, GT_EINPUT, cluster->source,
				"a cluster has at least one node");
	if (!rc)
		rc = gt_cluster_add_nodes(cluster, 0, nnodes, err);
	if (!rc)
		rc = gt_cluster_one_switch(cluster, GT_FABRIC_NET, err);
	if (rc)
		gt_cluster_free(cluster);
	else
		*out = cluster;
	return rc;
}
