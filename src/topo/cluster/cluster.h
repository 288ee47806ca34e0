/*
 * Several servers and the networks between them, as a cluster file
 * (gtopo-cluster(5)) describes them: kinds of nodes, how many of each, and
 * the switches above their ports.
 *
 * Nothing is expanded: 12,500 equal nodes are one kind, read once, and one
 * run.  Nodes are numbered 0 .. nnodes-1 in the order of the file; all that
 * can be asked of one is computed.  A cluster is made once and then only read,
 * by any number of threads; it owns all that it points to.
 */
#ifndef GT_TOPO_CLUSTER_CLUSTER_H
#define GT_TOPO_CLUSTER_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"
#include "topo/graph/topo.h"

struct gt_arena;
struct gt_err;

/* A fabric joins network ports, or GPUs by their NVLinks. */
enum gt_fabric_kind { GT_FABRIC_NET, GT_FABRIC_NVLINK, GT_NFABRICKINDS };

struct gt_cluster_port {
	uint32_t device;   /* a node of the kind's topology: a port, or a GPU */
	uint32_t rail;     /* 0 .. the fabric's nrails-1 */
	struct gt_rat gbs; /* 1e9 bytes/s, each way */
};

/* The ports of a node that a fabric joins, in order of rail. */
struct gt_cluster_ports {
	uint32_t n;
	struct gt_cluster_port *list;
};

/* Nodes that are alike: one topology and the same ports in use. */
struct gt_cluster_kind {
	const char *name; /* "dgx-h100" */
	const char *file; /* the path that was opened */
	const struct gt_topo *topo;
	uint32_t nnodes;
	struct gt_cluster_ports ports[GT_NFABRICKINDS];
};

/*
 * Consecutive nodes of one kind.  Their names are prefix, number and suffix,
 * the numbers one after the other with at least `width` digits; a single node
 * may have the prefix alone as its name, then width is -1.
 */
struct gt_cluster_run {
	uint32_t kind, first, count;
	const char *prefix, *suffix;
	uint32_t number;
	int width;
	/* whether the file gives the names; else they follow from the kind's */
	int named;
};

/*
 * A level is a row of switches; the lowest level is above the ports.  Each
 * switch takes in all that `nodes` nodes in a row have (the last takes fewer),
 * of all rails or of one.  Switches of a level are numbered run of nodes by run
 * of nodes, and within it by rail.
 *
 * Each has one uplink to the switch above it, which stands for all its cables
 * together: uplink_gbs, else what comes from below divided by oversubscription.
 * Above the last level is nothing, so what it does not join has no connection.
 */
struct gt_cluster_level {
	uint32_t nodes; /* 1 .. the cluster's number of nodes */
	uint32_t nswitches;
	int by_rail;                    /* one switch a rail */
	struct gt_rat oversubscription; /* 1: none */
	struct gt_rat uplink_gbs;       /* 0: by oversubscription */
};

/* An end of a cable of explicit links is a port of a node, or a switch. */
struct gt_cluster_end {
	uint32_t node; /* GT_NONE: a switch */
	/* the port in the list of the node's kind, or the switch */
	uint32_t at;
};

struct gt_cluster_cable {
	struct gt_cluster_end ends[2];
	struct gt_rat gbs; /* all cables together, each way */
	uint32_t count;
};

/*
 * A fabric has levels, or switches and cables; with neither it joins nothing.
 */
struct gt_cluster_fabric {
	uint32_t nrails;
	int sharp; /* its switches multicast and add up */
	uint32_t nlevels, levels_room;
	struct gt_cluster_level *levels;
	uint32_t nswitches, switches_room; /* of explicit links */
	const char **switches;
	uint32_t ncables, cables_room;
	struct gt_cluster_cable *cables;
};

struct gt_cluster {
	struct gt_arena *arena;
	const char *source;
	const char *name; /* or NULL */
	uint32_t nnodes;
	uint32_t nkinds, kinds_room;
	struct gt_cluster_kind *kinds;
	uint32_t nruns, runs_room;
	struct gt_cluster_run *runs;
	uint32_t ntopos, topos_room;
	struct gt_topo **topos; /* the topologies that the cluster owns */
	struct gt_cluster_fabric fabrics[GT_NFABRICKINDS];
};

/* The largest number of nodes; files with more are refused. */
enum { GT_CLUSTER_MAX_NODES = 1 << 20 };

/*
 * Read a file ("-": standard input) that is a cluster, or a topology: one of
 * *cluster and *topo is set, the caller's, the other becomes NULL.  Node files
 * are looked for beside the cluster file.  GT_EINPUT with file, line and
 * column when it is neither.
 */
int gt_cluster_read(const char *path, enum gt_rates rates,
		    struct gt_cluster **cluster, struct gt_topo **topo,
		    struct gt_err *err);

/* Read either from text; `name` stands for it in messages, and as its path. */
int gt_cluster_parse(const char *name, const char *text, size_t len,
		     enum gt_rates rates, struct gt_cluster **cluster,
		     struct gt_topo **topo, struct gt_err *err);

/*
 * Take peer access away, as gt_topo_part_gpus() does, from the machine or from
 * every node of the cluster, whichever was read; the other one is NULL.
 */
int gt_cluster_part_gpus(struct gt_cluster *cluster, struct gt_topo *topo,
			 const char *words, struct gt_err *err);

/*
 * Make a cluster of `nnodes` copies of one machine, whose ports, or those of a
 * list such as "0,3-5", are joined by one switch.  The topology is borrowed.
 */
int gt_cluster_copies(const struct gt_topo *topo, uint32_t nnodes,
		      const char *nets, struct gt_cluster **cluster,
		      struct gt_err *err);

/*
 * Make a cluster of some nodes of another, in ascending order, with their names
 * and ports and the uplinks above them.  The other one has to outlive it.
 * GT_EINPUT, and why, when nodes or switches are not alike.
 */
int gt_cluster_subset(const struct gt_cluster *cluster, const uint32_t *nodes,
		      uint32_t n, struct gt_cluster **subset,
		      struct gt_err *err);

/*
 * Make the cluster as if all its nodes and switches were alike.
 * GT_INTERSECTION keeps what all have: the links and ports of all kinds of
 * nodes, each as wide as in the narrowest, switches with as many nodes each,
 * and what the narrowest has for so many of uplinks.  What is planned for it
 * can be done on the real cluster.  GT_UNION takes the links and ports that any
 * kind has, and no limit below the last level: no schedule on the real cluster
 * exceeds what can be done on this one.
 *
 * GT_EINPUT, and why, when kinds are of machines that differ in more than links
 * and ports (topo/graph/merge.h), or the fabric is not one of levels over the
 * network.  The cluster has to outlive it.
 */
enum gt_homogenize { GT_INTERSECTION, GT_UNION };
int gt_cluster_homogenize(const struct gt_cluster *cluster,
			  enum gt_homogenize how, struct gt_cluster **even,
			  struct gt_err *err);

/* NULL is allowed. */
void gt_cluster_free(struct gt_cluster *cluster);

/* The run of nodes and the kind that a node belongs to. */
const struct gt_cluster_run *gt_cluster_run_of(const struct gt_cluster *cluster,
					       uint32_t node);
const struct gt_cluster_kind *gt_cluster_kind_of(
	const struct gt_cluster *cluster, uint32_t node);

/* Write a node's name, cut to size. */
void gt_cluster_node_name(const struct gt_cluster *cluster, uint32_t node,
			  char *text, size_t size);

/* Returns the node of that name, or GT_NONE. */
uint32_t gt_cluster_node_find(const struct gt_cluster *cluster,
			      const char *name);

/* Returns the switch of a level that a port hangs below. */
uint32_t gt_cluster_switch(const struct gt_cluster *cluster,
			   enum gt_fabric_kind over, uint32_t level,
			   uint32_t node, uint32_t rail);

/*
 * Returns the switch of the next level that a switch of this level hangs below.
 */
uint32_t gt_cluster_parent_switch(const struct gt_cluster *cluster,
				  enum gt_fabric_kind over, uint32_t level,
				  uint32_t which);

/*
 * Do the network's switches multicast and add up: does the file say so, or does
 * every port that is in the network (NCCL's attribute coll)?
 */
int gt_cluster_has_sharp(const struct gt_cluster *cluster);

/*
 * How many nodes the highest switches of a fabric join at most; 0: there is
 * none.
 */
uint32_t gt_cluster_joins(const struct gt_cluster *cluster,
			  enum gt_fabric_kind over);

/*
 * The bandwidth that comes to a switch of a level from below, and that of its
 * uplink, in GB/s each way.  GT_EINPUT when it is no 64-bit fraction.
 */
int gt_cluster_downlink(const struct gt_cluster *cluster,
			enum gt_fabric_kind over, uint32_t level,
			uint32_t which, struct gt_rat *gbs, struct gt_err *err);
int gt_cluster_uplink(const struct gt_cluster *cluster,
		      enum gt_fabric_kind over, uint32_t level, uint32_t which,
		      struct gt_rat *gbs, struct gt_err *err);

/*
 * Returns the lowest level that has one switch above both ports, or GT_NONE.
 * Ports are {node, rail}.
 */
uint32_t gt_cluster_common_level(const struct gt_cluster *cluster,
				 enum gt_fabric_kind over, const uint32_t a[2],
				 const uint32_t b[2]);

/* Returns "net" or "nvlink". */
const char *gt_fabric_kind_name(enum gt_fabric_kind over);

#endif
