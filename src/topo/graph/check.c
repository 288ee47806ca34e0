/*
 * Checks a finished topology: gt_topo_check() proves every invariant that the
 * other files rely on, so that a fault of a reader or a probe is told as one
 * sentence instead of showing later as a wrong route.
 */
#include "topo/graph/topo.h"

#include <string.h>

#include "base/err.h"
#include "topo/graph/inside.h"

/*
 * This is, for each kind of link, the set of node kinds that its two ends may
 * have.
 */
#define GT_IS(kind) (1u << GT_NODE_##kind)

static const unsigned gt_check_ends[GT_NLINKKINDS] = {
	[GT_LINK_LOC] = GT_IS(PCI),
	[GT_LINK_NVL] = GT_IS(GPU) | GT_IS(NVS) | GT_IS(CPU),
	[GT_LINK_C2C] = GT_IS(GPU) | GT_IS(CPU),
	[GT_LINK_PCI] = GT_IS(GPU) | GT_IS(PCI) | GT_IS(CPU) | GT_IS(NIC),
	[GT_LINK_SYS] = GT_IS(CPU),
	[GT_LINK_NET] = GT_IS(NIC) | GT_IS(NET),
	[GT_LINK_MEM] = GT_IS(CPU) | GT_IS(MEM),
};

static int gt_check_node(const struct gt_topo *topo, uint32_t i,
			 struct gt_err *err)
{
	const struct gt_node *node = &topo->nodes[i];

	if (node->kind >= GT_NNODEKINDS || !node->id || !*node->id)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "node %u has no kind or no id", i);
	if (node->kind == GT_NODE_GPU && (node->dev < 0 || !node->bus_id))
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "GPU '%s' has no dev or no bus id", node->id);
	for (uint32_t link = topo->first[i]; link != GT_NONE;
	     link = topo->next[link])
		if (topo->links[link].from != i)
			return gt_err_set(err, GT_EINPUT, topo->source,
					  "link '%s' does not start at '%s'",
					  topo->links[link].id, node->id);
	return GT_OK;
}

static int gt_check_link(const struct gt_topo *topo, uint32_t i,
			 struct gt_err *err)
{
	const struct gt_link *link = &topo->links[i];
	unsigned ends;

	if (link->kind >= GT_NLINKKINDS || link->from >= topo->nnodes ||
	    link->to >= topo->nnodes || link->from == link->to)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "link %u has no kind or joins no two nodes",
				  i);
	ends = 1u << topo->nodes[link->from].kind |
	       1u << topo->nodes[link->to].kind;
	if (ends & ~gt_check_ends[link->kind])
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "link '%s' cannot be of kind '%s'", link->id,
				  gt_link_kind_name(link->kind));
	if (link->gbs.num <= 0 || link->gbs.den <= 0)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "link '%s' carries nothing", link->id);
	return GT_OK;
}

int gt_topo_check(const struct gt_topo *topo, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < topo->nnodes && !rc; i++)
		rc = gt_check_node(topo, i, err);
	for (uint32_t i = 0; i < topo->nlinks && !rc; i++)
		rc = gt_check_link(topo, i, err);
	for (uint32_t i = 1; i < topo->ngpus && !rc; i++)
		if (topo->nodes[topo->gpus[i - 1]].dev ==
		    topo->nodes[topo->gpus[i]].dev)
			rc = gt_err_set(err, GT_EINPUT, topo->source,
					"two GPUs have dev '%d'",
					topo->nodes[topo->gpus[i]].dev);
	return rc;
}
