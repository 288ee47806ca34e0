/*
 * A machine of two levels, and how an all-to-all of any bytes goes over it at
 * once, without a linear program: in less than a millisecond for 64 GPUs, so
 * that each call can be planned anew.
 *
 * The GPUs of a node hang from one switch, and rails join the nodes: on each
 * rail every node has one GPU that is near it, its relay.  A block for another
 * node is cut into equal parts, of which each takes one rail: to the relay
 * over the switch, over the rail, and over the other switch to where it
 * belongs.  Relays' own blocks save these hops.
 *
 * Rows are what can be full: a GPU's links up to and down from its switch, and
 * its node's ways out to and in from each rail.
 */
#ifndef GT_SEARCH_RAILS_RAILS_H
#define GT_SEARCH_RAILS_RAILS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_meshed;
struct gt_plan;

enum {
	GT_RAILS_MAX_RANKS = 64,
	GT_RAILS_MAX = 16,    /* rails */
	GT_RAILS_PARTS = 48,  /* of a block, at most */
	GT_RAILS_MAX_HOPS = 3 /* of a part */
};

struct gt_rails {
	const struct gt_fabric *fabric; /* borrowed */
	uint32_t n, nnodes, each;       /* ranks, nodes, ranks a node */
	uint32_t nrails;
	uint32_t *node;   /* rank -> node */
	uint32_t *member; /* [node * each + i] -> rank */
	uint32_t *own;    /* rank -> the rail it is near to, or nrails */
	uint32_t *relay;  /* [node * nrails + rail] -> rank */
	uint32_t nrows;   /* by gt_rails_up() and its like */
	uint32_t *link;   /* row -> the link of the fabric that fills first */
	double *gbs;      /* row -> its capacity */
	/* By rank: the link by which a GPU leaves for other nodes, or comes in
	 * from there, besides its switch's; what it can carry bounds it. */
	uint32_t *leave, *enter;
	/* Where no switch joins GPUs (search/rails/meshed.h): each is a node,
	 * rail r is the way by rank r, and rows are the fabric's links. */
	const struct gt_meshed *meshed; /* else NULL */
};

/* The rows of a rank, and those of a node's rail. */
static inline uint32_t gt_rails_up(const struct gt_rails *m, uint32_t rank)
{
	(void)m;
	return rank;
}

static inline uint32_t gt_rails_down(const struct gt_rails *m, uint32_t rank)
{
	return m->n + rank;
}

static inline uint32_t gt_rails_out(const struct gt_rails *m, uint32_t node,
				    uint32_t rail)
{
	return 2 * m->n + node * m->nrails + rail;
}

static inline uint32_t gt_rails_in(const struct gt_rails *m, uint32_t node,
				   uint32_t rail)
{
	return 2 * m->n + (m->nnodes + node) * m->nrails + rail;
}

/* What every schedule has to bring over these links together. */
enum gt_rails_cut_kind {
	GT_RAILS_FROM_GPU,
	GT_RAILS_TO_GPU,
	GT_RAILS_FROM_NODE,
	GT_RAILS_TO_NODE,
};

struct gt_rails_cut {
	enum gt_rails_cut_kind kind;
	uint32_t which; /* rank or node */
};

/*
 * Which rails the blocks take.  Of a pair in different nodes that has bytes
 * `share` says how many of the `parts` go by each rail; of others it is 0.
 * Times are in ns where the demand is in bytes.
 */
struct gt_rails_schedule {
	uint32_t parts;
	uint8_t *share;          /* [(from * n + to) * nrails + rail] */
	double bound_ns;         /* no schedule takes less ... */
	struct gt_rails_cut cut; /* ... because of this */
	double ns;               /* the row that is full longest */
	double *full;            /* row -> how long it is full, over bound_ns */
	double *link_bytes;      /* gt_rails_direct_ns()'s own */
};

/*
 * Recognize the fabric's levels.  GT_ENO with the reason when it has others:
 * nodes that are not as large, GPUs of a node that no switch joins, links
 * between nodes that are neither one GPU's way out nor one's way in.  Memory is
 * the arena's, which both live in.
 */
int gt_rails_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		 struct gt_rails **rails, struct gt_err *err);

/*
 * Recognize the levels of a plan's machine, of a plan that has passed
 * gt_plan_check() and is borrowed.  GT_ENO also when it has not the routes of
 * all pairs of ranks, as plans of an all-to-all have.
 */
int gt_rails_from_plan(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_rails **rails, struct gt_err *err);

/* Room for schedules, one after the other; NULL when memory ran out. */
struct gt_rails_schedule *gt_rails_schedule_new(const struct gt_rails *rails,
						struct gt_arena *arena);

/*
 * Plan for bytes[from * n + to], what a rank has for itself left out.  At least
 * one pair has some.  Nothing is allocated; how long it takes is bounded by
 * how many ranks there are, whatever the bytes.
 */
void gt_rails_plan(const struct gt_rails *rails, const uint64_t *bytes,
		   struct gt_rails_schedule *schedule);

/*
 * How long the link is full that is full longest, where each block goes
 * straight, by the fabric's route from its rank to where it belongs.
 */
double gt_rails_direct_ns(const struct gt_rails *rails, const uint64_t *bytes,
			  struct gt_rails_schedule *schedule);

/* The ranks that a part meets on its rail, two to four; returns the hops. */
uint32_t gt_rails_path(const struct gt_rails *rails, uint32_t from, uint32_t to,
		       uint32_t rail, uint32_t ranks[GT_RAILS_MAX_HOPS + 1]);

/*
 * Check a schedule over the fabric's own routes, in whole numbers and without
 * the rows: all parts of each block arrive, and no link is full for longer than
 * `ns`.  *slowest: how long the fullest is, times `parts`.  GT_EINPUT says what
 * does not hold, or that bytes times parts need more than 62 bits; GT_ENO that
 * an exact time does.
 */
int gt_rails_check(const struct gt_rails *rails, const uint64_t *bytes,
		   const struct gt_rails_schedule *schedule,
		   struct gt_rat *slowest, struct gt_err *err);

#endif
