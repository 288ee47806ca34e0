/*
 * This probe finds Ethernet interfaces that no RDMA device runs over, and of
 * network cards without a port.
 */
#include "topo/probe/probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

enum {
	GT_ARPHRD_ETHER = 1,
	GT_ADDR_PERMANENT = 0,
	GT_NAME_MAX = 64,
};

struct gt_net_query {
	const struct gt_probe_env *env;
	struct gt_machine *machine;
};

/* Returns the EUI-64 of a permanent MAC address; 0 where there is none. */
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
 * Returns whether there is a carrier, "active" or "down"; NULL where the kernel
 * does not know.
 */
static const char *gt_net_state(const char *root, const char *name)
{
	char text[32];

	gt_sysfs_text(root, text, sizeof(text), "/sys/class/net/%s/operstate",
		      name);
	if (!strcmp(text, "up"))
		return "active";
	return !strcmp(text, "down") || !strcmp(text, "lowerlayerdown") ? "down"
									: NULL;
}

/*
 * Returns the version of an interface's firmware, which no file has but any
 * socket tells.
 */
static const char *gt_net_firmware(struct gt_machine *machine, const char *name)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {0};
	int fd, rc;

	if (strlen(name) >= sizeof(request.ifr_name))
		return NULL;
	memcpy(request.ifr_name, name, strlen(name));
	request.ifr_data = (char *)&info;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	rc = ioctl(fd, SIOCETHTOOL, &request);
	close(fd);
	info.fw_version[sizeof(info.fw_version) - 1] = '\0';
	if (rc || !info.fw_version[0] || !strcmp(info.fw_version, "N/A"))
		return NULL;
	return gt_arena_strdup(machine->arena, info.fw_version);
}

/*
 * Finds the function that the interface belongs to: 1 with *pci set (NULL where
 * it has none, as on a hypervisor's own bus), 0 when the interface is not to be
 * listed: virtual, or behind something that is no network controller (USB).
 */
static int gt_net_place(struct gt_net_query *query, const char *name,
			struct gt_machine_pci **pci)
{
	const char *root = query->env->root;
	char path[PATH_MAX], busid[GT_BUSID_MAX];
	int all = query->env->all;

	*pci = NULL;
	if (!gt_sysfs_real(root, path, "/sys/class/net/%s/device", name) &&
	    !(all && gt_sysfs_netdev(root, path, name)))
		return all;
	if (!gt_sysfs_busid(path, busid, sizeof(busid)))
		return 1;
	*pci = gt_machine_pci_find(query->machine, busid);
	if (*pci && (*pci)->base_class >> 8 == 0x02)
		return 1;
	*pci = NULL;
	return all;
}

static int gt_net_probe(const char *name, void *arg)
{
	struct gt_net_query *query = arg;
	const char *root = query->env->root;
	struct gt_machine_pci *pci;
	struct gt_machine_net *net;
	long numa;

	if (strlen(name) >= GT_NAME_MAX ||
	    gt_sysfs_long(root, GT_UNKNOWN, "/sys/class/net/%s/type", name) !=
		    GT_ARPHRD_ETHER ||
	    gt_machine_has_rdma_over(query->machine, name))
		return 0;
	if (!gt_net_place(query, name, &pci)) {
		gt_machine_note_detail(
			query->machine,
			"net: %s left out: virtual, or on no card", name);
		return 0;
	}
	numa = gt_sysfs_long(root, GT_UNKNOWN,
			     "/sys/class/net/%s/device/numa_node", name);
	if (numa < 0)
		numa = gt_machine_only_numa(query->machine);
	net = gt_machine_net_add(query->machine, pci, (int)numa, name);
	if (!net)
		return GT_ESYS;
	net->layer = "eth";
	net->state = gt_net_state(root, name);
	net->active = !net->state || strcmp(net->state, "down") != 0;
	if (!root[0])
		net->firmware = gt_net_firmware(query->machine, name);
	net->guid = gt_net_guid(root, name);
	net->speed_mbps =
		(int)gt_sysfs_long(root, 0, "/sys/class/net/%s/speed", name);
	if (net->speed_mbps < 0)
		net->speed_mbps = 0;
	return 0;
}

/*
 * Lists network controllers without a port, too, such as those without a
 * driver; there may be hundreds of virtual ones, which are left out.
 */
static void gt_net_cards(const struct gt_probe_env *env,
			 struct gt_machine *machine)
{
	char path[PATH_MAX];
	int n = 0;

	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next) {
		if (p->base_class >> 8 != 0x02)
			continue;
		p->is_card = p->nets || env->all ||
			     !gt_sysfs_real(env->root, path,
					    "/sys/bus/pci/devices/%s/physfn",
					    p->busid);
		if (p->is_card && !p->nets)
			gt_machine_note_detail(machine, "net: %s has no port",
					       p->busid);
		n += p->is_card;
	}
	gt_machine_note_detail(machine, "net: network cards: %d", n);
}

int gt_probe_net(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err)
{
	struct gt_net_query query = {env, machine};

	if (gt_sysfs_each(env->root, "/sys/class/net", gt_net_probe, &query))
		return gt_err_nomem(err);
	gt_net_cards(env, machine);
	return GT_OK;
}
