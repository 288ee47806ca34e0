/*
 * From a cluster, as the topology has it, to its quotient: the numbering of its
 * vertices, which of its ports meet, and its levels of switches.
 */
#include "search/cluster/quotient.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/ports.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"

uint32_t gt_quotient_nvertices(const struct gt_quotient *q)
{
	uint32_t classes = q->cluster.nlevels + 1;

	return classes * q->fabric->nnodes +
	       q->cluster.nlevels * classes * q->cluster.nrails;
}

uint32_t gt_quotient_switch(const struct gt_quotient *q, uint32_t level,
			    uint32_t class_, uint32_t rail)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	uint32_t classes = cluster->nlevels + 1;

	if (class_ <= level + 1) /* the switch that is above node 0 too */
		class_ = 0;
	if (!cluster->levels[level].by_rail)
		rail = 0;
	return classes * q->fabric->nnodes +
	       (level * classes + class_) * cluster->nrails + rail;
}

int gt_quotient_ports_joined(const struct gt_quotient *q, uint32_t out,
			     uint32_t in)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	return !cluster->levels[0].by_rail ||
	       cluster->ports[out].rail == cluster->ports[in].rail;
}

/*
 * A level with at most so many switches of the level below is a star: a block
 * goes to each of them at once.
 */
enum { GT_STAR_MAX = 4 };

/*
 * The level's uplinks, and whether they limit anything: are they narrower than
 * what they serve?
 */
static int level_limits(const struct gt_cluster *cluster, uint32_t level,
			struct gt_rat *uplink, int *limits, struct gt_err *err)
{
	enum gt_fabric_kind over = gt_quotient_fabric_kind(cluster);
	struct gt_rat below;
	int rc = gt_cluster_uplink(cluster, over, level, 0, uplink, err);

	if (!rc)
		rc = gt_cluster_downlink(cluster, over, level, 0, &below, err);
	if (!rc)
		*limits = gt_rat_cmp(*uplink, below) < 0;
	return rc;
}

/*
 * Add a level, unless its uplinks limit nothing: then the switches of the level
 * above may as well join all that is below.
 */
static int add_level(const struct gt_cluster *cluster, uint32_t i,
		     struct gt_plan_cluster *out, struct gt_err *err)
{
	const struct gt_cluster_fabric *fabric =
		&cluster->fabrics[gt_quotient_fabric_kind(cluster)];
	const struct gt_cluster_level *from = &fabric->levels[i];
	struct gt_plan_level *level = &out->levels[out->nlevels];
	int last = i + 1 == fabric->nlevels, limits = 1, rc;
	uint32_t below = out->nlevels ? level[-1].nodes : 1;

	level->nodes = last ? cluster->nnodes : from->nodes;
	level->by_rail = from->by_rail;
	level->gbs = GT_RAT(0, 1);
	rc = last ? GT_OK : level_limits(cluster, i, &level->gbs, &limits, err);
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
	level->spread = level->nodes / below <= GT_STAR_MAX
				? GT_SPREAD_STAR
				: GT_SPREAD_BINOMIAL;
	out->nlevels++;
	return GT_OK;
}

static int find_levels(const struct gt_cluster *cluster, struct gt_arena *arena,
		       struct gt_plan_cluster *out, struct gt_err *err)
{
	enum gt_fabric_kind over = gt_quotient_fabric_kind(cluster);
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	int rc = GT_OK;

	if (over == GT_FABRIC_NET &&
	    (cluster->fabrics[GT_FABRIC_NVLINK].nlevels ||
	     cluster->fabrics[GT_FABRIC_NVLINK].ncables))
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "NVLinks between nodes have to join all GPUs "
				  "of all nodes, by switches of all rails");
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
		rc = add_level(cluster, i, out, err);
	return rc;
}

static int check_alike(const struct gt_cluster *cluster, struct gt_err *err)
{
	if (cluster->nkinds == 1)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, cluster->source,
			  "templates need nodes that are all alike; there are "
			  "%u kinds",
			  cluster->nkinds);
}

int gt_quotient_accepts(const struct gt_cluster *cluster, struct gt_err *err)
{
	struct gt_plan_cluster levels = {.nnodes = cluster->nnodes};
	struct gt_arena *arena = gt_arena_new();
	int rc = arena ? check_alike(cluster, err) : gt_err_nomem(err);

	if (!rc)
		rc = find_levels(cluster, arena, &levels, err);
	gt_arena_free(arena);
	return rc;
}

int gt_quotient_new(const struct gt_cluster_request *request,
		    struct gt_arena *arena, struct gt_quotient **out,
		    struct gt_err *err)
{
	const struct gt_cluster *cluster = request->cluster;
	struct gt_search_request node = {.topo = cluster->kinds[0].topo,
					 .paths = request->paths,
					 .rates = request->rates,
					 .coll = request->coll,
					 .nranks = request->ngpus,
					 .gpus = request->gpus};
	struct gt_quotient *q = gt_arena_alloc(arena, sizeof(*q));
	struct gt_fabric *fabric;
	int rc;

	if (!q)
		return gt_err_nomem(err);
	rc = check_alike(cluster, err);
	if (rc)
		return rc;
	if ((uint64_t)cluster->nnodes * request->ngpus > INT32_MAX)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "there are too many GPUs");
	q->cluster.nnodes = cluster->nnodes;
	q->cluster.nlocal = request->ngpus;
	q->budget = request->budget;
	rc = gt_search_request_fabric(&node, arena, &fabric, err);
	if (!rc)
		fabric->relays = 0;
	q->fabric = fabric;
	if (!rc)
		rc = find_levels(cluster, arena, &q->cluster, err);
	if (!rc)
		rc = gt_quotient_ports_init(request, fabric, arena, q, err);
	*out = q;
	return rc;
}
