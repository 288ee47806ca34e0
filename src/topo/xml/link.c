/*
 * Adds links beside the PCI tree: NVLink and xGMI, C2C, direct links between
 * switches, links between processors; and the bandwidth that was measured of a
 * link, where it is wanted.
 */
#include "topo/xml/reader.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/graph/graph.h"

int gt_reader_gbs(const struct gt_reader *reader,
		  const struct gt_xml_elem *elem, struct gt_rat *gbs,
		  struct gt_err *err)
{
	struct gt_rat measured = GT_RAT(1, 1);
	int rc;

	if (reader->rates != GT_RATES_MEASURED || !gt_xml_attr(elem, "gt_gbs"))
		return GT_OK;
	rc = gt_xml_rat(elem, "gt_gbs", &measured, err);
	if (rc)
		return rc;
	if (measured.num <= 0)
		return gt_xml_fail(elem, "gt_gbs", err,
				   "gt_gbs '%.64s' is not above 0",
				   gt_xml_attr(elem, "gt_gbs"));
	*gbs = measured;
	return GT_OK;
}

static int gt_reader_switch(struct gt_reader *reader, uint32_t *index,
			    struct gt_err *err)
{
	struct gt_node node = {
		.kind = GT_NODE_NVS, .id = "NVS/0", .dev = -1, .rank = -1};
	int rc = GT_OK;

	if (reader->nvs == GT_NONE)
		rc = gt_graph_node(reader->topo, &node, &reader->nvs, err);
	*index = reader->nvs;
	return rc;
}

/*
 * Finds where an NVLink ends.  If that is nowhere, *to stays GT_NONE, with a
 * warning.
 */
static int gt_reader_target(struct gt_reader *reader,
			    const struct gt_pci_fn *fn,
			    const struct gt_xml_elem *elem, uint32_t *to,
			    struct gt_err *err)
{
	const char *tclass = gt_xml_attr(elem, "tclass");
	const char *target = gt_xml_attr(elem, "target");
	const struct gt_pci_fn *peer;
	const char *why;
	char where[512];

	if (!target)
		return gt_xml_fail(elem, NULL, err, "%s has no target",
				   gt_xml_name(elem));
	if (tclass && gt_starts_with(tclass, "0x068001")) {
		*to = reader->cpus[fn->cpu].node;
		return GT_OK;
	}
	target = gt_reader_bus_id(reader, target);
	if (!target)
		return gt_err_nomem(err);
	peer = gt_reader_find(reader, target);
	if (peer && peer->gpu && peer->node != fn->node) {
		*to = peer->node;
		return GT_OK;
	}
	if (gt_starts_with(target, "fffffff") ||
	    (tclass && gt_starts_with(tclass, "0x068000")))
		return gt_reader_switch(reader, to, err);
	why = !peer       ? "is not in this file"
	      : peer->gpu ? "is the GPU itself"
			  : "is no GPU";
	gt_xml_where(elem, "target", where, sizeof(where));
	return gt_graph_warn(reader->topo, where, err,
			     "%s target '%.64s' %s; ignored", gt_xml_name(elem),
			     target, why);
}

static int gt_reader_nvlink(struct gt_reader *reader,
			    const struct gt_pci_fn *fn,
			    const struct gt_xml_elem *elem, struct gt_rat gbs,
			    struct gt_err *err)
{
	struct gt_link link = {
		.kind = GT_LINK_NVL, .from = fn->node, .to = GT_NONE};
	struct gt_rat line = GT_RAT(0, 1);
	int count = -1, rc;

	if (gt_xml_int(elem, "count", &count, err) ||
	    gt_xml_rat(elem, "gt_line_mbs", &line, err))
		return GT_EINPUT;
	if (reader->rates == GT_RATES_LINE && line.num > 0)
		gt_rat_div(line, GT_RAT(1000, 1), &gbs);
	if (!gt_xml_attr(elem, "count"))
		return gt_xml_fail(elem, NULL, err, "%s has no count",
				   gt_xml_name(elem));
	if (count < 0 || count > 1024)
		return gt_xml_fail(elem, "count", err,
				   "count '%.64s' is not between 0 and 1024",
				   gt_xml_attr(elem, "count"));
	if (!count)
		return GT_OK;
	link.count = (uint32_t)count;
	if (!gt_rat_mul(gbs, GT_RAT(count, 1), &link.gbs))
		return gt_xml_fail(elem, "count", err, "count out of range");
	rc = gt_reader_gbs(reader, elem, &link.gbs, err);
	if (!rc)
		rc = gt_reader_target(reader, fn, elem, &link.to, err);
	if (rc || link.to == GT_NONE)
		return rc;
	/*
	 * A GPU lists its own links; switches and CPUs list none, so theirs are
	 * added with it.
	 */
	return reader->topo->nodes[link.to].kind == GT_NODE_GPU
		       ? gt_graph_link(reader->topo, &link, err)
		       : gt_graph_link_both(reader->topo, &link, err);
}

static int gt_reader_c2c(struct gt_reader *reader, const struct gt_pci_fn *fn,
			 const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_C2C,
			       .from = fn->node,
			       .to = reader->cpus[fn->cpu].node};
	struct gt_rat mbps = GT_RAT(0, 1);
	int count = 0;

	if (gt_xml_rat(elem, "bw", &mbps, err) ||
	    gt_xml_int(elem, "count", &count, err))
		return GT_EINPUT;
	if (mbps.num <= 0 || count <= 0 || count > 1024 ||
	    !gt_rat_mul(mbps, GT_RAT(count, 1000), &link.gbs))
		return gt_xml_fail(elem, NULL, err,
				   "c2c needs a bw in MB/s and a count");
	link.count = (uint32_t)count;
	if (gt_reader_gbs(reader, elem, &link.gbs, err))
		return GT_EINPUT;
	return gt_graph_link_both(reader->topo, &link, err);
}

int gt_reader_gpu_links(struct gt_reader *reader, const struct gt_pci_fn *fn,
			struct gt_err *err)
{
	struct gt_rat nvlink, xgmi;
	int rc = GT_OK;

	nvlink = gt_model_nvlink(reader->topo->nodes[fn->node].sm,
				 reader->rates);
	xgmi = gt_model_xgmi(gt_xml_attr(fn->gpu, "gcn"), reader->rates);
	for (const struct gt_xml_elem *elem = gt_xml_child(fn->gpu);
	     elem && !rc; elem = gt_xml_next(elem)) {
		if (gt_xml_is(elem, "nvlink")) {
			rc = gt_reader_nvlink(reader, fn, elem, nvlink, err);
		} else if (gt_xml_is(elem, "xgmi")) {
			reader->topo->nodes[fn->node].xgmi = 1;
			rc = gt_reader_nvlink(reader, fn, elem, xgmi, err);
		} else if (gt_xml_is(elem, "c2c")) {
			rc = gt_reader_c2c(reader, fn, elem, err);
		}
	}
	return rc;
}

int gt_reader_pcilinks(struct gt_reader *reader, const struct gt_pci_fn *fn,
		       struct gt_err *err)
{
	struct gt_link link = {
		.kind = GT_LINK_LOC, .from = fn->node, .gbs = GT_LOCAL_GBS};
	const struct gt_xml_elem *elem = gt_xml_child(fn->elem);
	const struct gt_pci_fn *peer;
	const char *target;
	int rc = GT_OK;

	for (; elem && !rc; elem = gt_xml_next(elem)) {
		target = gt_xml_attr(elem, "target");
		if (!gt_xml_is(elem, "pcilink") || !target)
			continue;
		target = gt_reader_bus_id(reader, target);
		if (!target)
			return gt_err_nomem(err);
		peer = gt_reader_find(reader, target);
		/*
		 * Parts of a bridge may share its node; what is no PCI node is
		 * no bridge.
		 */
		if (!peer || peer->node == GT_NONE || peer->node == fn->node ||
		    reader->topo->nodes[peer->node].kind != GT_NODE_PCI ||
		    reader->topo->nodes[fn->node].kind != GT_NODE_PCI)
			continue;
		link.to = peer->node;
		rc = gt_graph_link(reader->topo, &link, err);
	}
	return rc;
}

int gt_reader_cpu_links(struct gt_reader *reader, struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_SYS};
	int rc = GT_OK;

	for (uint32_t i = 0; i < reader->ncpus; i++)
		for (uint32_t j = 0; j < reader->ncpus && !rc; j++) {
			if (i == j)
				continue;
			link.from = reader->cpus[i].node;
			link.to = reader->cpus[j].node;
			link.gbs = gt_model_inter_cpu(&reader->cpus[i].cpu);
			rc = gt_graph_link(reader->topo, &link, err);
		}
	return rc;
}
