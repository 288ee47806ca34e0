/*
 * Whether network cards get at GPUs' memory (GPUDirect RDMA), as a file tells.
 */
#ifndef GT_TOPO_DIFF_GDR_H
#define GT_TOPO_DIFF_GDR_H

struct gt_xml_elem;

/*
 * Returns "on", "off" or, where it is not known, "": of a server by its root
 * element, of a GPU or a port by its own.
 */
const char *gt_gdr_of_server(const struct gt_xml_elem *root);
const char *gt_gdr_of_device(const struct gt_xml_elem *elem);

#endif
