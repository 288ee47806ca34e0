/* What an all-reduce reaches if NVSwitches multicast and reduce. */
#include "search/whatif/in_switch.h"

#include "search/cluster/request.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

/* NVSwitches reduce from the third generation on, which Hopper came with. */
enum { FIRST_SM = 90 };

/* What a GPU's links to NVSwitches, or (in) from them, carry together. */
static int add_nvlinks(const struct gt_topo *topo, uint32_t gpu, int in,
		       struct gt_rat *gbs)
{
	*gbs = GT_RAT(0, 1);
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		uint32_t end = in ? link->to : link->from;
		uint32_t far = in ? link->from : link->to;

		if (end == gpu &&
		    gt_topo_node(topo, far)->kind == GT_NODE_NVS &&
		    !gt_rat_add(*gbs, link->gbs, gbs))
			return 0;
	}
	return gbs->num > 0;
}

/* The least that any of the GPUs sends to or gets from NVSwitches. */
static int find_narrowest(const struct gt_topo *topo, const uint32_t *gpus,
			  uint32_t ngpus, struct gt_rat *least)
{
	struct gt_rat gbs;

	for (uint32_t i = 0; i < 2 * ngpus; i++) {
		if (gt_topo_node(topo, gpus[i / 2])->sm < FIRST_SM ||
		    !add_nvlinks(topo, gpus[i / 2], i % 2, &gbs))
			return 0;
		*least = i ? gt_rat_min(*least, gbs) : gbs;
	}
	return ngpus > 0;
}

/*
 * Each of n GPUs reads its n-th of the elements, which switches add up as they
 * gather them, and writes it to all at once.  So it sends all it has and the
 * n-th once more, and gets as much: (n + 1) / n of the bytes, which are
 * 2 (n - 1) / n of them as bus bandwidth counts.
 */
static struct gt_rat bound(const struct gt_topo *topo, const uint32_t *gpus,
			   uint32_t ngpus, uint32_t nnodes)
{
	int64_t n = (int64_t)ngpus * nnodes;
	struct gt_rat gbs, factor;

	if (n < 2 || !find_narrowest(topo, gpus, ngpus, &gbs) ||
	    !gt_rat_make(2 * (n - 1), n + 1, &factor) ||
	    !gt_rat_mul(gbs, factor, &gbs))
		return GT_RAT(0, 1);
	return gbs;
}

struct gt_rat gt_whatif_in_switch(const struct gt_search_request *request)
{
	if (request->coll != GT_COLL_ALLREDUCE || request->flat)
		return GT_RAT(0, 1);
	return bound(request->topo, request->gpus, request->nranks, 1);
}

struct gt_rat gt_whatif_in_switch_of_cluster(
	const struct gt_cluster_request *request)
{
	const struct gt_cluster *cluster = request->cluster;

	if (request->coll != GT_COLL_ALLREDUCE ||
	    gt_cluster_joins(cluster, GT_FABRIC_NVLINK) != cluster->nnodes)
		return GT_RAT(0, 1);
	return bound(cluster->kinds[0].topo, request->gpus, request->ngpus,
		     cluster->nnodes);
}
