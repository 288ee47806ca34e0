/*
 * Lists the devices of a file, so that rules need not search its elements once
 * for each pair of them.
 */
#include "topo/lint/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bus_id.h"
#include "base/xml.h"
#include "topo/graph/model.h"
#include "topo/lint/device.h"
#include "topo/lint/linter.h"

enum { GT_LINT_MAX_DEVS = 4096 };

static struct gt_rat gt_lint_rate(const struct gt_xml_elem *pci)
{
	struct gt_rat rate = GT_RAT(0, 1);
	int lanes = gt_lint_int(pci, "link_width");

	gt_rat_mul(gt_model_gts(gt_xml_text(pci, "link_speed")),
		   GT_RAT(lanes > 0 ? lanes : 0, 1), &rate);
	return rate;
}

static uint32_t gt_lint_depth(const struct gt_xml_elem *elem)
{
	uint32_t depth = 0;

	while ((elem = gt_xml_parent(elem)))
		depth++;
	return depth;
}

/*
 * Finds what a switch carries up and to the quickest device below it, in GT/s
 * times lanes.  What had to be assumed of a link says nothing.
 */
static void gt_lint_measure_switch(struct gt_lint_dev *dev)
{
	const struct gt_xml_elem *below = gt_xml_child(dev->elem);
	struct gt_rat rate;

	if (strstr(gt_xml_text(dev->elem, "gt_assumed"), "link_"))
		return;
	dev->up = gt_lint_rate(dev->elem);
	dev->depth = gt_lint_depth(dev->elem);
	for (; below && dev->up.num; below = gt_xml_next(below)) {
		if (!gt_xml_is(below, "pci"))
			continue;
		rate = gt_lint_rate(below);
		if (dev->quickest && gt_rat_cmp(rate, dev->down) <= 0)
			continue;
		dev->quickest = below;
		dev->down = rate;
	}
}

static const char *gt_lint_kind(struct gt_lint_graph *g,
				const struct gt_xml_elem *elem)
{
	const char *vendor = gt_xml_text(elem, "vendor");
	const char *device = gt_xml_text(elem, "device");
	const char *kind;

	if (!*vendor || !*device)
		return NULL;
	kind = gt_arena_printf(g->l->arena, "%s:%s", vendor, device);
	g->l->failed |= !kind;
	for (uint32_t i = 0; kind && i < g->nkinds; i++)
		if (!strcmp(g->kinds[i], kind))
			return g->kinds[i];
	g->kinds[g->nkinds++] = kind;
	return kind;
}

static void gt_lint_list_pci(struct gt_lint_graph *g,
			     const struct gt_xml_elem *elem)
{
	struct gt_lint_dev *dev = &g->pcis[g->npcis];
	const struct gt_xml_elem *link;

	if (g->npcis == GT_LINT_MAX_DEVS)
		return;
	g->by_key[g->npcis++] = dev;
	dev->elem = elem;
	dev->gpu = gt_xml_find(elem, "gpu");
	dev->rank = dev->gpu ? gt_xml_attr(dev->gpu, "rank") : NULL;
	dev->key = gt_bus_id_normalize_dup(g->l->arena,
					   gt_xml_text(elem, "busid"));
	dev->kind = gt_lint_kind(g, elem);
	dev->lanes = gt_lint_int(elem, "link_width");
	link = dev->gpu ? gt_xml_child(dev->gpu) : NULL;
	for (; link; link = gt_xml_next(link))
		if (gt_lint_is_link(link))
			dev->nvlinks = gt_lint_add(dev->nvlinks,
						   gt_lint_int(link, "count"));
	gt_lint_measure_switch(dev);
	g->l->failed |= !dev->key;
}

static void gt_lint_list_net(struct gt_lint_graph *g,
			     const struct gt_xml_elem *elem)
{
	static const char *const ids[] = {"dev", "name", "guid"};
	struct gt_lint_net *net = &g->nets[g->nnets];
	const struct gt_xml_elem *nic = gt_xml_parent(elem);
	const struct gt_xml_elem *card = nic ? gt_xml_parent(nic) : NULL;

	if (g->nnets == GT_LINT_MAX_DEVS)
		return;
	g->nnets++;
	net->elem = elem;
	net->pci = card && gt_xml_is(card, "pci") ? card : NULL;
	net->card = gt_xml_text(net->pci, "busid");
	for (int i = 0; i < GT_LINT_NET_IDS; i++)
		net->ids[i] = gt_xml_text(elem, ids[i]);
}

/* Lists what is below an element; the XML parser bounds the depth. */
static void gt_lint_list_below(struct gt_lint_graph *g,
			       const struct gt_xml_elem *up)
{
	const struct gt_xml_elem *elem = gt_xml_child(up);

	for (; elem && !g->l->failed; elem = gt_xml_next(elem)) {
		if (gt_xml_is(elem, "pci"))
			gt_lint_list_pci(g, elem);
		else if (gt_xml_is(elem, "net"))
			gt_lint_list_net(g, elem);
		gt_lint_list_below(g, elem);
	}
}

static int gt_lint_by_key(const void *left, const void *right)
{
	const struct gt_lint_dev *a = *(struct gt_lint_dev *const *)left;
	const struct gt_lint_dev *b = *(struct gt_lint_dev *const *)right;
	int order = strcmp(a->key, b->key);

	return order ? order : (a > b) - (a < b);
}

int gt_lint_list(struct gt_lint_graph *g, const struct gt_xml_elem *root)
{
	struct gt_arena *arena = g->l->arena;

	g->pcis = gt_arena_array(arena, GT_LINT_MAX_DEVS, sizeof(*g->pcis));
	g->by_key = gt_arena_array(arena, GT_LINT_MAX_DEVS, sizeof(*g->by_key));
	g->nets = gt_arena_array(arena, GT_LINT_MAX_DEVS, sizeof(*g->nets));
	g->kinds = gt_arena_array(arena, GT_LINT_MAX_DEVS, sizeof(*g->kinds));
	g->l->failed |= !g->pcis || !g->by_key || !g->nets || !g->kinds;
	if (g->l->failed)
		return 0;
	gt_lint_list_below(g, root);
	if (!g->l->failed && g->npcis)
		qsort(g->by_key, g->npcis, sizeof(*g->by_key), gt_lint_by_key);
	return !g->l->failed;
}

const struct gt_lint_dev *gt_lint_find(const struct gt_lint_graph *g,
				       const char *key)
{
	uint32_t low = 0, high = g->npcis, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(g->by_key[mid]->key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < g->npcis && !strcmp(g->by_key[low]->key, key)
		       ? g->by_key[low]
		       : NULL;
}
