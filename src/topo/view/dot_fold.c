/*
 * Folds network cards that are alike into one box, so that a machine with many
 * of them stays a picture that can be read.
 */
#include "topo/view/dot_layout.h"

#include "topo/probe/pci_ids.h"
#include "topo/view/show_text.h"
#include "topo/graph/topo.h"

/* Returns a card's only port, or GT_NONE when it has none or several. */
static uint32_t gt_fold_port(const struct gt_topo *topo, uint32_t card)
{
	uint32_t port = GT_NONE;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		if (gt_topo_node(topo, i)->up != card)
			continue;
		if (port != GT_NONE)
			return GT_NONE;
		port = i;
	}
	return port;
}

static int gt_fold_same_link(const struct gt_topo *topo, uint32_t a, uint32_t b)
{
	const struct gt_link *x = gt_show_uplink(topo, a);
	const struct gt_link *y = gt_show_uplink(topo, b);

	return x && y && !gt_rat_cmp(x->gbs, y->gbs);
}

static int gt_fold_alike(const struct gt_topo *topo, uint32_t a, uint32_t b)
{
	const struct gt_node *x = gt_topo_node(topo, a);
	const struct gt_node *y = gt_topo_node(topo, b);
	uint32_t one, other;
	struct gt_pci_rate rate;

	if (y->kind != GT_NODE_NIC || x->up != y->up || !x->pci || !y->pci ||
	    x->problem || y->problem || x->pci->vendor != y->pci->vendor ||
	    x->pci->device != y->pci->device ||
	    gt_pci_state(x, &rate) != gt_pci_state(y, &rate) ||
	    gt_pci_state(x, &rate) == GT_PCI_DEGRADED)
		return 0;
	one = gt_fold_port(topo, a);
	other = gt_fold_port(topo, b);
	return one != GT_NONE && other != GT_NONE &&
	       gt_fold_same_link(topo, a, b) &&
	       gt_fold_same_link(topo, one, other);
}

void gt_dot_fold(const struct gt_topo *topo, struct gt_dot_layout *layout)
{
	uint32_t n = gt_topo_nnodes(topo), alike;

	for (uint32_t i = 0; i < n; i++)
		layout->drawn_as[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_NIC ||
		    layout->drawn_as[i] != i)
			continue;
		alike = 1;
		for (uint32_t k = i + 1; k < n; k++)
			alike += gt_fold_alike(topo, i, k);
		for (uint32_t k = i + 1; k < n && alike >= GT_DOT_FOLD; k++)
			if (gt_fold_alike(topo, i, k))
				layout->drawn_as[k] = i;
	}
}
