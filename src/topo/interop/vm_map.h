/*
 * Which device of a host a virtual machine knows by which name: a file with a
 * line for each, "HOST VM", and for a port "HOST VM NAME" where it has another
 * name there.  HOST and VM are bus ids in any spelling, or NUMA nodes, CPU1; a
 * '#' begins a comment.
 */
#ifndef GT_TOPO_INTEROP_VM_MAP_H
#define GT_TOPO_INTEROP_VM_MAP_H

#include <stdint.h>

#include "base/bus_id.h"

struct gt_arena;
struct gt_err;

struct gt_vm_entry {
	char host[GT_BUS_ID_MAX], vm[GT_BUS_ID_MAX]; /* "cpu1", or bus ids */
	const char *name; /* of the port in the virtual machine, or NULL */
	uint32_t line;
	int used;
};

struct gt_vm_map {
	const char *file;
	struct gt_arena *arena;
	uint32_t n, room;
	struct gt_vm_entry *entries;
};

/*
 * Read the file; memory is the arena's.  GT_EINPUT with file and line where a
 * line is none, or a device stands there twice.
 */
int gt_vm_map_read(const char *file, struct gt_arena *arena,
		   struct gt_vm_map *map, struct gt_err *err);

/* Add an entry that no line has, for a switch; it counts as used. */
int gt_vm_map_add(struct gt_vm_map *map, const char *host, const char *vm,
		  struct gt_err *err);

/* Returns the entry of a host's device, or NULL. */
struct gt_vm_entry *gt_vm_map_find(const struct gt_vm_map *map,
				   const char *host);

/* GT_EINPUT names the first entry that nothing on the host was found for. */
int gt_vm_map_check_used(const struct gt_vm_map *map, struct gt_err *err);

#endif
