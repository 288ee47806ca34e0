/*
 * Pairs cards that could have an NVLink bridge and have none, in their order,
 * and puts the bridges in.
 */
#include "search/whatif/bridge.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/whatif/result.h"
#include "topo/graph/edit.h"
#include "topo/graph/model.h"

/* The links of a card's bridge; 0: it can have none, or has NVLinks. */
static uint32_t free_links(const struct gt_topo *topo, uint32_t gpu)
{
	const struct gt_pci *pci = gt_topo_node(topo, gpu)->pci;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		if (gt_topo_link(topo, i)->from == gpu &&
		    gt_topo_link(topo, i)->kind == GT_LINK_NVL)
			return 0;
	return pci ? gt_model_bridge(pci->vendor, pci->device) : 0;
}

static uint32_t find_top(const struct gt_topo *topo, uint32_t node)
{
	while (gt_topo_node(topo, node)->up != GT_NONE)
		node = gt_topo_node(topo, node)->up;
	return node;
}

/* Are the two cards of one model, and in slots that may be side by side? */
static int fits(const struct gt_topo *topo, uint32_t a, uint32_t b)
{
	return gt_topo_node(topo, a)->pci->device ==
		       gt_topo_node(topo, b)->pci->device &&
	       find_top(topo, a) == find_top(topo, b);
}

static int put_bridge(struct gt_topo *topo, uint32_t a, uint32_t b,
		      enum gt_rates rates, struct gt_arena *arena,
		      struct gt_whatif_bridges *bridges, struct gt_err *err)
{
	struct gt_topo_bridge *bridge = &bridges->list[bridges->n];
	const char *name =
		gt_whatif_link(arena, gt_whatif_device(arena, topo, a),
			       gt_whatif_device(arena, topo, b));
	int rc;

	*bridge = (struct gt_topo_bridge){.gpus = {a, b},
					  .count = free_links(topo, a)};
	if (!name ||
	    !gt_rat_mul(gt_model_nvlink(gt_topo_node(topo, a)->sm, rates),
			GT_RAT(bridge->count, 1), &bridge->gbs))
		return gt_err_nomem(err);
	name = bridges->n
		       ? gt_arena_printf(arena, "%s, %s", bridges->name, name)
		       : gt_arena_printf(arena, "NVLink bridges %s", name);
	if (!name)
		return gt_err_nomem(err);
	rc = gt_topo_bridge(topo, bridge, err);
	if (rc)
		return rc;
	bridges->name = name;
	bridges->n++;
	return GT_OK;
}

int gt_whatif_bridges_put(struct gt_topo *topo, const uint32_t *gpus,
			  uint32_t ngpus, enum gt_rates rates,
			  struct gt_arena *arena,
			  struct gt_whatif_bridges *bridges, struct gt_err *err)
{
	int rc = GT_OK;

	*bridges = (struct gt_whatif_bridges){
		.list = gt_arena_array(arena, ngpus, sizeof(*bridges->list))};
	if (!bridges->list)
		return gt_err_nomem(err);
	/* Who got a bridge has NVLinks then, and is passed over. */
	for (uint32_t i = 0; i < ngpus; i++)
		for (uint32_t k = i + 1; !rc && k < ngpus; k++)
			if (free_links(topo, gpus[i]) &&
			    free_links(topo, gpus[k]) &&
			    fits(topo, gpus[i], gpus[k]))
				rc = put_bridge(topo, gpus[i], gpus[k], rates,
						arena, bridges, err);
	if (rc)
		gt_whatif_bridges_take(topo, bridges);
	return rc;
}

void gt_whatif_bridges_take(struct gt_topo *topo,
			    const struct gt_whatif_bridges *bridges)
{
	for (uint32_t i = bridges->n; i; i--)
		gt_topo_unbridge(topo, &bridges->list[i - 1]);
}
