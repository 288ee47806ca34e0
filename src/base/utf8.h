/*
 * UTF-8 (RFC 3629), which JSON and XML are written in: names of files are any
 * bytes.
 */
#ifndef GT_BASE_UTF8_H
#define GT_BASE_UTF8_H

#include <stddef.h>

/*
 * Returns how many bytes the character has that text begins with, or 0 when it
 * begins with none: no UTF-8, an overlong form, a surrogate, or the end.
 */
size_t gt_utf8_char(const char *text);

/* Returns whether all of the text is UTF-8. */
int gt_utf8_is_valid(const char *text);

#endif
