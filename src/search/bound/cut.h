/*
 * Minimum cuts of a fabric between ranks: a maximum-flow network with an
 * extra source and sink, joined to every rank.  Capacities are whole numbers:
 * the links' times a common scale (rounded up where 64 bits ask for it, so
 * what is found stays a cut; its value is then taken from the exact rates).
 */
#ifndef GT_SEARCH_BOUND_CUT_H
#define GT_SEARCH_BOUND_CUT_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;
struct gt_maxflow;

/* Ranks, and the links that separate them from the other ranks. */
struct gt_bound_part {
	uint32_t nranks, nlinks;
	uint32_t *ranks;
	uint32_t *links; /* of the fabric */
};

struct gt_cut {
	const struct gt_fabric *fabric;
	struct gt_maxflow *flow;
	int64_t *capacity;     /* link -> scaled */
	unsigned char *inside; /* node -> is it in the set? */
	uint32_t source, sink;
	int reverse;
};

/* `reverse`: links are turned round.  Release also after failure. */
int gt_cut_init(struct gt_cut *cut, const struct gt_fabric *fabric, int reverse,
		struct gt_err *err);
void gt_cut_release(struct gt_cut *cut);

/* Links get their capacity times factor, all other arcs 0. */
void gt_cut_scale(struct gt_cut *cut, int64_t factor);

/* Capacity from the source to a rank, from a rank to the sink. */
void gt_cut_feed(struct gt_cut *cut, uint32_t rank, int64_t capacity);
void gt_cut_drain(struct gt_cut *cut, uint32_t rank, int64_t capacity);

/* Maximum flow from the source to `sink`; sets `inside`. */
int64_t gt_cut_run(struct gt_cut *cut, uint32_t sink);

/* Scaled capacity leaving `inside`. */
int64_t gt_cut_value(const struct gt_cut *cut);

/* The ranks in `inside`. */
uint32_t gt_cut_ranks(const struct gt_cut *cut);

/*
 * `inside` as a part, its links' exact capacity added to *total.  *fits
 * becomes 0 when that is beyond 64 bits.
 */
int gt_cut_part(const struct gt_cut *cut, struct gt_arena *arena,
		struct gt_bound_part *part, struct gt_rat *total, int *fits);

#endif
