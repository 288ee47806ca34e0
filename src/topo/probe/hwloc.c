/*
 * This probe comes first: it lists NUMA nodes with their processors, and the
 * PCI tree, as hwloc lists them.
 */
#include "topo/probe/probe.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

/*
 * Loads only what is asked for: every further kind of object costs reads at
 * start.
 */
static int gt_hwloc_load(hwloc_topology_t *topo)
{
	if (hwloc_topology_init(topo))
		return 0;
	hwloc_topology_set_all_types_filter(*topo, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(*topo, HWLOC_OBJ_PACKAGE,
				       HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(*topo, HWLOC_OBJ_BRIDGE,
				       HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(*topo, HWLOC_OBJ_PCI_DEVICE,
				       HWLOC_TYPE_FILTER_KEEP_ALL);
	/* /sys and /proc say all that libpciaccess and cpuid would say. */
	hwloc_topology_set_components(
		*topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
	hwloc_topology_set_components(
		*topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	/*
	 * This asks for the whole machine, not the part of it that a cgroup
	 * leaves us.
	 */
	hwloc_topology_set_flags(*topo, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!hwloc_topology_load(*topo))
		return 1;
	hwloc_topology_destroy(*topo);
	return 0;
}

/*
 * Writes a set of CPUs as the kernel writes cpumap: 32-bit words, the highest
 * first.
 */
static const char *gt_hwloc_affinity(struct gt_arena *arena,
				     hwloc_const_bitmap_t set)
{
	struct gt_buf text = GT_BUF_INIT;
	int word = hwloc_bitmap_last(set) / 32;
	unsigned bits;
	const char *copy;

	for (; word >= 0; word--) {
		bits = 0;
		for (int b = 0; b < 32; b++)
			if (hwloc_bitmap_isset(set, (unsigned)(word * 32 + b)))
				bits |= 1u << b;
		gt_buf_printf(&text, "%08x%s", bits, word ? "," : "");
	}
	copy = text.failed ? NULL : gt_arena_strdup(arena, gt_buf_text(&text));
	gt_buf_release(&text);
	return copy;
}

/*
 * Returns NCCL's name of the architecture; NULL for others, which it does not
 * know.
 */
static const char *gt_hwloc_arch(hwloc_obj_t root)
{
	const char *name = hwloc_obj_get_info_by_name(root, "Architecture");

	if (!name)
		return NULL;
	if (!strcmp(name, "x86_64"))
		return "x86_64";
	if (!strcmp(name, "aarch64") || !strcmp(name, "arm64"))
		return "arm64";
	if (!strncmp(name, "ppc64", 5))
		return "ppc64";
	return NULL;
}

/* Returns the package of a node: the one above it, or the first inside it. */
static hwloc_obj_t gt_hwloc_package(hwloc_topology_t topo, hwloc_obj_t node)
{
	for (hwloc_obj_t obj = node->parent; obj; obj = obj->parent)
		if (obj->type == HWLOC_OBJ_PACKAGE)
			return obj;
	return hwloc_get_next_obj_inside_cpuset_by_type(
		topo, node->cpuset, HWLOC_OBJ_PACKAGE, NULL);
}

static int gt_hwloc_info_int(hwloc_obj_t obj, const char *name)
{
	const char *text = hwloc_obj_get_info_by_name(obj, name);

	return text ? atoi(text) : GT_UNKNOWN;
}

/*
 * Returns whether a node has CPUs.  Nodes without (memory of GPUs, CXL) are no
 * place for a process; hwloc gives them the CPUs that are nearest, the kernel
 * none.
 */
static int gt_hwloc_has_cpus(const struct gt_probe_env *env, hwloc_obj_t node)
{
	char map[4096];

	if (hwloc_bitmap_iszero(node->cpuset))
		return 0;
	gt_sysfs_text(env->root, map, sizeof(map),
		      "/sys/devices/system/node/node%u/cpumap", node->os_index);
	return !*map || strspn(map, "0,") < strlen(map);
}

static int gt_hwloc_cpu(hwloc_topology_t topo, hwloc_obj_t node,
			struct gt_machine *machine)
{
	struct gt_machine_cpu *cpu =
		gt_machine_cpu(machine, (int)node->os_index);
	hwloc_obj_t root = hwloc_get_root_obj(topo);
	hwloc_obj_t package = gt_hwloc_package(topo, node);
	const char *text;

	if (!cpu)
		return GT_ESYS;
	package = package ? package : root;
	cpu->affinity = gt_hwloc_affinity(machine->arena, node->cpuset);
	if (!cpu->affinity)
		return GT_ESYS;
	cpu->arch = gt_hwloc_arch(root);
	text = hwloc_obj_get_info_by_name(package, "CPUVendor");
	if (text)
		cpu->vendor = gt_arena_strdup(machine->arena, text);
	text = hwloc_obj_get_info_by_name(package, "CPUModel");
	if (text)
		cpu->name = gt_arena_strdup(machine->arena, text);
	cpu->family = gt_hwloc_info_int(package, "CPUFamilyNumber");
	cpu->model = gt_hwloc_info_int(package, "CPUModelNumber");
	return GT_OK;
}

static int gt_hwloc_cpus(hwloc_topology_t topo, const struct gt_probe_env *env,
			 struct gt_machine *machine)
{
	hwloc_obj_t node = NULL;
	int rc = GT_OK;

	while (!rc && (node = hwloc_get_next_obj_by_type(
			       topo, HWLOC_OBJ_NUMANODE, node)))
		if (gt_hwloc_has_cpus(env, node))
			rc = gt_hwloc_cpu(topo, node, machine);
	return rc;
}

/*
 * Returns the only node with CPUs that hwloc places the device at, or
 * GT_UNKNOWN.
 */
static int gt_hwloc_locality(hwloc_topology_t topo,
			     const struct gt_probe_env *env, hwloc_obj_t obj)
{
	hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topo, obj);
	hwloc_obj_t node = NULL;
	int numa = GT_UNKNOWN, n = 0;

	while ((node = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE,
						  node)))
		if (gt_hwloc_has_cpus(env, node) &&
		    hwloc_bitmap_isset(place->nodeset, node->os_index)) {
			numa = (int)node->os_index;
			n++;
		}
	return n == 1 ? numa : GT_UNKNOWN;
}

static const struct hwloc_pcidev_attr_s *gt_hwloc_attr(hwloc_obj_t obj)
{
	if (obj->type == HWLOC_OBJ_PCI_DEVICE)
		return &obj->attr->pcidev;
	if (obj->type == HWLOC_OBJ_BRIDGE &&
	    obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
		return &obj->attr->bridge.upstream.pci;
	return NULL;
}

/* Adds a function and the bridges above it; NULL when memory ran out. */
static struct gt_machine_pci *gt_hwloc_pci(hwloc_topology_t topo,
					   hwloc_obj_t obj,
					   const struct gt_probe_env *env,
					   struct gt_machine *machine)
{
	const struct hwloc_pcidev_attr_s *attr = gt_hwloc_attr(obj);
	struct gt_machine_pci *pci;
	char busid[GT_BUSID_MAX];

	snprintf(busid, sizeof(busid), "%04x:%02x:%02x.%x", attr->domain,
		 attr->bus, attr->dev, attr->func);
	pci = gt_machine_pci(machine, busid);
	if (!pci || pci->vendor)
		return pci;
	pci->base_class = attr->class_id;
	pci->vendor =
		gt_arena_printf(machine->arena, "0x%04x", attr->vendor_id);
	pci->numa =
		(int)gt_sysfs_long(env->root, GT_UNKNOWN,
				   "/sys/bus/pci/devices/%s/numa_node", busid);
	if (pci->numa < 0)
		pci->numa = gt_hwloc_locality(topo, env, obj);
	if (obj->parent && gt_hwloc_attr(obj->parent)) {
		pci->port = gt_hwloc_pci(topo, obj->parent, env, machine);
		if (!pci->port)
			return NULL;
	}
	return pci->vendor ? pci : NULL;
}

int gt_probe_hwloc(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err)
{
	hwloc_topology_t topo;
	hwloc_obj_t obj = NULL;
	int rc, n = 0;

	if (!gt_hwloc_load(&topo))
		return gt_err_set(err, GT_ESYS, NULL,
				  "hwloc cannot read this machine's topology");
	rc = gt_hwloc_cpus(topo, env, machine);
	for (; !rc && (obj = hwloc_get_next_pcidev(topo, obj)); n++)
		if (!gt_hwloc_pci(topo, obj, env, machine))
			rc = GT_ESYS;
	gt_machine_note_detail(
		machine, "hwloc: NUMA nodes: %d; PCI devices: %d",
		hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE), n);
	if (rc)
		gt_err_nomem(err);
	hwloc_topology_destroy(topo);
	return rc;
}
