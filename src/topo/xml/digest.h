/*
 * The digest of what identifies a machine: the SHA-256 (FIPS 180-4) of sorted
 * lines
 *
 *	pci BUS PARENT CLASS VENDOR:DEVICE GT/S WIDTH
 *	link BUS nvlink|xgmi|c2c TARGET TCLASS COUNT
 *	net BUS GUID PORT SPEED
 *
 * with "-" for what is unknown.  GT/S and WIDTH are the maximum; a GPU's are
 * left out unless the file says that they are (its link_speed changes when it
 * idles).  The shape has "-" for bus ids, targets and guids, and its parent's
 * class and ids for PARENT.
 */
#ifndef GT_TOPO_XML_DIGEST_H
#define GT_TOPO_XML_DIGEST_H

struct gt_arena;
struct gt_err;
struct gt_xml_elem;

/* Make "sha256:<64 hex>" of the machine or of its shape, in the arena. */
int gt_digest_make(const struct gt_xml_elem *system, int shape,
		   struct gt_arena *arena, const char **digest,
		   struct gt_err *err);

#endif
