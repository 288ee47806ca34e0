/*
 * What a choice of GPUs is worth: the exact bound of an all-reduce over them,
 * and a bound on that bound which is quick.
 *
 * Each level of the machine parts the GPUs of every choice: one by one, by
 * switch, by CPU.  No choice is worth more than what leaves these parts, so
 * most choices need no exact bound.
 */
#ifndef GT_SEARCH_PICK_WORTH_H
#define GT_SEARCH_PICK_WORTH_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_pick_routes;

enum { GT_PICK_LEVELS = 8 };

struct gt_pick_worth {
	const struct gt_pick_routes *routes;
	uint32_t nlevels;
	/* Of each level the node that stands for a node's part, or GT_NONE. */
	uint32_t *part[GT_PICK_LEVELS];
	uint32_t *seen; /* by node: the last question it counted in */
	uint32_t question;
};

int gt_pick_worth_init(struct gt_pick_worth *worth,
		       const struct gt_pick_routes *routes,
		       struct gt_arena *arena, struct gt_err *err);

/*
 * Both are about the choice whose links the routes have; n GPUs, at least 2.
 * The first gives 0 when it knows no bound.
 */
int gt_pick_worth_at_most(struct gt_pick_worth *worth, uint64_t choice,
			  struct gt_rat *gbs);
int gt_pick_worth_find(const struct gt_pick_worth *worth, uint64_t choice,
		       struct gt_rat *gbs, struct gt_err *err);

#endif
