/* Looks at a cluster for what ranks of a job have to share. */
#include "search/job/site.h"

#include <stdio.h>

#include "base/err.h"
#include "base/rat.h"
#include "search/graph/graph.h"
#include "search/job/cuts.h"
#include "topo/cluster/cluster.h"

/* Flows are whole numbers: GB/s times this, rounded up. */
enum { SCALE = 1 << 30 };

/* What a GPU's links carry: all, those to NVSwitches and GPUs, to how many. */
struct gpu_rates {
	double all, nvs, gpus;
	uint32_t ngpus;
};

static struct gpu_rates add_links(const struct gt_topo *topo, uint32_t gpu)
{
	struct gpu_rates rates = {0};

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		double gbs = gt_rat_double(link->gbs);
		enum gt_node_kind to = gt_topo_node(topo, link->to)->kind;

		if (link->from != gpu)
			continue;
		rates.all += gbs;
		rates.nvs += to == GT_NODE_NVS ? gbs : 0;
		rates.gpus += to == GT_NODE_GPU ? gbs : 0;
		rates.ngpus += to == GT_NODE_GPU;
	}
	return rates;
}

static void find_gpu_rates(struct gt_site *site)
{
	int peers = 1;

	for (uint32_t g = 0; g < site->ngpus; g++) {
		struct gpu_rates rates =
			add_links(site->topo, gt_topo_gpu(site->topo, g));
		double peer = rates.nvs > 0 ? rates.nvs : rates.gpus;

		peers &= rates.nvs > 0 || rates.ngpus + 1 == site->ngpus;
		if (rates.all > site->gpu_gbs)
			site->gpu_gbs = rates.all;
		if (peer > site->peer_gbs)
			site->peer_gbs = peer;
	}
	if (!peers)
		site->peer_gbs = 0;
}

static int64_t scaled(struct gt_rat gbs)
{
	return (int64_t)(gt_rat_double(gbs) * SCALE) + 1;
}

/*
 * What a node's GPUs send to its ports of the network, all together or, with
 * `alone`, the first of them by itself: a maximum flow.
 */
static int find_net_rate(const struct gt_site *site, uint32_t alone,
			 double *gbs, struct gt_err *err)
{
	const struct gt_topo *topo = site->topo;
	const struct gt_cluster_ports *ports =
		&site->cluster->kinds[0].ports[GT_FABRIC_NET];
	uint32_t n = gt_topo_nnodes(topo), nlinks = gt_topo_nlinks(topo);
	struct gt_maxflow *flow =
		gt_maxflow_new(n + 2, nlinks + site->ngpus + ports->n);

	if (!flow)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < nlinks; i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		int other =
			gt_topo_node(topo, link->from)->kind == GT_NODE_GPU &&
			link->from != alone;

		gt_maxflow_set(flow, gt_maxflow_add(flow, link->from, link->to),
			       alone != GT_NONE && other ? 0
							 : scaled(link->gbs));
	}
	for (uint32_t i = 0; i < site->ngpus; i++) {
		uint32_t gpu = gt_topo_gpu(topo, i);

		if (alone == GT_NONE || gpu == alone)
			gt_maxflow_set(
				flow, gt_maxflow_add(flow, n, gpu),
				scaled(GT_RAT((int64_t)site->gpu_gbs + 1, 1)));
	}
	for (uint32_t i = 0; i < ports->n; i++)
		gt_maxflow_set(
			flow,
			gt_maxflow_add(flow, ports->list[i].device, n + 1),
			scaled(ports->list[i].gbs));
	*gbs = (double)gt_maxflow_run(flow, n, n + 1) / SCALE;
	gt_maxflow_free(flow);
	return GT_OK;
}

/* Do NVLinks join all nodes? */
static int has_nvlink(const struct gt_cluster *cluster)
{
	return gt_cluster_joins(cluster, GT_FABRIC_NVLINK) == cluster->nnodes;
}

static int find_out_rate(struct gt_site *site, struct gt_err *err)
{
	int rc = GT_OK;

	if (has_nvlink(site->cluster)) {
		site->out_gbs = site->gpu_gbs = site->peer_gbs;
		return GT_OK;
	}
	for (uint32_t i = 0; i < site->ngpus && !rc; i++) {
		double gbs = 0;

		rc = find_net_rate(site, gt_topo_gpu(site->topo, i), &gbs, err);
		site->out_gbs = gbs > site->out_gbs ? gbs : site->out_gbs;
	}
	return rc;
}

/* What leaves the switches of a level, of all rails, that nodes 0 .. have. */
static int find_uplinks(const struct gt_cluster *cluster,
			enum gt_fabric_kind over, uint32_t level, double *gbs,
			struct gt_err *err)
{
	const struct gt_cluster_ports *ports = &cluster->kinds[0].ports[over];
	struct gt_rat up;
	int rc = GT_OK;

	*gbs = 0;
	for (uint32_t i = 0; i < ports->n && !rc; i++) {
		if (i && !cluster->fabrics[over].levels[level].by_rail)
			break;
		rc = gt_cluster_uplink(cluster, over, level,
				       gt_cluster_switch(cluster, over, level,
							 0,
							 ports->list[i].rail),
				       &up, err);
		if (!rc)
			*gbs += gt_rat_double(up);
	}
	return rc;
}

/*
 * Add to the rate what leaves `nodes` nodes in a row over one fabric; where its
 * switches do not take in just so many, it is at most what leaves each of them.
 */
static int add_fabric(const struct gt_site *site, enum gt_fabric_kind over,
		      uint32_t nodes, double *gbs, struct gt_err *err)
{
	const struct gt_cluster *cluster = site->cluster;
	const struct gt_cluster_fabric *f = &cluster->fabrics[over];
	const struct gt_cluster_ports *ports = &cluster->kinds[0].ports[over];
	double out = 0, up;
	int rc = GT_OK;

	if (!f->nlevels || f->levels[f->nlevels - 1].nodes <= nodes ||
	    (over == GT_FABRIC_NET && has_nvlink(cluster)))
		return GT_OK;
	if (over == GT_FABRIC_NET)
		rc = find_net_rate(site, GT_NONE, &out, err);
	for (uint32_t i = 0; over != GT_FABRIC_NET && i < ports->n; i++)
		out += gt_rat_double(ports->list[i].gbs);
	out *= nodes;
	for (uint32_t l = 0; l + 1 < f->nlevels && !rc && nodes > 1; l++) {
		if (f->levels[l].nodes != nodes)
			continue;
		rc = find_uplinks(cluster, over, l, &up, err);
		out = up < out ? up : out;
	}
	*gbs += out;
	return rc;
}

/* A level for so many nodes in a row, unless it is there or has all nodes. */
static int add_level(struct gt_site *site, uint32_t nodes, struct gt_err *err)
{
	struct gt_site_level *level = &site->levels[site->nlevels];
	int rc = GT_OK;

	if (nodes >= site->nnodes || site->nlevels == GT_SITE_MAX_LEVELS)
		return GT_OK;
	for (uint32_t i = 0; i < site->nlevels; i++)
		if (site->levels[i].nodes == nodes)
			return GT_OK;
	*level = (struct gt_site_level){.nodes = nodes};
	for (int o = 0; o < GT_NFABRICKINDS && !rc; o++)
		rc = add_fabric(site, (enum gt_fabric_kind)o, nodes,
				&level->gbs, err);
	site->nlevels += !rc && level->gbs > 0;
	return rc;
}

static int find_levels(struct gt_site *site, struct gt_err *err)
{
	const struct gt_cluster *cluster = site->cluster;
	int rc = find_out_rate(site, err);

	if (!rc)
		rc = add_level(site, 1, err);

	for (int o = 0; o < GT_NFABRICKINDS; o++)
		for (uint32_t l = 0; l < cluster->fabrics[o].nlevels && !rc;
		     l++)
			rc = add_level(
				site, cluster->fabrics[o].levels[l].nodes, err);
	return rc;
}

static int check_cluster(const struct gt_cluster *cluster, struct gt_err *err)
{
	int cables = 0;

	/* What leaves nodes by both at once is not bounded yet. */
	if (gt_cluster_joins(cluster, GT_FABRIC_NVLINK) > 1 &&
	    !has_nvlink(cluster))
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "NVLinks join some of its nodes and not all; "
				  "a job is planned for nodes that they join "
				  "all, or none");
	for (int o = 0; o < GT_NFABRICKINDS; o++)
		cables |= cluster->fabrics[o].ncables > 0;
	if (cluster->nkinds == 1 && !cables)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, cluster->source,
			  "a job is planned for nodes that are all alike and "
			  "fabrics of levels; take a cluster file with one "
			  "kind of node, or --nodes");
}

int gt_site_init(struct gt_site *site, struct gt_topo *topo,
		 const struct gt_cluster *cluster, enum gt_rates rates,
		 struct gt_arena *arena, struct gt_err *err)
{
	int rc = cluster ? check_cluster(cluster, err) : GT_OK;

	if (rc)
		return rc;
	*site = (struct gt_site){
		.topo = topo,
		.cluster = cluster,
		.rates = rates,
		.nnodes = cluster ? cluster->nnodes : 1,
		.ngpus = gt_topo_ngpus(topo),
	};
	rc = gt_topo_need_gpus(topo, err);
	if (!rc)
		rc = gt_job_cuts_find(topo, arena, &site->cuts, err);
	if (rc)
		return rc;
	find_gpu_rates(site);
	return cluster ? find_levels(site, err) : GT_OK;
}

void gt_site_node_name(const struct gt_site *site, uint32_t node, char *text,
		       size_t size)
{
	if (site->cluster)
		gt_cluster_node_name(site->cluster, node, text, size);
	else
		snprintf(text, size, "localhost");
}
