/*
 * Makes a cluster file from the topology files of its nodes: equal servers
 * become one kind, and each keeps its name.
 */
#ifndef GT_TOPO_SYNTH_FUSE_H
#define GT_TOPO_SYNTH_FUSE_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_paths;
struct gt_topo;

/* Is told of a file that cannot be read; the others make the cluster. */
typedef void gt_fuse_skipped(void *arg, const struct gt_err *why);

struct gt_fuse {
	const char *const *files; /* one for each node, in order */
	uint32_t nfiles;
	/*
	 * properties in which equal servers may differ, as in
	 * gt_device_tree_read()
	 */
	unsigned ignore;
	/* the path where the cluster file will be, or NULL */
	const char *beside;
	const char *name; /* of the cluster, or NULL */
	const char *nets; /* ports in the fabric; NULL: those near GPUs */
	int rails;
	int leaf;         /* nodes below a leaf switch; 0: one switch for all */
	const char *over; /* the oversubscription of leaf switches, or NULL */
	int nvlink;       /* nodes that NVSwitches join; 0: none */
	/* NULL: a file that cannot be read is an error, as is a single one. */
	gt_fuse_skipped *skipped;
	void *arg;
};

/*
 * Append the file.  Nodes are named after their files, or after the folders of
 * these where all files are named alike.  GT_EINPUT when no file is a topology
 * or two nodes would have one name.
 */
int gt_fuse_write(const struct gt_fuse *fuse, struct gt_buf *out,
		  struct gt_err *err);

/*
 * Append the numbers of the ports that share a switch with GPUs, "0,3,4"; none
 * where all or none do.
 */
void gt_fuse_near_nets(const struct gt_topo *topo, const struct gt_paths *paths,
		       struct gt_buf *out);

#endif
