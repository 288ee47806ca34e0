/*
 * Memory without a name (memfd), which other processes find by this process's
 * number and its descriptor, through /proc.
 */
#include "exec/link/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

int gt_shared_memory_new(size_t bytes, struct gt_shared_memory *out,
			 struct gt_err *err)
{
	struct gt_shared_memory share = {.bytes = bytes, .fd = -1};
	int error;

	share.fd = memfd_create("gtopo", MFD_CLOEXEC);
	/*
	 * The pages are reserved now, as one that is missing later would be a
	 * bus error.
	 */
	error = share.fd < 0 ? errno
			     : posix_fallocate(share.fd, 0, (off_t)bytes);
	if (!error) {
		share.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED, share.fd, 0);
		error = share.base == MAP_FAILED ? errno : 0;
	}
	if (!error) {
		*out = share;
		return GT_OK;
	}
	if (share.fd >= 0)
		close(share.fd);
	return gt_err_set(err, GT_ESYS, NULL,
			  "cannot get '%zu' bytes of shared memory: %s", bytes,
			  strerror(error));
}

struct gt_shared_memory_handle gt_shared_memory_handle(
	const struct gt_shared_memory *share)
{
	return (struct gt_shared_memory_handle){
		.bytes = share->bytes, .pid = getpid(), .fd = share->fd};
}

/*
 * A process that has closed the memory may have another file of that number by
 * now.
 */
static int gt_shared_memory_is_stale(const struct gt_shared_memory_handle *name,
				     int fd)
{
	struct stat is;

	return fstat(fd, &is) || !S_ISREG(is.st_mode) || is.st_nlink ||
	       (uint64_t)is.st_size != name->bytes;
}

int gt_shared_memory_map(const struct gt_shared_memory_handle *name,
			 struct gt_shared_memory *out, struct gt_err *err)
{
	char path[64];
	void *base = MAP_FAILED;
	int fd, error;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", name->pid, name->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && gt_shared_memory_is_stale(name, fd))
		errno = ESTALE;
	else if (fd >= 0)
		base = mmap(NULL, name->bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (base == MAP_FAILED)
		return gt_err_set(err, GT_ESYS, path,
				  "cannot map the other process's memory: %s; "
				  "--link tcp needs none",
				  strerror(error));
	*out = (struct gt_shared_memory){
		.base = base, .bytes = name->bytes, .fd = -1};
	return GT_OK;
}

void gt_shared_memory_free(struct gt_shared_memory *share)
{
	if (share->base)
		munmap(share->base, share->bytes);
	if (share->base && share->fd >= 0)
		close(share->fd);
	*share = (struct gt_shared_memory){.fd = -1};
}

/*
 * The boot and the PID namespace: within both processes see each other's files.
 */
void gt_host_id_get(char id[GT_HOST_ID_MAX])
{
	const char *given = getenv("GTOPO_HOSTID");
	struct gt_buf boot = GT_BUF_INIT;
	char space[64] = "";
	ssize_t len = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	if (len > 0)
		space[len] = '\0';
	if (gt_file_read("/proc/sys/kernel/random/boot_id", 128, &boot, NULL))
		boot.len = 0;
	snprintf(id, GT_HOST_ID_MAX, "%.60s %.50s %s", given ? given : "",
		 boot.len ? gt_buf_text(&boot) : "", space);
	gt_buf_release(&boot);
}
