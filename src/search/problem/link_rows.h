/*
 * The rows of the ring packing problem: which links can bind, and what each
 * hop between two ranks loads them with.
 *
 *   maximise sum x_c  subject to  sum_c load(l, c) x_c <= capacity(l), x >= 0
 *
 * over all Hamiltonian rings c.  A link that no hop loads, or that another
 * link always overrules (its load over its capacity is never larger), has no
 * row.  Loads are whole numbers: the true ones times `unit`.
 *
 * A hop may be relayed: go to a rank between and from there on, over the routes
 * of both.  In an order the entry that such a hop leaves has that rank in it.
 */
#ifndef GT_SEARCH_PROBLEM_LINK_ROWS_H
#define GT_SEARCH_PROBLEM_LINK_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_fabric;

struct gt_link_row {
	uint32_t link;     /* of the fabric */
	struct gt_rat gbs; /* its capacity */
	/* [from * stride + to]; NULL: that of channels */
	const uint32_t *load;
};

/* The load that a hop puts on a row. */
struct gt_link_load {
	uint32_t row, load;
};

/* Where a place's number ends in an entry of an order. */
enum { GT_RING_VIA_SHIFT = 16, GT_RING_PLACES = 1 << GT_RING_VIA_SHIFT };

struct gt_link_rows {
	/*
	 * Places in a ring's order, and what can stand there: the ranks; where
	 * the fabric has external ports then also each port as the way out and
	 * each as the way in, of which the order ends with one each.
	 */
	uint32_t n, nranks, stride;
	uint32_t nrows;
	uint32_t unit;
	struct gt_link_row *rows;
	int relays; /* may hops be relayed?  0 until somebody says so */
	unsigned char *joined; /* [from * stride + to]: is there a route? */
	/*
	 * The loads again, hop by hop, as a hop loads few rows: those of hop h
	 * are uses[first[h]] to before uses[first[h + 1]].
	 */
	uint32_t *first;
	struct gt_link_load *uses;
	/*
	 * Where the number of channels is limited the last row counts them.
	 * What a ring carries over a hop, its width, is limited by the hop's
	 * links, so it is at least (what it carries) / width of a channel:
	 * that is what it loads this row with, times `scale`.
	 */
	uint32_t max_channels; /* 0: no limit, no such row, one width */
	int64_t scale;
	uint32_t nwidths;
	uint32_t *width; /* [from * stride + to]: 0 for the narrowest */
	uint32_t *count; /* width -> load of the last row */
};

/*
 * GT_EINPUT when a route's charge is no fraction of small numbers.  Memory is
 * the arena's.
 */
int gt_link_rows_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		     struct gt_link_rows **rows, struct gt_err *err);

/* Make `uses` anew after rows were left out.  0 when memory ran out. */
int gt_link_rows_index(struct gt_link_rows *rows, struct gt_arena *arena);

/*
 * Rows of the problem with at most so many channels, at least 1.  GT_ENO when
 * the widths of hops are no fractions of small numbers.
 */
int gt_link_rows_limit(const struct gt_link_rows *rows, uint32_t max_channels,
		       struct gt_arena *arena, struct gt_link_rows **limited,
		       struct gt_err *err);

/*
 * Compute what a ring, given as the order of all n places, loads each row with.
 */
void gt_ring_loads(const struct gt_link_rows *rows, const uint32_t *order,
		   uint32_t *loads);

/* The place that an entry of an order names. */
static inline uint32_t gt_ring_place(uint32_t entry)
{
	return entry % GT_RING_PLACES;
}

/* The rank that relays the hop from there, or UINT32_MAX. */
static inline uint32_t gt_ring_via(uint32_t entry)
{
	return (entry >> GT_RING_VIA_SHIFT) - 1;
}

/*
 * The hops, by stride, from an entry of an order to the next one; returns how
 * many, 1 or 2.
 */
static inline uint32_t gt_ring_legs(const struct gt_link_rows *rows,
				    uint32_t entry, uint32_t next,
				    size_t legs[2])
{
	size_t m = rows->stride, from = gt_ring_place(entry);
	size_t to = gt_ring_place(next), via = gt_ring_via(entry);

	legs[0] = from * m + to;
	if (entry < GT_RING_PLACES)
		return 1;
	legs[0] = from * m + via;
	legs[1] = via * m + to;
	return 2;
}

/* weights[from * stride + to] = sum of load * price over the rows of links. */
void gt_ring_weights(const struct gt_link_rows *rows, const int64_t *prices,
		     int64_t *weights);

/*
 * closed[] = what each hop costs the cheapest way, over a rank between where
 * that is less and rows->relays allows it.
 */
void gt_ring_close(const struct gt_link_rows *rows, const int64_t *weights,
		   int64_t *closed);

/* Have each hop of an order without relays go the cheapest way. */
void gt_ring_relay(const struct gt_link_rows *rows, const int64_t *weights,
		   uint32_t *order);

/* Reverse the ring, without relays; its first rank stays the first. */
void gt_link_rows_reverse_ring(const struct gt_link_rows *rows,
			       uint32_t *order);

#endif
