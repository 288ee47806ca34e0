/*
 * Makes a cluster even: templates need nodes and switches that are all alike,
 * so a cluster that nearly is gets a lesser or a greater twin that is.
 */
#include "topo/cluster/make.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "topo/graph/merge.h"

static int gt_homogenize_check(const struct gt_cluster *cluster,
			       struct gt_err *err)
{
	const struct gt_cluster_fabric *nvlink =
		&cluster->fabrics[GT_FABRIC_NVLINK];

	if (nvlink->nlevels || nvlink->ncables ||
	    !cluster->fabrics[GT_FABRIC_NET].nlevels)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "nodes or switches are not all alike; "
				  "templates need a fabric of levels over the "
				  "network then");
	return GT_OK;
}

/* The kind whose nodes have most links: more can be added to those of others.
 */
static const struct gt_cluster_kind *gt_homogenize_base(
	const struct gt_cluster *cluster)
{
	const struct gt_cluster_kind *base = &cluster->kinds[0];

	for (uint32_t i = 1; i < cluster->nkinds; i++)
		if (gt_topo_nlinks(cluster->kinds[i].topo) >
		    gt_topo_nlinks(base->topo))
			base = &cluster->kinds[i];
	return base;
}

/* Plans name devices, so all nodes must be one machine but for its links. */
static int gt_homogenize_topo(const struct gt_cluster *cluster,
			      enum gt_homogenize how, struct gt_cluster *even,
			      struct gt_err *err)
{
	const struct gt_cluster_kind *base = gt_homogenize_base(cluster);
	enum gt_merge merge = how == GT_UNION ? GT_MERGE_MOST : GT_MERGE_LEAST;
	struct gt_topo *made;
	struct gt_err why;
	int rc;

	even->topos = gt_arena_array(even->arena, cluster->nkinds,
				     sizeof(*even->topos));
	if (!even->topos)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < cluster->nkinds; i++) {
		const struct gt_cluster_kind *kind = &cluster->kinds[i];

		if (kind->topo == base->topo)
			continue;
		gt_err_init(&why);
		rc = gt_topo_merge(even->kinds[0].topo, kind->topo, merge,
				   &made, &why);
		if (rc)
			return gt_err_set(
				err, rc, cluster->source,
				"'%s' and '%s' are different machines: %s; "
				"templates need nodes that differ in links and "
				"ports alone",
				base->name, kind->name, why.text);
		even->topos[even->ntopos++] = made;
		even->kinds[0].topo = made;
	}
	return GT_OK;
}

/* The port of a kind of nodes that is another kind's, or NULL. */
static const struct gt_cluster_port *gt_homogenize_port(
	const struct gt_cluster_kind *kind, const char *id, uint32_t rail)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];

	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->list[i].rail == rail &&
		    !strcmp(gt_topo_node(kind->topo, ports->list[i].device)->id,
			    id))
			return &ports->list[i];
	return NULL;
}

/*
 * Adds a port of the twin's machine if all kinds of nodes have it
 * (GT_INTERSECTION) or if any has (GT_UNION), with the least or the most.
 */
static void gt_homogenize_add_port(const struct gt_cluster *cluster,
				   enum gt_homogenize how, uint32_t device,
				   uint32_t rail, struct gt_cluster_kind *even)
{
	const char *id = gt_topo_node(even->topo, device)->id;
	struct gt_cluster_ports *out = &even->ports[GT_FABRIC_NET];
	struct gt_cluster_port port = {.device = device, .rail = rail};
	uint32_t have = 0;

	for (uint32_t k = 0; k < cluster->nkinds; k++) {
		const struct gt_cluster_port *other =
			gt_homogenize_port(&cluster->kinds[k], id, rail);

		if (other && (!have++ || (gt_rat_cmp(other->gbs, port.gbs) <
					  0) == (how == GT_INTERSECTION)))
			port.gbs = other->gbs;
	}
	if (how == GT_UNION ? have > 0 : have == cluster->nkinds)
		out->list[out->n++] = port;
}

/* Collects the ports of the twin's nodes, in order of rail. */
static int gt_homogenize_ports(const struct gt_cluster *cluster,
			       enum gt_homogenize how, struct gt_cluster *even)
{
	struct gt_cluster_kind *kind = &even->kinds[0];
	struct gt_cluster_ports *out = &kind->ports[GT_FABRIC_NET];
	uint32_t nrails = cluster->fabrics[GT_FABRIC_NET].nrails;
	uint32_t nnets = gt_topo_nnets(kind->topo);

	out->n = 0;
	out->list = gt_arena_array(even->arena, (size_t)nrails * nnets,
				   sizeof(*out->list));
	if (!out->list)
		return GT_ESYS;
	for (uint32_t rail = 0; rail < nrails; rail++)
		for (uint32_t i = 0; i < nnets; i++)
			gt_homogenize_add_port(cluster, how,
					       gt_topo_net(kind->topo, i), rail,
					       kind);
	return GT_OK;
}

/*
 * Returns whether any node uses the rail; rails that none uses do not matter.
 */
static int gt_homogenize_uses(const struct gt_cluster *even, uint32_t rail)
{
	const struct gt_cluster_ports *ports =
		&even->kinds[0].ports[GT_FABRIC_NET];

	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->list[i].rail == rail)
			return 1;
	return 0;
}

/*
 * Finds the least that a switch of this level has in its uplink for every node
 * below it.
 */
static int gt_homogenize_uplink(const struct gt_cluster *cluster,
				const struct gt_cluster *even, uint32_t level,
				struct gt_rat *least, struct gt_err *err)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[GT_FABRIC_NET];
	const struct gt_cluster_level *at = &f->levels[level];
	uint32_t wide = at->by_rail ? f->nrails : 1;

	*least = GT_RAT(0, 1);
	for (uint32_t s = 0; s < at->nswitches; s++) {
		uint32_t first = s / wide * at->nodes, n = at->nodes;
		struct gt_rat gbs;
		int rc;

		if (at->by_rail && !gt_homogenize_uses(even, s % wide))
			continue;
		rc = gt_cluster_uplink(cluster, GT_FABRIC_NET, level, s, &gbs,
				       err);
		if (rc)
			return rc;
		if (cluster->nnodes - first < n)
			n = cluster->nnodes - first;
		if (!gt_rat_div(gbs, GT_RAT(n, 1), &gbs))
			return gt_err_set(err, GT_EINPUT, cluster->source,
					  "an uplink is no 64-bit fraction");
		if (!least->num || gt_rat_cmp(gbs, *least) < 0)
			*least = gbs;
	}
	return GT_OK;
}

/*
 * Makes switches with as many nodes each.  For GT_UNION only the last level is
 * kept, as if those below it were no limit.
 */
static int gt_homogenize_levels(const struct gt_cluster *cluster,
				enum gt_homogenize how, struct gt_cluster *even,
				struct gt_err *err)
{
	const struct gt_cluster_fabric *in = &cluster->fabrics[GT_FABRIC_NET];
	struct gt_cluster_fabric *out = &even->fabrics[GT_FABRIC_NET];
	uint32_t skip = how == GT_UNION ? in->nlevels - 1 : 0;
	int rc = GT_OK;

	*out = *in;
	out->nlevels = in->nlevels - skip;
	out->levels_room = out->nlevels;
	out->levels =
		gt_arena_array(even->arena, out->nlevels, sizeof(*out->levels));
	if (!out->levels)
		return gt_err_nomem(err);
	for (uint32_t l = 0; l < out->nlevels && !rc; l++) {
		struct gt_cluster_level *level = &out->levels[l];
		struct gt_rat gbs;

		*level = in->levels[l + skip];
		if (l + 1 == out->nlevels)
			break;
		level->nodes = gt_rat_gcd(level->nodes, cluster->nnodes);
		level->nswitches = cluster->nnodes / level->nodes *
				   (level->by_rail ? out->nrails : 1);
		rc = gt_homogenize_uplink(cluster, even, l, &gbs, err);
		if (!rc && !gt_rat_mul(gbs, GT_RAT(level->nodes, 1),
				       &level->uplink_gbs))
			rc = gt_err_set(err, GT_EINPUT, cluster->source,
					"an uplink is no 64-bit fraction");
	}
	return rc;
}

int gt_cluster_homogenize(const struct gt_cluster *cluster,
			  enum gt_homogenize how, struct gt_cluster **out,
			  struct gt_err *err)
{
	struct gt_cluster *even;
	int rc = gt_homogenize_check(cluster, err);

	if (!rc)
		rc = gt_cluster_new(cluster->source, &even, err);
	if (rc)
		return rc;
	rc = gt_cluster_add_kind(even, gt_homogenize_base(cluster), NULL, err);
	if (!rc)
		rc = gt_homogenize_topo(cluster, how, even, err);
	if (!rc && gt_homogenize_ports(cluster, how, even))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_cluster_add_nodes(even, 0, cluster->nnodes, err);
	if (!rc)
		rc = gt_homogenize_levels(cluster, how, even, err);
	if (rc)
		gt_cluster_free(even);
	else
		*out = even;
	return rc;
}
