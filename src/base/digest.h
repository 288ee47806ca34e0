/* What identifies a text: its SHA-256. */
#ifndef GT_BASE_DIGEST_H
#define GT_BASE_DIGEST_H

#include <stddef.h>

enum { GT_DIGEST_TEXT_MAX = 72 }; /* "sha256:", 64 digits and '\0' */

/* 1 on success. */
int gt_digest_text(const void *bytes, size_t len,
		   char text[GT_DIGEST_TEXT_MAX]);

#endif
