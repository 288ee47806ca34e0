/*
 * What a cluster's channels are limited by, as rows of a linear program.  By
 * the symmetry of nodes one node's links are enough; behind them come the
 * uplinks of switches, by level, rail and direction (out, in).
 */
#ifndef GT_SEARCH_CLUSTER_QUOTIENT_ROWS_H
#define GT_SEARCH_CLUSTER_QUOTIENT_ROWS_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_quotient;

struct gt_quotient_rows {
	uint32_t n;    /* links of the node, then uplinks */
	uint32_t unit; /* loads in whole numbers are the true ones times this */
	struct gt_rat *gbs;
};

/*
 * Rows for channels that do `coll`, in memory of the arena.  Where channels are
 * also, or only, used from their leaves to the root, a link's capacity is the
 * smaller of both directions; an all-gather uses them in one direction alone.
 * GT_EINPUT when a route's charge is out of range.
 */
int gt_quotient_rows_init(const struct gt_quotient *q, enum gt_coll coll,
			  struct gt_arena *arena, struct gt_quotient_rows *rows,
			  struct gt_err *err);

/* Prices of rows before there is a program to ask: what is narrow is dear. */
void gt_quotient_rows_first_prices(const struct gt_quotient_rows *rows,
				   double *prices);

/* The row of an uplink out of a switch, or (in) into it. */
uint32_t gt_quotient_uplink_row(const struct gt_quotient *q, uint32_t level,
				uint32_t rail, int in);

#endif
