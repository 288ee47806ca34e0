/*
 * Names PCI devices, and judges how their links run: what is to be said to
 * people of the link above a function.
 */
#include "topo/probe/pci_ids.h"

#include <string.h>

#include "topo/graph/model.h"

static const struct gt_rat gt_pci_gts[] = {{5, 2},  {5, 1},  {8, 1},
					   {16, 1}, {32, 1}, {64, 1}};

int gt_pci_generation(struct gt_rat gts)
{
	for (size_t i = 0; i < sizeof(gt_pci_gts) / sizeof(gt_pci_gts[0]); i++)
		if (!gt_rat_cmp(gts, gt_pci_gts[i]))
			return (int)i + 1;
	return 0;
}

struct gt_rat gt_pci_gbs(struct gt_pci_rate rate)
{
	/*
	 * GB/s of a lane by generation: GT/s less the line code, see
	 * topo/graph/model.c.
	 */
	static const struct gt_rat lane[] = {{0, 1},   {1, 4},    {1, 2},
					     {64, 65}, {128, 65}, {256, 65},
					     {121, 16}};
	struct gt_rat gbs = GT_RAT(0, 1);

	gt_rat_mul(lane[gt_pci_generation(rate.gts)], GT_RAT(rate.width, 1),
		   &gbs);
	return gbs;
}

/* Returns the lesser of two ends; what is unknown of one does not limit. */
static struct gt_pci_rate gt_pci_lesser(struct gt_pci_rate a,
					struct gt_pci_rate b)
{
	if (!a.gts.num || (b.gts.num && gt_rat_cmp(b.gts, a.gts) < 0))
		a.gts = b.gts;
	if (!a.width || (b.width && b.width < a.width))
		a.width = b.width;
	return a;
}

static int gt_pci_slower(struct gt_pci_rate a, struct gt_pci_rate b)
{
	return a.gts.num && b.gts.num && gt_rat_cmp(a.gts, b.gts) < 0;
}

static int gt_pci_narrower(struct gt_pci_rate a, struct gt_pci_rate b)
{
	return a.width && b.width && a.width < b.width;
}

enum gt_pci_state gt_pci_state(const struct gt_node *node,
			       struct gt_pci_rate *other)
{
	const struct gt_pci *pci = node->pci;
	struct gt_pci_rate now, could;
	int slower;

	if (!pci)
		return GT_PCI_FINE;
	now = gt_pci_lesser(pci->cur, pci->port_cur);
	could = gt_pci_lesser(pci->max, pci->port_max);
	slower = gt_pci_slower(now, could);
	*other = now;
	if (node->kind == GT_NODE_GPU && gt_pci_narrower(now, could))
		other->gts = could.gts; /* it would not be that slow at work */
	if (gt_pci_narrower(now, could) ||
	    (slower && node->kind != GT_NODE_GPU))
		return GT_PCI_DEGRADED;
	if (gt_pci_slower(pci->port_max, pci->max) ||
	    gt_pci_narrower(pci->port_max, pci->max)) {
		*other = pci->max;
		return GT_PCI_LIMITED;
	}
	if (slower)
		return GT_PCI_IDLE;
	if ((pci->assumed && strstr(pci->assumed, "link_")) ||
	    !pci->link.gts.num || !pci->link.width)
		return GT_PCI_ASSUMED;
	return GT_PCI_FINE;
}

const char *gt_pci_name(const struct gt_pci *pci)
{
	static const struct {
		int vendor, device;
		const char *name;
	} table[] = {
		{0x10de, 0x15f9, "P100 SXM2"},
		{0x10de, 0x1db1, "V100 SXM2 16GB"},
		{0x10de, 0x1db4, "V100 PCIe 16GB"},
		{0x10de, 0x1db5, "V100 SXM2 32GB"},
		{0x10de, 0x1db8, "V100 SXM3 32GB"},
		{0x10de, 0x1eb8, "T4"},
		{0x10de, 0x20b0, "A100 SXM4 40GB"},
		{0x10de, 0x20b2, "A100 SXM4 80GB"},
		{0x10de, 0x20b5, "A100 PCIe 80GB"},
		{0x10de, 0x20f1, "A100 PCIe 40GB"},
		{0x10de, 0x2204, "GeForce RTX 3090"},
		{0x10de, 0x2230, "RTX A6000"},
		{0x10de, 0x2235, "A40"},
		{0x10de, 0x2236, "A10"},
		{0x10de, 0x2237, "A10G"},
		{0x10de, 0x2330, "H100 SXM5 80GB"},
		{0x10de, 0x2331, "H100 PCIe"},
		{0x10de, 0x2335, "H200 SXM"},
		{0x10de, 0x2684, "GeForce RTX 4090"},
		{0x10de, 0x26b1, "RTX 6000 Ada"},
		{0x10de, 0x26b5, "L40"},
		{0x10de, 0x26b9, "L40S"},
		{0x10de, 0x27b8, "L4"},
		{0x10de, 0x2901, "B200"},
		{0x10de, 0x2941, "GB200"},
		{0x10de, 0x2b85, "GeForce RTX 5090"},
		{0x1002, 0x738c, "MI100"},
		{0x1002, 0x7408, "MI250X"},
		{0x1002, 0x740c, "MI250X"},
		{0x1002, 0x740f, "MI210"},
		{0x1002, 0x74a1, "MI300X"},
		{0x8086, 0x1563, "X550"},
		{0x15b3, 0x1013, "ConnectX-4"},
		{0x15b3, 0x1015, "ConnectX-4 Lx"},
		{0x15b3, 0x1017, "ConnectX-5"},
		{0x15b3, 0x1019, "ConnectX-5 Ex"},
		{0x15b3, 0x101b, "ConnectX-6"},
		{0x15b3, 0x101d, "ConnectX-6 Dx"},
		{0x15b3, 0x1021, "ConnectX-7"},
		{0x15b3, 0x1023, "ConnectX-8"},
		{0x15b3, 0xa2d6, "BlueField-2"},
		{0x15b3, 0xa2dc, "BlueField-3"},
		{0x1000, 0xc010, "PEX880xx"},
		{0x1000, 0xc030, "PEX890xx"},
		{0x10b5, 0x8747, "PEX 8747"},
		{0x10b5, 0x8796, "PEX 8796"},
		{0x10b5, 0x9797, "PEX 9797"},
		{0x17db, 0x0501, "Slingshot 11"},
		{0x1af4, 0x1041, "virtio"},
		{0x1d0f, 0xefa0, "EFA"},
		{0x1d0f, 0xefa1, "EFA"},
		{0x1d0f, 0xefa2, "EFA"},
	};

	for (size_t i = 0; pci && i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].vendor == pci->vendor &&
		    table[i].device == pci->device)
			return table[i].name;
	return NULL;
}
