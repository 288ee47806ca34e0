#include "topo/topo.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/digest.h"
#include "topo/graph.h"
#include "topo/reader.h"

enum {
	GT_READER_MAX_FNS = 4096,
	GT_READER_MAX_CPUS = 256,
};

const char *gt_reader_bus_id(struct gt_reader *reader, const char *text)
{
	return gt_digest_bus_id(reader->topo->arena, text);
}

static int gt_class_is(const struct gt_fn *fn, const char *class)
{
	return !strncmp(fn->class, class, strlen(class));
}

/* A function that is a GPU by its element, or by its class in a bare list. */
static int gt_fn_is_gpu(const struct gt_reader *reader, const struct gt_fn *fn)
{
	return fn->gpu || (reader->bare && (gt_class_is(fn, "0x03") ||
					    gt_class_is(fn, "0x12")));
}

static int gt_fn_is_nic(const struct gt_reader *reader, const struct gt_fn *fn)
{
	return fn->nic ||
	       (reader->bare && reader->no_nic && gt_class_is(fn, "0x02"));
}

/* As in NCCL, everything else is a bridge, whatever its class. */
static int gt_fn_is_bridge(const struct gt_fn *fn)
{
	return !fn->gpu && !fn->nic && !gt_class_is(fn, "0x03") &&
	       !gt_class_is(fn, "0x02") && !gt_class_is(fn, "0x068000") &&
	       !gt_class_is(fn, "0x068001");
}

static unsigned long gt_fn_hex(const struct gt_fn *fn, const char *attr)
{
	const char *text = gt_xml_attr(fn->elem, attr);

	return text ? strtoul(text, NULL, 16) & 0xffff : 0;
}

/*
 * Broadcom's PCIe switches of generations 4 and 5 show as two levels but carry
 * full bandwidth between all ports: NCCL joins them, so do we.  The generation
 * of a switch that is such a level (0: outer, 1: inner), or 0.
 */
static int gt_fn_broadcom(const struct gt_fn *fn, unsigned long level)
{
	unsigned long part = gt_fn_hex(fn, "subsystem_device") & 0xf000;
	unsigned long device = gt_fn_hex(fn, "device");

	if (!gt_fn_is_bridge(fn) || gt_fn_hex(fn, "vendor") != 0x1000 ||
	    gt_fn_hex(fn, "subsystem_vendor") != 0x1000)
		return 0;
	if (device == 0xc010 && part == 0xa000)
		return 4;
	return device == 0xc030 && part == level << 12 ? 5 : 0;
}

static int gt_reader_fn_add(struct gt_reader *reader, const struct gt_fn *fn,
			    struct gt_err *err)
{
	struct gt_arena *arena = reader->topo->arena;
	struct gt_fn *grown;

	if (reader->nfns == GT_READER_MAX_FNS)
		return gt_xml_fail(fn->elem, NULL, err,
				   "more than %d PCI functions",
				   GT_READER_MAX_FNS);
	if (reader->nfns == reader->fns_size) {
		reader->fns_size = reader->fns_size ? reader->fns_size * 2 : 64;
		grown = gt_arena_array(arena, reader->fns_size, sizeof(*grown));
		if (!grown)
			return gt_err_nomem(err);
		if (reader->nfns)
			memcpy(grown, reader->fns, reader->nfns * sizeof(*fn));
		reader->fns = grown;
	}
	reader->fns[reader->nfns++] = *fn;
	return GT_OK;
}

/* A <pci> and all below it; XML's depth is bounded. */
static int gt_reader_collect(struct gt_reader *reader,
			     const struct gt_xml_elem *elem, uint32_t parent,
			     struct gt_err *err)
{
	struct gt_fn fn = {.elem = elem,
			   .gpu = gt_xml_find(elem, "gpu"),
			   .nic = gt_xml_find(elem, "nic"),
			   .bus_id = gt_xml_attr(elem, "busid"),
			   .class = gt_xml_attr(elem, "class"),
			   .parent = parent,
			   .cpu = reader->ncpus - 1,
			   .node = GT_NONE};
	const struct gt_fn *up;
	uint32_t self = reader->nfns;
	int rc;

	if (!fn.bus_id || !*fn.bus_id)
		return gt_xml_fail(elem, NULL, err, "pci has no busid");
	fn.bus_id = gt_reader_bus_id(reader, fn.bus_id);
	if (!fn.bus_id)
		return gt_err_nomem(err);
	if (!fn.class)
		fn.class = "";
	if (fn.gpu)
		fn.nic = NULL;
	fn.head = gt_fn_broadcom(&fn, 0);
	up = parent == GT_NONE ? NULL : &reader->fns[parent];
	if (up && up->head && gt_fn_broadcom(&fn, 1) == up->head) {
		fn.joined = 1;
		fn.head = 0;
	}
	reader->bare &= !fn.gpu;
	reader->no_nic &= !fn.nic;
	rc = gt_reader_fn_add(reader, &fn, err);
	if (fn.gpu || fn.nic)
		return rc;
	for (elem = gt_xml_child(elem); elem && !rc; elem = gt_xml_next(elem))
		if (gt_xml_is(elem, "pci"))
			rc = gt_reader_collect(reader, elem, self, err);
	return rc;
}

static int gt_reader_cpu_new(struct gt_reader *reader,
			     const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_arena *arena = reader->topo->arena;
	struct gt_reader_cpu *cpu = &reader->cpus[reader->ncpus];
	struct gt_node node = {.kind = GT_NODE_CPU,
			       .dev = -2,
			       .rank = -1,
			       .line = gt_xml_line(elem)};

	if (reader->ncpus == GT_READER_MAX_CPUS)
		return gt_xml_fail(elem, NULL, err, "more than %d CPUs",
				   GT_READER_MAX_CPUS);
	cpu->elem = elem;
	cpu->cpu.arch = gt_xml_attr(elem, "arch");
	cpu->cpu.vendor = gt_xml_attr(elem, "vendor");
	if (gt_xml_int(elem, "numaid", &node.dev, err) ||
	    gt_xml_int(elem, "familyid", &cpu->cpu.family, err) ||
	    gt_xml_int(elem, "modelid", &cpu->cpu.model, err))
		return GT_EINPUT;
	if (node.dev < -1)
		return gt_xml_fail(elem, NULL, err, "cpu has no numaid");
	for (uint32_t i = 0; i < reader->ncpus; i++)
		if (reader->topo->nodes[reader->cpus[i].node].dev == node.dev)
			return gt_xml_fail(
				elem, "numaid", err,
				"numaid '%d' appears twice, first on line %u",
				node.dev, gt_xml_line(reader->cpus[i].elem));
	node.charge = gt_model_charge(&cpu->cpu);
	node.id = gt_arena_printf(arena, "CPU/%d", node.dev);
	if (!node.id)
		return gt_err_nomem(err);
	reader->ncpus++;
	return gt_graph_node(reader->topo, &node, &cpu->node, err);
}

/* Processors, and a list of all PCI functions. */
static int gt_reader_scan(struct gt_reader *reader,
			  const struct gt_xml_elem *root, struct gt_err *err)
{
	const struct gt_xml_elem *elem, *sub;
	int rc = GT_OK;

	reader->cpus =
		gt_arena_array(reader->topo->arena, GT_READER_MAX_CPUS + 1,
			       sizeof(*reader->cpus));
	if (!reader->cpus)
		return gt_err_nomem(err);
	for (elem = gt_xml_child(root); elem; elem = gt_xml_next(elem)) {
		if (!gt_xml_is(elem, "cpu"))
			continue;
		rc = gt_reader_cpu_new(reader, elem, err);
		for (sub = gt_xml_child(elem); sub && !rc;
		     sub = gt_xml_next(sub)) {
			if (gt_xml_is(sub, "pci"))
				rc = gt_reader_collect(reader, sub, GT_NONE,
						       err);
			else if (gt_xml_is(sub, "nic"))
				reader->no_nic = 0;
		}
		if (rc)
			return rc;
	}
	if (!reader->ncpus)
		return gt_xml_fail(root, NULL, err,
				   "system has no cpu element");
	return GT_OK;
}

static int gt_fn_by_bus(const void *left, const void *right, void *arg)
{
	const struct gt_fn *fns = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = strcmp(fns[a].bus_id, fns[b].bus_id);

	return order ? order : (a > b) - (a < b);
}

/*
 * Real files repeat a bridge beside itself, once for each device behind it: one
 * bridge, whose uplinks add up.  A bridge inside itself, or anything else that
 * is there twice, is an error.
 */
static int gt_reader_twice(struct gt_reader *reader, const struct gt_fn *first,
			   struct gt_fn *again, struct gt_err *err)
{
	for (uint32_t up = again->parent; up != GT_NONE;
	     up = reader->fns[up].parent)
		if (!strcmp(reader->fns[up].bus_id, again->bus_id))
			return gt_xml_fail(again->elem, "busid", err,
					   "pci '%s' is inside itself, line %u",
					   again->bus_id,
					   gt_xml_line(reader->fns[up].elem));
	if (!gt_fn_is_bridge(first) || !gt_fn_is_bridge(again) ||
	    first->parent != again->parent)
		return gt_xml_fail(again->elem, "busid", err,
				   "busid '%s' appears twice, first on line %u",
				   again->bus_id, gt_xml_line(first->elem));
	again->same = first;
	return GT_OK;
}

static int gt_reader_repeats(struct gt_reader *reader,
			     const struct gt_fn *first,
			     const struct gt_fn *again, struct gt_err *err)
{
	char where[512];

	gt_xml_where(again->elem, "busid", where, sizeof(where));
	return gt_graph_warn(reader->topo, where, err,
			     "busid '%s' appears twice, first on line %u; "
			     "taken as one bridge",
			     again->bus_id, gt_xml_line(first->elem));
}

static int gt_reader_index(struct gt_reader *reader, struct gt_err *err)
{
	uint32_t n = reader->nfns, first = 0;
	uint32_t *order;
	int rc = GT_OK;

	order = gt_arena_array(reader->topo->arena, n, sizeof(*order));
	if (!order)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n)
		qsort_r(order, n, sizeof(*order), gt_fn_by_bus, reader->fns);
	for (uint32_t i = 1; i < n && !rc; i++) {
		if (strcmp(reader->fns[order[i]].bus_id,
			   reader->fns[order[first]].bus_id)) {
			first = i;
			continue;
		}
		rc = gt_reader_twice(reader, &reader->fns[order[first]],
				     &reader->fns[order[i]], err);
		if (!rc && i == first + 1)
			rc = gt_reader_repeats(reader,
					       &reader->fns[order[first]],
					       &reader->fns[order[i]], err);
	}
	reader->by_bus = order;
	return rc;
}

struct gt_fn *gt_reader_find(struct gt_reader *reader, const char *bus_id)
{
	uint32_t low = 0, high = reader->nfns, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strcmp(reader->fns[reader->by_bus[mid]].bus_id, bus_id) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == reader->nfns ||
	    strcmp(reader->fns[reader->by_bus[low]].bus_id, bus_id))
		return NULL;
	return &reader->fns[reader->by_bus[low]];
}

static int gt_reader_bridge(struct gt_reader *reader, struct gt_fn *fn,
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
	return node.id ? gt_graph_node(reader->topo, &node, &fn->node, err)
		       : gt_err_nomem(err);
}

/* The function's PCI Express link upstream: width lanes of its speed. */
static int gt_reader_uplink(struct gt_reader *reader, const struct gt_fn *fn,
			    struct gt_rat *gbs, struct gt_err *err)
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
	/* What sysfs does not know counts as generation 3, as in NCCL. */
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

static int gt_reader_fn(struct gt_reader *reader, struct gt_fn *fn,
			struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_PCI};
	int rc = gt_reader_uplink(reader, fn, &link.gbs, err);

	if (rc)
		return rc;
	if (gt_fn_is_gpu(reader, fn))
		rc = gt_reader_gpu(reader, fn, err);
	else if (gt_fn_is_nic(reader, fn))
		rc = gt_reader_nic(reader, fn, err);
	else if (gt_fn_is_bridge(fn))
		rc = gt_reader_bridge(reader, fn, err);
	if (rc || fn->node == GT_NONE || fn->joined)
		return rc;
	link.from = fn->node;
	/* A parent without a node is no bridge: hang on the CPU. */
	link.to = reader->cpus[fn->cpu].node;
	if (fn->parent != GT_NONE && reader->fns[fn->parent].node != GT_NONE)
		link.to = reader->fns[fn->parent].node;
	return gt_graph_pair(reader->topo, &link, err);
}

/* Cards without a PCI function (virtual ports) hang on their CPU. */
static int gt_reader_cpu_nics(struct gt_reader *reader, uint32_t cpu,
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
			link.to = nic;
			if (!rc)
				rc = gt_graph_pair(topo, &link, err);
		}
		if (!rc)
			rc = gt_reader_nets(reader, elem, nic, err);
	}
	return rc;
}

/* A bare list numbers its devices by bus id, as the driver would. */
static void gt_reader_number(struct gt_reader *reader)
{
	struct gt_topo *topo = reader->topo;
	struct gt_node *node;
	int gpus = 0, nets = 0;

	for (uint32_t i = 0; reader->bare && i < reader->nfns; i++) {
		const struct gt_fn *fn = &reader->fns[reader->by_bus[i]];

		node = fn->node == GT_NONE ? NULL : &topo->nodes[fn->node];
		if (node && node->assumed && node->kind == GT_NODE_GPU)
			node->dev = gpus++;
		/* The assumed card's port was made right after it. */
		if (node && node->assumed && node->kind == GT_NODE_NIC)
			node[1].dev = nets++;
	}
}

/* Peer-to-peer links between switches, each listed by its own end. */
static int gt_reader_pcilinks(struct gt_reader *reader, const struct gt_fn *fn,
			      struct gt_err *err)
{
	struct gt_link link = {
		.kind = GT_LINK_LOC, .from = fn->node, .gbs = GT_LOCAL_GBS};
	const struct gt_xml_elem *elem = gt_xml_child(fn->elem);
	const struct gt_fn *peer;
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
		if (!peer || peer->node == GT_NONE || peer->node == fn->node)
			continue;
		link.to = peer->node;
		rc = gt_graph_link(reader->topo, &link, err);
	}
	return rc;
}

static int gt_reader_cpu_links(struct gt_reader *reader, struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_SYS};
	int rc = GT_OK;

	for (uint32_t i = 0; i < reader->ncpus; i++)
		for (uint32_t j = 0; j < reader->ncpus && !rc; j++) {
			if (i == j)
				continue;
			link.from = reader->cpus[i].node;
			link.to = reader->cpus[j].node;
			link.gbs = gt_model_sys(&reader->cpus[i].cpu);
			rc = gt_graph_link(reader->topo, &link, err);
		}
	return rc;
}

static int gt_reader_build(struct gt_reader *reader, struct gt_err *err)
{
	int rc = gt_reader_index(reader, err);

	for (uint32_t i = 0; i < reader->nfns && !rc; i++)
		rc = gt_reader_fn(reader, &reader->fns[i], err);
	for (uint32_t i = 0; i < reader->ncpus && !rc; i++)
		rc = gt_reader_cpu_nics(reader, i, err);
	for (uint32_t i = 0; i < reader->nfns && !rc; i++) {
		if (reader->fns[i].gpu)
			rc = gt_reader_gpu_links(reader, &reader->fns[i], err);
		else if (reader->fns[i].node != GT_NONE)
			rc = gt_reader_pcilinks(reader, &reader->fns[i], err);
	}
	if (!rc)
		rc = gt_reader_cpu_links(reader, err);
	if (rc)
		return rc;
	gt_reader_number(reader);
	return gt_graph_finish(reader->topo, err);
}

static int gt_reader_root(struct gt_reader *reader,
			  const struct gt_xml_elem *root, struct gt_err *err)
{
	if (!gt_xml_is(root, "system"))
		return gt_xml_fail(root, NULL, err,
				   "root element '%.64s' is not 'system': not "
				   "a topology",
				   gt_xml_name(root));
	reader->version = 1;
	if (gt_xml_int(root, "version", &reader->version, err))
		return GT_EINPUT;
	if (reader->version != 1 && reader->version != 2)
		return gt_xml_fail(root, "version", err,
				   "version '%d' is not known (1 is NCCL's, 2 "
				   "RCCL's)",
				   reader->version);
	return GT_OK;
}

static int gt_topo_from_xml(const struct gt_xml *xml, enum gt_rates rates,
			    struct gt_topo **out, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(xml);
	struct gt_reader reader = {
		.rates = rates, .nvs = GT_NONE, .bare = 1, .no_nic = 1};
	struct gt_topo *topo;
	int rc = gt_graph_new(gt_xml_source(xml), &topo, err);

	if (rc)
		return rc;
	reader.topo = topo;
	rc = gt_reader_root(&reader, root, err);
	if (!rc)
		rc = gt_reader_scan(&reader, root, err);
	if (!rc)
		rc = gt_reader_build(&reader, err);
	if (!rc)
		rc = gt_digest_make(root, 0, topo->arena, &topo->digest, err);
	if (!rc)
		rc = gt_digest_make(root, 1, topo->arena, &topo->shape_digest,
				    err);
	if (rc)
		gt_topo_free(topo);
	else
		*out = topo;
	return rc;
}

int gt_topo_parse(const char *name, const char *text, size_t len,
		  enum gt_rates rates, struct gt_topo **topo,
		  struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text, len, &xml, err);

	if (rc)
		return rc;
	rc = gt_topo_from_xml(xml, rates, topo, err);
	gt_xml_free(xml);
	return rc;
}

int gt_topo_read(const char *path, enum gt_rates rates, struct gt_topo **topo,
		 struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_read(path, &xml, err);

	if (rc)
		return rc;
	rc = gt_topo_from_xml(xml, rates, topo, err);
	gt_xml_free(xml);
	return rc;
}
