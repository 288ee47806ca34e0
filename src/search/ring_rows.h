/*
 * The rows of the ring packing problem: which links can bind, and what each
 * hop between two ranks loads them with.
 *
 *	maximise sum x_c  subject to  sum_c load(l, c) x_c <= capacity(l), x >= 0
 *
 * over all Hamiltonian rings c.  A link that no hop loads, or that another
 * link always overrules (its load over its capacity is never larger), has no
 * row.  Loads are whole numbers: the true ones times `unit`.
 */
#ifndef GT_SEARCH_RING_ROWS_H
#define GT_SEARCH_RING_ROWS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;

struct gt_ring_row {
	uint32_t link;        /* of the fabric */
	struct gt_rat gbs;    /* its capacity */
	const uint32_t *load; /* [from * n + to] */
};

struct gt_ring_rows {
	uint32_t n; /* ranks */
	uint32_t nrows;
	uint32_t unit;
	struct gt_ring_row *rows;
	unsigned char *joined; /* [from * n + to]: is there a route? */
};

/*
 * GT_EINPUT when a route's charge is no fraction of small numbers.  Memory is
 * the arena's.
 */
int gt_ring_rows_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		     struct gt_ring_rows **rows, struct gt_err *err);

/* What a ring (order of all n ranks) loads a row with. */
uint32_t gt_ring_load(const struct gt_ring_rows *rows, uint32_t row,
		      const uint32_t *order);

/* weights[from * n + to] = sum of load * price over the rows. */
void gt_ring_weights(const struct gt_ring_rows *rows, const int64_t *prices,
		     int64_t *weights);

#endif
