/*
 * Functions that make a cluster, shared by read.c (the file), fabric.c (its
 * fabrics), names.c (lists of names), kind.c (kinds of nodes and their ports)
 * and homogenize.c (a cluster made even).
 */
#ifndef GT_TOPO_CLUSTER_MAKE_H
#define GT_TOPO_CLUSTER_MAKE_H

#include "topo/cluster/cluster.h"

struct gt_xml;
struct gt_xml_elem;

/* Make an empty cluster with its own arena; gt_cluster_free() frees it. */
int gt_cluster_new(const char *source, struct gt_cluster **cluster,
		   struct gt_err *err);

/* Read a whole document whose root is <cluster>. */
int gt_cluster_from_xml(const struct gt_xml *xml, enum gt_rates rates,
			struct gt_cluster **cluster, struct gt_err *err);

/*
 * Add a kind with this name and topology, and the network ports of a list such
 * as "0,3-5,-,9" (NULL: all).  GT_EINPUT without a place when the list is
 * wrong.
 */
int gt_cluster_add_kind(struct gt_cluster *cluster,
			const struct gt_cluster_kind *kind, const char *nets,
			struct gt_err *err);

/*
 * Add `count` more nodes, or those of a list of names such as "gpu[01-12],x7".
 */
int gt_cluster_add_nodes(struct gt_cluster *cluster, uint32_t kind,
			 uint32_t count, struct gt_err *err);
int gt_cluster_add_names(struct gt_cluster *cluster, uint32_t kind,
			 const char *names, struct gt_err *err);

/* Check that no two nodes have one name; GT_EINPUT when they do. */
int gt_cluster_check_names(const struct gt_cluster *cluster,
			   struct gt_err *err);

/* Add a <fabric>; all nodes must be there already. */
int gt_cluster_add_fabric(struct gt_cluster *cluster,
			  const struct gt_xml_elem *elem, struct gt_err *err);

/* Add one switch that joins all nodes. */
int gt_cluster_one_switch(struct gt_cluster *cluster, enum gt_fabric_kind over,
			  struct gt_err *err);

/*
 * Returns the place, in the kind's list, of the port whose device has this
 * number ("dev"), or GT_NONE.
 */
uint32_t gt_cluster_port_find(const struct gt_cluster_kind *kind,
			      enum gt_fabric_kind over, int dev);

#endif
