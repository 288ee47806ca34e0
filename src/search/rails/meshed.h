/*
 * GPUs that no switch joins: each is a node by itself, and "rail" r is the way
 * by rank r.  A block is cut into parts of which each goes straight or by one
 * rank that passes it on.
 */
#ifndef GT_SEARCH_RAILS_MESHED_H
#define GT_SEARCH_RAILS_MESHED_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_rails;
struct gt_rails_schedule;

enum {
	GT_MESHED_MAX_RANKS = 16,
	GT_MESHED_MAX_LINKS = 1024,
	GT_MESHED_MAX_WAYS =
		GT_MESHED_MAX_RANKS * GT_MESHED_MAX_RANKS * GT_MESHED_MAX_RANKS,
	GT_MESHED_PARTS = 240, /* of a block; shares have 8 bits */
};

/* How much of a row a byte takes: 1, or a route's charge. */
struct gt_meshed_load {
	uint32_t row;
	double bytes;
};

/* A way that a pair's parts may take, and loads[first] up to the next one's. */
struct gt_meshed_way {
	uint32_t relay, first, n;
};

struct gt_meshed {
	/* [from * n + to] -> its first way, with one more at the end. */
	uint32_t *pair;
	struct gt_meshed_way *ways; /* a pair's first one is the straight one */
	struct gt_meshed_load *loads;
	uint32_t nways, nloads;
	double *out_gbs, *in_gbs; /* rank -> what its links carry at most */
};

/*
 * Find out by which ranks parts may go.  GT_ENO with the reason when there are
 * too many ranks, some pair has no way, or nobody is worth going by.
 */
int gt_meshed_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		  struct gt_rails **rails, struct gt_err *err);

/* As gt_rails_plan(), which calls it. */
void gt_meshed_plan(const struct gt_rails *rails, const uint64_t *bytes,
		    struct gt_rails_schedule *schedule);

#endif
