/*
 * A server as a tree of devices, made to be compared with others: what a
 * device is and how it is wired, without what only names it (bus ids, guids,
 * interface names, numbers of GPUs and NUMA nodes, the file's order).
 *
 * Made from topology XML, then only read, by any number of threads; it owns
 * all that it hands out.  Devices are dense indices; 0 is the server itself,
 * and a device comes after its parent.
 */
#ifndef GT_TOPO_DIFF_DEVICE_TREE_H
#define GT_TOPO_DIFF_DEVICE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;
struct gt_device_tree;
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
	const char *name;             /* "GPU 0000:1b:00.0", "port mlx5_0" */
	const char *props[GT_NPROPS]; /* lower case, "" unknown */
	uint32_t nlinks;
	struct gt_device_link *links;
	uint64_t own;  /* hash of what it is */
	uint64_t tree; /* the same of all below it, too, but for NVLinks */
};

/*
 * Read a file.  Properties in the mask `ignore` (1 << GT_PROP_…) count as
 * unknown, GPUs' links (1 << GT_NPROPS) as not there.  GT_EINPUT when it is
 * not a topology.
 */
int gt_device_tree_read(const char *path, unsigned ignore,
			struct gt_device_tree **server, struct gt_err *err);

/* The same from text; `name` stands for it in messages. */
int gt_device_tree_parse(const char *name, const char *text, size_t len,
			 unsigned ignore, struct gt_device_tree **server,
			 struct gt_err *err);

/* NULL is allowed. */
void gt_device_tree_free(struct gt_device_tree *server);

const char *gt_device_tree_source(const struct gt_device_tree *server);
uint32_t gt_device_tree_ndevices(const struct gt_device_tree *server);
const struct gt_device *gt_device_tree_device(
	const struct gt_device_tree *server, uint32_t i);

/*
 * Equal for servers that are wired alike.  By colour refinement: a device's
 * colour is a hash of its properties, then again and again of the colours of
 * its parent, its children and its NVLinks' ends, until no more colours come
 * (Weisfeiler and Leman, 1968; Berkholz, Bonsma and Grohe, "Tight lower and
 * upper bounds for the complexity of canonical colour refinement", 2017).
 */
uint64_t gt_device_tree_hash(const struct gt_device_tree *server);

/*
 * The colours themselves, for every device, in colours[].  Devices with a
 * mark other than 0 (NULL: none) are told apart by it.  0 when memory ran out.
 */
uint64_t gt_device_tree_colour(const struct gt_device_tree *server,
			       const uint32_t *mark, uint64_t *colours);

/* Two 64-bit numbers as one: a hash, not cryptographic. */
uint64_t gt_hash_mix(uint64_t a, uint64_t b);

/* "model", "width", …: as --ignore takes them. */
const char *gt_prop_name(enum gt_prop prop);
const char *gt_device_kind_name(enum gt_device_kind kind);

#endif
