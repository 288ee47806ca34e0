/*
 * A machine is what the probes found, before it becomes XML: NUMA nodes, the
 * PCI tree, GPUs and network ports.
 *
 * These are plain structs in one arena: each probe adds what it knows and
 * leaves the rest at "unknown": NULL, 0 or GT_UNKNOWN.  What had to be assumed
 * has its source beside it (..._from) and is written with a mark.
 *
 * They are not thread safe.  All strings and structs belong to the machine.
 */
#ifndef GT_TOPO_PROBE_MACHINE_H
#define GT_TOPO_PROBE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_err;

enum {
	GT_UNKNOWN = -1, /* an int that could not be read */
	GT_BUSID_MAX = 24,
};

/* The rate of a PCI link: 32.0 GT/s is 32000; 0 is unknown. */
struct gt_machine_link {
	int speed_mts;
	int width;
};

struct gt_machine_nvlink {
	struct gt_machine_nvlink *next;
	char target[GT_BUSID_MAX]; /* fffffff:ffff:ff when hidden */
	unsigned tclass;           /* PCI class of the target */
	const char *tclass_from;   /* why that is an assumption, or NULL */
	int count;
	const char *count_from;
	int line_mbs; /* the raw rate of one link in 1e6 bytes/s, 0 unknown */
	int xgmi;     /* whether it is AMD's xGMI */
};

struct gt_machine_gpu {
	int dev;  /* NVML index */
	int rank; /* position among the GPUs that were found */
	int sm;   /* 90 for sm_90 */
	int gdr;  /* GPUDirect RDMA: 0, 1 or GT_UNKNOWN */
	int mig;  /* whether it is cut into instances: 0, 1 or GT_UNKNOWN */
	int c2c_count;
	int c2c_mbs;
	const char *name;
	const char *gcn;    /* "gfx942", of an AMD GPU */
	const char *vbios;  /* the version of its firmware */
	const char *hidden; /* the variable that hides it from programs */
	/* "x rwa r--": what it may do to the memory of each GPU */
	const char *p2p;
	const char *p2p_why; /* why not, likewise; NULL: nothing is amiss */
	const char *nvlink;  /* "4.0", the version of its links */
	const char *nvlink_from;
	unsigned nvlinks_up, nvlinks_down; /* the numbers of links, as bits */
	struct gt_machine_nvlink *nvlinks;
	struct gt_machine_link max; /* the GPU's own maximum, as NVML says */
	struct gt_machine_link cur;
};

/* A network port is one of an RDMA device, or an Ethernet interface. */
struct gt_machine_net {
	struct gt_machine_net *next; /* on the same function */
	const char *name;            /* "mlx5_0", "eth0" */
	/* the interface of an RDMA port, or NULL */
	const char *netdev;
	uint64_t guid;     /* 0 unknown */
	const char *state; /* "active", "down" …, or NULL */
	const char *layer; /* "ib", "eth", or NULL */
	const char *firmware;
	int rdma;
	/* whether it is up; an RDMA port that is not is never used */
	int active;
	int dmabuf; /* whether it takes memory of others: 0, 1 or GT_UNKNOWN */
	int rail;   /* a guess, from the GPUs beside it; or GT_UNKNOWN */
	int ifindex;
	int port;
	int dev; /* its number, given once all ports are known */
	int speed_mbps;
	int maxconn;
	int gdr;
};

struct gt_machine_pci {
	struct gt_machine_pci *next;   /* in order of bus id once trimmed */
	struct gt_machine_pci *port;   /* the bridge right above, or NULL */
	struct gt_machine_pci *parent; /* nearest kept switch, once trimmed */
	char busid[GT_BUSID_MAX];
	int numa;  /* the NUMA node, GT_UNKNOWN where nobody says */
	int level; /* the number of bridges above */
	int keep;
	/* whether it is a network card, also without a port */
	int is_card;
	unsigned base_class; /* 0x0302, before the details are read */
	const char *class_id;
	const char *vendor;
	const char *device;
	const char *subsystem_vendor;
	const char *subsystem_device;
	const char *driver;
	const char *driver_version;
	const char *slot;       /* what the slot is called, "3", or NULL */
	const char *class_from; /* why class_id is an assumption, or NULL */
	int port_acs;           /* the port's ACS control bits */
	struct gt_machine_link max;
	struct gt_machine_link cur;
	struct gt_machine_link port_max;
	struct gt_machine_link port_cur;
	struct gt_machine_gpu *gpu;
	struct gt_machine_net *nets;
};

struct gt_machine_cpu {
	struct gt_machine_cpu
		*next; /* in order of numa, the unknown one last */
	int numa;
	int family; /* GT_UNKNOWN, or as the kernel counts */
	int model;
	const char *affinity; /* "ffffffff,00000000", or NULL */
	const char *arch;
	const char *vendor;
	const char *name;
	/* what its memory carries, reads and writes together, in 1e6 bytes/s */
	int memory_mbs;
	const char *memory_from;     /* why that is an assumption, or NULL */
	struct gt_machine_net *nets; /* ports of no PCI function */
};

/* Facts that hold for the machine as a whole. */
struct gt_machine_host {
	/* the kind of virtual machine, "qemu"; "yes": not known */
	const char *vm;
	const char *container; /* "docker" … */
	const char *iommu;     /* "off", "passthrough", "translating", "on" */
	const char *nvswitch;  /* "visible", "hidden" */
	/* the module that lets network cards reach GPU memory */
	const char *peermem;
	/* the newest CUDA that the driver supports: "12.4" */
	const char *cuda;
	/* whether the GPU driver exports memory to network cards */
	int dmabuf;
	const char *dmabuf_from;
};

struct gt_machine_note {
	struct gt_machine_note *next;
	const char *text;
	int detail; /* only those who ask for details want to know */
};

struct gt_machine {
	struct gt_arena *arena;
	struct gt_machine_host host;
	const char *nvidia_version; /* of NVIDIA's driver, as NVML says */
	struct gt_machine_cpu *cpus;
	struct gt_machine_pci *pcis;
	struct gt_machine_note *notes; /* what people should be told */
};

/* Make an empty machine; NULL when memory ran out. */
struct gt_machine *gt_machine_new(void);

/* NULL is allowed. */
void gt_machine_free(struct gt_machine *machine);

/*
 * Returns the NUMA node or function of that number, which is made if it is
 * missing; NULL when memory ran out.
 */
struct gt_machine_cpu *gt_machine_cpu(struct gt_machine *machine, int numa);
struct gt_machine_pci *gt_machine_pci(struct gt_machine *machine,
				      const char *busid);

/* Returns the function of that bus id, NULL when there is none. */
struct gt_machine_pci *gt_machine_pci_find(const struct gt_machine *machine,
					   const char *busid);

/* Make a function a GPU, of the next rank; NULL when memory ran out. */
struct gt_machine_gpu *gt_machine_gpu_new(struct gt_machine *machine,
					  struct gt_machine_pci *pci);

/*
 * Returns the only NUMA node with CPUs, or GT_UNKNOWN when there are several.
 */
int gt_machine_only_numa(const struct gt_machine *machine);

/*
 * Append a port to the function `pci`, or to no function (pci NULL) of NUMA
 * node `numa`.  NULL when memory ran out.
 */
struct gt_machine_net *gt_machine_net_add(struct gt_machine *machine,
					  struct gt_machine_pci *pci, int numa,
					  const char *name);

/* Returns whether an RDMA port runs over this interface. */
int gt_machine_has_rdma_over(const struct gt_machine *machine,
			     const char *netdev);

/* Add a note to people about a value that is missing or odd. */
void gt_machine_note(struct gt_machine *machine, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a note for those who ask how it went: "hwloc: 2 NUMA nodes". */
void gt_machine_note_detail(struct gt_machine *machine, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Parse "8.0 GT/s PCIe" as 8000; 0 when there is no speed in it. */
int gt_machine_speed_parse(const char *text);

/*
 * Call f for every port of the machine, those on PCI functions first.  Stops
 * at and returns the first result that is not 0.
 */
int gt_machine_each_net(const struct gt_machine *machine,
			int (*f)(struct gt_machine_net *net, void *arg),
			void *arg);

/*
 * Keep GPUs, accelerators and network cards, and of the bridges above them
 * each switch's upstream port; put functions and nodes in order; number
 * the ports.  RDMA ports come first, as NCCL counts; a port that is down has
 * no number.
 */
int gt_machine_trim(struct gt_machine *machine, struct gt_err *err);

/*
 * Returns what NCCL's link_speed and link_width are to say: the lesser of the
 * device's and its port's maximum.  Where one of them could not be read the
 * other counts, and where nothing could be read NCCL's own default (8.0 GT/s,
 * x16); then *speed_from or *width_from names the source ("device", "port",
 * "nvml", "nccl"), otherwise it is NULL.
 */
struct gt_machine_link gt_machine_link(const struct gt_machine_pci *pci,
				       const char **speed_from,
				       const char **width_from);

#endif
