/*
 * NCCL writes `gdr` as 0 or 1, and leaves it out where it did not ask.  gtopo
 * detect writes 1 where NVIDIA's module for it is loaded; dma-buf, the other
 * way, stands at the server and at the cards.
 */
#include "topo/diff/gdr.h"

#include <string.h>

#include "base/xml.h"

/* What the elements of a file say, all together. */
struct told {
	int on, off;
	int port;    /* there is one for RDMA */
	int refuses; /* every card with such a port refuses dma-buf */
};

static void look(const struct gt_xml_elem *elem, struct told *told)
{
	const char *gdr = gt_xml_text(elem, "gdr");
	int is_net = gt_xml_is(elem, "net");

	if (is_net || gt_xml_is(elem, "gpu")) {
		told->on |= !strcmp(gdr, "1");
		told->off |= !strcmp(gdr, "0");
	}
	if (is_net && *gt_xml_text(elem, "port") > '0') {
		told->refuses =
			(!told->port || told->refuses) &&
			*gt_xml_text(gt_xml_parent(elem), "gt_dmabuf") == '0';
		told->port = 1;
	}
	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		look(elem, told);
}

const char *gt_gdr_of_server(const struct gt_xml_elem *root)
{
	const struct gt_xml_elem *machine = gt_xml_find(root, "gt_machine");
	const char *dmabuf = gt_xml_text(machine, "dmabuf");
	struct told told = {0};

	look(root, &told);
	if (told.on)
		return "on";
	if (told.off)
		return "off";
	if (!told.port || !*dmabuf || gt_xml_attr(machine, "peermem"))
		return "";
	return *dmabuf == '0' || told.refuses ? "off" : "on";
}

const char *gt_gdr_of_device(const struct gt_xml_elem *elem)
{
	const char *gdr = gt_xml_text(elem, "gdr");

	return !strcmp(gdr, "1") ? "on" : !strcmp(gdr, "0") ? "off" : "";
}
