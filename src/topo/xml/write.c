/*
 * Writes topology XML: the host, NUMA nodes and the PCI tree of a machine that
 * was probed or made up.
 */
#include "topo/xml/write.h"

#include <string.h>

#include <libxml/tree.h>
#include <libxml/xmlsave.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/xml/out.h"

/*
 * Writes link_speed and link_width, what they were made of, and what is
 * assumed.
 */
static void gt_xml_pci_link(struct gt_xml_out *out, xmlNodePtr node,
			    const struct gt_machine_pci *pci)
{
	const struct gt_machine_link none = {0, 0};
	const char *speed_from, *width_from;
	struct gt_machine_link link =
		gt_machine_link(pci, &speed_from, &width_from);
	struct gt_machine_link max = pci->max, cur = pci->cur;
	struct gt_buf assumed = GT_BUF_INIT;

	if (!memcmp(&max, &none, sizeof(none)) && pci->gpu)
		max = pci->gpu->max;
	if (!memcmp(&cur, &none, sizeof(none)) && pci->gpu)
		cur = pci->gpu->cur;
	gt_xml_out_attr(out, node, "link_speed", "%.1f GT/s PCIe",
			link.speed_mts / 1000.);
	gt_xml_out_attr(out, node, "link_width", "%d", link.width);
	gt_xml_out_link(out, node, "gt_max", max);
	gt_xml_out_link(out, node, "gt_cur", cur);
	gt_xml_out_link(out, node, "gt_port_max", pci->port_max);
	gt_xml_out_link(out, node, "gt_port_cur", pci->port_cur);
	if (pci->class_from)
		gt_buf_printf(&assumed, " class:%s", pci->class_from);
	if (speed_from)
		gt_buf_printf(&assumed, " link_speed:%s", speed_from);
	if (width_from)
		gt_buf_printf(&assumed, " link_width:%s", width_from);
	/* There is room for one of them: NCCL takes 16 attributes. */
	if (assumed.len)
		gt_xml_out_text(out, node, "gt_assumed",
				gt_buf_text(&assumed) + 1);
	else
		gt_xml_out_text(out, node, "gt_slot", pci->slot);
	out->failed |= assumed.failed;
	gt_buf_release(&assumed);
}

static void gt_xml_pci(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_pci *pci)
{
	xmlNodePtr node = gt_xml_out_add(out, parent, "pci");

	gt_xml_out_text(out, node, "busid", pci->busid);
	gt_xml_out_text(out, node, "class", pci->class_id);
	gt_xml_out_text(out, node, "vendor", pci->vendor);
	gt_xml_out_text(out, node, "device", pci->device);
	gt_xml_out_text(out, node, "subsystem_vendor", pci->subsystem_vendor);
	gt_xml_out_text(out, node, "subsystem_device", pci->subsystem_device);
	gt_xml_pci_link(out, node, pci);
	if (pci->driver)
		gt_xml_out_attr(out, node, "gt_driver", "%s%s%s", pci->driver,
				pci->driver_version ? " " : "",
				pci->driver_version ? pci->driver_version : "");
	if (pci->port_acs != GT_UNKNOWN)
		gt_xml_out_attr(out, node, "gt_port_acs", "0x%04x",
				(unsigned)pci->port_acs);
	if (pci->gpu)
		gt_xml_out_gpu(out, node, pci->gpu);
	if (pci->nets || pci->is_card)
		gt_xml_out_nic(out, node, pci->nets);
	for (struct gt_machine_pci *p = out->machine->pcis; p; p = p->next)
		if (p->parent == pci)
			gt_xml_pci(out, node, p);
}

/*
 * Returns the family as NCCL counts it: those above 15 are in two parts, which
 * NCCL joins in its own way.
 */
static int gt_xml_familyid(int family)
{
	return family > 15 ? 15 + ((family - 15) << 4) : family;
}

static void gt_xml_cpu(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_cpu *cpu)
{
	xmlNodePtr node = gt_xml_out_add(out, parent, "cpu");

	gt_xml_out_attr(out, node, "numaid", "%d", cpu->numa);
	gt_xml_out_list(out, node, "affinity", cpu->affinity);
	gt_xml_out_text(out, node, "arch", cpu->arch);
	gt_xml_out_text(out, node, "vendor", cpu->vendor);
	gt_xml_out_int(out, node, "familyid", gt_xml_familyid(cpu->family),
		       GT_UNKNOWN);
	gt_xml_out_int(out, node, "modelid", cpu->model, GT_UNKNOWN);
	gt_xml_out_text(out, node, "gt_name", cpu->name);
	if (cpu->memory_mbs > 0)
		gt_xml_out_attr(out, node, "gt_memory_gbs", "%.10g",
				cpu->memory_mbs / 1e3);
	if (cpu->memory_mbs > 0 && cpu->memory_from)
		gt_xml_out_attr(out, node, "gt_assumed", "gt_memory_gbs:%s",
				cpu->memory_from);
	for (struct gt_machine_pci *p = out->machine->pcis; p; p = p->next)
		if (!p->parent && p->numa == cpu->numa)
			gt_xml_pci(out, node, p);
	if (cpu->nets)
		gt_xml_out_nic(out, node, cpu->nets);
}

/* Writes an element of gtopo's own about the host, which NCCL skips. */
static void gt_xml_host(struct gt_xml_out *out, xmlNodePtr root)
{
	const struct gt_machine_host *host = &out->machine->host;
	xmlNodePtr node;

	if (!host->vm && !host->container && !host->iommu && !host->nvswitch &&
	    !host->peermem && !host->cuda && host->dmabuf == GT_UNKNOWN)
		return;
	node = gt_xml_out_add(out, root, "gt_machine");
	gt_xml_out_text(out, node, "vm", host->vm);
	gt_xml_out_text(out, node, "container", host->container);
	gt_xml_out_text(out, node, "iommu", host->iommu);
	gt_xml_out_text(out, node, "cuda", host->cuda);
	gt_xml_out_text(out, node, "nvswitch", host->nvswitch);
	gt_xml_out_text(out, node, "peermem", host->peermem);
	gt_xml_out_int(out, node, "dmabuf", host->dmabuf, GT_UNKNOWN);
	if (host->dmabuf != GT_UNKNOWN)
		gt_xml_out_attr(out, node, "gt_assumed", "dmabuf:%s",
				host->dmabuf_from);
}

int gt_xml_save(xmlDocPtr doc, struct gt_buf *out)
{
	xmlBufferPtr text = xmlBufferCreate();
	xmlSaveCtxtPtr save;
	int bad = 1;

	if (!text)
		return 1;
	save = xmlSaveToBuffer(text, "UTF-8",
			       XML_SAVE_NO_DECL | XML_SAVE_FORMAT);
	if (save) {
		bad = xmlSaveDoc(save, doc) < 0;
		bad |= xmlSaveClose(save) < 0;
	}
	if (!bad)
		gt_buf_add(out, xmlBufferContent(text),
			   (size_t)xmlBufferLength(text));
	xmlBufferFree(text);
	return bad || out->failed;
}

int gt_xml_write(const struct gt_machine *machine, struct gt_buf *out,
		 int *nelements, struct gt_err *err)
{
	struct gt_xml_out state = {machine, 0, 0};
	xmlDocPtr doc = xmlNewDoc(gt_xml_out_str("1.0"));
	xmlNodePtr root;

	if (!doc)
		return gt_err_nomem(err);
	root = gt_xml_out_add(&state, NULL, "system");
	if (root)
		xmlDocSetRootElement(doc, root);
	gt_xml_out_attr(&state, root, "version", "1");
	gt_xml_host(&state, root);
	for (struct gt_machine_cpu *c = machine->cpus; c; c = c->next)
		gt_xml_cpu(&state, root, c);
	if (state.failed || gt_xml_save(doc, out)) {
		xmlFreeDoc(doc);
		return gt_err_nomem(err);
	}
	if (nelements)
		*nelements = state.nelements;
	xmlFreeDoc(doc);
	return GT_OK;
}
