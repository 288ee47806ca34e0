/* Inside of a parsed document: xml.c makes it, xml_elem.c reads it. */
#ifndef GT_BASE_XML_DOC_H
#define GT_BASE_XML_DOC_H

#include <stddef.h>
#include <stdint.h>

#include <libxml/tree.h>

struct gt_arena;

struct gt_xml {
	struct gt_arena *arena;
	xmlDoc *doc;
	char *name;
	char *text; /* what was parsed, to find columns in */
	size_t len;
};

/* Where an element's start tag begins; hangs at xmlNode._private. */
struct gt_xml_tag {
	size_t at; /* offset in text of its '<', or SIZE_MAX */
	uint32_t line;
};

#endif
