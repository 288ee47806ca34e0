/*
 * This finds how far a network card is from a GPU, by where sysfs has the two.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/link/verbs/verbs.h"

static const char *const gt_verbs_distances[] = {
	[GT_VERBS_LOC] = "LOC",   [GT_VERBS_PIX] = "PIX",
	[GT_VERBS_PXB] = "PXB",   [GT_VERBS_PHB] = "PHB",
	[GT_VERBS_NODE] = "NODE", [GT_VERBS_SYS] = "SYS",
};

const char *gt_verbs_distance_name(enum gt_verbs_distance distance)
{
	return gt_verbs_distances[distance];
}

int gt_verbs_reach_read(enum gt_verbs_distance *reach, struct gt_err *err)
{
	const char *text = getenv("GTOPO_NET_GDR_LEVEL");

	/* No real card has shown yet that it works. */
	*reach = GT_VERBS_LOC;
	if (!text)
		return GT_OK;
	for (int i = GT_VERBS_LOC; i <= GT_VERBS_SYS; i++)
		if (!strcmp(text, gt_verbs_distances[i])) {
			*reach = (enum gt_verbs_distance)i;
			return GT_OK;
		}
	return gt_err_set(err, GT_EINPUT, NULL,
			  "GTOPO_NET_GDR_LEVEL '%s' is none of LOC, PIX, PXB, "
			  "PHB, NODE and SYS",
			  text);
}

/* Count the names that a path has. */
static uint32_t gt_verbs_path_depth(const char *path)
{
	uint32_t n = 0;

	for (; *path; path++)
		n += *path == '/' && path[1];
	return n;
}

/*
 * Both are "/sys/devices/pci0000:00/BRIDGE/.../FUNCTION".  The distance goes by
 * the first bridge, from a function up, that is above the other one too.  In a
 * switch that is the upstream port, with a downstream port for each of them.
 */
enum gt_verbs_distance gt_verbs_distance(const char *card, const char *gpu)
{
	size_t same = 0;
	uint32_t above, most;
	char root[PATH_MAX];

	if (strncmp(card, "/sys/devices/pci", 16) != 0)
		return GT_VERBS_SYS;
	for (size_t i = 0; card[i] && card[i] == gpu[i]; i++)
		if (card[i] == '/')
			same = i;
	snprintf(root, sizeof(root), "%.*s", (int)same, card);
	above = gt_verbs_path_depth(root);
	if (above < 3)
		return GT_VERBS_SYS;
	if (above == 3)
		return GT_VERBS_PHB;
	most = gt_verbs_path_depth(card) > gt_verbs_path_depth(gpu)
		       ? gt_verbs_path_depth(card)
		       : gt_verbs_path_depth(gpu);
	return most - above <= 2 ? GT_VERBS_PIX : GT_VERBS_PXB;
}

/* The device's NUMA node; -1: it has none, or nobody knows. */
static int gt_verbs_numa_node(const char *device)
{
	char path[PATH_MAX + 16];
	int node = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/numa_node", device);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node;
}

enum gt_verbs_distance gt_verbs_distance_to_gpu(
	const struct gt_verbs_port *port, const char *bus_id)
{
	const char *name = ibv_get_device_name(port->context->device);
	char path[PATH_MAX], card[PATH_MAX], gpu[PATH_MAX];
	enum gt_verbs_distance far;
	int node;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", name);
	if (!realpath(path, card))
		return GT_VERBS_SYS;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s", bus_id);
	if (!*bus_id || !realpath(path, gpu))
		return GT_VERBS_SYS;
	far = gt_verbs_distance(card, gpu);
	node = gt_verbs_numa_node(card);
	return far == GT_VERBS_SYS && node >= 0 &&
			       node == gt_verbs_numa_node(gpu)
		       ? GT_VERBS_NODE
		       : far;
}
