/*
 * Memory that several processes of one host map.  It has no name, so it is gone
 * with the last process that maps it, whatever ended that process.
 */
#ifndef GT_EXEC_LINK_SHARED_MEMORY_H
#define GT_EXEC_LINK_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;

struct gt_shared_memory {
	void *base; /* NULL: none */
	size_t bytes;
	int fd; /* -1: another process's */
};

/* The handle by which another process on this host maps it. */
struct gt_shared_memory_handle {
	uint64_t bytes;
	int32_t pid;
	int32_t fd;
};

/* Get zeroed memory that is really there; GT_ESYS when there is not enough. */
int gt_shared_memory_new(size_t bytes, struct gt_shared_memory *share,
			 struct gt_err *err);

struct gt_shared_memory_handle gt_shared_memory_handle(
	const struct gt_shared_memory *share);

/* Map another process's memory; that process must be alive. */
int gt_shared_memory_map(const struct gt_shared_memory_handle *name,
			 struct gt_shared_memory *share, struct gt_err *err);

void gt_shared_memory_free(struct gt_shared_memory *share);

/*
 * Print what tells hosts apart: processes with the same text can map each
 * other's memory.  GTOPO_HOSTID, if it is set, stands for the host.
 */
enum { GT_HOST_ID_MAX = 160 };
void gt_host_id_get(char id[GT_HOST_ID_MAX]);

#endif
