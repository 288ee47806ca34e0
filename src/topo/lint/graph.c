/*
 * Applies the rules that need several elements: ids that appear twice, links
 * narrower than others of the model have, NVLinks that only one end lists,
 * devices on no NUMA node.
 */
#include "topo/lint/linter.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rat.h"
#include "base/xml.h"
#include "topo/xml/digest.h"
#include "topo/graph/model.h"

enum { GT_LINT_MAX_DEVS = 4096 };

/* A device is a <pci> element, or a <net>. */
struct gt_lint_dev {
	const struct gt_xml_elem *elem;
	const struct gt_xml_elem *pci; /* of a port: its card, or NULL */
	/* the normalized bus id; of a port NULL */
	const char *key;
	const char *kind; /* vendor and device, "0x10de:0x2330" */
	int lanes, nvlinks;
	/* the values that most of its model have */
	int usual_lanes, usual_nvlinks;
};

struct gt_lint_graph {
	struct gt_linter *l;
	struct gt_lint_dev *pcis, *nets;
	uint32_t npcis, nnets;
};

static void gt_lint_collect_pci(struct gt_lint_graph *g,
				const struct gt_xml_elem *elem)
{
	struct gt_lint_dev *dev = &g->pcis[g->npcis];
	const struct gt_xml_elem *gpu = gt_xml_find(elem, "gpu");
	const struct gt_xml_elem *link = gpu ? gt_xml_child(gpu) : NULL;
	const char *bus = gt_xml_text(elem, "busid");

	if (g->npcis == GT_LINT_MAX_DEVS)
		return;
	dev->elem = elem;
	dev->key = gt_bus_id_normalize_dup(g->l->arena, bus);
	dev->kind = gt_arena_printf(g->l->arena, "%s:%s",
				    gt_xml_text(elem, "vendor"),
				    gt_xml_text(elem, "device"));
	dev->lanes = atoi(gt_xml_text(elem, "link_width"));
	for (; link; link = gt_xml_next(link))
		if (gt_xml_is(link, "nvlink"))
			dev->nvlinks += atoi(gt_xml_text(link, "count"));
	g->l->failed |= !dev->key || !dev->kind;
	g->npcis++;
}

static void gt_lint_collect(struct gt_lint_graph *g,
			    const struct gt_xml_elem *up)
{
	const struct gt_xml_elem *elem = gt_xml_child(up), *card;

	for (; elem; elem = gt_xml_next(elem)) {
		if (gt_xml_is(elem, "pci")) {
			gt_lint_collect_pci(g, elem);
		} else if (gt_xml_is(elem, "net") &&
			   g->nnets < GT_LINT_MAX_DEVS) {
			card = gt_xml_parent(up);
			g->nets[g->nnets].elem = elem;
			g->nets[g->nnets++].pci =
				card && gt_xml_is(card, "pci") ? card : NULL;
		}
		gt_lint_collect(g, elem);
	}
}

static const struct gt_lint_dev *gt_lint_find(const struct gt_lint_graph *g,
					      const char *key)
{
	for (uint32_t i = 0; i < g->npcis; i++)
		if (!strcmp(g->pcis[i].key, key))
			return &g->pcis[i];
	return NULL;
}

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

static int gt_lint_is_gpu(const struct gt_lint_dev *dev)
{
	return gt_xml_find(dev->elem, "gpu") != NULL;
}

static int gt_lint_is_nic(const struct gt_lint_dev *dev)
{
	return gt_xml_find(dev->elem, "nic") != NULL;
}

/* Returns how many lanes, or NVLinks, most of a device's model have. */
static int gt_lint_usual(const struct gt_lint_graph *g,
			 const struct gt_lint_dev *like, int nvlinks)
{
	int best = 0;
	uint32_t most = 0, count;

	for (uint32_t i = 0; i < g->npcis; i++) {
		const struct gt_lint_dev *dev = &g->pcis[i];
		int value = nvlinks ? dev->nvlinks : dev->lanes;

		if (strcmp(dev->kind, like->kind))
			continue;
		count = 0;
		for (uint32_t k = 0; k < g->npcis; k++)
			count += !strcmp(g->pcis[k].kind, like->kind) &&
				 (nvlinks ? g->pcis[k].nvlinks
					  : g->pcis[k].lanes) == value;
		if (count > most || (count == most && value > best)) {
			most = count;
			best = value;
		}
	}
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

		while (strcmp(g->pcis[k].kind, dev->kind))
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
	int gpu = gt_lint_is_gpu(dev), usual = dev->usual_lanes;

	if (!gpu && !gt_lint_is_nic(dev))
		return;
	if (dev->lanes > 0 && dev->lanes < usual) {
		gt_linter_report_elem(
			g->l,
			gpu ? GT_LINT_NARROW_GPU_RULE : GT_LINT_NARROW_NIC_RULE,
			dev->elem, "link_width",
			"%d lanes, where others of model %s have %d",
			dev->lanes, dev->kind, usual);
		gt_linter_remedy(g->l, "seat the card anew, look at the slot");
	}
	/* Where the file tells which links are down, that finding is enough. */
	usual = gpu && !gt_lint_nvlinks_down(gt_xml_find(dev->elem, "gpu"))
			? dev->usual_nvlinks
			: 0;
	if (dev->nvlinks < usual) {
		gt_linter_report_elem(
			g->l, GT_LINT_NVLINK_FEWER_RULE, dev->elem, NULL,
			"GPU with %d NVLinks, where others of model %s "
			"have %d",
			dev->nvlinks, dev->kind, usual);
		gt_linter_remedy(g->l, "look at 'nvidia-smi nvlink -s'");
	}
}

static struct gt_rat gt_lint_rate(const struct gt_xml_elem *pci)
{
	struct gt_rat rate = GT_RAT(0, 1);
	int lanes = atoi(gt_xml_text(pci, "link_width"));

	gt_rat_mul(gt_model_gts(gt_xml_text(pci, "link_speed")),
		   GT_RAT(lanes > 0 ? lanes : 0, 1), &rate);
	return rate;
}

/*
 * Tells of a switch whose own link carries less, in GT/s times lanes, than that
 * of one device below it.  What had to be assumed of a link says nothing.
 */
static void gt_lint_switch(struct gt_lint_graph *g,
			   const struct gt_lint_dev *dev)
{
	struct gt_rat up = gt_lint_rate(dev->elem), down;
	const struct gt_xml_elem *below = gt_xml_child(dev->elem);

	if (strstr(gt_xml_text(dev->elem, "gt_assumed"), "link_"))
		return;
	for (; below && up.num; below = gt_xml_next(below)) {
		if (!gt_xml_is(below, "pci"))
			continue;
		down = gt_lint_rate(below);
		if (gt_rat_cmp(up, down) >= 0)
			continue;
		gt_linter_report_elem(
			g->l, GT_LINT_NARROW_SWITCH_RULE, dev->elem,
			"link_speed",
			"the link up is slower than that of '%.32s' "
			"below",
			gt_xml_text(below, "busid"));
		return;
	}
}

static int gt_lint_links(const struct gt_lint_graph *g,
			 const struct gt_lint_dev *from, const char *to)
{
	const struct gt_xml_elem *gpu = gt_xml_find(from->elem, "gpu");
	const struct gt_xml_elem *link = gpu ? gt_xml_child(gpu) : NULL;
	const char *target;
	int count = 0;

	for (; link; link = gt_xml_next(link)) {
		target = gt_bus_id_normalize_dup(g->l->arena,
						 gt_xml_text(link, "target"));
		if (gt_xml_is(link, "nvlink") && target && !strcmp(target, to))
			count += atoi(gt_xml_text(link, "count"));
	}
	return count;
}

/* Compares an NVLink to another GPU with what that one says. */
static void gt_lint_peer(struct gt_lint_graph *g, const struct gt_lint_dev *dev,
			 const struct gt_lint_dev *peer,
			 const struct gt_xml_elem *link)
{
	int there = gt_lint_links(g, dev, peer->key);
	int back = gt_lint_links(g, peer, dev->key);

	if (peer == dev)
		gt_linter_report_elem(g->l, GT_LINT_NVLINK_SELF_RULE, link,
				      "target", "an NVLink to the GPU itself");
	else if (!back)
		gt_linter_report_elem(g->l, GT_LINT_NVLINK_ONE_SIDED_RULE, link,
				      "target", "'%s' has no NVLink back",
				      peer->key);
	else if (there > back)
		gt_linter_report_elem(g->l, GT_LINT_NVLINK_COUNT_RULE, link,
				      "count",
				      "%d NVLinks to '%s', which has %d back",
				      there, peer->key, back);
}

static void gt_lint_nvlink(struct gt_lint_graph *g,
			   const struct gt_lint_dev *dev,
			   const struct gt_xml_elem *link)
{
	const char *text = gt_xml_text(link, "target");
	const char *target = gt_bus_id_normalize_dup(g->l->arena, text);
	const char *tclass = gt_xml_text(link, "tclass");
	const struct gt_lint_dev *peer;

	if (!target || !gt_xml_attr(link, "target"))
		return;
	if (atoi(gt_xml_text(link, "count")) <= 0) {
		gt_linter_report_elem(g->l, GT_LINT_NVLINK_COUNT_RULE, link,
				      "count", "count '%.64s' of NVLinks",
				      gt_xml_text(link, "count"));
		return;
	}
	peer = gt_lint_find(g, target);
	if (peer && gt_lint_is_gpu(peer))
		gt_lint_peer(g, dev, peer, link);
	else if (strncmp(target, "fffffff", 7) && strncmp(tclass, "0x06800", 7))
		gt_linter_report_elem(
			g->l, GT_LINT_NVLINK_NOWHERE_RULE, link, "target",
			"target '%.64s' is no GPU of this file", text);
}

/* Tells of a port whose number, name or guid another one has, too. */
static void gt_lint_net_twice(struct gt_lint_graph *g, uint32_t i)
{
	static const struct {
		const char *attr;
		enum gt_lint_rule rule;
	} once[] = {{"dev", GT_LINT_NET_DEV_TWICE_RULE},
		    {"name", GT_LINT_NET_NAME_TWICE_RULE},
		    {"guid", GT_LINT_GUID_TWICE_RULE}};
	const struct gt_lint_dev *net = &g->nets[i];

	for (int k = 0; k < 3; k++)
		for (uint32_t j = 0; j < i; j++) {
			const struct gt_lint_dev *old = &g->nets[j];
			const char *a = gt_xml_attr(net->elem, once[k].attr);
			const char *b = gt_xml_attr(old->elem, once[k].attr);

			if (!a || !b || !*a || strcmp(a, b))
				continue;
			/* Ports and functions of a card share its guid. */
			if (k == 2 &&
			    (!net->pci || !old->pci ||
			     !strncmp(gt_xml_text(net->pci, "busid"),
				      gt_xml_text(old->pci, "busid"), 10)))
				continue;
			/* A device with several ports has one name. */
			if (k == 1 && net->pci == old->pci)
				continue;
			gt_linter_report_elem(
				g->l, once[k].rule, net->elem, once[k].attr,
				"%s '%.64s' again, first on line %u",
				once[k].attr, a, gt_xml_line(old->elem));
			break;
		}
}

static void gt_lint_rank_twice(struct gt_lint_graph *g, uint32_t i)
{
	const struct gt_xml_elem *gpu = gt_xml_find(g->pcis[i].elem, "gpu");
	const char *rank = gpu ? gt_xml_attr(gpu, "rank") : NULL, *other;

	for (uint32_t j = 0; rank && j < i; j++) {
		const struct gt_xml_elem *old =
			gt_xml_find(g->pcis[j].elem, "gpu");

		other = old ? gt_xml_attr(old, "rank") : NULL;
		if (!other || strcmp(rank, other))
			continue;
		gt_linter_report_elem(g->l, GT_LINT_RANK_TWICE_RULE, gpu,
				      "rank",
				      "rank '%.64s' again, first on line %u",
				      rank, gt_xml_line(old));
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
		if (atoi(gt_xml_text(cpu, "numaid")) < 0 && gt_xml_child(cpu))
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

static void gt_lint_pcis(struct gt_lint_graph *g)
{
	for (uint32_t i = 0; i < g->npcis; i++) {
		const struct gt_lint_dev *dev = &g->pcis[i];
		const struct gt_xml_elem *gpu = gt_xml_find(dev->elem, "gpu");
		const struct gt_xml_elem *link = gpu ? gt_xml_child(gpu) : NULL;

		gt_lint_fewer(g, dev);
		gt_lint_switch(g, dev);
		gt_lint_rank_twice(g, i);
		for (; link; link = gt_xml_next(link))
			if (gt_xml_is(link, "nvlink"))
				gt_lint_nvlink(g, dev, link);
	}
}

void gt_lint_graph(struct gt_linter *l, const struct gt_xml *xml)
{
	struct gt_lint_graph g = {.l = l};
	const struct gt_xml_elem *root = gt_xml_root(xml);

	g.pcis = gt_arena_array(l->arena, GT_LINT_MAX_DEVS, sizeof(*g.pcis));
	g.nets = gt_arena_array(l->arena, GT_LINT_MAX_DEVS, sizeof(*g.nets));
	l->failed |= !g.pcis || !g.nets;
	if (l->failed || !gt_xml_is(root, "system"))
		return;
	gt_lint_collect(&g, root);
	if (l->failed)
		return;
	gt_lint_usuals(&g);
	gt_lint_bus_twice(&g);
	gt_lint_pcis(&g);
	for (uint32_t i = 0; i < g.nnets; i++)
		gt_lint_net_twice(&g, i);
	gt_lint_numa(&g, root);
}
