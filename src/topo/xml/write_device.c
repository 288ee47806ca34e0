/*
 * Writes the elements of devices: GPUs with their NVLinks, cards with their
 * ports.
 */
#include "topo/xml/out.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "topo/probe/machine.h"

static void gt_xml_net(struct gt_xml_out *out, xmlNodePtr nic,
		       const struct gt_machine_net *net)
{
	xmlNodePtr node = gt_xml_out_add(out, nic, "net");

	gt_xml_out_text(out, node, "name", net->name);
	gt_xml_out_int(out, node, "dev", net->dev, GT_UNKNOWN);
	gt_xml_out_int(out, node, "speed", net->speed_mbps, 0);
	gt_xml_out_int(out, node, "port", net->port, GT_UNKNOWN);
	if (net->guid)
		gt_xml_out_attr(out, node, "guid", "0x%016" PRIx64, net->guid);
	gt_xml_out_int(out, node, "maxconn", net->maxconn, 0);
	gt_xml_out_int(out, node, "gdr", net->gdr, GT_UNKNOWN);
}

static const char *gt_nic_netdev(const struct gt_machine_net *net)
{
	return net->netdev;
}

static const char *gt_nic_state(const struct gt_machine_net *net)
{
	return net->state ? net->state : "-";
}

static const char *gt_nic_layer(const struct gt_machine_net *net)
{
	return net->layer ? net->layer : "-";
}

/*
 * Writes an attribute with one word for each port; nothing where all would be
 * "-".
 */
static void gt_nic_words(struct gt_xml_out *out, xmlNodePtr nic,
			 const char *name, const struct gt_machine_net *nets,
			 const char *(*word)(const struct gt_machine_net *net))
{
	struct gt_buf words = GT_BUF_INIT;
	int known = 0;

	for (const struct gt_machine_net *n = nets; n; n = n->next) {
		const char *text = word(n);

		if (!text)
			continue;
		known |= *text != '-';
		gt_buf_printf(&words, "%s%s", words.len ? " " : "", text);
	}
	if (known)
		gt_xml_out_list(out, nic, name, gt_buf_text(&words));
	out->failed |= words.failed;
	gt_buf_release(&words);
}

static void gt_nic_rails(struct gt_xml_out *out, xmlNodePtr nic,
			 const struct gt_machine_net *nets)
{
	struct gt_buf words = GT_BUF_INIT;
	int known = 0;

	for (const struct gt_machine_net *n = nets; n; n = n->next) {
		known |= n->rail != GT_UNKNOWN;
		if (n->rail == GT_UNKNOWN)
			gt_buf_puts(&words, " -");
		else
			gt_buf_printf(&words, " %d", n->rail);
	}
	if (known && !words.failed) {
		gt_xml_out_list(out, nic, "gt_rail", gt_buf_text(&words) + 1);
		gt_xml_out_text(out, nic, "gt_assumed", "gt_rail:place");
	}
	out->failed |= words.failed;
	gt_buf_release(&words);
}

/*
 * NCCL fills the attributes of a net itself, so what is gtopo's own stands at
 * the nic.
 */
void gt_xml_out_nic(struct gt_xml_out *out, xmlNodePtr parent,
		    const struct gt_machine_net *nets)
{
	xmlNodePtr nic = gt_xml_out_add(out, parent, "nic");

	if (!nets)
		return;
	gt_nic_words(out, nic, "gt_netdev", nets, gt_nic_netdev);
	gt_nic_words(out, nic, "gt_state", nets, gt_nic_state);
	gt_nic_words(out, nic, "gt_layer", nets, gt_nic_layer);
	gt_xml_out_text(out, nic, "gt_firmware", nets->firmware);
	gt_xml_out_int(out, nic, "gt_dmabuf", nets->dmabuf, GT_UNKNOWN);
	gt_nic_rails(out, nic, nets);
	for (const struct gt_machine_net *n = nets; n; n = n->next)
		gt_xml_net(out, nic, n);
}

/* Writes numbers of links, "0-2 4-17". */
static void gt_gpu_links(struct gt_xml_out *out, xmlNodePtr node,
			 const char *name, unsigned links)
{
	struct gt_buf list = GT_BUF_INIT;
	int last;

	for (int first = 0; first < 32; first = last + 1) {
		last = first;
		if (!(links >> first & 1))
			continue;
		while (last < 31 && links >> (last + 1) & 1)
			last++;
		gt_buf_printf(&list, last > first ? " %d-%d" : " %d", first,
			      last);
	}
	if (list.len)
		gt_xml_out_text(out, node, name, gt_buf_text(&list) + 1);
	out->failed |= list.failed;
	gt_buf_release(&list);
}

static void gt_gpu_nvlink(struct gt_xml_out *out, xmlNodePtr parent,
			  const struct gt_machine_nvlink *link)
{
	xmlNodePtr node =
		gt_xml_out_add(out, parent, link->xgmi ? "xgmi" : "nvlink");

	gt_xml_out_text(out, node, "target", link->target);
	gt_xml_out_attr(out, node, "count", "%d", link->count);
	gt_xml_out_attr(out, node, "tclass", "0x%06x", link->tclass);
	gt_xml_out_int(out, node, "gt_line_mbs", link->line_mbs, 0);
	if (link->count_from)
		gt_xml_out_attr(out, node, "gt_assumed", "count:%s",
				link->count_from);
	else if (link->tclass_from)
		gt_xml_out_attr(out, node, "gt_assumed", "tclass:%s",
				link->tclass_from);
}

void gt_xml_out_gpu(struct gt_xml_out *out, xmlNodePtr parent,
		    const struct gt_machine_gpu *gpu)
{
	xmlNodePtr node = gt_xml_out_add(out, parent, "gpu"), sub;

	gt_xml_out_attr(out, node, "dev", "%d", gpu->dev);
	gt_xml_out_attr(out, node, "sm", "%d", gpu->sm);
	gt_xml_out_text(out, node, "gcn", gpu->gcn);
	gt_xml_out_attr(out, node, "rank", "%d", gpu->rank);
	gt_xml_out_int(out, node, "gdr", gpu->gdr, GT_UNKNOWN);
	gt_xml_out_text(out, node, "gt_name", gpu->name);
	gt_xml_out_text(out, node, "gt_firmware", gpu->vbios);
	gt_xml_out_int(out, node, "gt_mig", gpu->mig, GT_UNKNOWN);
	gt_xml_out_text(out, node, "gt_hidden", gpu->hidden);
	gt_xml_out_list(out, node, "gt_p2p", gpu->p2p);
	gt_xml_out_list(out, node, "gt_p2p_why", gpu->p2p_why);
	gt_xml_out_text(out, node, "gt_nvlink", gpu->nvlink);
	gt_gpu_links(out, node, "gt_nvlinks_up", gpu->nvlinks_up);
	gt_gpu_links(out, node, "gt_nvlinks_down", gpu->nvlinks_down);
	if (gpu->nvlink_from)
		gt_xml_out_attr(out, node, "gt_assumed", "gt_nvlink:%s",
				gpu->nvlink_from);
	for (struct gt_machine_nvlink *l = gpu->nvlinks; l; l = l->next)
		gt_gpu_nvlink(out, node, l);
	if (gpu->c2c_count) {
		sub = gt_xml_out_add(out, node, "c2c");
		gt_xml_out_attr(out, sub, "bw", "%d", gpu->c2c_mbs);
		gt_xml_out_attr(out, sub, "count", "%d", gpu->c2c_count);
	}
}
