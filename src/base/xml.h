/*
 * XML documents, read through one bounded door (libxml2).
 *
 * A file may have at most 64 MiB, 256 levels, 2^18 elements and 2^20
 * attributes.  Nothing is ever fetched: external subsets are not loaded, entity
 * declarations are refused, so no document grows while it is read.  A document
 * is read-only once parsed (any number of threads) and owns all that is
 * borrowed from it.
 */
#ifndef GT_BASE_XML_H
#define GT_BASE_XML_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;
struct gt_rat;
struct gt_xml;
struct gt_xml_elem;

/*
 * Parse a file ("-": standard input) or text; `name` stands for the text in
 * messages.  GT_EINPUT with file, line and column when it is not XML.
 */
int gt_xml_read(const char *path, struct gt_xml **xml, struct gt_err *err);
int gt_xml_parse(const char *name, const char *text, size_t len,
		 struct gt_xml **xml, struct gt_err *err);

/* NULL is allowed. */
void gt_xml_free(struct gt_xml *xml);

/* What messages call the document. */
const char *gt_xml_source(const struct gt_xml *xml);

/* Elements only, in the order of the document; NULL after the last. */
const struct gt_xml_elem *gt_xml_root(const struct gt_xml *xml);
const struct gt_xml_elem *gt_xml_child(const struct gt_xml_elem *elem);
const struct gt_xml_elem *gt_xml_next(const struct gt_xml_elem *elem);
const struct gt_xml_elem *gt_xml_parent(const struct gt_xml_elem *elem);

/* The first child of that name, or NULL. */
const struct gt_xml_elem *gt_xml_find(const struct gt_xml_elem *elem,
				      const char *name);

const char *gt_xml_name(const struct gt_xml_elem *elem);
int gt_xml_is(const struct gt_xml_elem *elem, const char *name);
uint32_t gt_xml_line(const struct gt_xml_elem *elem);

/* The attribute's text, or NULL. */
const char *gt_xml_attr(const struct gt_xml_elem *elem, const char *attr);

/* The attribute's text, or "" where it or the element (NULL) is not there. */
const char *gt_xml_text(const struct gt_xml_elem *elem, const char *attr);

/*
 * A number: GT_OK and *value left alone where the attribute is absent or
 * empty, GT_EINPUT where it is not a number.
 */
int gt_xml_int(const struct gt_xml_elem *elem, const char *attr, int *value,
	       struct gt_err *err);
int gt_xml_rat(const struct gt_xml_elem *elem, const char *attr,
	       struct gt_rat *value, struct gt_err *err);

/* "file:line:column" of the attribute, of the element when attr is NULL. */
void gt_xml_where(const struct gt_xml_elem *elem, const char *attr, char *text,
		  size_t size);

/*
 * Where in the text an attribute's value is (between its quotes), or the
 * element's '<' when attr is NULL.  1, or 0 where there is no such attribute or
 * its place is not known because libxml2 converted the encoding.
 */
int gt_xml_span(const struct gt_xml_elem *elem, const char *attr, size_t *at,
		size_t *len);

/* Complain about the attribute, or the element when attr is NULL; returns
 * GT_EINPUT (the first code where an error is already recorded). */
int gt_xml_fail(const struct gt_xml_elem *elem, const char *attr,
		struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
