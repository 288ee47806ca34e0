/*
 * Has the accessors of a finished topology and the names of its kinds of nodes
 * and links; graph.c makes what they read.
 */
#include "topo/graph/topo.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/inside.h"

void gt_topo_free(struct gt_topo *topo)
{
	if (topo)
		gt_arena_free(topo->arena);
}

uint32_t gt_topo_nnodes(const struct gt_topo *topo)
{
	return topo->nnodes;
}

uint32_t gt_topo_nlinks(const struct gt_topo *topo)
{
	return topo->nlinks;
}

const struct gt_node *gt_topo_node(const struct gt_topo *topo, uint32_t node)
{
	return &topo->nodes[node];
}

const struct gt_link *gt_topo_link(const struct gt_topo *topo, uint32_t link)
{
	return &topo->links[link];
}

uint32_t gt_topo_ngpus(const struct gt_topo *topo)
{
	return topo->ngpus;
}

uint32_t gt_topo_gpu(const struct gt_topo *topo, uint32_t i)
{
	return topo->gpus[i];
}

uint32_t gt_topo_nnets(const struct gt_topo *topo)
{
	return topo->nnets;
}

uint32_t gt_topo_net(const struct gt_topo *topo, uint32_t i)
{
	return topo->nets[i];
}

uint32_t gt_topo_ndevices(const struct gt_topo *topo)
{
	return topo->ngpus + topo->nnets;
}

uint32_t gt_topo_device(const struct gt_topo *topo, uint32_t i)
{
	return i < topo->ngpus ? topo->gpus[i] : topo->nets[i - topo->ngpus];
}

int gt_topo_need_gpus(const struct gt_topo *topo, struct gt_err *err)
{
	const struct gt_node *gpu;

	if (!topo->ngpus)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "has no GPUs: a <gpu dev=\"0\" sm=\"90\"> "
				  "element in a <pci> element makes one");
	gpu = &topo->nodes[topo->gpus[0]];
	if (gpu->assumed)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "has no GPUs: %u functions such as '%s' look "
				  "like GPUs but have no <gpu dev=\"0\" "
				  "sm=\"90\"> element",
				  topo->ngpus, gpu->bus_id);
	return GT_OK;
}

uint32_t gt_topo_nwarnings(const struct gt_topo *topo)
{
	return topo->nwarnings;
}

const char *gt_topo_warning(const struct gt_topo *topo, uint32_t i)
{
	return topo->warnings[i];
}

const char *gt_topo_digest(const struct gt_topo *topo)
{
	return topo->digest;
}

const char *gt_topo_shape_digest(const struct gt_topo *topo)
{
	return topo->shape_digest;
}

const char *gt_topo_facts(const struct gt_topo *topo)
{
	return topo->facts;
}

const char *gt_topo_source(const struct gt_topo *topo)
{
	return topo->source;
}

const char *gt_node_kind_name(enum gt_node_kind kind)
{
	static const char *const names[GT_NNODEKINDS] = {
		"GPU", "PCI", "NVS", "CPU", "NIC", "NET", "MEM",
	};

	return names[kind];
}

const char *gt_link_kind_name(enum gt_link_kind kind)
{
	static const char *const names[GT_NLINKKINDS] = {
		"LOC", "NVL", "C2C", "PCI", "SYS", "NET", "MEM",
	};

	return names[kind];
}

const char *gt_rates_name(enum gt_rates rates)
{
	static const char *const names[] = {"measured", "nccl", "line"};

	return names[rates];
}

enum gt_rates gt_rates_find(const char *name)
{
	for (enum gt_rates r = GT_RATES_MEASURED; r <= GT_RATES_LINE; r++)
		if (name && !strcmp(name, gt_rates_name(r)))
			return r;
	return GT_RATES_MEASURED;
}
