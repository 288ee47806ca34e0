/*
 * The state of reading one XML file, shared by xml_read.c (processors and PCI
 * functions) and xml_device.c (what GPUs and cards are made of).
 */
#ifndef GT_TOPO_READER_H
#define GT_TOPO_READER_H

#include <stdint.h>

#include "base/rat.h"
#include "topo/model.h"
#include "topo/topo.h"

struct gt_err;
struct gt_xml_elem;

/* One <pci> element. */
struct gt_fn {
	const struct gt_xml_elem *elem;
	const struct gt_xml_elem *gpu, *nic; /* children, or NULL */
	const char *bus_id;                  /* canonical */
	const char *class;                   /* "0x060400", or "" */
	uint32_t parent;                     /* function, or GT_NONE */
	uint32_t cpu;                        /* of cpus[] */
	uint32_t node;                       /* once made, or GT_NONE */
	int head;   /* generation of a switch that may take in its parts */
	int joined; /* is such a part: shares its parent's node */
	const struct gt_fn *same; /* the bridge that this repeats, or NULL */
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
	struct gt_fn *fns;
	uint32_t nfns, fns_size;
	uint32_t *by_bus; /* functions in order of bus id */
	struct gt_reader_cpu *cpus;
	uint32_t ncpus, cpus_size;
	uint32_t nvs; /* the NVSwitches' node, or GT_NONE */
	int bare;     /* no <gpu>: PCI classes say what is a GPU */
	int no_nic;   /* no <nic> either */
};

/* The measured GB/s of an element where wanted and there, else *gbs stays. */
int gt_reader_gbs(const struct gt_reader *reader,
		  const struct gt_xml_elem *elem, struct gt_rat *gbs,
		  struct gt_err *err);

/* Lower case, "0000:07:00.0"; what has no such form stays as it is. */
const char *gt_reader_bus_id(struct gt_reader *reader, const char *text);

/* The first function of that canonical bus id, or NULL. */
struct gt_fn *gt_reader_find(struct gt_reader *reader, const char *bus_id);

/* Make the node of a function with a GPU or card in it, and link nothing. */
int gt_reader_gpu(struct gt_reader *reader, struct gt_fn *fn,
		  struct gt_err *err);
int gt_reader_nic(struct gt_reader *reader, struct gt_fn *fn,
		  struct gt_err *err);

/* The ports of a <nic> on the card `node`. */
int gt_reader_nets(struct gt_reader *reader, const struct gt_xml_elem *nic,
		   uint32_t node, struct gt_err *err);

/* NVLink, xGMI and C2C of a GPU whose node, and every other's, is made. */
int gt_reader_gpu_links(struct gt_reader *reader, const struct gt_fn *fn,
			struct gt_err *err);

#endif
