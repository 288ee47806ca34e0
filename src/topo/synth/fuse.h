/*
 * A cluster file from the topology files of its nodes: equal servers become
 * one kind, each keeps its name.
 */
#ifndef GT_TOPO_SYNTH_FUSE_H
#define GT_TOPO_SYNTH_FUSE_H

#include <stdint.h>

struct gt_buf;
struct gt_err;

struct gt_fuse {
	const char *const *files; /* a node each, in order */
	uint32_t nfiles;
	unsigned
		ignore; /* what equal servers may differ in: gt_device_tree_read */
	const char *beside; /* where the cluster file will be, or NULL */
	const char *name;   /* of the cluster, or NULL */
	const char *nets;   /* ports in the fabric; NULL: those near GPUs */
	int rails;
	int leaf;         /* nodes below a leaf switch, 0: one switch */
	const char *over; /* oversubscription of these, or NULL */
	int nvlink;       /* nodes that NVSwitches join, 0: none */
};

/*
 * Append the file.  Nodes are named after their files, or after the folders of
 * these where all files are named alike.  GT_EINPUT when a file is no topology
 * or two nodes would have one name.
 */
int gt_fuse_write(const struct gt_fuse *fuse, struct gt_buf *out,
		  struct gt_err *err);

#endif
