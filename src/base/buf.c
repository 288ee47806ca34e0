/* A buffer grows by doubling, and takes nothing more once memory ran out. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gt_buf_release(struct gt_buf *buf)
{
	free(buf->text);
	*buf = (struct gt_buf)GT_BUF_INIT;
}

static int gt_buf_room(struct gt_buf *buf, size_t more)
{
	size_t size = buf->size ? buf->size : 256;
	char *text;

	if (buf->failed)
		return 0;
	while (size - buf->len < more + 1 && size < (size_t)1 << 62)
		size *= 2;
	if (size == buf->size)
		return 1;
	text = realloc(buf->text, size);
	if (!text) {
		buf->failed = 1;
		return 0;
	}
	buf->text = text;
	buf->size = size;
	return 1;
}

void gt_buf_add(struct gt_buf *buf, const void *bytes, size_t len)
{
	if (!gt_buf_room(buf, len))
		return;
	if (len)
		memcpy(buf->text + buf->len, bytes, len);
	buf->len += len;
	buf->text[buf->len] = '\0';
}

void gt_buf_puts(struct gt_buf *buf, const char *text)
{
	gt_buf_add(buf, text, strlen(text));
}

void gt_buf_put_plain(struct gt_buf *buf, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at; at++) {
		/* Those of Latin-1 are two bytes in UTF-8. */
		int c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

		at += c1;
		if (*at < 0x20 || *at == 0x7f || c1)
			gt_buf_printf(buf, "\\x%02x", *at);
		else
			gt_buf_add(buf, at, 1);
	}
}

void gt_buf_printf(struct gt_buf *buf, const char *fmt, ...)
{
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		buf->failed = 1;
	else if (gt_buf_room(buf, (size_t)len)) {
		vsnprintf(buf->text + buf->len, (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

const char *gt_buf_text(const struct gt_buf *buf)
{
	if (buf->failed)
		return NULL;
	return buf->text ? buf->text : "";
}
