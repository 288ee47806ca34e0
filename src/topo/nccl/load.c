/*
 * Adds up what channels load links with.
 */
#include "topo/nccl/load.h"

#include <stdlib.h>

#include "base/err.h"
#include "topo/graph/topo.h"
#include "topo/nccl/graph_file.h"
#include "topo/nccl/system.h"

struct gt_nccl_loader {
	const struct gt_nccl_system *system;
	const struct gt_nccl_file_graph *graph;
	double *gbs; /* by link */
};

static int gt_nccl_load_gpu(const struct gt_nccl_loader *loader, uint32_t dev,
			    uint32_t *gpu, struct gt_err *err)
{
	const struct gt_nccl_facts *facts =
		gt_nccl_system_facts(loader->system);
	const struct gt_topo *topo = facts->links->topo;
	uint32_t node;

	for (*gpu = 0; *gpu < facts->ngpus; ++*gpu) {
		node = gt_nccl_system_gpu(loader->system, *gpu);
		if (gt_topo_node(topo, node)->dev == (int)dev)
			return GT_OK;
	}
	return gt_err_set(err, GT_ENO, gt_topo_source(topo),
			  "has no GPU %u, which the graph on line %u has", dev,
			  loader->graph->line);
}

static int gt_nccl_load_hop(struct gt_nccl_loader *loader, uint32_t from_dev,
			    uint32_t to_dev, struct gt_err *err)
{
	const struct gt_nccl_facts *facts =
		gt_nccl_system_facts(loader->system);
	const struct gt_topo *topo = facts->links->topo;
	double gbs = loader->graph->intra_gbs;
	const struct gt_nccl_path *path;
	uint32_t from, to;
	int rc = gt_nccl_load_gpu(loader, from_dev, &from, err), pci;

	if (!rc)
		rc = gt_nccl_load_gpu(loader, to_dev, &to, err);
	if (rc)
		return rc;
	path = gt_nccl_system_path(loader->system, from, to);
	if (path->kind == GT_PATH_DIS)
		return gt_err_set(err, GT_ENO, gt_topo_source(topo),
				  "has no route from GPU %u to GPU %u",
				  from_dev, to_dev);
	for (uint32_t i = 0; i < path->nlinks; i++) {
		pci = gt_topo_link(topo, path->links[i])->kind == GT_LINK_PCI;
		loader->gbs[path->links[i]] +=
			path->overhead && pci ? gbs * 6 / 5 : gbs;
	}
	return GT_OK;
}

static int gt_nccl_load_channel(struct gt_nccl_loader *loader,
				const struct gt_nccl_file_channel *channel,
				int closed, struct gt_err *err)
{
	uint32_t n = channel->ngpus;
	int rc = GT_OK;

	for (uint32_t i = 0; i + 1 < n + (uint32_t)closed && !rc; i++)
		rc = gt_nccl_load_hop(loader, channel->gpus[i],
				      channel->gpus[(i + 1) % n], err);
	return rc;
}

int gt_nccl_load_find(const struct gt_nccl_system *system,
		      const struct gt_nccl_file_graph *graph, int closed,
		      struct gt_nccl_load *load, struct gt_err *err)
{
	const struct gt_nccl_links *links = gt_nccl_system_facts(system)->links;
	uint32_t nlinks = gt_topo_nlinks(links->topo);
	struct gt_nccl_loader loader = {system, graph, NULL};
	double part;
	int rc = GT_OK;

	loader.gbs = calloc((size_t)nlinks + 1, sizeof(*loader.gbs));
	if (!loader.gbs)
		return gt_err_nomem(err);
	for (uint32_t c = 0; c < graph->nchannels && !rc; c++)
		rc = gt_nccl_load_channel(&loader, &graph->channels[c], closed,
					  err);
	*load = (struct gt_nccl_load){GT_NONE, 0};
	for (uint32_t i = 0; i < nlinks && !rc; i++) {
		part = loader.gbs[i] * 1e6 / (double)links->kbs[i];
		if (part > load->part)
			*load = (struct gt_nccl_load){i, part};
	}
	free(loader.gbs);
	return rc;
}
