/*
 * What a file is that is of another kind than was expected, so that an error
 * says what to do with it.
 */
#ifndef GT_BASE_KIND_H
#define GT_BASE_KIND_H

#include <stddef.h>

/*
 * Returns the rest of a sentence about JSON, where XML is expected: "is a plan;
 * ...", or what is true of all JSON.
 */
const char *gt_kind_of_json(const char *text, size_t len);

/* Returns one about XML, where JSON is expected. */
const char *gt_kind_of_xml(const char *text, size_t len);

/* Returns one about the name of JSON's schema or of XML's root, or NULL. */
const char *gt_kind_of_schema(const char *schema);
const char *gt_kind_of_root(const char *name);

#endif
