/*
 * The state of topology XML while it is being written, shared by write.c (the
 * machine, the PCI tree) and write_device.c (GPUs, network cards).
 *
 * Memory that runs out is remembered in `failed`; nothing else can fail.  A
 * node may be NULL then.
 */
#ifndef GT_TOPO_XML_OUT_H
#define GT_TOPO_XML_OUT_H

#include <libxml/tree.h>

struct gt_machine;
struct gt_machine_gpu;
struct gt_machine_link;
struct gt_machine_net;

enum {
	GT_XML_VALUE_MAX = 253, /* NCCL dies of longer ones */
};

struct gt_xml_out {
	const struct gt_machine *machine;
	int nelements; /* elements that NCCL counts; gtopo's own it skips */
	int failed;
};

const xmlChar *gt_xml_out_str(const char *text);

/* Add an element below parent (NULL: the root). */
xmlNodePtr gt_xml_out_add(struct gt_xml_out *out, xmlNodePtr parent,
			  const char *name);

/* Add an attribute, cut at GT_XML_VALUE_MAX, without what NCCL cannot read. */
void gt_xml_out_attr(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Add an attribute only where there is something to say: a text that is not
 * NULL or "", a number that is not `unknown`.
 */
void gt_xml_out_text(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *text);
void gt_xml_out_int(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		    int value, int unknown);

/* Add a list, which is left out when it would have to be cut. */
void gt_xml_out_list(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *text);

/* Add a rate "32.0 GT/s x16", or the half of it that is known. */
void gt_xml_out_link(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     struct gt_machine_link link);

/*
 * Add a gpu element with its links, or a nic element with its ports (NULL:
 * none).
 */
void gt_xml_out_gpu(struct gt_xml_out *out, xmlNodePtr parent,
		    const struct gt_machine_gpu *gpu);
void gt_xml_out_nic(struct gt_xml_out *out, xmlNodePtr parent,
		    const struct gt_machine_net *nets);

#endif
