/*
 * Names the device of a finding: the GPU or port itself, else what hangs at the
 * PCI function that the element is or is below of.
 */
#include "topo/lint/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xml.h"

enum { GT_LINT_INT_MAX = 1000000 };

static int gt_lint_clamp(long value)
{
	if (value > GT_LINT_INT_MAX)
		return GT_LINT_INT_MAX;
	return value < -GT_LINT_INT_MAX ? -GT_LINT_INT_MAX : (int)value;
}

int gt_lint_int(const struct gt_xml_elem *elem, const char *attr)
{
	return gt_lint_clamp(strtol(gt_xml_text(elem, attr), NULL, 10));
}

int gt_lint_add(int a, int b)
{
	return gt_lint_clamp((long)a + b);
}

int gt_lint_has_gpu_class(const struct gt_xml_elem *pci)
{
	const char *class = gt_xml_text(pci, "class");

	return !strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4);
}

int gt_lint_is_amd_gpu(const struct gt_xml_elem *pci)
{
	const struct gt_xml_elem *gpu = gt_xml_find(pci, "gpu");

	return (gpu && gt_xml_attr(gpu, "gcn")) ||
	       (!strcmp(gt_xml_text(pci, "vendor"), "0x1002") &&
		gt_lint_has_gpu_class(pci));
}

int gt_lint_is_link(const struct gt_xml_elem *elem)
{
	return gt_xml_is(elem, "nvlink") || gt_xml_is(elem, "xgmi");
}

static void gt_lint_word(char word[GT_LINT_WORD_MAX], const char *before,
			 const char *text)
{
	snprintf(word, GT_LINT_WORD_MAX, "%s%s", before, text);
}

static void gt_lint_name_gpu(char word[GT_LINT_WORD_MAX],
			     const struct gt_xml_elem *gpu)
{
	gt_lint_word(word, "GPU", gt_xml_text(gpu, "dev"));
}

static void gt_lint_name_nic(char word[GT_LINT_WORD_MAX],
			     const struct gt_xml_elem *nic)
{
	const struct gt_xml_elem *net = gt_xml_find(nic, "net");
	const char *name = gt_xml_text(net, "name");

	gt_lint_word(word, "", *name ? name : "NIC");
}

static void gt_lint_name_pci(char word[GT_LINT_WORD_MAX],
			     const struct gt_xml_elem *pci)
{
	const struct gt_xml_elem *gpu = gt_xml_find(pci, "gpu");
	const struct gt_xml_elem *nic = gt_xml_find(pci, "nic");

	if (gpu)
		gt_lint_name_gpu(word, gpu);
	else if (nic)
		gt_lint_name_nic(word, nic);
	else if (gt_lint_has_gpu_class(pci))
		gt_lint_word(word, "", "GPU");
	else if (gt_xml_find(pci, "pci"))
		gt_lint_word(word, "", "switch");
}

/* Names what the element itself is, if it is a device. */
static void gt_lint_name(char word[GT_LINT_WORD_MAX],
			 const struct gt_xml_elem *elem)
{
	if (gt_xml_is(elem, "pci"))
		gt_lint_name_pci(word, elem);
	else if (gt_xml_is(elem, "gpu"))
		gt_lint_name_gpu(word, elem);
	else if (gt_xml_is(elem, "nic"))
		gt_lint_name_nic(word, elem);
	else if (gt_xml_is(elem, "net"))
		gt_lint_word(word, "", gt_xml_text(elem, "name"));
	else if (gt_xml_is(elem, "cpu") && gt_lint_int(elem, "numaid") >= 0)
		gt_lint_word(word, "NUMA node ", gt_xml_text(elem, "numaid"));
}

void gt_lint_device(const struct gt_xml_elem *elem,
		    struct gt_lint_device *device)
{
	memset(device, 0, sizeof(*device));
	for (; elem; elem = gt_xml_parent(elem)) {
		if (!*device->name && !*device->bus_id)
			gt_lint_name(device->name, elem);
		if (!gt_xml_is(elem, "pci"))
			continue;
		if (!*device->bus_id)
			gt_lint_word(device->bus_id, "",
				     gt_xml_text(elem, "busid"));
		/* A card with a switch of its own has the slot above that. */
		if (!*device->slot)
			gt_lint_word(device->slot, "",
				     gt_xml_text(elem, "gt_slot"));
	}
}
