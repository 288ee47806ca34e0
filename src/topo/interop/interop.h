/*
 * A machine or a cluster as a file for the scheduler of another program, or for
 * a virtual machine.
 */
#ifndef GT_TOPO_INTEROP_INTEROP_H
#define GT_TOPO_INTEROP_INTEROP_H

struct gt_buf;
struct gt_cluster;
struct gt_err;
struct gt_topo;

/*
 * slurm.c: append Slurm's topology.conf: the network's switches as a tree for
 * its plugin topology/tree, or, where only NVLink joins nodes, its domains for
 * topology/block.  Switches of one level that differ in rails alone are one
 * switch there, since a node has one leaf.  GT_EINPUT when the network has no
 * levels, or a name is none for Slurm.
 */
int gt_slurm_conf(const struct gt_cluster *cluster, struct gt_buf *out,
		  struct gt_err *err);

/* slurm.c: append Slurm's topology.yaml, which has both. */
int gt_slurm_yaml(const struct gt_cluster *cluster, struct gt_buf *out,
		  struct gt_err *err);

/* k8s.c: append the labels of a machine, "gtopo/gpus=8", a line each. */
void gt_k8s_machine(const struct gt_topo *topo, struct gt_buf *out);

/*
 * k8s.c: append YAML that gives each node of a cluster its labels, with where
 * it is in the network.  GT_EINPUT when a name is none for Kubernetes.
 */
int gt_k8s_cluster(const struct gt_cluster *cluster, struct gt_buf *out,
		   struct gt_err *err);

/*
 * vm.c: append the topology of a virtual machine, made of `host`, a text that
 * gt_topo_parse() takes, by the file `map` (topo/interop/vm_map.h): devices
 * that are not in it are left out, switches above the others stay.  GT_EINPUT
 * with the map's line when it is wrong, or names what the host has not.
 */
int gt_vm_topology(const struct gt_buf *host, const char *map,
		   struct gt_buf *out, struct gt_err *err);

#endif
