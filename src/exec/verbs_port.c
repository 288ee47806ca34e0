/* Which RDMA port a process uses. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit.h"
#include "exec/verbs.h"

enum { GT_VERBS_NIC_MAX = 64 };

/* RoCE version 2 over IPv4 is what crosses routers; 0 when there is none. */
static int gt_verbs_choose_gid(struct gt_verbs_port *port,
			       const struct ibv_port_attr *attr)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct ibv_gid_entry entry;
	int best = -1, rank;

	for (int i = 0; i < attr->gid_tbl_len && best < 2; i++) {
		if (ibv_query_gid_ex(port->context, port->number, (uint32_t)i,
				     &entry, 0))
			continue;
		if (entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		rank = memcmp(entry.gid.raw, mapped, sizeof(mapped)) ? 1 : 2;
		if (rank > best) {
			best = rank;
			port->gid_index = (uint8_t)i;
		}
	}
	return best > 0;
}

static int gt_verbs_find_gid(struct gt_verbs_port *port,
			     const struct ibv_port_attr *attr)
{
	const char *text = getenv("GTOPO_IB_GID_INDEX");
	int64_t index = 0;

	if (text && gt_unit_int(text, 0, attr->gid_tbl_len - 1, &index))
		port->gid_index = (uint8_t)index;
	else if (attr->link_layer == IBV_LINK_LAYER_ETHERNET &&
		 !gt_verbs_choose_gid(port, attr))
		return 0;
	return !ibv_query_gid(port->context, port->number, port->gid_index,
			      &port->gid);
}

/* Is there a PCI device of that bus id in what this link points to? */
static int gt_verbs_is_below(const char *link, const char *nic)
{
	char path[PATH_MAX], part[GT_VERBS_NIC_MAX];

	snprintf(part, sizeof(part), "/%s", nic);
	return realpath(link, path) && strstr(path, part) != NULL;
}

/* A device of software has no place of its own but that of its netdev. */
static int gt_verbs_is_at(const char *device, const char *nic)
{
	char path[PATH_MAX], netdev[IFNAMSIZ] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device);
	if (gt_verbs_is_below(path, nic))
		return 1;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", device);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%15s", netdev) != 1)
		*netdev = '\0';
	fclose(file);
	snprintf(path, sizeof(path), "/sys/class/net/%s/device", netdev);
	return *netdev && gt_verbs_is_below(path, nic);
}

/* Does GTOPO_IB_HCA, if it is set, name this port? */
static int gt_verbs_is_named(const char *device, uint8_t number,
			     const char *nic)
{
	const char *want = getenv("GTOPO_IB_HCA");
	size_t len = want ? strcspn(want, ":") : 0;

	if (!want || !*want)
		return !nic || gt_verbs_is_at(device, nic);
	if (strlen(device) != len || strncmp(device, want, len) != 0)
		return 0;
	return !want[len] || atoi(want + len + 1) == number;
}

static int gt_verbs_try_port(struct gt_verbs_port *port, const char *device,
			     uint8_t number, const char *nic)
{
	struct ibv_port_attr attr;

	if (!gt_verbs_is_named(device, number, nic) ||
	    ibv_query_port(port->context, number, &attr) ||
	    attr.state != IBV_PORT_ACTIVE)
		return 0;
	port->number = number;
	port->mtu = (uint8_t)attr.active_mtu;
	port->lid = attr.lid;
	return gt_verbs_find_gid(port, &attr);
}

static int gt_verbs_try_device(struct gt_verbs_port *port,
			       struct ibv_device *device, const char *nic)
{
	struct ibv_device_attr attr;

	port->context = ibv_open_device(device);
	if (!port->context)
		return 0;
	fcntl(port->context->async_fd, F_SETFL, O_NONBLOCK);
	if (!ibv_query_device(port->context, &attr)) {
		port->most_cqe = (uint32_t)attr.max_cqe;
		for (int n = 1; n <= attr.phys_port_cnt; n++)
			if (gt_verbs_try_port(port, ibv_get_device_name(device),
					      (uint8_t)n, nic))
				return 1;
	}
	gt_verbs_port_close(port);
	return 0;
}

int gt_verbs_port_open(struct gt_verbs_port *port, const char *nic,
		       struct gt_err *err)
{
	struct ibv_device **all;
	int n = 0, i = 0;

	memset(port, 0, sizeof(*port));
	all = ibv_get_device_list(&n);
	if (!all)
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot list RDMA devices: %s; --link tcp "
				  "needs none",
				  strerror(errno));
	while (i < n && !gt_verbs_try_device(port, all[i], nic))
		i++;
	ibv_free_device_list(all);
	if (i < n)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "none of %d RDMA devices has an active port%s%s with "
			  "an address",
			  n, getenv("GTOPO_IB_HCA") ? " called " : "",
			  getenv("GTOPO_IB_HCA") ? getenv("GTOPO_IB_HCA") : "");
}

void gt_verbs_port_close(struct gt_verbs_port *port)
{
	if (port->context)
		ibv_close_device(port->context);
	port->context = NULL;
}
