/*
 * How each shape is lowered, for plan/lower/lower.c only.  Each function fills
 * l->program, of which rank, channel, lane and nchunks are set.
 */
#ifndef GT_PLAN_LOWER_SHAPE_H
#define GT_PLAN_LOWER_SHAPE_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_lower_query;
struct gt_plan;
struct gt_plan_channel;
struct gt_program;

struct gt_lowering {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	const struct gt_lower_query *want;
	struct gt_arena *arena;
	struct gt_program *program;
};

/*
 * All-reduce, all-gather and reduce-scatter go around (Patarasuk and Yuan,
 * "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * 2009): each chunk once to be reduced and once to be spread.  Broadcast and
 * reduce run along the ring from behind the root, in a pipeline of slices.
 *
 * A hop that is relayed goes over FIFOs of its own, and the rank between has a
 * lane for it, which does nothing but take and send: so it waits for its own
 * hop alone, and nothing else waits for it.
 */
int gt_lower_ring(const struct gt_lowering *l, struct gt_err *err);

/* 1, and one for each hop that some rank relays. */
uint32_t gt_lower_ring_lanes(const struct gt_plan_channel *ring);

/*
 * Trees and chains.  An all-gather's block goes down from its owner, a
 * reduce-scatter's comes up to it: a forest of them, a root for every block,
 * is bandwidth optimal where rings are not (Edmonds, "Edge disjoint
 * branchings", 1973).  Broadcast and reduce are the same from and to their
 * root.  An all-reduce goes up on lane 0, whose last step, at the root, sends
 * down already what lane 1 passes on.
 */
int gt_lower_tree(const struct gt_lowering *l, struct gt_err *err);

/*
 * Meshes: every pair of ranks talks.  One-shot: everything goes straight to who
 * needs it, and is reduced there.  Two-shot: rank r first gets chunk r of
 * everyone, or from the root, and then passes it to all, or to the root.  All
 * ranks add in the order of ranks, so that all get the same bits.  Each channel
 * begins with another peer, so that links to several are in use.
 */
int gt_lower_mesh(const struct gt_lowering *l, struct gt_err *err);

/*
 * Flows: what only moves, each block along a path.  A rank first sends all
 * that is its own, then passes on what goes through it, path by path, then
 * takes what is for it, so that in place nothing is overwritten before it was
 * sent.  Each path has FIFOs of its own.  Of what a step waits for, data
 * comes from an earlier stage or from the path's hop before, room from the
 * loop before: so nothing waits in a circle, with any number of slots.  As in a
 * mesh each channel begins with another peer.
 */
int gt_lower_flow(const struct gt_lowering *l, struct gt_err *err);

/*
 * Flows of clusters: an all-to-all in rounds, a rank's peers one after the
 * other.  In round (d, e) node v meets the node whose digits are those of d
 * less those of v, and rank g of the one rank e - g of the other: so who sends
 * a block to a peer gets that peer's in the same round, and in place nothing is
 * overwritten before it was sent.  A rank sends its own block, some rounds
 * later passes on what goes through it, by order of source, and some later
 * takes what is for it.  All do this in the same order of rounds and sources;
 * FIFOs are by peer and by these three, one slice a round between senders and
 * takers.  So data always comes from what is earlier in the order, and room
 * too, with more slots than the rounds a block may lie: nothing waits in a
 * circle.  A rank is connected to those it has hops to or from, and no others.
 */
int gt_lower_cluster_flow(const struct gt_lowering *l, struct gt_err *err);

/*
 * Templates: each block has a tree of its own, a shifted template
 * (plan/ir/cluster.h), and a rank has a part in all of them.  Nothing but the
 * rank's own part is made.
 *
 * All ranks take the blocks in the same order: rank 0 of every node, then rank
 * 1 of every node ...: neighbours in the order begin in different nodes, so
 * that many ports send at once.  Since the order is the same everywhere, a
 * step waits only for steps of blocks that come before its own, or that are
 * nearer to its block's root; slices of a connection are taken in the order
 * they are sent; so nothing waits in a circle, with any number of slots.
 *
 * An all-reduce combines all blocks first, then spreads them.
 */
int gt_lower_template(const struct gt_lowering *l, struct gt_err *err);

#endif
