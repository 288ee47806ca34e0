/* The programs of a plan in words: who sends what to whom, step by step. */
#ifndef GT_CLI_STEPS_WORDS_H
#define GT_CLI_STEPS_WORDS_H

#include <stdint.h>

#include "plan/ir/plan.h"

struct gt_buf;
struct gt_err;

enum {
	/* A plan of more ranks is told of one rank at a time. */
	GT_STEPS_RANKS = 64,
};

struct gt_steps_query {
	const struct gt_plan *plan; /* has passed gt_plan_check() */
	enum gt_coll coll;
	uint64_t bytes;  /* of the message, which selects the channels */
	int64_t rank;    /* -1: all */
	int64_t channel; /* its id, -1: all that are selected */
	int svg;         /* as a picture, of all ranks */
};

/*
 * Append all steps; GT_EINPUT when the plan cannot do the collective, has no
 * such rank, or does not use such a channel at this size.
 */
int gt_steps(const struct gt_steps_query *ask, struct gt_buf *out,
	     struct gt_err *err);

#endif
