#include "topo/xml_write.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <libxml/tree.h>
#include <libxml/xmlsave.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/machine.h"

enum {
	GT_XML_VALUE_MAX = 253, /* NCCL dies of longer ones */
};

/* One document being made; memory that runs out is remembered. */
struct gt_xml_out {
	const struct gt_machine *machine;
	int nelements;
	int failed;
};

static const xmlChar *gt_xml_str(const char *text)
{
	return (const xmlChar *)text;
}

static xmlNodePtr gt_xml_add(struct gt_xml_out *out, xmlNodePtr parent,
			     const char *name)
{
	xmlNodePtr node =
		parent ? xmlNewChild(parent, NULL, gt_xml_str(name), NULL)
		       : xmlNewNode(NULL, gt_xml_str(name));

	out->nelements++;
	if (!node)
		out->failed = 1;
	return node;
}

/* What NCCL would not decode, or not survive, becomes '?'. */
static void gt_xml_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || strchr("<>&\"'", *text))
			*text = '?';
}

static void gt_xml_attr(struct gt_xml_out *out, xmlNodePtr node,
			const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void gt_xml_attr(struct gt_xml_out *out, xmlNodePtr node,
			const char *name, const char *fmt, ...)
{
	char text[GT_XML_VALUE_MAX + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_xml_clean(text);
	if (node && !xmlNewProp(node, gt_xml_str(name), gt_xml_str(text)))
		out->failed = 1;
}

static void gt_xml_text(struct gt_xml_out *out, xmlNodePtr node,
			const char *name, const char *text)
{
	if (text)
		gt_xml_attr(out, node, name, "%s", text);
}

static void gt_xml_int(struct gt_xml_out *out, xmlNodePtr node,
		       const char *name, int value, int unknown)
{
	if (value != unknown)
		gt_xml_attr(out, node, name, "%d", value);
}

/* "32.0 GT/s x16", or the half of it that is known. */
static void gt_xml_link(struct gt_xml_out *out, xmlNodePtr node,
			const char *name, struct gt_machine_link link)
{
	char speed[32] = "", width[16] = "";

	if (link.speed_mts)
		snprintf(speed, sizeof(speed), "%.1f GT/s",
			 link.speed_mts / 1000.);
	if (link.width)
		snprintf(width, sizeof(width), "x%d", link.width);
	if (speed[0] || width[0])
		gt_xml_attr(out, node, name, "%s%s%s", speed,
			    speed[0] && width[0] ? " " : "", width);
}

static void gt_xml_net(struct gt_xml_out *out, xmlNodePtr nic,
		       const struct gt_machine_net *net)
{
	xmlNodePtr node = gt_xml_add(out, nic, "net");

	gt_xml_text(out, node, "name", net->name);
	gt_xml_int(out, node, "dev", net->dev, GT_UNKNOWN);
	gt_xml_int(out, node, "speed", net->speed_mbps, 0);
	gt_xml_int(out, node, "port", net->port, GT_UNKNOWN);
	if (net->guid)
		gt_xml_attr(out, node, "guid", "0x%016" PRIx64, net->guid);
	gt_xml_int(out, node, "maxconn", net->maxconn, 0);
	gt_xml_int(out, node, "gdr", net->gdr, GT_UNKNOWN);
}

/* NCCL fills the slots of a net itself, so what is ours stands at the nic. */
static void gt_xml_nic(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_net *nets)
{
	struct gt_buf netdevs = GT_BUF_INIT;
	xmlNodePtr nic;

	if (!nets)
		return;
	nic = gt_xml_add(out, parent, "nic");
	for (const struct gt_machine_net *n = nets; n; n = n->next)
		if (n->netdev)
			gt_buf_printf(&netdevs, "%s%s", netdevs.len ? " " : "",
				      n->netdev);
	if (netdevs.len)
		gt_xml_text(out, nic, "gt_netdev", gt_buf_text(&netdevs));
	gt_buf_release(&netdevs);
	for (const struct gt_machine_net *n = nets; n; n = n->next)
		gt_xml_net(out, nic, n);
}

static void gt_xml_gpu(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_gpu *gpu)
{
	xmlNodePtr node = gt_xml_add(out, parent, "gpu"), sub;

	gt_xml_attr(out, node, "dev", "%d", gpu->dev);
	gt_xml_attr(out, node, "sm", "%d", gpu->sm);
	gt_xml_attr(out, node, "rank", "%d", gpu->rank);
	gt_xml_int(out, node, "gdr", gpu->gdr, GT_UNKNOWN);
	gt_xml_text(out, node, "gt_name", gpu->name);
	for (struct gt_machine_nvlink *l = gpu->nvlinks; l; l = l->next) {
		sub = gt_xml_add(out, node, "nvlink");
		gt_xml_text(out, sub, "target", l->target);
		gt_xml_attr(out, sub, "count", "%d", l->count);
		gt_xml_attr(out, sub, "tclass", "0x%06x", l->tclass);
		gt_xml_int(out, sub, "gt_line_mbs", l->line_mbs, 0);
	}
	if (gpu->c2c_count) {
		sub = gt_xml_add(out, node, "c2c");
		gt_xml_attr(out, sub, "bw", "%d", gpu->c2c_mbs);
		gt_xml_attr(out, sub, "count", "%d", gpu->c2c_count);
	}
}

/* link_speed, link_width, what they were made of, and what is assumed. */
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
	gt_xml_attr(out, node, "link_speed", "%.1f GT/s PCIe",
		    link.speed_mts / 1000.);
	gt_xml_attr(out, node, "link_width", "%d", link.width);
	gt_xml_link(out, node, "gt_max", max);
	gt_xml_link(out, node, "gt_cur", cur);
	gt_xml_link(out, node, "gt_port_max", pci->port_max);
	gt_xml_link(out, node, "gt_port_cur", pci->port_cur);
	if (pci->class_from)
		gt_buf_printf(&assumed, " class:%s", pci->class_from);
	if (speed_from)
		gt_buf_printf(&assumed, " link_speed:%s", speed_from);
	if (width_from)
		gt_buf_printf(&assumed, " link_width:%s", width_from);
	if (assumed.len)
		gt_xml_text(out, node, "gt_assumed", gt_buf_text(&assumed) + 1);
	gt_buf_release(&assumed);
}

static void gt_xml_pci(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_pci *pci)
{
	xmlNodePtr node = gt_xml_add(out, parent, "pci");

	gt_xml_text(out, node, "busid", pci->busid);
	gt_xml_text(out, node, "class", pci->class_id);
	gt_xml_text(out, node, "vendor", pci->vendor);
	gt_xml_text(out, node, "device", pci->device);
	gt_xml_text(out, node, "subsystem_vendor", pci->subsystem_vendor);
	gt_xml_text(out, node, "subsystem_device", pci->subsystem_device);
	gt_xml_pci_link(out, node, pci);
	gt_xml_text(out, node, "gt_driver", pci->driver);
	if (pci->gpu)
		gt_xml_gpu(out, node, pci->gpu);
	gt_xml_nic(out, node, pci->nets);
	for (struct gt_machine_pci *p = out->machine->pcis; p; p = p->next)
		if (p->parent == pci)
			gt_xml_pci(out, node, p);
}

/* Families above 15 are in two parts, which NCCL joins in its own way. */
static int gt_xml_familyid(int family)
{
	return family > 15 ? 15 + ((family - 15) << 4) : family;
}

static void gt_xml_cpu(struct gt_xml_out *out, xmlNodePtr parent,
		       const struct gt_machine_cpu *cpu)
{
	xmlNodePtr node = gt_xml_add(out, parent, "cpu");

	gt_xml_attr(out, node, "numaid", "%d", cpu->numa);
	if (cpu->affinity && strlen(cpu->affinity) <= GT_XML_VALUE_MAX)
		gt_xml_text(out, node, "affinity", cpu->affinity);
	gt_xml_text(out, node, "arch", cpu->arch);
	gt_xml_text(out, node, "vendor", cpu->vendor);
	gt_xml_int(out, node, "familyid", gt_xml_familyid(cpu->family),
		   GT_UNKNOWN);
	gt_xml_int(out, node, "modelid", cpu->model, GT_UNKNOWN);
	gt_xml_text(out, node, "gt_name", cpu->name);
	for (struct gt_machine_pci *p = out->machine->pcis; p; p = p->next)
		if (!p->parent && p->numa == cpu->numa)
			gt_xml_pci(out, node, p);
	gt_xml_nic(out, node, cpu->nets);
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
	xmlDocPtr doc = xmlNewDoc(gt_xml_str("1.0"));
	xmlNodePtr root;

	if (!doc)
		return gt_err_nomem(err);
	root = gt_xml_add(&state, NULL, "system");
	if (root)
		xmlDocSetRootElement(doc, root);
	gt_xml_attr(&state, root, "version", "1");
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
