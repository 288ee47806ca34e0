/*
 * Whole files in and out.  A file is written without a name in the folder where
 * it is to be, and gets its name when it is complete: a failure leaves the old
 * one as it was, and nothing else.
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
#include "base/clock.h"
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

/* A file that cannot be opened is the input's fault, or the system's. */
static int gt_file_code(int number)
{
	return number == EMFILE || number == ENFILE || number == ENOMEM
		       ? GT_ESYS
		       : GT_EINPUT;
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
		return gt_err_set(err, gt_file_code(errno), path,
				  "cannot open: %s", strerror(errno));
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

/* Write into what is there, a device or a pipe, or where a link leads. */
static int gt_file_direct(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	int bad = fd < 0 || gt_fd_write(fd, text, len), number = errno;

	if (fd >= 0 && close(fd) && !bad) {
		bad = 1;
		number = errno;
	}
	errno = number;
	return bad ? -1 : 0;
}

/* A file that is to be replaced, or made. */
struct gt_file_target {
	const char *path;
	mode_t mode; /* of the file that is there; 0: there is none */
	struct gt_buf folder;
	struct gt_buf name; /* a passing one in that folder */
};

/*
 * The passing name does not grow from the file's own, which may be as long as
 * names can be.
 */
static int gt_file_find(struct gt_file_target *target)
{
	const char *slash = strrchr(target->path, '/');
	int len = slash ? (int)(slash - target->path) + 1 : 0;

	gt_buf_printf(&target->folder, "%.*s.", len, target->path);
	gt_buf_printf(&target->name, "%.*s.gtopo-%ld-%lld", len, target->path,
		      (long)getpid(), (long long)gt_clock_ns());
	return target->folder.failed || target->name.failed;
}

static int gt_file_fill(const struct gt_file_target *target, int fd,
			const char *text, size_t len)
{
	return gt_fd_write(fd, text, len) ||
	       (target->mode && fchmod(fd, target->mode)) || fsync(fd);
}

/* Close fd; errno is that of the first failure. */
static int gt_file_close(int fd, int bad)
{
	int number = errno;

	if (close(fd) && !bad)
		return -1;
	errno = number;
	return bad;
}

/* Rename the passing name, or remove it where that fails. */
static int gt_file_rename(const struct gt_file_target *target, int bad)
{
	int number;

	if (!bad && !rename(target->name.text, target->path))
		return 0;
	number = errno;
	unlink(target->name.text);
	errno = number;
	return -1;
}

/* Give a file without a name the target's. */
static int gt_file_link(const struct gt_file_target *target, int fd)
{
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (!target->mode &&
	    !linkat(AT_FDCWD, from, AT_FDCWD, target->path, AT_SYMLINK_FOLLOW))
		return 0;
	if (linkat(AT_FDCWD, from, AT_FDCWD, target->name.text,
		   AT_SYMLINK_FOLLOW))
		return -1;
	return gt_file_rename(target, 0);
}

static int gt_file_unnamed(const struct gt_file_target *target,
			   const char *text, size_t len)
{
	int fd = open(target->folder.text, O_TMPFILE | O_WRONLY | O_CLOEXEC,
		      0666);

	if (fd < 0)
		return -1;
	return gt_file_close(fd, gt_file_fill(target, fd, text, len) ||
					 gt_file_link(target, fd));
}

static int gt_file_named(const struct gt_file_target *target, const char *text,
			 size_t len)
{
	int fd = open(target->name.text,
		      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	int bad = fd < 0;

	if (bad)
		return -1;
	bad = gt_file_close(fd, gt_file_fill(target, fd, text, len));
	return gt_file_rename(target, bad);
}

/* Not every file system has files without a name. */
static int gt_file_replace(const char *path, mode_t mode, const char *text,
			   size_t len)
{
	struct gt_file_target target = {path, mode, GT_BUF_INIT, GT_BUF_INIT};
	int bad = gt_file_find(&target);

	if (bad)
		errno = ENOMEM;
	else
		bad = gt_file_unnamed(&target, text, len) &&
		      gt_file_named(&target, text, len);
	gt_buf_release(&target.folder);
	gt_buf_release(&target.name);
	return bad;
}

int gt_file_write(const char *path, const char *text, size_t len,
		  struct gt_err *err)
{
	struct stat at, to;
	char *real;
	int bad, is_there;

	if (!path || !strcmp(path, "-"))
		return gt_file_stdout(text, len, err);
	is_there = !stat(path, &to);
	/* There is nothing to keep safe in /dev/null, or behind a dead link. */
	if (is_there ? !S_ISREG(to.st_mode)
		     : !lstat(path, &at) && S_ISLNK(at.st_mode)) {
		bad = gt_file_direct(path, text, len);
	} else if (is_there) {
		real = realpath(path, NULL);
		bad = !real ||
		      gt_file_replace(real, to.st_mode & 07777, text, len);
		free(real);
	} else {
		bad = gt_file_replace(path, 0, text, len);
	}
	return bad ? gt_err_set(err, GT_ESYS, path, "cannot write: %s",
				strerror(errno))
		   : GT_OK;
}
