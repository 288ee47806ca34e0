/*
 * A growable string.  Memory that runs out is remembered (`failed`), so a
 * writer appends freely and asks once at the end.
 */
#ifndef GT_BASE_BUF_H
#define GT_BASE_BUF_H

#include <stddef.h>

struct gt_buf {
	char *text; /* always ends with '\0' once something was added */
	size_t len;
	size_t size;
	int failed;
};

#define GT_BUF_INIT                                                            \
	{                                                                      \
		NULL, 0, 0, 0                                                  \
	}

void gt_buf_release(struct gt_buf *buf);
void gt_buf_add(struct gt_buf *buf, const void *bytes, size_t len);
void gt_buf_puts(struct gt_buf *buf, const char *text);
/*
 * Append text of which a terminal shows each character: those that control it
 * become "\\x1b".
 */
void gt_buf_put_plain(struct gt_buf *buf, const char *text);
void gt_buf_printf(struct gt_buf *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The text ("" when empty), NULL when memory ran out.  Borrowed. */
const char *gt_buf_text(const struct gt_buf *buf);

#endif
