/*
 * A device of a machine that is compared: what it is, how it is wired and what
 * of it is compared.
 */
#ifndef GT_TOPO_DIFF_DEVICE_H
#define GT_TOPO_DIFF_DEVICE_H

#include <stdint.h>

struct gt_arena;
struct gt_xml_elem;

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

/* What of a device is compared; their words are gt_prop_name()'s. */
enum gt_prop {
	GT_PROP_MODEL,     /* PCI vendor and device; processor's vendor … */
	GT_PROP_SUBSYSTEM, /* the card's maker and number */
	GT_PROP_CLASS,
	GT_PROP_WIDTH, /* most lanes of its link */
	GT_PROP_SPEED, /* most GT/s; of a port: Mb/s */
	GT_PROP_CUR_WIDTH,
	GT_PROP_CUR_SPEED, /* unknown of GPUs: low while they idle */
	GT_PROP_DRIVER,
	GT_PROP_DRIVER_VERSION,
	GT_PROP_FIRMWARE,
	GT_PROP_STATE,   /* of a port: "active" … */
	GT_PROP_LAYER,   /* of a port: "ib", "eth" */
	GT_PROP_ACS,     /* of the port above: "on" where it redirects peers */
	GT_PROP_P2P,     /* what a GPU may do with most others: "rwa" */
	GT_PROP_MIG,     /* "on", "off" */
	GT_PROP_VISIBLE, /* of a GPU, to programs: "yes", "no" */
	GT_PROP_IOMMU,   /* of the server: "off" … */
	GT_NPROPS
};

/* NVLinks (or others) of a GPU to one neighbour, those of a pair summed. */
struct gt_device_link {
	uint32_t to; /* a GPU, or 0: any switch; or the CPU above */
	int count;
	const struct gt_xml_elem *elem; /* the first of them */
};

struct gt_device {
	enum gt_device_kind kind;
	uint32_t parent, first, next; /* 0: none */
	uint32_t ndevs;               /* it and all below it */
	const struct gt_xml_elem *elem;
	const char *bus;              /* the normalized bus id, or NULL */
	const char *name;             /* "GPU 0000:1b:00.0", "port mlx5_0" */
	const char *props[GT_NPROPS]; /* lower case, "" unknown */
	uint32_t nlinks;
	struct gt_device_link *links;
	uint64_t own;  /* hash of what it is */
	uint64_t tree; /* the same of all below it, too, but for NVLinks */
};

/*
 * Fill dev->props from dev->elem and dev->kind, "" for what is not known or in
 * the mask `ignore`; texts are the arena's.  Memory that runs out leaves "".
 */
void gt_device_read_props(struct gt_arena *arena, unsigned ignore,
			  struct gt_device *dev);

/* "model", "width", …: as --ignore takes them. */
const char *gt_prop_name(enum gt_prop prop);
const char *gt_device_kind_name(enum gt_device_kind kind);

#endif
