/*
 * Whole files in, whole files out.
 */
#ifndef GT_BASE_FILE_H
#define GT_BASE_FILE_H

#include <stddef.h>

struct gt_err;
struct gt_buf;

/*
 * Append the file at `path` ("-": standard input) to buf.  More than
 * max_bytes is an error (GT_EINPUT), as is a file that cannot be opened, unless
 * descriptors or memory ran out (GT_ESYS).
 */
int gt_file_read(const char *path, size_t max_bytes, struct gt_buf *buf,
		 struct gt_err *err);

/*
 * Write text to `path`, which gets its name, or replaces an old file, when it
 * is complete, so a failure never harms that.  It keeps an old file's mode, and
 * is written where a symbolic link leads.  NULL or "-": standard output,
 * flushed, and an error (GT_ESYS) if it did not take everything (a full disk).
 */
int gt_file_write(const char *path, const char *text, size_t len,
		  struct gt_err *err);

#endif
