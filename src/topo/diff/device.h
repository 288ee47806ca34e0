/*
 * Says of a device that is compared what it is, how it is wired, and which of
 * its properties count.
 */
#ifndef GT_TOPO_DIFF_DEVICE_H
#define GT_TOPO_DIFF_DEVICE_H

#include <stdint.h>
#include <string.h>

struct gt_arena;
struct gt_xml_elem;

/* This stands in place of a device that has no match in the other server. */
#define GT_UNMATCHED UINT32_MAX

enum gt_device_kind {
	GT_DEVICE_SERVER,
	GT_DEVICE_CPU,    /* a NUMA node */
	GT_DEVICE_SWITCH, /* a PCI bridge */
	GT_DEVICE_GPU,
	GT_DEVICE_NIC, /* with or without a PCI function */
	GT_DEVICE_PORT,
	GT_DEVICE_OTHER, /* a PCI function that is none of these */
	GT_NDEVICEKINDS
};

/*
 * The properties of a device that are compared; gt_prop_name() gives their
 * words.
 */
enum gt_prop {
	/* PCI vendor and device, or the processor's vendor … */
	GT_PROP_MODEL,
	GT_PROP_SUBSYSTEM, /* the card's maker and its number there */
	GT_PROP_CLASS,
	GT_PROP_WIDTH, /* the most lanes of its link */
	GT_PROP_SPEED, /* the most GT/s of its link; of a port: Mb/s */
	GT_PROP_CUR_WIDTH,
	/* unknown for GPUs, whose speed is low while they idle */
	GT_PROP_CUR_SPEED,
	GT_PROP_DRIVER,
	GT_PROP_DRIVER_VERSION,
	GT_PROP_FIRMWARE,
	GT_PROP_STATE, /* of a port: "active" … */
	GT_PROP_LAYER, /* of a port: "ib", "eth" */
	/* "on" where the port above redirects traffic of peers */
	GT_PROP_ACS,
	GT_PROP_P2P,     /* what a GPU may do with most others, "rwa" */
	GT_PROP_MIG,     /* "on", "off" */
	GT_PROP_VISIBLE, /* whether programs see the GPU: "yes", "no" */
	GT_PROP_IOMMU,   /* of the server: "off" … */
	/* of the server, a GPU or a port: GPUDirect RDMA, "on", "off" */
	GT_PROP_GDR,
	GT_NPROPS
};

/*
 * The NVLinks (or xGMI, or C2C links) of a GPU to one neighbour; all links of
 * the pair are summed.
 */
struct gt_device_link {
	/* a GPU; the GPU itself for the CPU above it; 0 for any switch */
	uint32_t to;
	int count;
	const struct gt_xml_elem *elem; /* the first of these links */
};

/* An element of a link, and where it ends: as above, or GT_UNMATCHED. */
struct gt_device_end {
	const struct gt_xml_elem *elem;
	uint32_t to;
};

struct gt_device {
	enum gt_device_kind kind;
	uint32_t parent, first, next; /* 0: none */
	uint32_t ndevs;               /* the device and all below it */
	const struct gt_xml_elem *elem;
	const char *bus;              /* the normalized bus id, or NULL */
	const char *name;             /* "GPU 0000:1b:00.0", "port mlx5_0" */
	const char *props[GT_NPROPS]; /* lower case, "" unknown */
	uint32_t nlinks;
	struct gt_device_link *links;
	uint32_t nends;
	struct gt_device_end *ends;
	uint64_t own;  /* a hash of what the device is */
	uint64_t tree; /* a hash of it and all below it, without NVLinks */
};

/*
 * Fill dev->props from dev->elem and dev->kind, "" for what is not known or in
 * the mask `ignore`; texts are the arena's.  Memory that runs out leaves "".
 */
void gt_device_read_props(struct gt_arena *arena, unsigned ignore,
			  struct gt_device *dev);

/* Returns a hash of kind and properties but those in the mask. */
uint64_t gt_device_label(const struct gt_device *dev, unsigned without);

/* Returns "model", "width", … as --ignore takes them. */
const char *gt_prop_name(enum gt_prop prop);
const char *gt_device_kind_name(enum gt_device_kind kind);

/* Returns whether a property is known of both devices, and different. */
static inline int gt_prop_differs(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b);
}

#endif
