/*
 * Applies the rules that need several elements: ids that appear twice, links
 * narrower than others of the model have, switches slower than what is below
 * them, devices on no NUMA node.
 */
#include "topo/lint/linter.h"

#include <string.h>

#include "base/rat.h"
#include "base/xml.h"
#include "topo/lint/device.h"
#include "topo/lint/inventory.h"
#include "topo/lint/links.h"
#include "topo/lint/sisters.h"

/*
 * Tells of bus ids that appear twice.  Real files repeat a bridge beside
 * itself; anything else is a fault.
 */
static void gt_lint_bus_twice(struct gt_lint_graph *g)
{
	for (uint32_t i = 0; i < g->npcis; i++) {
		const struct gt_lint_dev *dev = &g->pcis[i];
		const struct gt_lint_dev *first = gt_lint_find(g, dev->key);

		if (first != dev && first && *dev->key)
			gt_linter_report_elem(
				g->l, GT_LINT_BUSID_TWICE_RULE, dev->elem,
				"busid", "busid '%s' again, first on line %u",
				dev->key, gt_xml_line(first->elem));
	}
}

static int gt_lint_is_nic(const struct gt_lint_dev *dev)
{
	return gt_xml_find(dev->elem, "nic") != NULL;
}

static int gt_lint_same_kind(const struct gt_lint_dev *a,
			     const struct gt_lint_dev *b)
{
	return a == b || (a->kind && a->kind == b->kind);
}

/*
 * Returns how many lanes, or NVLinks, most of a device's model have.  Dies of
 * AMD's cards differ in their links by design, half and half, so of those more
 * than half must have a number.
 */
static int gt_lint_usual(const struct gt_lint_graph *g,
			 const struct gt_lint_dev *like, int nvlinks)
{
	int best = 0;
	uint32_t most = 0, count, all = 0;

	for (uint32_t i = 0; i < g->npcis; i++) {
		const struct gt_lint_dev *dev = &g->pcis[i];
		int value = nvlinks ? dev->nvlinks : dev->lanes;

		if (!gt_lint_same_kind(dev, like))
			continue;
		all++;
		count = 0;
		for (uint32_t k = 0; k < g->npcis; k++)
			count += gt_lint_same_kind(&g->pcis[k], like) &&
				 (nvlinks ? g->pcis[k].nvlinks
					  : g->pcis[k].lanes) == value;
		if (count > most || (count == most && value > best)) {
			most = count;
			best = value;
		}
	}
	if (nvlinks && gt_lint_is_amd_gpu(like->elem) && 2 * most <= all)
		return 0;
	return best;
}

/*
 * Finds what most of each model have, once for each model, because files may
 * list thousands of one.
 */
static void gt_lint_usuals(struct gt_lint_graph *g)
{
	for (uint32_t i = 0; i < g->npcis; i++) {
		struct gt_lint_dev *dev = &g->pcis[i];
		uint32_t k = 0;

		while (!gt_lint_same_kind(&g->pcis[k], dev))
			k++;
		dev->usual_lanes = k < i ? g->pcis[k].usual_lanes
					 : gt_lint_usual(g, dev, 0);
		dev->usual_nvlinks = k < i ? g->pcis[k].usual_nvlinks
					   : gt_lint_usual(g, dev, 1);
	}
}

static void gt_lint_fewer(struct gt_lint_graph *g,
			  const struct gt_lint_dev *dev)
{
	int gpu = dev->gpu != NULL, usual = dev->usual_lanes;

	if (!gpu && !gt_lint_is_nic(dev))
		return;
	if (dev->lanes > 0 && dev->lanes < usual &&
	    (gpu || !dev->has_slow_link)) {
		gt_linter_report_elem(
			g->l,
			gpu ? GT_LINT_NARROW_GPU_RULE : GT_LINT_NARROW_NIC_RULE,
			dev->elem, "link_width",
			"%d lanes, where others of model %s have %d",
			dev->lanes, dev->kind, usual);
		gt_linter_remedy(g->l, "seat the card anew, look at the slot");
	}
	/* Where the file tells which links are down, that finding is enough. */
	usual = gpu && !gt_lint_nvlinks_down(dev->gpu) ? dev->usual_nvlinks : 0;
	if (dev->nvlinks < usual) {
		gt_linter_report_elem(
			g->l, GT_LINT_NVLINK_FEWER_RULE, dev->elem, NULL,
			"%d %ss, where others of model %s have %d",
			dev->nvlinks, gt_lint_link_word(dev), dev->kind, usual);
		gt_linter_remedy(g->l, gt_lint_is_amd_gpu(dev->elem)
					       ? "look at 'amd-smi xgmi'"
					       : "look at 'nvidia-smi nvlink "
						 "-s'");
	}
}

/* Returns whether two switches have alike devices below, at the same depth. */
static int gt_lint_same_switch(const struct gt_lint_dev *a,
			       const struct gt_lint_dev *b)
{
	return a->quickest && b->quickest && !gt_rat_cmp(a->down, b->down) &&
	       !strncmp(gt_xml_text(a->quickest, "class"),
			gt_xml_text(b->quickest, "class"), 6) &&
	       a->depth == b->depth;
}

/*
 * Returns whether at least as many other switches of its kind are not slower
 * than the devices below them.  Where fewer are, the machine was built so.
 */
static int gt_lint_is_odd_switch(const struct gt_lint_graph *g,
				 const struct gt_lint_dev *dev)
{
	uint32_t slow = 0, quick = 0;

	for (uint32_t i = 0; i < g->npcis; i++) {
		const struct gt_lint_dev *other = &g->pcis[i];

		if (!gt_lint_same_switch(other, dev))
			continue;
		slow += gt_rat_cmp(other->up, other->down) < 0;
		quick += gt_rat_cmp(other->up, other->down) >= 0;
	}
	return quick >= slow;
}

/* Tells of a switch whose own link carries less than that of a device below. */
static void gt_lint_switch(struct gt_lint_graph *g,
			   const struct gt_lint_dev *dev)
{
	const char *below;

	if (!dev->quickest || gt_rat_cmp(dev->up, dev->down) >= 0)
		return;
	below = gt_xml_text(dev->quickest, "busid");
	if (gt_lint_is_odd_switch(g, dev))
		gt_linter_report_elem(
			g->l, GT_LINT_NARROW_SWITCH_RULE, dev->elem,
			"link_speed",
			"the link up is slower than that of '%.32s' below, "
			"which those of other switches are not",
			below);
	else
		gt_linter_report_elem(
			g->l, GT_LINT_SLOW_SWITCHES_RULE, dev->elem,
			"link_speed",
			"the link up is slower than that of '%.32s' below, on "
			"every such switch",
			below);
}

/* Returns whether two ports may have the same id of this sort. */
static int gt_lint_may_share(const struct gt_lint_net *a,
			     const struct gt_lint_net *b, int sort)
{
	/* Ports and functions of a card share its guid. */
	if (sort == GT_LINT_NET_GUID)
		return !a->pci || !b->pci || !strncmp(a->card, b->card, 10);
	/* A device with several ports has one name. */
	return sort == GT_LINT_NET_NAME && a->pci == b->pci;
}

/* Tells of a port whose number, name or guid another one has, too. */
static void gt_lint_net_twice(struct gt_lint_graph *g, uint32_t i, int sort)
{
	static const struct {
		const char *attr;
		enum gt_lint_rule rule;
	} once[] = {
		[GT_LINT_NET_DEV] = {"dev", GT_LINT_NET_DEV_TWICE_RULE},
		[GT_LINT_NET_NAME] = {"name", GT_LINT_NET_NAME_TWICE_RULE},
		[GT_LINT_NET_GUID] = {"guid", GT_LINT_GUID_TWICE_RULE},
	};
	const struct gt_lint_net *net = &g->nets[i], *old;
	const char *id = net->ids[sort];

	for (uint32_t j = 0; j < i && *id; j++) {
		old = &g->nets[j];
		if (strcmp(id, old->ids[sort]) ||
		    gt_lint_may_share(net, old, sort))
			continue;
		gt_linter_report_elem(
			g->l, once[sort].rule, net->elem, once[sort].attr,
			"%s '%.64s' again, first on line %u", once[sort].attr,
			id, gt_xml_line(old->elem));
		return;
	}
}

static void gt_lint_rank_twice(struct gt_lint_graph *g, uint32_t i)
{
	const struct gt_lint_dev *dev = &g->pcis[i], *old;

	for (uint32_t j = 0; dev->rank && j < i; j++) {
		old = &g->pcis[j];
		if (!old->rank || strcmp(dev->rank, old->rank))
			continue;
		gt_linter_report_elem(g->l, GT_LINT_RANK_TWICE_RULE, dev->gpu,
				      "rank",
				      "rank '%.64s' again, first on line %u",
				      dev->rank, gt_xml_line(old->gpu));
		return;
	}
}

static void gt_lint_numa(struct gt_lint_graph *g,
			 const struct gt_xml_elem *system)
{
	const struct gt_xml_elem *cpu = gt_xml_find(system, "cpu"), *lost;
	uint32_t known = 0;

	for (lost = NULL; cpu; cpu = gt_xml_next(cpu)) {
		if (!gt_xml_is(cpu, "cpu"))
			continue;
		if (gt_lint_int(cpu, "numaid") < 0 && gt_xml_child(cpu))
			lost = cpu;
		else
			known++;
	}
	if (!lost || known < 2)
		return;
	gt_linter_report_elem(g->l, GT_LINT_NUMA_RULE, lost, "numaid",
			      "devices on no NUMA node, where there are %u",
			      known);
	gt_linter_remedy(g->l, "let the firmware say where its slots are");
}

void gt_lint_graph(struct gt_linter *l, const struct gt_xml *xml)
{
	struct gt_lint_graph g = {.l = l};
	const struct gt_xml_elem *root = gt_xml_root(xml);

	if (l->failed || !gt_xml_is(root, "system") || !gt_lint_list(&g, root))
		return;
	gt_lint_usuals(&g);
	gt_lint_bus_twice(&g);
	gt_lint_links(&g);
	gt_lint_sisters(&g);
	for (uint32_t i = 0; i < g.npcis; i++) {
		gt_lint_fewer(&g, &g.pcis[i]);
		gt_lint_switch(&g, &g.pcis[i]);
		gt_lint_rank_twice(&g, i);
	}
	for (uint32_t i = 0; i < g.nnets; i++)
		for (int sort = 0; sort < GT_LINT_NET_IDS; sort++)
			gt_lint_net_twice(&g, i, sort);
	gt_lint_numa(&g, root);
}
