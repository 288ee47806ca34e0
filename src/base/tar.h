/* Archives of small files, as tar reads them (POSIX.1-1988, "ustar"). */
#ifndef GT_BASE_TAR_H
#define GT_BASE_TAR_H

#include <stdint.h>

struct gt_buf;

enum { GT_TAR_NAME_MAX = 99 };

/*
 * Append a file of at most 8 GiB that was changed at mtime, in seconds since
 * 1970; its name, of GT_TAR_NAME_MAX bytes at most, may have folders.  The
 * owner is nobody in particular, its mode 644.
 */
void gt_tar_add(struct gt_buf *out, const char *name,
		const struct gt_buf *content, int64_t mtime);

/* End the archive. */
void gt_tar_end(struct gt_buf *out);

#endif
