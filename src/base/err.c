/* The first error wins: what is said later cannot hide the cause. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

void gt_err_init(struct gt_err *err)
{
	err->code = GT_OK;
	err->where[0] = '\0';
	err->text[0] = '\0';
}

int gt_err_set(struct gt_err *err, int code, const char *where, const char *fmt,
	       ...)
{
	va_list ap;

	if (!err)
		return code;
	if (err->code != GT_OK)
		return err->code;
	err->code = code;
	if (where)
		snprintf(err->where, sizeof(err->where), "%s", where);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int gt_err_nomem(struct gt_err *err)
{
	return gt_err_set(err, GT_ESYS, NULL, "out of memory");
}

void gt_err_words(const struct gt_err *err, char *words, size_t size)
{
	snprintf(words, size, "%s%s%s", err->where, err->where[0] ? ": " : "",
		 err->text);
}

void gt_err_at(struct gt_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->where[0])
		return;
	va_start(ap, fmt);
	vsnprintf(err->where, sizeof(err->where), fmt, ap);
	va_end(ap);
}
