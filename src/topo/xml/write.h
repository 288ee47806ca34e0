/*
 * Writes a machine as topology XML that NCCL takes as NCCL_TOPO_FILE.
 *
 * NCCL's reader is not an XML parser; what it needs is kept here: no
 * declaration, no tab, no text, one space between attributes, `/>`, at most 16
 * attributes an element (it adds some itself), no value of 254 characters or
 * more, nothing that would have to be written as an entity.  Every element and
 * attribute is explained in gtopo-topology(5) and allowed by
 * share/schema/gtopo-topology.rng.
 */
#ifndef GT_TOPO_XML_WRITE_H
#define GT_TOPO_XML_WRITE_H

struct gt_buf;
struct gt_err;
struct gt_machine;
struct _xmlDoc;

enum {
	GT_XML_NCCL_NODES = 255, /* more elements than this NCCL refuses */
};

/*
 * Append the document to out.  *nelements (may be NULL) is how many elements
 * NCCL counts in it.
 */
int gt_xml_write(const struct gt_machine *machine, struct gt_buf *out,
		 int *nelements, struct gt_err *err);

/*
 * Append a document of libxml2 in that form; returns 0, or 1 when memory ran
 * out.
 */
int gt_xml_save(struct _xmlDoc *doc, struct gt_buf *out);

#endif
