/*
 * Some nodes of a cluster as a cluster of their own, with the names, ports and
 * uplinks that they have in the whole one.
 */
#include "topo/cluster/make.h"

#include "base/arena.h"
#include "base/err.h"

enum { NAME_MAX_BYTES = 512 };

static int add_nodes(const struct gt_cluster *cluster, const uint32_t *nodes,
		     uint32_t n, struct gt_cluster *sub)
{
	char name[NAME_MAX_BYTES];

	sub->runs = gt_arena_array(sub->arena, n, sizeof(*sub->runs));
	if (!sub->runs)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++) {
		struct gt_cluster_run *run = &sub->runs[i];

		gt_cluster_node_name(cluster, nodes[i], name, sizeof(name));
		*run = (struct gt_cluster_run){
			.first = i,
			.count = 1,
			.prefix = gt_arena_strdup(sub->arena, name),
			.suffix = "",
			.width = -1,
			.named = 1,
		};
		if (!run->prefix)
			return GT_ESYS;
	}
	sub->nruns = sub->runs_room = sub->nnodes = n;
	sub->kinds[0].nnodes = n;
	return GT_OK;
}

/*
 * How many of the nodes each switch of a level has below it, or 0 when one has
 * more than another.
 */
static uint32_t nodes_each(const struct gt_cluster_level *level,
			   const uint32_t *nodes, uint32_t n)
{
	uint32_t each = 0;

	for (uint32_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && nodes[next] / level->nodes ==
						       nodes[i] / level->nodes;)
			next++;
		if (each && next - i != each)
			return 0;
		each = next - i;
	}
	return each;
}

static int add_level(const struct gt_cluster *cluster, enum gt_fabric_kind over,
		     uint32_t l, const uint32_t *nodes, uint32_t n,
		     struct gt_cluster *sub, struct gt_err *err)
{
	const struct gt_cluster_fabric *whole = &cluster->fabrics[over];
	struct gt_cluster_fabric *f = &sub->fabrics[over];
	struct gt_cluster_level *level = &f->levels[l];
	uint32_t rail = cluster->kinds[0].ports[over].list[0].rail;

	*level = whole->levels[l];
	level->nodes = nodes_each(level, nodes, n);
	if (!level->nodes)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "the group's nodes are not spread evenly "
				  "over the switches of level %u",
				  l);
	level->nswitches = n / level->nodes * (level->by_rail ? f->nrails : 1);
	f->nlevels = l + 1;
	if (l + 1 == whole->nlevels || (level->nodes == n && !level->by_rail)) {
		level->uplink_gbs = GT_RAT(0, 1);
		level->oversubscription = GT_RAT(1, 1);
		return GT_OK;
	}
	return gt_cluster_uplink(
		cluster, over, l,
		gt_cluster_switch(cluster, over, l, nodes[0], rail),
		&level->uplink_gbs, err);
}

static int add_fabric(const struct gt_cluster *cluster,
		      enum gt_fabric_kind over, const uint32_t *nodes,
		      uint32_t n, struct gt_cluster *sub, struct gt_err *err)
{
	const struct gt_cluster_fabric *whole = &cluster->fabrics[over];
	struct gt_cluster_fabric *f = &sub->fabrics[over];
	int rc = GT_OK, joined = 0;

	f->nrails = whole->nrails;
	f->levels_room = whole->nlevels;
	f->levels =
		gt_arena_array(sub->arena, whole->nlevels, sizeof(*f->levels));
	if (!f->levels)
		return gt_err_nomem(err);
	/* Above a switch that joins all of them the others do not matter. */
	for (uint32_t l = 0; l < whole->nlevels && !rc && !joined; l++) {
		rc = add_level(cluster, over, l, nodes, n, sub, err);
		joined = f->levels[l].nodes == n && !f->levels[l].by_rail;
	}
	return rc;
}

int gt_cluster_subset(const struct gt_cluster *cluster, const uint32_t *nodes,
		      uint32_t n, struct gt_cluster **out, struct gt_err *err)
{
	struct gt_cluster *sub;
	int rc;

	for (int o = 0; o < GT_NFABRICKINDS; o++)
		if (cluster->nkinds != 1 || cluster->fabrics[o].ncables)
			return gt_err_set(err, GT_EINPUT, cluster->source,
					  "parts of a cluster are planned for "
					  "where its nodes are alike and its "
					  "fabric is one of levels");
	rc = gt_cluster_new(cluster->source, &sub, err);
	if (rc)
		return rc;
	rc = gt_cluster_add_kind(sub, &cluster->kinds[0], NULL, err);
	if (!rc && add_nodes(cluster, nodes, n, sub))
		rc = gt_err_nomem(err);
	for (int o = 0; o < GT_NFABRICKINDS && !rc; o++) {
		sub->kinds[0].ports[o] = cluster->kinds[0].ports[o];
		if (cluster->fabrics[o].nlevels)
			rc = add_fabric(cluster, (enum gt_fabric_kind)o, nodes,
					n, sub, err);
	}
	if (rc)
		gt_cluster_free(sub);
	else
		*out = sub;
	return rc;
}
