/*
 * A virtual machine's topology, made of its host's: the devices that it was
 * given, by their bus ids there, below the host's switches, which it does not
 * see itself.
 */
#include "topo/interop/interop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/graph/topo.h"
#include "topo/interop/vm_map.h"
#include "topo/xml/write.h"

enum { GT_VM_DEVICES = GT_TOPO_MAX_DEVICES };

/* A device that stays, to be numbered again. */
struct numbered {
	xmlNodePtr node;
	char bus_id[GT_BUS_ID_MAX]; /* in the virtual machine */
};

struct vm {
	struct gt_vm_map map; /* of switches as well, once they have an id */
	uint32_t nbridges;
	uint32_t ngpus, nnets;
	struct numbered gpus[GT_VM_DEVICES], nets[GT_VM_DEVICES];
	int failed; /* memory ran out */
};

static int is(xmlNodePtr node, const char *name)
{
	return node->type == XML_ELEMENT_NODE &&
	       !strcmp((const char *)node->name, name);
}

static void set(struct vm *vm, xmlNodePtr node, const char *attr,
		const char *text)
{
	vm->failed |=
		!xmlSetProp(node, (const xmlChar *)attr, (const xmlChar *)text);
}

/* Writes an attribute as a normalized bus id; 0 where it is none. */
static int bus_id(xmlNodePtr node, const char *attr, char own[GT_BUS_ID_MAX])
{
	xmlChar *text = xmlGetProp(node, (const xmlChar *)attr);
	int ok = text && gt_bus_id_normalize((const char *)text, own);

	xmlFree(text);
	return ok;
}

static void drop(xmlNodePtr node)
{
	xmlUnlinkNode(node);
	xmlFreeNode(node);
}

static void note(struct numbered *list, uint32_t *n, xmlNodePtr node,
		 const char *bus)
{
	if (*n == GT_VM_DEVICES)
		return;
	list[*n].node = node;
	snprintf(list[*n].bus_id, GT_BUS_ID_MAX, "%s", bus);
	++*n;
}

/*
 * NVSwitches, which the virtual machine does not see, get ids that no device
 * has: the host's may be those of other devices there.
 */
static void rename_switches(struct vm *vm, xmlNodePtr gpu)
{
	for (xmlNodePtr link = gpu->children; link; link = link->next) {
		xmlChar *kind = xmlGetProp(link, (const xmlChar *)"tclass");
		char host[GT_BUS_ID_MAX], own[GT_BUS_ID_MAX];

		if (kind && !strncmp((const char *)kind, "0x0680", 6) &&
		    bus_id(link, "target", host)) {
			snprintf(own, sizeof(own), "fffe%s", strchr(host, ':'));
			set(vm, link, "target", own);
		}
		xmlFree(kind);
	}
}

/* Gives a device that the virtual machine has its name there. */
static void keep_device(struct vm *vm, xmlNodePtr pci,
			struct gt_vm_entry *entry)
{
	const char *name = entry->name;

	entry->used = 1;
	set(vm, pci, "busid", entry->vm);
	for (xmlNodePtr node = pci->children; node; node = node->next) {
		if (is(node, "gpu")) {
			note(vm->gpus, &vm->ngpus, node, entry->vm);
			/* The hypervisor decides that anew. */
			xmlUnsetProp(node, (const xmlChar *)"gt_p2p");
			xmlUnsetProp(node, (const xmlChar *)"gt_p2p_why");
			rename_switches(vm, node);
		}
		for (xmlNodePtr net = is(node, "nic") ? node->children : NULL;
		     net; net = net->next) {
			if (!is(net, "net"))
				continue;
			note(vm->nets, &vm->nnets, net, entry->vm);
			if (name)
				set(vm, net, "name", name);
			name = NULL;
		}
	}
}

/*
 * Gives a switch that stays an id that no device has: NCCL takes what a file
 * says of a function that it does not find.
 */
static void keep_bridge(struct vm *vm, xmlNodePtr pci, const char *host)
{
	char own[GT_BUS_ID_MAX];
	uint32_t i = vm->nbridges++;

	snprintf(own, sizeof(own), "ffff:%02x:%02x.0", i / 32 % 256, i % 32);
	set(vm, pci, "busid", own);
	vm->failed |= gt_vm_map_add(&vm->map, host, own, NULL) != GT_OK;
}

/* Keeps below an element what the virtual machine has; how much that is. */
static uint32_t keep_below(struct vm *vm, xmlNodePtr parent)
{
	uint32_t kept = 0, below;
	xmlNodePtr next;

	for (xmlNodePtr node = parent->children; node; node = next) {
		struct gt_vm_entry *entry = NULL;
		char host[GT_BUS_ID_MAX] = "";

		next = node->next;
		if (is(node, "nic"))
			drop(node); /* It has no function, so it is no gift. */
		else if (is(node, "pci")) {
			if (bus_id(node, "busid", host))
				entry = gt_vm_map_find(&vm->map, host);
			below = entry ? !entry->used : keep_below(vm, node);
			if (entry && below)
				keep_device(vm, node, entry);
			if (!below)
				drop(node);
			else if (!entry)
				keep_bridge(vm, node, host);
			kept += below;
		}
	}
	return kept;
}

/* Is the other end an NVSwitch, which is no device of anybody? */
static int ends_at_switch(xmlNodePtr link)
{
	xmlChar *class = xmlGetProp(link, (const xmlChar *)"tclass");
	int found = class && !strncmp((const char *)class, "0x0680", 6);

	xmlFree(class);
	return found;
}

/* Has links end at devices by their new ids, and drops those of others. */
static void keep_links(struct vm *vm, xmlNodePtr parent)
{
	xmlNodePtr next;

	for (xmlNodePtr node = parent->children; node; node = next) {
		const struct gt_vm_entry *entry = NULL;
		char target[GT_BUS_ID_MAX];

		next = node->next;
		if (node->type != XML_ELEMENT_NODE)
			continue;
		if (bus_id(node, "target", target))
			entry = gt_vm_map_find(&vm->map, target);
		if (entry)
			set(vm, node, "target", entry->vm);
		else if (xmlHasProp(node, (const xmlChar *)"target") &&
			 !ends_at_switch(node))
			drop(node);
		else
			keep_links(vm, node);
	}
}

static int by_bus_id(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	return strcmp(a->bus_id, b->bus_id);
}

/* Numbers devices by bus id, as drivers do. */
static void number(struct vm *vm, struct numbered *list, uint32_t n)
{
	char text[16];

	qsort(list, n, sizeof(*list), by_bus_id);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%" PRIu32, i);
		set(vm, list[i].node, "dev", text);
		if (xmlHasProp(list[i].node, (const xmlChar *)"rank"))
			set(vm, list[i].node, "rank", text);
	}
}

/* Returns the NUMA node before this one that has the same number, or NULL. */
static xmlNodePtr same_before(xmlNodePtr cpu, const char *numa)
{
	for (xmlNodePtr node = cpu->prev; node; node = node->prev) {
		xmlChar *other =
			is(node, "cpu")
				? xmlGetProp(node, (const xmlChar *)"numaid")
				: NULL;
		int same = other && !strcmp((const char *)other, numa);

		xmlFree(other);
		if (same)
			return node;
	}
	return NULL;
}

/*
 * Gives a NUMA node its number in the virtual machine, where it may be one with
 * another; which processors it has there NCCL asks the system.
 */
static void keep_cpu(struct vm *vm, xmlNodePtr cpu)
{
	xmlChar *numa = xmlGetProp(cpu, (const xmlChar *)"numaid");
	char name[GT_BUS_ID_MAX];
	struct gt_vm_entry *entry;
	xmlNodePtr first, child;

	snprintf(name, sizeof(name), "cpu%s", numa ? (const char *)numa : "");
	xmlFree(numa);
	entry = gt_vm_map_find(&vm->map, name);
	if (entry) {
		entry->used = 1;
		set(vm, cpu, "numaid", entry->vm + 3);
		snprintf(name, sizeof(name), "%s", entry->vm);
	}
	xmlUnsetProp(cpu, (const xmlChar *)"affinity");
	first = same_before(cpu, name + 3);
	while (first && (child = cpu->children)) {
		xmlUnlinkNode(child);
		vm->failed |= !xmlAddChild(first, child);
	}
	if (first)
		drop(cpu);
}

static void keep_all(struct vm *vm, xmlNodePtr root)
{
	xmlNodePtr next;

	for (xmlNodePtr node = root->children; node; node = next) {
		next = node->next;
		if (is(node, "cpu") && keep_below(vm, node))
			keep_cpu(vm, node);
		else
			drop(node); /* of the host: no device, its facts */
	}
	keep_links(vm, root);
	number(vm, vm->gpus, vm->ngpus);
	number(vm, vm->nets, vm->nnets);
}

/* Edits the document, which is a topology, and writes it. */
static int convert(struct vm *vm, xmlDocPtr doc, struct gt_buf *out,
		   struct gt_err *err)
{
	struct gt_topo *topo = NULL;
	int rc;

	keep_all(vm, xmlDocGetRootElement(doc));
	rc = gt_vm_map_check_used(&vm->map, err);
	if (!rc && !vm->ngpus)
		rc = gt_err_set(err, GT_EINPUT, vm->map.file,
				"has no GPU of the host");
	if (!rc && (vm->failed || gt_xml_save(doc, out)))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_topo_parse("the virtual machine", out->text, out->len,
				   GT_RATES_LINE, &topo, err);
	gt_topo_free(topo);
	return rc;
}

int gt_vm_topology(const struct gt_buf *host, const char *map,
		   struct gt_buf *out, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct vm *vm = arena ? gt_arena_array(arena, 1, sizeof(*vm)) : NULL;
	xmlDocPtr doc;
	int rc = vm ? gt_vm_map_read(map, arena, &vm->map, err)
		    : gt_err_nomem(err);

	if (!rc) {
		doc = xmlReadMemory(host->text, (int)host->len, NULL, NULL,
				    XML_PARSE_NOBLANKS | XML_PARSE_NONET |
					    XML_PARSE_NOERROR |
					    XML_PARSE_NOWARNING);
		rc = doc ? convert(vm, doc, out, err) : gt_err_nomem(err);
		xmlFreeDoc(doc);
	}
	gt_arena_free(arena);
	return rc;
}
