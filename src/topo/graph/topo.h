/*
 * The machine as a graph: GPUs, PCI switches, CPUs (NUMA nodes), NICs,
 * NVSwitches and network ports, joined by directed links with a bandwidth.
 *
 * Built from NCCL-format topology XML, with NCCL's constants where nothing
 * was measured, and opaque: nodes and links are dense indices, read through
 * accessors.  A topology is built once and then only read, by any number of
 * threads.  It owns all strings it hands out.
 */
#ifndef GT_TOPO_GRAPH_TOPO_H
#define GT_TOPO_GRAPH_TOPO_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_topo;

enum gt_node_kind {
	GT_NODE_GPU, /* a GPU and its PCI function */
	GT_NODE_PCI, /* a PCI switch */
	GT_NODE_NVS, /* all NVSwitches together */
	GT_NODE_CPU, /* a NUMA node */
	GT_NODE_NIC, /* a card */
	GT_NODE_NET, /* a port of it */
	/* a NUMA node's memory, where GPUs without peer access meet in it */
	GT_NODE_MEM,
	GT_NNODEKINDS
};

enum gt_link_kind {
	GT_LINK_LOC,
	GT_LINK_NVL,
	GT_LINK_C2C,
	GT_LINK_PCI,
	GT_LINK_SYS,
	GT_LINK_NET,
	GT_LINK_MEM, /* into memory and out of it */
	GT_NLINKKINDS
};

/* Who made a processor, as far as NCCL treats its machine in another way. */
enum gt_cpu_make { GT_CPU_OTHER, GT_CPU_INTEL, GT_CPU_AMD, GT_CPU_POWER };

/* The capacities that a graph is made with. */
enum gt_rates {
	GT_RATES_MEASURED, /* where the XML has them, else NCCL's constants */
	GT_RATES_NCCL,
	GT_RATES_LINE, /* the vendors' line rates */
};

enum { GT_NONE = UINT32_MAX }; /* no node, no link */

/* The speed and width of a PCI Express link; 0 is unknown. */
struct gt_pci_rate {
	struct gt_rat gts; /* of one lane */
	int width;
};

/* This is what the file says of a PCI function and of the link above it. */
struct gt_pci {
	int vendor, device; /* 0x10de, 0x2330; 0 unknown */
	/* the rate that the graph counts with */
	struct gt_pci_rate link;
	struct gt_pci_rate max, cur;           /* the function's own end */
	struct gt_pci_rate port_max, port_cur; /* the port above */
	const char *assumed;                   /* gt_assumed, or NULL */
	const char *slot;                      /* gt_slot, or NULL */
};

struct gt_node {
	enum gt_node_kind kind;
	const char *id;     /* unique: "GPU/0000:07:00.0", "CPU/0", "NET/1" */
	const char *bus_id; /* NULL where there is none */
	const char *name;   /* model or interface name, or NULL */
	uint32_t up;      /* the switch, CPU or card it hangs on, or GT_NONE */
	int dev;          /* GPU: NVML index; NET: dev; CPU: NUMA id; or -1 */
	int rank;         /* GPU: rank in the file, or -1 */
	int sm;           /* GPU: 90 for sm_90, 0 unknown */
	int xgmi;         /* GPU: what is called NVL here is AMD's xGMI */
	int port;         /* NET: of the card, counted from 1, 0 unknown */
	int rail;         /* NET: from the file, or -1 */
	int coll;         /* NET: its network's switches add up (SHARP) */
	int no_speed;     /* NET: the file has none; 10 Gb/s, as NCCL */
	const char *guid; /* NET: "0xa088c20300010000", or NULL */
	uint32_t line;    /* in the XML file, 0 unknown */
	const char *affinity; /* CPU: the mask of its cores, or NULL */
	/*
	 * For a GPU or NIC, other facts that people are told, and what is wrong
	 * with it beside its link; NULL where there is nothing.
	 */
	const char *facts, *problem;
	/*
	 * GPU: what it may do to the memory of each GPU, in order of dev, as
	 * gt_p2p has it (gtopo-topology(5)); NULL: not known.
	 */
	const char *p2p;
	/* GPU: why it reaches fewer than all (peer_cause.h); NULL: not known */
	const char *peer_cause;
	const struct gt_pci *pci; /* GPU, NIC, PCI; NULL: nothing known */
	/*
	 * For a GPU or NET, whether the file only lists a PCI function of such
	 * a class.
	 */
	int assumed;
	/*
	 * For a CPU, what traffic of GPUs through its host bridge costs on PCI
	 * links: 1, or 6/5 with Intel's, which cut it into 64-byte packets.
	 */
	struct gt_rat charge;
	enum gt_cpu_make make; /* CPU */
	/* CPU: what each way into its memory and out of it carries */
	struct gt_rat memory_gbs;
};

struct gt_link {
	enum gt_link_kind kind;
	uint32_t from, to; /* nodes */
	struct gt_rat gbs; /* 1e9 bytes/s, this direction */
	uint32_t count;    /* NVL, C2C: links side by side; else 0 */
	const char *id;    /* "GPU/0000:07:00.0>PCI/0000:05:00.0" */
};

/*
 * The most GPUs, and the most network ports, of one machine; more are refused.
 */
enum { GT_TOPO_MAX_DEVICES = 512 };

/*
 * Read an XML file ("-": standard input).  GT_EINPUT with file, line and
 * column when it is not a topology.  *topo is the caller's.
 */
int gt_topo_read(const char *path, enum gt_rates rates, struct gt_topo **topo,
		 struct gt_err *err);

/* NULL is allowed. */
void gt_topo_free(struct gt_topo *topo);

/* Read a topology from text; `name` stands for it in messages. */
int gt_topo_parse(const char *name, const char *text, size_t len,
		  enum gt_rates rates, struct gt_topo **topo,
		  struct gt_err *err);

/* Check every invariant of the graph; GT_EINPUT, and which one is broken. */
int gt_topo_check(const struct gt_topo *topo, struct gt_err *err);

uint32_t gt_topo_nnodes(const struct gt_topo *topo);
uint32_t gt_topo_nlinks(const struct gt_topo *topo);
const struct gt_node *gt_topo_node(const struct gt_topo *topo, uint32_t node);
const struct gt_link *gt_topo_link(const struct gt_topo *topo, uint32_t link);

/* Returns the i-th GPU in order of dev (0 .. ngpus-1) as a node. */
uint32_t gt_topo_ngpus(const struct gt_topo *topo);
uint32_t gt_topo_gpu(const struct gt_topo *topo, uint32_t i);
/* Returns the i-th network port in order of dev as a node. */
uint32_t gt_topo_nnets(const struct gt_topo *topo);
uint32_t gt_topo_net(const struct gt_topo *topo, uint32_t i);
/* Returns the i-th device as a node: GPUs come first, then ports. */
uint32_t gt_topo_ndevices(const struct gt_topo *topo);
uint32_t gt_topo_device(const struct gt_topo *topo, uint32_t i);

/*
 * Returns GT_OK when plans can be made for the GPUs; GT_EINPUT, and what the
 * file lacks, when it has none, or only PCI functions that look like GPUs.
 */
int gt_topo_need_gpus(const struct gt_topo *topo, struct gt_err *err);

/*
 * Warnings about what was odd in the file but could be read: "file:line:col:
 * text".
 */
uint32_t gt_topo_nwarnings(const struct gt_topo *topo);
const char *gt_topo_warning(const struct gt_topo *topo, uint32_t i);

/*
 * Digests ("sha256:<64 hex>") of the machine's identity, and of its shape
 * without bus ids and guids; gtopo-topology(5) lists what they cover.
 */
const char *gt_topo_digest(const struct gt_topo *topo);
const char *gt_topo_shape_digest(const struct gt_topo *topo);
/* Facts about the machine as a whole, "IOMMU off, CUDA 12.4", or NULL. */
const char *gt_topo_facts(const struct gt_topo *topo);
const char *gt_topo_source(const struct gt_topo *topo);

const char *gt_node_kind_name(enum gt_node_kind kind);
const char *gt_link_kind_name(enum gt_link_kind kind);

/*
 * Returns "measured", "nccl" or "line"; and the rates of such a word, those
 * that were measured where it is another one or NULL.
 */
const char *gt_rates_name(enum gt_rates rates);
enum gt_rates gt_rates_find(const char *name);

#endif
