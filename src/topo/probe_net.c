#include "topo/probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/machine.h"
#include "topo/sysfs.h"

enum {
	GT_ARPHRD_ETHER = 1,
	GT_ADDR_PERMANENT = 0,
	GT_NAME_MAX = 64,
};

struct gt_net_walk {
	const struct gt_probe_env *env;
	struct gt_machine *machine;
};

/* The EUI-64 of a permanent MAC address; 0 where there is none. */
static uint64_t gt_net_guid(const char *root, const char *name)
{
	unsigned m[6];
	char text[32];

	if (gt_sysfs_long(root, GT_UNKNOWN,
			  "/sys/class/net/%s/addr_assign_type",
			  name) != GT_ADDR_PERMANENT)
		return 0;
	gt_sysfs_text(root, text, sizeof(text), "/sys/class/net/%s/address",
		      name);
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &m[0], &m[1], &m[2], &m[3],
		   &m[4], &m[5]) != 6)
		return 0;
	if (!(m[0] | m[1] | m[2] | m[3] | m[4] | m[5]))
		return 0;
	return (uint64_t)(m[0] ^ 2) << 56 | (uint64_t)m[1] << 48 |
	       (uint64_t)m[2] << 40 | (uint64_t)0xfffe << 24 |
	       (uint64_t)m[3] << 16 | (uint64_t)m[4] << 8 | m[5];
}

/*
 * Which function the interface belongs to: 1 with *pci set (NULL: of none,
 * such as a hypervisor's own bus), 0 when it is not to be listed: virtual, or
 * behind something that is no network controller (USB).
 */
static int gt_net_place(struct gt_net_walk *walk, const char *name,
			struct gt_machine_pci **pci)
{
	char path[PATH_MAX], busid[GT_BUSID_MAX];

	*pci = NULL;
	if (!gt_sysfs_real(walk->env->root, path, "/sys/class/net/%s/device",
			   name))
		return 0;
	if (!gt_sysfs_busid(path, busid, sizeof(busid)))
		return 1;
	*pci = gt_machine_pci_find(walk->machine, busid);
	return *pci && (*pci)->base_class >> 8 == 0x02;
}

static int gt_net_probe(const char *name, void *arg)
{
	struct gt_net_walk *walk = arg;
	const char *root = walk->env->root;
	struct gt_machine_pci *pci;
	struct gt_machine_net *net;
	long numa;

	if (strlen(name) >= GT_NAME_MAX ||
	    gt_sysfs_long(root, GT_UNKNOWN, "/sys/class/net/%s/type", name) !=
		    GT_ARPHRD_ETHER ||
	    gt_machine_has_rdma_over(walk->machine, name) ||
	    !gt_net_place(walk, name, &pci))
		return 0;
	numa = gt_sysfs_long(root, GT_UNKNOWN,
			     "/sys/class/net/%s/device/numa_node", name);
	if (numa < 0)
		numa = gt_machine_only_numa(walk->machine);
	net = gt_machine_net_add(walk->machine, pci, (int)numa, name);
	if (!net)
		return GT_ESYS;
	net->active = 1;
	net->guid = gt_net_guid(root, name);
	net->speed_mbps =
		(int)gt_sysfs_long(root, 0, "/sys/class/net/%s/speed", name);
	if (net->speed_mbps < 0)
		net->speed_mbps = 0;
	return 0;
}

int gt_probe_net(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err)
{
	struct gt_net_walk walk = {env, machine};

	if (gt_sysfs_each(env->root, "/sys/class/net", gt_net_probe, &walk))
		return gt_err_nomem(err);
	return GT_OK;
}
