/*
 * The state of reading one XML file, shared by read.c (the whole), scan.c (the
 * list of PCI functions), device.c (nodes), link.c (what joins them beside the
 * PCI tree) and facts.c (what people read).
 */
#ifndef GT_TOPO_XML_READER_H
#define GT_TOPO_XML_READER_H

#include <stdint.h>

#include "base/rat.h"
#include "topo/graph/model.h"
#include "topo/graph/topo.h"

struct gt_err;
struct gt_xml;
struct gt_xml_elem;

/* A function is one <pci> element. */
struct gt_pci_fn {
	const struct gt_xml_elem *elem;
	const struct gt_xml_elem *gpu, *nic; /* children, or NULL */
	const char *bus_id;                  /* normalized */
	const char *class;                   /* "0x060400", or "" */
	/* the function above, or GT_NONE */
	uint32_t parent;
	uint32_t cpu; /* its processor, of cpus[] */
	/* its node, once made, or GT_NONE */
	uint32_t node;
	/* generation of a switch that may take in its parts, or 0 */
	int head;
	int joined; /* whether it is such a part and shares its parent's node */
	const struct gt_pci_fn
		*same; /* the bridge that this one repeats, or NULL */
};

struct gt_reader_cpu {
	struct gt_cpu cpu;
	const struct gt_xml_elem *elem;
	uint32_t node;
};

struct gt_reader {
	struct gt_topo *topo;
	enum gt_rates rates;
	int version; /* of the format; 2 is RCCL's */
	struct gt_pci_fn *fns;
	uint32_t nfns, fns_size;
	uint32_t *by_bus; /* functions in order of bus id */
	struct gt_reader_cpu *cpus;
	uint32_t ncpus, cpus_size;
	const struct gt_xml_elem *machine; /* <gt_machine>, or NULL */
	uint32_t nvs; /* the NVSwitches' node, or GT_NONE */
	int bare;     /* no <gpu> is there: PCI classes tell what is a GPU */
	int no_nic;   /* no <nic> is there either */
	uint32_t ports_again; /* how often a port was listed again */
};

/* Make a topology of a whole document. */
int gt_topo_from_xml(const struct gt_xml *xml, enum gt_rates rates,
		     struct gt_topo **topo, struct gt_err *err);

/*
 * Returns whether a <pci> element is a GPU, a card or a bridge: by its
 * children, in a bare list by its class.
 */
int gt_pci_fn_is_gpu(const struct gt_reader *reader,
		     const struct gt_pci_fn *fn);
int gt_pci_fn_is_nic(const struct gt_reader *reader,
		     const struct gt_pci_fn *fn);
int gt_pci_fn_is_bridge(const struct gt_pci_fn *fn);

/*
 * Returns a bus id as "0000:07:00.0"; a text that has no such form only becomes
 * lower case.  NULL when memory ran out.
 */
const char *gt_reader_bus_id(struct gt_reader *reader, const char *text);

/* List a <pci> of the newest CPU, and all below it. */
int gt_reader_collect(struct gt_reader *reader, const struct gt_xml_elem *elem,
		      uint32_t parent, struct gt_err *err);

/* Sort the list by bus id; complain about what is there twice. */
int gt_reader_index(struct gt_reader *reader, struct gt_err *err);

/*
 * Returns the function with that normalized bus id, a GPU if there are several,
 * or NULL.
 */
struct gt_pci_fn *gt_reader_find(struct gt_reader *reader, const char *bus_id);

/* Make a function's node and ports, and its link upstream. */
int gt_reader_fn(struct gt_reader *reader, struct gt_pci_fn *fn,
		 struct gt_err *err);

/*
 * Add the cards without a PCI function (virtual ports), which hang on their
 * CPU.
 */
int gt_reader_cpu_nics(struct gt_reader *reader, uint32_t cpu,
		       struct gt_err *err);

/* Number the devices of a bare list by bus id, as the driver would. */
void gt_reader_number(struct gt_reader *reader);

/*
 * Set *gbs to the measured GB/s of an element where they are wanted and there.
 */
int gt_reader_gbs(const struct gt_reader *reader,
		  const struct gt_xml_elem *elem, struct gt_rat *gbs,
		  struct gt_err *err);

/* Returns what people are told of a function; NULL when memory ran out. */
const struct gt_pci *gt_reader_pci(struct gt_reader *reader,
				   const struct gt_pci_fn *fn);

/*
 * Set what people are told of a GPU and of a card, and return what they are
 * told of the machine; NULL where there is nothing, or no memory.
 */
void gt_reader_gpu_facts(struct gt_reader *reader, const struct gt_pci_fn *fn,
			 struct gt_node *node);
void gt_reader_nic_facts(struct gt_reader *reader,
			 const struct gt_xml_elem *nic, struct gt_node *node);
const char *gt_reader_facts(struct gt_reader *reader,
			    const struct gt_xml_elem *root);

/*
 * Returns the processor's model, or what else is known of it; NULL when memory
 * ran out.
 */
const char *gt_reader_cpu_name(struct gt_reader *reader,
			       const struct gt_reader_cpu *cpu);

/* Add NVLink, xGMI and C2C of a GPU; all nodes must be made already. */
int gt_reader_gpu_links(struct gt_reader *reader, const struct gt_pci_fn *fn,
			struct gt_err *err);

/* Add peer-to-peer links between switches; each end lists its own. */
int gt_reader_pcilinks(struct gt_reader *reader, const struct gt_pci_fn *fn,
		       struct gt_err *err);

/* Add links between every two CPUs. */
int gt_reader_cpu_links(struct gt_reader *reader, struct gt_err *err);

/*
 * Read what each way into a CPU's memory and out of it carries.  A byte that
 * waits there is written once and read once, so either way has half of what
 * memory carries.
 */
int gt_reader_memory_gbs(const struct gt_reader *reader,
			 const struct gt_xml_elem *cpu, struct gt_rat *gbs,
			 struct gt_err *err);

#endif
