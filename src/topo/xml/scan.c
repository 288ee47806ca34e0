/*
 * Lists the PCI functions of a file: what each one is, which switches show as
 * two levels but are one, and which functions appear twice.
 */
#include "topo/xml/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bus_id.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/xml.h"
#include "topo/graph/graph.h"

enum { GT_READER_MAX_FNS = 4096 };

const char *gt_reader_bus_id(struct gt_reader *reader, const char *text)
{
	return gt_bus_id_normalize_dup(reader->topo->arena, text);
}

static int gt_class_is(const struct gt_pci_fn *fn, const char *class)
{
	return !strncmp(fn->class, class, strlen(class));
}

int gt_pci_fn_is_gpu(const struct gt_reader *reader, const struct gt_pci_fn *fn)
{
	return fn->gpu || (reader->bare && (gt_class_is(fn, "0x03") ||
					    gt_class_is(fn, "0x12")));
}

int gt_pci_fn_is_nic(const struct gt_reader *reader, const struct gt_pci_fn *fn)
{
	return fn->nic ||
	       (reader->bare && reader->no_nic && gt_class_is(fn, "0x02"));
}

/* As in NCCL, everything else is a bridge, whatever its class. */
int gt_pci_fn_is_bridge(const struct gt_pci_fn *fn)
{
	return !fn->gpu && !fn->nic && !gt_class_is(fn, "0x03") &&
	       !gt_class_is(fn, "0x02") && !gt_class_is(fn, "0x068000") &&
	       !gt_class_is(fn, "0x068001");
}

static unsigned long gt_pci_fn_hex(const struct gt_pci_fn *fn, const char *attr)
{
	const char *text = gt_xml_attr(fn->elem, attr);

	return text ? strtoul(text, NULL, 16) & 0xffff : 0;
}

/*
 * Returns the generation of a switch that is one of the two levels (0: outer,
 * 1: inner) as which Broadcom's PCIe switches of generations 4 and 5 show, or
 * 0.  They carry full bandwidth between all ports: NCCL joins the levels, so do
 * we.
 */
static int gt_pci_fn_broadcom(const struct gt_pci_fn *fn, unsigned long level)
{
	unsigned long part = gt_pci_fn_hex(fn, "subsystem_device") & 0xf000;
	unsigned long device = gt_pci_fn_hex(fn, "device");

	if (!gt_pci_fn_is_bridge(fn) || gt_pci_fn_hex(fn, "vendor") != 0x1000 ||
	    gt_pci_fn_hex(fn, "subsystem_vendor") != 0x1000)
		return 0;
	if (device == 0xc010 && part == 0xa000)
		return 4;
	return device == 0xc030 && part == level << 12 ? 5 : 0;
}

static int gt_reader_fn_add(struct gt_reader *reader,
			    const struct gt_pci_fn *fn, struct gt_err *err)
{
	struct gt_pci_fn *grown;

	if (reader->nfns == GT_READER_MAX_FNS)
		return gt_xml_fail(fn->elem, NULL, err,
				   "more than %d PCI functions",
				   GT_READER_MAX_FNS);
	grown = gt_vec_grow_in(reader->topo->arena, reader->fns, reader->nfns,
			       &reader->fns_size, sizeof(*grown));
	if (!grown)
		return gt_err_nomem(err);
	reader->fns = grown;
	reader->fns[reader->nfns++] = *fn;
	return GT_OK;
}

/* The XML parser bounds the depth of this recursion. */
int gt_reader_collect(struct gt_reader *reader, const struct gt_xml_elem *elem,
		      uint32_t parent, struct gt_err *err)
{
	struct gt_pci_fn fn = {.elem = elem,
			       .gpu = gt_xml_find(elem, "gpu"),
			       .nic = gt_xml_find(elem, "nic"),
			       .bus_id = gt_xml_attr(elem, "busid"),
			       .class = gt_xml_attr(elem, "class"),
			       .parent = parent,
			       .cpu = reader->ncpus - 1,
			       .node = GT_NONE};
	const struct gt_pci_fn *up;
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
	fn.head = gt_pci_fn_broadcom(&fn, 0);
	up = parent == GT_NONE ? NULL : &reader->fns[parent];
	if (up && up->head && gt_pci_fn_broadcom(&fn, 1) == up->head) {
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

static int gt_pci_fn_by_bus(const void *left, const void *right, void *arg)
{
	const struct gt_pci_fn *fns = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = strcmp(fns[a].bus_id, fns[b].bus_id);

	return order ? order : (a > b) - (a < b);
}

/* Returns whether both are GPUs, cards or bridges, or neither is any. */
static int gt_pci_fn_alike(const struct gt_reader *reader,
			   const struct gt_pci_fn *a, const struct gt_pci_fn *b)
{
	return gt_pci_fn_is_gpu(reader, a) == gt_pci_fn_is_gpu(reader, b) &&
	       gt_pci_fn_is_nic(reader, a) == gt_pci_fn_is_nic(reader, b) &&
	       gt_pci_fn_is_bridge(a) == gt_pci_fn_is_bridge(b);
}

/*
 * Real files repeat a bridge beside itself, once for each device behind it:
 * that is one bridge, whose uplinks add up.  A bridge inside itself, or
 * anything else of one kind that is there twice, is an error.
 */
static int gt_reader_twice(struct gt_reader *reader,
			   const struct gt_pci_fn *first,
			   struct gt_pci_fn *again, struct gt_err *err)
{
	for (uint32_t up = again->parent; up != GT_NONE;
	     up = reader->fns[up].parent)
		if (!strcmp(reader->fns[up].bus_id, again->bus_id) &&
		    gt_pci_fn_alike(reader, &reader->fns[up], again))
			return gt_xml_fail(again->elem, "busid", err,
					   "pci '%s' is inside itself, line %u",
					   again->bus_id,
					   gt_xml_line(reader->fns[up].elem));
	if (!gt_pci_fn_is_bridge(first) || !gt_pci_fn_is_bridge(again) ||
	    first->parent != again->parent)
		return gt_xml_fail(again->elem, "busid", err,
				   "busid '%s' appears twice, first on line %u",
				   again->bus_id, gt_xml_line(first->elem));
	again->same = first;
	return GT_OK;
}

static int gt_reader_repeats(struct gt_reader *reader,
			     const struct gt_pci_fn *first,
			     const struct gt_pci_fn *again, struct gt_err *err)
{
	char where[512];

	gt_xml_where(again->elem, "busid", where, sizeof(where));
	return gt_graph_warn(
		reader->topo, where, err,
		"busid '%s' appears twice, first on line %u; taken as %s",
		again->bus_id, gt_xml_line(first->elem),
		again->same ? "one bridge" : "two devices");
}

/*
 * Looks at the i-th function by bus id, whose id that of first has, too: NCCL
 * keeps devices of each kind by themselves, so those of two kinds are two.
 */
static int gt_reader_again(struct gt_reader *reader, const uint32_t *order,
			   uint32_t first, uint32_t i, struct gt_err *err)
{
	struct gt_pci_fn *again = &reader->fns[order[i]];
	int rc = GT_OK;

	for (uint32_t k = first; k < i && !rc && !again->same; k++)
		if (gt_pci_fn_alike(reader, &reader->fns[order[k]], again))
			rc = gt_reader_twice(reader, &reader->fns[order[k]],
					     again, err);
	return rc || i != first + 1
		       ? rc
		       : gt_reader_repeats(reader, &reader->fns[order[first]],
					   again, err);
}

int gt_reader_index(struct gt_reader *reader, struct gt_err *err)
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
		qsort_r(order, n, sizeof(*order), gt_pci_fn_by_bus,
			reader->fns);
	for (uint32_t i = 1; i < n && !rc; i++) {
		if (strcmp(reader->fns[order[i]].bus_id,
			   reader->fns[order[first]].bus_id))
			first = i;
		else
			rc = gt_reader_again(reader, order, first, i, err);
	}
	reader->by_bus = order;
	return rc;
}

struct gt_pci_fn *gt_reader_find(struct gt_reader *reader, const char *bus_id)
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
	for (uint32_t i = low; i < reader->nfns; i++) {
		struct gt_pci_fn *fn = &reader->fns[reader->by_bus[i]];

		if (strcmp(fn->bus_id, bus_id))
			break;
		if (gt_pci_fn_is_gpu(reader, fn))
			return fn;
	}
	return &reader->fns[reader->by_bus[low]];
}
