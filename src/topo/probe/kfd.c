/* This probe finds AMD's GPUs and their xGMI links. */
#include "topo/probe/probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"
#include "topo/probe/visible_devices.h"

/*
 * The kernel's compute driver lists AMD's GPUs here: a folder for each node,
 * CPUs among them, with files of lines "key value" (drivers/gpu/drm/amd/amdkfd,
 * kfd_topology.c).
 */
#define GT_KFD_NODES "/sys/class/kfd/kfd/topology/nodes"

enum {
	GT_KFD_XGMI = 11,      /* the type of an xGMI link, kfd_crat.h */
	GT_KFD_WEIGHT = 15,    /* the weight of one hop over xGMI */
	GT_KFD_LINKS_MAX = 64, /* the most links side by side */
	GT_CLASS_ACCEL = 0x120000,
};

/*
 * A key is looked for in a file of properties, and its value goes where this
 * says.
 */
struct gt_kfd_key {
	const char *key;
	unsigned long long *value;
};

/* This is a GPU, and the node where it was found. */
struct gt_kfd_gpu {
	struct gt_kfd_gpu *next;
	const char *node;
	struct gt_machine_pci *pci;
};

struct gt_kfd_query {
	const struct gt_probe_env *env;
	struct gt_machine *machine;
	struct gt_kfd_gpu *gpus;
	struct gt_kfd_gpu *from; /* the GPU whose links are being read */
	int n, unread;
};

/*
 * Reads a file of properties; returns the number of lines, 0 where there is no
 * such file, or it may not be read.
 */
static int gt_kfd_read(const char *root, const char *path,
		       const struct gt_kfd_key *keys)
{
	char name[PATH_MAX], line[256];
	unsigned long long value;
	FILE *file;
	int n = 0;

	if (snprintf(name, sizeof(name), "%s%s", root, path) >= PATH_MAX)
		return 0;
	file = fopen(name, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu", name, &value) != 2)
			continue;
		for (const struct gt_kfd_key *k = keys; k->key; k++)
			if (!strcmp(k->key, name))
				*k->value = value;
		n++;
	}
	fclose(file);
	return n;
}

/* Returns an attribute that AMD's driver adds to the function, or NULL. */
static const char *gt_kfd_text(const struct gt_kfd_query *query,
			       const struct gt_machine_pci *pci,
			       const char *name)
{
	char text[128];

	if (!gt_sysfs_text(query->env->root, text, sizeof(text),
			   "/sys/bus/pci/devices/%s/%s", pci->busid, name))
		return NULL;
	return gt_arena_strdup(query->machine->arena, text);
}

static const char *gt_kfd_hidden(int index, unsigned long long unique_id)
{
	static const char *const variables[] = {"ROCR_VISIBLE_DEVICES",
						"HIP_VISIBLE_DEVICES"};
	char uuid[32];

	snprintf(uuid, sizeof(uuid), "GPU-%016llx", unique_id);
	for (int i = 0; i < 2; i++)
		if (!gt_gpu_is_visible(getenv(variables[i]), index, uuid))
			return variables[i];
	return NULL;
}

/* Version 90402 is 9.4.2, gfx942; 90010 is gfx90a. */
static void gt_kfd_version(const struct gt_kfd_query *query,
			   struct gt_machine_gpu *gpu,
			   unsigned long long version)
{
	unsigned major = (unsigned)(version / 10000 % 100);
	unsigned minor = (unsigned)(version / 100 % 100);
	unsigned step = (unsigned)(version % 100);

	gpu->sm = (int)(major * 10 + minor);
	gpu->gcn = gt_arena_printf(query->machine->arena, "gfx%u%x%x", major,
				   minor, step);
}

/* Describes a GPU by what the driver says of its node and its function. */
static void gt_kfd_describe(const struct gt_kfd_query *query,
			    struct gt_machine_pci *pci,
			    const unsigned long long value[])
{
	struct gt_machine_gpu *gpu = pci->gpu;

	if (!pci->vendor) {
		pci->class_id = "0x03";
		pci->class_from = "kfd";
		pci->vendor = "0x1002";
	}
	gpu->dev = gpu->rank;
	gt_kfd_version(query, gpu, value[0]);
	gpu->name = gt_kfd_text(query, pci, "product_name");
	gpu->vbios = gt_kfd_text(query, pci, "vbios_version");
	gpu->hidden = gt_kfd_hidden(query->n, value[3]);
}

static int gt_kfd_add(struct gt_kfd_query *query, const char *node,
		      const unsigned long long value[])
{
	struct gt_kfd_gpu *found, **at = &query->gpus;
	char busid[GT_BUSID_MAX];

	snprintf(busid, sizeof(busid), "%04llx:%02llx:%02llx.%llx",
		 value[1] & 0xffffffff, value[2] >> 8 & 0xff,
		 value[2] >> 3 & 0x1f, value[2] & 7);
	found = gt_arena_alloc(query->machine->arena, sizeof(*found));
	if (!found)
		return GT_ESYS;
	found->node = gt_arena_strdup(query->machine->arena, node);
	found->pci = gt_machine_pci(query->machine, busid);
	if (!found->node || !found->pci)
		return GT_ESYS;
	/*
	 * Partitions of a GPU are nodes of their own; the first of them stands
	 * for it.
	 */
	if (found->pci->gpu) {
		gt_machine_note_detail(
			query->machine,
			"kfd: node %s is a part of GPU %s, left out", node,
			busid);
		return GT_OK;
	}
	if (!gt_machine_gpu_new(query->machine, found->pci))
		return GT_ESYS;
	gt_kfd_describe(query, found->pci, value);
	while (*at)
		at = &(*at)->next;
	*at = found;
	query->n++;
	return GT_OK;
}

static int gt_kfd_node(const char *name, void *arg)
{
	struct gt_kfd_query *query = arg;
	/*
	 * The values are what the GPU can do, where it is, and what it is
	 * called.
	 */
	unsigned long long value[4] = {0};
	const struct gt_kfd_key keys[] = {{"gfx_target_version", &value[0]},
					  {"domain", &value[1]},
					  {"location_id", &value[2]},
					  {"unique_id", &value[3]},
					  {NULL, NULL}};
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), GT_KFD_NODES "/%s/properties", name) >=
	    PATH_MAX)
		return GT_OK;
	if (!gt_kfd_read(query->env->root, path, keys))
		query->unread++;
	return value[0] ? gt_kfd_add(query, name, value) : GT_OK;
}

static const struct gt_kfd_gpu *gt_kfd_find(const struct gt_kfd_query *query,
					    unsigned long long node)
{
	const struct gt_kfd_gpu *gpu = query->gpus;

	while (gpu && strtoull(gpu->node, NULL, 10) != node)
		gpu = gpu->next;
	return gpu;
}

/*
 * Bandwidths are those of one link and of all to that peer; those of peers
 * further away are 0, and so were all before kernel 5.16.
 */
static int gt_kfd_link(const char *name, void *arg)
{
	struct gt_kfd_query *query = arg;
	unsigned long long type = 0, to = 0, weight = 0, one = 0, all = 0;
	const struct gt_kfd_key keys[] = {
		{"type", &type},         {"node_to", &to},
		{"weight", &weight},     {"min_bandwidth", &one},
		{"max_bandwidth", &all}, {NULL, NULL}};
	struct gt_machine_nvlink **at = &query->from->pci->gpu->nvlinks, *link;
	const struct gt_kfd_gpu *peer;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path),
		     GT_KFD_NODES "/%s/io_links/%s/properties",
		     query->from->node, name) >= PATH_MAX)
		return GT_OK;
	gt_kfd_read(query->env->root, path, keys);
	peer = gt_kfd_find(query, to);
	if (type != GT_KFD_XGMI || !peer || (!all && weight != GT_KFD_WEIGHT))
		return GT_OK;
	link = gt_arena_alloc(query->machine->arena, sizeof(*link));
	if (!link)
		return GT_ESYS;
	snprintf(link->target, sizeof(link->target), "%s", peer->pci->busid);
	link->xgmi = 1;
	link->tclass = (unsigned)gt_sysfs_long(query->env->root, GT_CLASS_ACCEL,
					       "/sys/bus/pci/devices/%s/class",
					       link->target);
	link->count = 1;
	if (one && all / one > 0 && all / one <= GT_KFD_LINKS_MAX)
		link->count = (int)(all / one);
	else
		link->count_from = "kfd";
	link->line_mbs = one < INT_MAX ? (int)one : 0;
	while (*at)
		at = &(*at)->next;
	*at = link;
	return GT_OK;
}

int gt_probe_kfd(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err)
{
	struct gt_kfd_query query = {.env = env, .machine = machine};
	char dir[PATH_MAX];
	int rc = gt_sysfs_each(env->root, GT_KFD_NODES, gt_kfd_node, &query);

	for (query.from = query.gpus; query.from && !rc;
	     query.from = query.from->next) {
		snprintf(dir, sizeof(dir), GT_KFD_NODES "/%s/io_links",
			 query.from->node);
		rc = gt_sysfs_each(env->root, dir, gt_kfd_link, &query);
	}
	gt_machine_note_detail(
		machine, "kfd: GPUs: %d; nodes that could not be read: %d",
		query.n, query.unread);
	return rc ? gt_err_nomem(err) : GT_OK;
}
