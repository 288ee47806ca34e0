/* This probe finds RDMA devices and their ports, as sysfs lists them. */
#include "topo/probe/probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

enum { GT_NETDEV_MAX = 64 };

struct gt_rdma_query {
	const struct gt_probe_env *env;
	struct gt_machine *machine;
	const char *device;
	struct gt_machine_pci *pci; /* NULL for a device without a function */
	int numa;
	uint64_t guid;
	int own; /* whether it has a function of its own */
	int n;
};

/* Reads a guid such as "a088:c203:0054:8d2e"; 0 when there is none. */
static uint64_t gt_rdma_guid(const char *root, const char *device,
			     const char *name)
{
	unsigned a, b, c, d;
	char text[64];

	gt_sysfs_text(root, text, sizeof(text), "/sys/class/infiniband/%s/%s",
		      device, name);
	if (sscanf(text, "%4x:%4x:%4x:%4x", &a, &b, &c, &d) != 4)
		return 0;
	return (uint64_t)a << 48 | (uint64_t)b << 32 | (uint64_t)c << 16 | d;
}

/* Finds the interface that a RoCE port runs over; "" for InfiniBand. */
static void gt_rdma_netdev(const char *root, const char *device,
			   const char *port, char netdev[GT_NETDEV_MAX])
{
	if (!gt_sysfs_text(root, netdev, GT_NETDEV_MAX,
			   "/sys/class/infiniband/%s/ports/%s/gid_attrs/"
			   "ndevs/0",
			   device, port))
		gt_sysfs_text(root, netdev, GT_NETDEV_MAX,
			      "/sys/class/infiniband/%s/parent", device);
	if (strchr(netdev, '/'))
		netdev[0] = '\0';
}

/*
 * Finds the device's function.  Soft-RoCE and the like have none of their own:
 * theirs is that of the interface below.
 */
static void gt_rdma_place(struct gt_rdma_query *query)
{
	const char *root = query->env->root;
	char path[PATH_MAX], busid[GT_BUSID_MAX], netdev[GT_NETDEV_MAX];

	query->pci = NULL;
	query->own = 1;
	query->numa = gt_machine_only_numa(query->machine);
	if (!gt_sysfs_real(root, path, "/sys/class/infiniband/%s/device",
			   query->device)) {
		query->own = 0;
		gt_rdma_netdev(root, query->device, "1", netdev);
		if (!netdev[0] || !gt_sysfs_netdev(root, path, netdev))
			return;
	}
	if (gt_sysfs_busid(path, busid, sizeof(busid)))
		query->pci = gt_machine_pci_find(query->machine, busid);
}

/* Returns "100 Gb/sec (4X EDR)" in Mb/s; 0 when it cannot be read. */
static int gt_rdma_speed(const char *root, const char *device, const char *port)
{
	char text[64];
	double gbits;

	gt_sysfs_text(root, text, sizeof(text),
		      "/sys/class/infiniband/%s/ports/%s/rate", device, port);
	gbits = strtod(text, NULL);
	return gbits > 0 && gbits < 1e6 ? (int)(gbits * 1000 + .5) : 0;
}

/* Returns "4: ACTIVE" as "active"; NULL where it cannot be read. */
static const char *gt_rdma_state(const char *root, const char *device,
				 const char *port)
{
	static const char *const words[] = {NULL,    "down",   "init",
					    "armed", "active", "defer"};
	long state = gt_sysfs_long(root, 0,
				   "/sys/class/infiniband/%s/ports/%s/state",
				   device, port);

	return state > 0 && state <= 5 ? words[state] : NULL;
}

static const char *gt_rdma_layer(const char *root, const char *device,
				 const char *port)
{
	char text[64];

	gt_sysfs_text(root, text, sizeof(text),
		      "/sys/class/infiniband/%s/ports/%s/link_layer", device,
		      port);
	if (!strcmp(text, "InfiniBand"))
		return "ib";
	return strcmp(text, "Ethernet") ? NULL : "eth";
}

static const char *gt_rdma_firmware(const struct gt_rdma_query *query)
{
	char text[64];

	if (!gt_sysfs_text(query->env->root, text, sizeof(text),
			   "/sys/class/infiniband/%s/fw_ver", query->device))
		return NULL;
	return gt_arena_strdup(query->machine->arena, text);
}

static int gt_rdma_port(const char *port, void *arg)
{
	struct gt_rdma_query *query = arg;
	const char *root = query->env->root;
	char netdev[GT_NETDEV_MAX];
	struct gt_machine_net *net = gt_machine_net_add(
		query->machine, query->pci, query->numa, query->device);

	if (!net)
		return GT_ESYS;
	net->rdma = 1;
	net->guid = query->guid;
	net->port = atoi(port);
	net->state = gt_rdma_state(root, query->device, port);
	net->layer = gt_rdma_layer(root, query->device, port);
	net->firmware = gt_rdma_firmware(query);
	net->active = net->state && !strcmp(net->state, "active");
	if (net->active)
		net->speed_mbps = gt_rdma_speed(root, query->device, port);
	if (query->own && query->machine->host.peermem)
		net->gdr = 1;
	gt_rdma_netdev(root, query->device, port, netdev);
	if (netdev[0]) {
		net->netdev = gt_arena_strdup(query->machine->arena, netdev);
		if (!net->netdev)
			return GT_ESYS;
	}
	query->n++;
	return 0;
}

static int gt_rdma_device(const char *name, void *arg)
{
	struct gt_rdma_query *query = arg;
	const char *root = query->env->root;
	char dir[PATH_MAX];

	query->device = name;
	query->guid = gt_rdma_guid(root, name, "sys_image_guid");
	if (!query->guid)
		query->guid = gt_rdma_guid(root, name, "node_guid");
	gt_rdma_place(query);
	snprintf(dir, sizeof(dir), "/sys/class/infiniband/%s/ports", name);
	return gt_sysfs_each(root, dir, gt_rdma_port, query);
}

static const char *gt_rdma_peermem(const char *root)
{
	char path[PATH_MAX];

	if (gt_sysfs_real(root, path, "/sys/module/nvidia_peermem"))
		return "nvidia_peermem";
	return gt_sysfs_real(root, path, "/sys/module/nv_peer_mem")
		       ? "nv_peer_mem"
		       : NULL;
}

int gt_probe_rdma(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err)
{
	struct gt_rdma_query query = {.env = env, .machine = machine};

	machine->host.peermem = gt_rdma_peermem(env->root);
	if (gt_sysfs_each(env->root, "/sys/class/infiniband", gt_rdma_device,
			  &query))
		return gt_err_nomem(err);
	gt_machine_note_detail(machine, "rdma: ports: %d; nvidia_peermem %s",
			       query.n,
			       machine->host.peermem ? "loaded" : "not loaded");
	/*
	 * Without the module only a driver call would tell, so it stays
	 * unknown.
	 */
	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next)
		if (p->gpu && query.n && machine->host.peermem)
			p->gpu->gdr = 1;
	return GT_OK;
}
