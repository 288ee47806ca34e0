/*
 * Turns PCI functions into nodes: GPUs, cards with their ports, bridges, and
 * the link that each has upstream.
 */
#include "topo/xml/reader.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/graph/graph.h"

static int gt_reader_gpu(struct gt_reader *reader, struct gt_pci_fn *fn,
			 struct gt_err *err)
{
	struct gt_topo *topo = reader->topo;
	const struct gt_xml_elem *gpu = fn->gpu;
	struct gt_node node = {.kind = GT_NODE_GPU,
			       .bus_id = fn->bus_id,
			       .dev = -1,
			       .rank = -1,
			       .assumed = !gpu,
			       .line = gt_xml_line(gpu ? gpu : fn->elem)};

	node.id = gt_arena_printf(topo->arena, "GPU/%s", fn->bus_id);
	if (gpu && gt_xml_attr(gpu, "gt_name"))
		node.name = gt_arena_strdup(topo->arena,
					    gt_xml_attr(gpu, "gt_name"));
	node.pci = gt_reader_pci(reader, fn);
	if (!node.id || !node.pci)
		return gt_err_nomem(err);
	if (!gpu)
		return gt_graph_node(topo, &node, &fn->node, err);
	if (gt_xml_attr(gpu, "gt_p2p")) {
		node.p2p = gt_arena_strdup(topo->arena,
					   gt_xml_attr(gpu, "gt_p2p"));
		if (!node.p2p)
			return gt_err_nomem(err);
	}
	gt_reader_gpu_facts(reader, fn, &node);
	if (gt_xml_int(gpu, "dev", &node.dev, err) ||
	    gt_xml_int(gpu, "rank", &node.rank, err) ||
	    gt_xml_int(gpu, "sm", &node.sm, err))
		return GT_EINPUT;
	if (node.dev < 0)
		return gt_xml_fail(gpu, NULL, err, "gpu has no dev");
	/* RCCL has the number of compute units there. */
	if (reader->version == 2 && gt_xml_attr(gpu, "gcn"))
		node.sm = 0;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == GT_NODE_GPU &&
		    topo->nodes[i].dev == node.dev)
			return gt_xml_fail(gpu, "dev", err,
					   "gpu dev '%d' appears twice, first "
					   "on line %u",
					   node.dev, topo->nodes[i].line);
	return gt_graph_node(topo, &node, &fn->node, err);
}

/* Reads the numbers of a port; one without a speed has 10 Gb/s, as in NCCL. */
static int port_numbers(const struct gt_xml_elem *net, struct gt_node *node,
			struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_rat mbps = GT_RAT(0, 1);

	if (gt_xml_int(net, "dev", &node->dev, err) ||
	    gt_xml_int(net, "port", &node->port, err) ||
	    gt_xml_int(net, "rail", &node->rail, err) ||
	    gt_xml_int(net, "coll", &node->coll, err) ||
	    gt_xml_rat(net, "speed", &mbps, err))
		return GT_EINPUT;
	node->no_speed = mbps.num <= 0;
	if (node->no_speed)
		mbps = GT_RAT(10000, 1);
	if (node->dev >= 0 && !gt_rat_div(mbps, GT_RAT(8000, 1), gbs))
		return gt_xml_fail(net, "speed", err,
				   "speed '%.64s' is out of range",
				   gt_xml_attr(net, "speed"));
	return GT_OK;
}

static int gt_reader_same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/*
 * Returns the port that an element repeats, as files do that list each port
 * below every processor; GT_NONE when it is a new one.
 */
static uint32_t gt_reader_port_again(const struct gt_topo *topo,
				     const struct gt_node *port)
{
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct gt_node *node = &topo->nodes[i];

		if (node->kind == GT_NODE_NET && node->dev == port->dev &&
		    node->port == port->port &&
		    gt_reader_same_text(node->name, port->name) &&
		    gt_reader_same_text(node->guid, port->guid))
			return i;
	}
	return GT_NONE;
}

/* Says once that ports are listed again. */
static int gt_reader_port_warn(struct gt_reader *reader,
			       const struct gt_xml_elem *net, uint32_t first,
			       struct gt_err *err)
{
	const struct gt_node *port = &reader->topo->nodes[first];
	char where[512];

	if (reader->ports_again++)
		return GT_OK;
	gt_xml_where(net, NULL, where, sizeof(where));
	return gt_graph_warn(reader->topo, where, err,
			     "port '%.64s' is listed again, first on line %u; "
			     "such ports count once, where they are first",
			     port->name, port->line);
}

static int gt_reader_port(struct gt_reader *reader,
			  const struct gt_xml_elem *net, uint32_t nic,
			  struct gt_err *err)
{
	struct gt_topo *topo = reader->topo;
	struct gt_node node = {.kind = GT_NODE_NET,
			       .name = gt_xml_attr(net, "name"),
			       .guid = gt_xml_attr(net, "guid"),
			       .dev = -1,
			       .rank = -1,
			       .rail = -1,
			       .line = gt_xml_line(net)};
	struct gt_link link = {.kind = GT_LINK_NET, .from = nic};
	int rc;

	if (port_numbers(net, &node, &link.gbs, err))
		return GT_EINPUT;
	if (node.dev < 0) /* NCCL leaves it out, too */
		return GT_OK;
	link.to = gt_reader_port_again(topo, &node);
	if (link.to != GT_NONE)
		return gt_reader_port_warn(reader, net, link.to, err);
	node.id = gt_arena_printf(topo->arena, "NET/%d", node.dev);
	if (node.name)
		node.name = gt_arena_strdup(topo->arena, node.name);
	if (node.guid)
		node.guid = gt_arena_strdup(topo->arena, node.guid);
	if (!node.id)
		return gt_err_nomem(err);
	rc = gt_graph_node(topo, &node, &link.to, err);
	if (rc)
		return rc;
	topo->nodes[link.to].up = nic;
	return gt_graph_link_both(topo, &link, err);
}

static int gt_reader_nets(struct gt_reader *reader,
			  const struct gt_xml_elem *nic, uint32_t node,
			  struct gt_err *err)
{
	int rc = GT_OK;

	for (const struct gt_xml_elem *net = gt_xml_child(nic); net && !rc;
	     net = gt_xml_next(net))
		if (gt_xml_is(net, "net"))
			rc = gt_reader_port(reader, net, node, err);
	return rc;
}

/*
 * Gives a card of which only the PCI function is known one port, which is not
 * slower than the card.
 */
static int gt_reader_assume_port(struct gt_reader *reader,
				 const struct gt_pci_fn *fn, struct gt_err *err)
{
	struct gt_node node = {.kind = GT_NODE_NET,
			       .dev = -1,
			       .rank = -1,
			       .rail = -1,
			       .assumed = 1,
			       .line = gt_xml_line(fn->elem)};
	struct gt_link link = {
		.kind = GT_LINK_NET, .from = fn->node, .gbs = GT_LOCAL_GBS};
	int rc;

	node.id = gt_arena_printf(reader->topo->arena, "NET/%s", fn->bus_id);
	if (!node.id)
		return gt_err_nomem(err);
	rc = gt_graph_node(reader->topo, &node, &link.to, err);
	if (rc)
		return rc;
	reader->topo->nodes[link.to].up = fn->node;
	return gt_graph_link_both(reader->topo, &link, err);
}

static int gt_reader_nic(struct gt_reader *reader, struct gt_pci_fn *fn,
			 struct gt_err *err)
{
	struct gt_node node = {.kind = GT_NODE_NIC,
			       .bus_id = fn->bus_id,
			       .dev = -1,
			       .rank = -1,
			       .assumed = !fn->nic,
			       .line = gt_xml_line(fn->elem)};
	int rc;

	node.id = gt_arena_printf(reader->topo->arena, "NIC/%s", fn->bus_id);
	node.pci = gt_reader_pci(reader, fn);
	if (!node.id || !node.pci)
		return gt_err_nomem(err);
	if (fn->nic)
		gt_reader_nic_facts(reader, fn->nic, &node);
	rc = gt_graph_node(reader->topo, &node, &fn->node, err);
	if (rc)
		return rc;
	return fn->nic ? gt_reader_nets(reader, fn->nic, fn->node, err)
		       : gt_reader_assume_port(reader, fn, err);
}

static int gt_reader_bridge(struct gt_reader *reader, struct gt_pci_fn *fn,
			    struct gt_err *err)
{
	struct gt_node node = {.kind = GT_NODE_PCI,
			       .bus_id = fn->bus_id,
			       .dev = -1,
			       .rank = -1,
			       .line = gt_xml_line(fn->elem)};

	if (fn->joined || fn->same) {
		fn->node = fn->joined ? reader->fns[fn->parent].node
				      : fn->same->node;
		return GT_OK;
	}
	node.id = gt_arena_printf(reader->topo->arena, "PCI/%s", fn->bus_id);
	node.pci = gt_reader_pci(reader, fn);
	return node.id && node.pci
		       ? gt_graph_node(reader->topo, &node, &fn->node, err)
		       : gt_err_nomem(err);
}

/*
 * Computes what the function's PCI Express link upstream carries: its lanes
 * times what a lane of its speed does.
 */
static int gt_reader_uplink(struct gt_reader *reader,
			    const struct gt_pci_fn *fn, struct gt_rat *gbs,
			    struct gt_err *err)
{
	const char *speed = gt_xml_attr(fn->elem, "link_speed");
	struct gt_rat lane;
	int width = 0;

	if (gt_xml_int(fn->elem, "link_width", &width, err))
		return GT_EINPUT;
	if (width < 0 || width > 32)
		return gt_xml_fail(fn->elem, "link_width", err,
				   "link_width '%d' is not between 1 and 32",
				   width);
	if (!width)
		width = 16;
	/*
	 * A speed that sysfs does not know counts as generation 3, as in NCCL.
	 */
	if (!speed || !*speed || !strncmp(speed, "Unknown", 7))
		speed = "8 GT/s";
	if (!gt_model_lane(speed, reader->rates, &lane))
		return gt_xml_fail(fn->elem, "link_speed", err,
				   "link_speed '%.64s' is not a PCI Express "
				   "speed such as '32.0 GT/s PCIe'",
				   speed);
	if (!gt_rat_mul(lane, GT_RAT(width, 1), gbs))
		return gt_xml_fail(fn->elem, "link_width", err, "out of range");
	return gt_reader_gbs(reader, fn->elem, gbs, err);
}

int gt_reader_fn(struct gt_reader *reader, struct gt_pci_fn *fn,
		 struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_PCI};
	int rc = gt_reader_uplink(reader, fn, &link.gbs, err);

	if (rc)
		return rc;
	if (gt_pci_fn_is_gpu(reader, fn))
		rc = gt_reader_gpu(reader, fn, err);
	else if (gt_pci_fn_is_nic(reader, fn))
		rc = gt_reader_nic(reader, fn, err);
	else if (gt_pci_fn_is_bridge(fn))
		rc = gt_reader_bridge(reader, fn, err);
	if (rc || fn->node == GT_NONE || fn->joined)
		return rc;
	link.from = fn->node;
	/*
	 * A parent without a node is no bridge: then the function hangs on the
	 * CPU.
	 */
	link.to = reader->cpus[fn->cpu].node;
	if (fn->parent != GT_NONE && reader->fns[fn->parent].node != GT_NONE)
		link.to = reader->fns[fn->parent].node;
	reader->topo->nodes[fn->node].up = link.to;
	return gt_graph_link_both(reader->topo, &link, err);
}

int gt_reader_cpu_nics(struct gt_reader *reader, uint32_t cpu,
		       struct gt_err *err)
{
	struct gt_topo *topo = reader->topo;
	uint32_t from = reader->cpus[cpu].node, nic = GT_NONE;
	const struct gt_xml_elem *elem;
	struct gt_node node = {.kind = GT_NODE_NIC, .dev = -1, .rank = -1};
	struct gt_link link = {
		.kind = GT_LINK_PCI, .from = from, .gbs = GT_LOCAL_GBS};
	int rc = GT_OK;

	for (elem = gt_xml_child(reader->cpus[cpu].elem); elem && !rc;
	     elem = gt_xml_next(elem)) {
		if (!gt_xml_is(elem, "nic"))
			continue;
		if (nic == GT_NONE) {
			node.line = gt_xml_line(elem);
			node.id = gt_arena_printf(topo->arena, "NIC/cpu%d",
						  topo->nodes[from].dev);
			if (!node.id)
				return gt_err_nomem(err);
			rc = gt_graph_node(topo, &node, &nic, err);
			if (rc)
				return rc;
			topo->nodes[nic].up = from;
			link.to = nic;
			rc = gt_graph_link_both(topo, &link, err);
		}
		if (!rc)
			rc = gt_reader_nets(reader, elem, nic, err);
	}
	return rc;
}

void gt_reader_number(struct gt_reader *reader)
{
	struct gt_topo *topo = reader->topo;
	struct gt_node *node;
	int gpus = 0, nets = 0;

	for (uint32_t i = 0; reader->bare && i < reader->nfns; i++) {
		const struct gt_pci_fn *fn = &reader->fns[reader->by_bus[i]];

		node = fn->node == GT_NONE ? NULL : &topo->nodes[fn->node];
		if (node && node->assumed && node->kind == GT_NODE_GPU)
			node->dev = gpus++;
		/* The port of an assumed card was made right after it. */
		if (node && node->assumed && node->kind == GT_NODE_NIC)
			node[1].dev = nets++;
	}
}
