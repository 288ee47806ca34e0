/*
 * A schedule over rails (search/rails) as one rank's messages.
 *
 * Parts of blocks go in rounds, a slice each: a slice's h-th hop is in the h-th
 * round after its first.  So a rank passes on what came a round before, and
 * has memory for a few slices of each part only.
 *
 * Messages of each two ranks are in one order at both ends, that of rounds; and
 * in that order each message waits only for such as are before it.  So the
 * first of all that are not done can always move: nobody waits in a circle.
 */
#ifndef GT_LIB_ROUNDS_H
#define GT_LIB_ROUNDS_H

#include <stdint.h>

struct gt_batch;
struct gt_rails;
struct gt_rails_schedule;

enum {
	/* Slices of a part that a rank has memory for: one comes, one goes,
	 * and one lies between. */
	GT_ROUNDS_SLOTS = 3,
};

struct gt_rounds {
	const struct gt_rails *rails;
	const struct gt_rails_schedule *schedule;
	const uint64_t *counts; /* [from * n + to] elements */
	uint32_t n;             /* rounds that have a slice's first hop */
};

/*
 * The rank's messages in *batch, in place of `straight`, one to and one from
 * each rank.  GTOPO_ESYSTEM when memory ran out.
 */
int gt_rounds_batch(const struct gt_rounds *rounds, uint32_t rank,
		    const struct gt_batch *straight, struct gt_batch **batch);

#endif
