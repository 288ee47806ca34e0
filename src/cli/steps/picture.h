/* The programs of a plan as a picture: ranks beside each other, time down. */
#ifndef GT_CLI_STEPS_PICTURE_H
#define GT_CLI_STEPS_PICTURE_H

#include <stdint.h>

#include "base/buf.h"
#include "plan/lower/lower.h"

struct gt_err;
struct gt_plan;

enum {
	/* Arrows of one channel, more of which nobody could tell apart. */
	GT_PICTURE_ARROWS = 20000,
};

/* Begins as {.body = GT_BUF_INIT}; _end() releases it. */
struct gt_picture {
	struct gt_buf body;
	uint32_t height, width; /* so far, in pixels */
};

/*
 * Draw a channel below those that are there: a line for each rank, a dot for
 * each step of it, whose sentence is the dot's title, and an arrow for each
 * slice that goes from rank to rank.  GT_EINPUT when they are too many.
 */
int gt_picture_channel(struct gt_picture *picture, const struct gt_plan *plan,
		       const struct gt_lower_query *want, struct gt_err *err);

/* Append all of it to *out as SVG, or nothing (NULL), and release it. */
void gt_picture_end(struct gt_picture *picture, struct gt_buf *out);

#endif
