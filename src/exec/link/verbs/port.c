/*
 * This chooses which RDMA port a process uses, by the environment and by the
 * plan's network card, and the route from it to another process's port.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit.h"
#include "exec/link/verbs/verbs.h"
#include "world/net.h"

enum {
	GT_VERBS_NIC_MAX = 64,
	GT_VERBS_MOST_GID = 255,
	GT_VERBS_MOST_TC = 255,
	GT_VERBS_MOST_SL = 15,
	GT_VERBS_MOST_PORT = 254,
};

/* An address of RoCE version 2 reaches so far: one wire, or any network. */
enum gt_verbs_family { GT_VERBS_LOCAL = 1, GT_VERBS_IPV6, GT_VERBS_IPV4 };

static enum gt_verbs_family gt_verbs_family(const union ibv_gid *gid)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (!memcmp(gid->raw, mapped, sizeof(mapped)))
		return GT_VERBS_IPV4;
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80
		       ? GT_VERBS_LOCAL
		       : GT_VERBS_IPV6;
}

/*
 * Is the address of an interface that was chosen?  A port has the addresses of
 * several interfaces where there are VLANs.
 */
static int gt_verbs_is_meant(uint32_t interface, const char *choice)
{
	char name[IF_NAMESIZE];

	return choice && if_indextoname(interface, name) &&
	       gt_net_is_chosen(choice, name);
}

/* Choose the best address; 0 when there is none. */
static int gt_verbs_choose_gid(struct gt_verbs_port *port, int n,
			       const char *iface)
{
	struct ibv_gid_entry entry;
	int best = 0, rank;

	for (int i = 0; i < n && i <= GT_VERBS_MOST_GID; i++) {
		if (ibv_query_gid_ex(port->context, port->number, (uint32_t)i,
				     &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		rank = (int)gt_verbs_family(&entry.gid);
		if (gt_verbs_is_meant(entry.ndev_ifindex, iface))
			rank += GT_VERBS_IPV4;
		if (rank <= best)
			continue;
		best = rank;
		port->gid_index = (uint8_t)i;
	}
	return best > 0;
}

static int gt_verbs_find_gid(struct gt_verbs_port *port, int n,
			     const char *iface)
{
	static const union ibv_gid none;
	union ibv_gid *gid = &port->place.gid;

	if (!getenv("GTOPO_IB_GID_INDEX")) {
		port->gid_index = 0;
		if (port->place.is_ethernet &&
		    !gt_verbs_choose_gid(port, n, iface))
			return 0;
	}
	return port->gid_index < n &&
	       !ibv_query_gid(port->context, port->number, port->gid_index,
			      gid) &&
	       memcmp(gid, &none, sizeof(none)) != 0;
}

const char *gt_verbs_route(const struct gt_verbs_port *port,
			   const struct gt_verbs_place *far,
			   struct ibv_ah_attr *route)
{
	const struct gt_verbs_place *own = &port->place;

	if (own->is_ethernet != far->is_ethernet)
		return "one has InfiniBand, the other Ethernet";
	if (own->is_ethernet &&
	    (gt_verbs_family(&own->gid) == GT_VERBS_IPV4) !=
		    (gt_verbs_family(&far->gid) == GT_VERBS_IPV4))
		return "one has an IPv4 address, the other IPv6; see "
		       "GTOPO_IB_GID_INDEX";
	*route = (struct ibv_ah_attr){
		.dlid = (uint16_t)far->lid,
		.sl = port->service_level,
		.port_num = port->number,
		/*
		 * Within a subnet a LID is enough, and 40 bytes less in each
		 * packet.
		 */
		.is_global = own->is_ethernet || own->needs_global ||
			     far->needs_global || !far->lid ||
			     own->gid.global.subnet_prefix !=
				     far->gid.global.subnet_prefix,
	};
	if (route->is_global)
		route->grh = (struct ibv_global_route){
			.dgid = far->gid,
			.sgid_index = port->gid_index,
			.hop_limit = 64,
			.traffic_class = port->traffic_class,
		};
	return NULL;
}

/* Is there a PCI device of that bus id in what this link points to? */
static int gt_verbs_is_below(const char *link, const char *nic)
{
	char path[PATH_MAX], part[GT_VERBS_NIC_MAX];

	snprintf(part, sizeof(part), "/%s", nic);
	return realpath(link, path) && strstr(path, part) != NULL;
}

/*
 * Is the device at that PCI bus id?  A device of software has no place but that
 * of its netdev.
 */
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
			     uint8_t number,
			     const struct gt_link_config *config)
{
	struct ibv_port_attr attr;

	if (!gt_verbs_is_named(device, number, config->nic) ||
	    ibv_query_port(port->context, number, &attr) ||
	    attr.state != IBV_PORT_ACTIVE)
		return 0;
	port->number = number;
	port->place = (struct gt_verbs_place){
		.lid = attr.lid,
		.mtu = attr.active_mtu,
		.is_ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET,
		.needs_global = !!(attr.flags & IBV_QPF_GRH_REQUIRED),
	};
	return gt_verbs_find_gid(port, attr.gid_tbl_len, config->iface);
}

static int gt_verbs_try_device(struct gt_verbs_port *port,
			       struct ibv_device *device,
			       const struct gt_link_config *config)
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
					      (uint8_t)n, config))
				return 1;
	}
	gt_verbs_port_close(port);
	return 0;
}

/*
 * Read a number from the environment; a word that means nothing is an error,
 * and does not stand for the default.
 */
static int gt_verbs_number(const char *name, int64_t most, uint8_t *number,
			   struct gt_err *err)
{
	const char *text = getenv(name);
	int64_t value = 0;

	if (text && !gt_unit_int(text, 0, most, &value))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s '%s' is not a number from 0 to %d", name,
				  text, (int)most);
	*number = (uint8_t)value;
	return GT_OK;
}

int gt_verbs_port_init(struct gt_verbs_port *port, struct gt_err *err)
{
	const char *name = getenv("GTOPO_IB_HCA"), *colon;
	int64_t number;
	int rc;

	memset(port, 0, sizeof(*port));
	colon = name ? strchr(name, ':') : NULL;
	if (colon && !gt_unit_int(colon + 1, 1, GT_VERBS_MOST_PORT, &number))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "GTOPO_IB_HCA '%s' has no port from 1 to %d "
				  "behind its colon",
				  name, GT_VERBS_MOST_PORT);
	rc = gt_verbs_number("GTOPO_IB_GID_INDEX", GT_VERBS_MOST_GID,
			     &port->gid_index, err);
	if (!rc)
		rc = gt_verbs_number("GTOPO_IB_TC", GT_VERBS_MOST_TC,
				     &port->traffic_class, err);
	if (!rc)
		rc = gt_verbs_number("GTOPO_IB_SL", GT_VERBS_MOST_SL,
				     &port->service_level, err);
	if (!rc)
		rc = gt_verbs_number("GTOPO_NET_FORCE_FLUSH", 1,
				     &port->always_flushes, err);
	return rc ? rc : gt_verbs_reach_read(&port->reach, err);
}

int gt_verbs_port_open(struct gt_verbs_port *port,
		       const struct gt_link_config *config, struct gt_err *err)
{
	const char *name = getenv("GTOPO_IB_HCA");
	const char *gid = getenv("GTOPO_IB_GID_INDEX");
	struct ibv_device **all;
	int n = 0, i = 0;

	if (gt_verbs_port_init(port, err))
		return GT_EINPUT;
	all = ibv_get_device_list(&n);
	if (!all)
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot list RDMA devices: %s; --link tcp "
				  "needs none",
				  strerror(errno));
	while (i < n && !gt_verbs_try_device(port, all[i], config))
		i++;
	ibv_free_device_list(all);
	if (i < n)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "none of %d RDMA devices has an active port%s%s with "
			  "an address%s%s",
			  n, name ? " called " : "", name ? name : "",
			  gid ? " of GTOPO_IB_GID_INDEX " : "", gid ? gid : "");
}

void gt_verbs_port_close(struct gt_verbs_port *port)
{
	if (port->context)
		ibv_close_device(port->context);
	port->context = NULL;
}
