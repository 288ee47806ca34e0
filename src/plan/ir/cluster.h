/*
 * Plans of clusters: equal nodes under levels of switches, and templates, the
 * trees of one node's blocks that stand for those of all nodes.
 *
 * Ranks are numbered node by node: node * nlocal + local.  The plan's links
 * are those of one node, each of which every node has; an id is "FROM>TO",
 * the names of two vertices.  A rank's vertex is "GPU/" and its device, and
 * links end at ports.  Between ports stand switches, in levels: a switch of a
 * level takes in `nodes` nodes in a row, all rails of them or one, and has one
 * uplink to the level above.  The last level takes in all nodes.
 *
 * A node's number, written with the levels' radices (nodes of a level over
 * nodes of the level below), is a vector of digits.  The group that acts on
 * the cluster adds a vector, digit by digit modulo the radix: it maps nodes to
 * nodes, switches to switches and links to links of equal capacity.  What is
 * said of node 0 so holds for all.  The place of a node relative to another is
 * the difference of the two, read as a number.
 *
 * A ring of a cluster goes through the nodes in order and once through all of
 * a node's ranks, in an order that all nodes have alike; its hops are those of
 * the order, then the one over the network to the next node.  Or it
 * *alternates*: nodes of odd number, half of an even number of them, are gone
 * through the other way.  So a ring that comes in by one rail and goes out by
 * another stays within the rails.  Behind the hops above, the last of which
 * goes to the same rank of an odd node, are then those of an odd node: the way
 * back, and the one to the first rank of an even node.
 *
 * A tree of a cluster is one of a node's ranks, which all nodes have alike, and
 * one of two trees of the nodes, whose hops lead from root to root.  The place
 * of a node there is how far it comes after the root's.  Places from 1 on form
 * a binary tree in which odd ones are leaves: the parent of a place takes its
 * lowest bit off and sets the next, or only takes it off where that would lead
 * too far.  The place that is left without a parent goes to place 0.  The
 * second tree is the same one with places counted from the other end, or from
 * the next one where their number is odd, so that
 * leaves of the one are mostly not those of the other (Sanders, Speck and
 * Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", 2009).  In the root's node the ranks hang from the root, and what is
 * above it turns round.
 *
 * A flow of a cluster has a path for each pair of local ranks and *class* of
 * nodes, which is how far they are apart: 0 for a node itself, else 1 + the
 * lowest level with a switch above both.  A path of class 0 stays in the node,
 * the others cross the network once.  What a node's ranks have for those of one
 * node of a class they have for those of all, so loads count once for each.
 *
 * Places form the *tree of nodes*: the parent of a place changes its lowest
 * digit that is not 0, as the level's `spread` says.  So a block enters every
 * switch of a level once.
 */
#ifndef GT_PLAN_IR_CLUSTER_H
#define GT_PLAN_IR_CLUSTER_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_rank;

/*
 * How a level's digit gets to 0 in the tree of nodes: what its parent digit is.
 */
enum gt_spread {
	GT_SPREAD_STAR,     /* always 0 */
	GT_SPREAD_BINOMIAL, /* the digit with its lowest bit cleared */
	GT_SPREAD_CHAIN,    /* the digit less one */
	GT_NSPREADS
};

struct gt_plan_level {
	uint32_t nodes; /* below one switch; a multiple of the level before's */
	int by_rail;    /* 1: every rail has a switch, so rails do not meet */
	struct gt_rat gbs; /* of a switch's uplink, each way; last level: 0 */
	enum gt_spread spread;
};

struct gt_plan_port {
	const char *id; /* its vertex, "NET/0" */
	uint32_t rail;
};

struct gt_plan_cluster {
	uint32_t nnodes, nlocal, nrails;
	uint32_t nlevels;
	struct gt_plan_level *levels; /* the lowest first */
	uint32_t nports;
	struct gt_plan_port *ports;
	/*
	 * Nodes or switches differ, and links and uplinks are what all of them
	 * have: a bound is about these, not about what some have besides.
	 */
	int common;
};

/*
 * How a block of one of a node's ranks, `root`, gets to all ranks of the
 * cluster (a reduce-scatter's gets there on the same way back).  In its own
 * node (place 0) along `home`; in every other along `away`, where ranks
 * without a parent get it from the node's parent in the tree of nodes, over
 * the channel's hop net[rank], which is a network hop to that rank.
 */
struct gt_plan_template {
	uint32_t root; /* local rank */
	int32_t *home; /* local rank -> its parent, -1: root */
	int32_t *away; /* local rank -> its parent, -1: over the network */
	uint32_t *net; /* local rank -> hop where away is -1, else 0 */
};

/*
 * Make the ranks of a cluster's plan from those of one node: the same ones on
 * nodes "n0", "n1" ...  GT_ESYS when memory ran out.
 */
int gt_plan_expand_ranks(struct gt_plan *plan,
			 const struct gt_plan_rank *local);

/* The radix of a level: switches of the level below that one takes in. */
uint32_t gt_nodes_radix(const struct gt_plan_cluster *cluster, uint32_t level);

/* The place of a node relative to node `origin`, and the node at a place. */
uint32_t gt_nodes_place(const struct gt_plan_cluster *cluster, uint32_t origin,
			uint32_t node);
uint32_t gt_nodes_at(const struct gt_plan_cluster *cluster, uint32_t origin,
		     uint32_t place);

/*
 * The class of two nodes, which says how far they are apart, and the number of
 * nodes that are of that class to a given one.
 */
uint32_t gt_nodes_class(const struct gt_plan_cluster *cluster, uint32_t a,
			uint32_t b);
uint32_t gt_nodes_in_class(const struct gt_plan_cluster *cluster,
			   uint32_t class_);

/* The parent of a place that is not 0. */
uint32_t gt_nodes_parent(const struct gt_plan_cluster *cluster, uint32_t place);

/*
 * Write the children of a place to children[], whose length gt_nodes_fan()
 * bounds; the result is their number.
 */
uint32_t gt_nodes_children(const struct gt_plan_cluster *cluster,
			   uint32_t place, uint32_t *children);
uint32_t gt_nodes_fan(const struct gt_plan_cluster *cluster);

/*
 * How many hops a local rank of the node at a place is from the root of a
 * template's block: 0 for the root itself.
 */
uint32_t gt_template_depth(const struct gt_plan_cluster *cluster,
			   const struct gt_plan_channel *channel, uint32_t root,
			   uint32_t place, uint32_t local);

/*
 * The order in which ranks take the blocks of templates.  Each passes on a
 * block as many blocks later as the channel's lag says than who it has it from:
 * then it mostly is there, and one block's way is not added to the next one's.
 * So a block's turn comes at its number plus lag times the rank's depth, and of
 * equals the one with the smaller number comes first.
 */
enum { GT_TEMPLATE_LAG_MAX = 7 };

/*
 * Tags of connections tell what goes down a template's trees from what comes up
 * them, which takes their hops the other way round.
 */
enum { GT_TEMPLATE_DOWN, GT_TEMPLATE_UP };

/* The number of nodes that a block passes at most on its way from place 0. */
uint32_t gt_nodes_depth(const struct gt_plan_cluster *cluster);

/*
 * Give a level this radix, and those above it as many nodes as they then have.
 * The levels are changed in place.
 */
void gt_nodes_resize(struct gt_plan_cluster *cluster, uint32_t level,
		     uint32_t radix);

/* Does the ring alternate?  And the rank at a position of it, from 0 on. */
int gt_nodes_ring_alternates(const struct gt_plan_cluster *cluster,
			     const struct gt_plan_channel *ring);
uint32_t gt_nodes_ring_rank(const struct gt_plan_cluster *cluster,
			    const struct gt_plan_channel *ring,
			    uint32_t position);

/*
 * Must a ring leave a node by the rail by which it entered it?  It must where
 * rails are apart and nodes do not go in pairs below each switch.
 */
int gt_nodes_ring_keeps_rail(const struct gt_plan_cluster *cluster);

/*
 * The double binary tree of n nodes: the parent of a place that is not 0, and
 * the children of a place, at most GT_DTREE_FAN; the result is their number.
 */
enum { GT_DTREE_FAN = 2 };
uint32_t gt_nodes_dtree_parent(uint32_t n, int second, uint32_t place);
uint32_t gt_nodes_dtree_children(uint32_t n, int second, uint32_t place,
				 uint32_t children[GT_DTREE_FAN]);

/*
 * The number of the uplink out of the switch of a level and rail or, with `in`,
 * into it; and how many numbers there are.
 */
uint32_t gt_nodes_uplink(const struct gt_plan_cluster *cluster, uint32_t level,
			 uint32_t rail, int in);
uint32_t gt_nodes_nuplinks(const struct gt_plan_cluster *cluster);

/*
 * A flow's rounds (plan/lower/shape.h): a block is sent on GT_EXCHANGE_LAG
 * rounds after it was sent, and taken as many rounds after that.  So many
 * blocks are on their way while the next ones are sent, hence the slots.
 */
enum { GT_EXCHANGE_LAG = 3, GT_EXCHANGE_SLOTS = 2 * GT_EXCHANGE_LAG + 1 };

/* The words are "star" and so on; gt_spread_find() gives -1 for any other. */
const char *gt_spread_name(enum gt_spread spread);
int gt_spread_find(const char *name);

#endif
