/*
 * Whole files in and out.  A file is written beside its place and renamed, so
 * that a failure leaves the old one as it was.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

static int gt_file_slurp(FILE *file, const char *name, size_t max_bytes,
			 struct gt_buf *buf, struct gt_err *err)
{
	char chunk[65536];
	size_t n, total = 0;

	while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
		total += n;
		if (total > max_bytes)
			return gt_err_set(err, GT_EINPUT, name,
					  "larger than %zu bytes", max_bytes);
		gt_buf_add(buf, chunk, n);
	}
	if (ferror(file))
		return gt_err_set(err, errno == EISDIR ? GT_EINPUT : GT_ESYS,
				  name, "cannot read: %s", strerror(errno));
	return buf->failed ? gt_err_nomem(err) : GT_OK;
}

int gt_file_read(const char *path, size_t max_bytes, struct gt_buf *buf,
		 struct gt_err *err)
{
	FILE *file;
	int rc;

	if (!strcmp(path, "-"))
		return gt_file_slurp(stdin, "standard input", max_bytes, buf,
				     err);
	file = fopen(path, "re");
	if (!file)
		return gt_err_set(err, GT_EINPUT, path, "cannot open: %s",
				  strerror(errno));
	rc = gt_file_slurp(file, path, max_bytes, buf, err);
	fclose(file);
	return rc;
}

static int gt_file_stdout(const char *text, size_t len, struct gt_err *err)
{
	errno = 0;
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout))
		return gt_err_set(err, GT_ESYS, "standard output",
				  "cannot write: %s", strerror(errno));
	return GT_OK;
}

static int gt_fd_write(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* The mode a plain open() would have given; mkstemp is stricter. */
static mode_t gt_file_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Not a regular file (/dev/null, a pipe): nothing to keep safe by renaming. */
static int gt_file_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int gt_file_direct(const char *path, const char *text, size_t len,
			  struct gt_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int bad = fd < 0 || gt_fd_write(fd, text, len);

	if (bad)
		gt_err_set(err, GT_ESYS, path, "cannot write: %s",
			   strerror(errno));
	if (fd >= 0 && close(fd) && !bad) {
		bad = 1;
		gt_err_set(err, GT_ESYS, path, "cannot write: %s",
			   strerror(errno));
	}
	return bad ? GT_ESYS : GT_OK;
}

int gt_file_write(const char *path, const char *text, size_t len,
		  struct gt_err *err)
{
	struct gt_buf name = GT_BUF_INIT;
	int fd, rc = GT_ESYS;

	if (!path || !strcmp(path, "-"))
		return gt_file_stdout(text, len, err);
	if (gt_file_special(path))
		return gt_file_direct(path, text, len, err);
	gt_buf_printf(&name, "%s.XXXXXX", path);
	if (name.failed)
		return gt_err_nomem(err);
	fd = mkostemp(name.text, O_CLOEXEC);
	if (fd < 0) {
		rc = gt_err_set(err, GT_ESYS, path, "cannot write: %s",
				strerror(errno));
		goto release_name;
	}
	if (gt_fd_write(fd, text, len) || fchmod(fd, gt_file_mode()) ||
	    fsync(fd)) {
		rc = gt_err_set(err, GT_ESYS, path, "cannot write: %s",
				strerror(errno));
		close(fd);
		goto remove_file;
	}
	if (close(fd) || rename(name.text, path)) {
		rc = gt_err_set(err, GT_ESYS, path, "cannot write: %s",
				strerror(errno));
		goto remove_file;
	}
	rc = GT_OK;
	goto release_name;
remove_file:
	unlink(name.text);
release_name:
	gt_buf_release(&name);
	return rc;
}
