/*
 * One step's movement of data, block by block, with the fastest loops that the
 * processor runs.
 */
#include "exec/host/reduce.h"

#include <string.h>

enum {
	/*
	 * A block of this size that is reduced and then copied stays in the
	 * first-level cache.
	 */
	GT_MOVE_BLOCK_BYTES = 8192,
	GT_MOVE_TOTALS = GT_MOVE_BLOCK_BYTES / sizeof(float),
};

const struct gt_reduce_ops *gt_reduce_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &gt_reduce_avx2;
#endif
	return &gt_reduce_plain;
}

static void gt_move_copy(void *dst, const void *src, size_t bytes)
{
	if (dst != src)
		memcpy(dst, src, bytes);
}

/*
 * The address of n elements of source s from `at` on, multiplied into `room` if
 * a factor is given.
 */
static const char *gt_move_source(const struct gt_move *move, uint32_t s,
				  size_t at, size_t n, char *room)
{
	const char *from = move->src[s] + at;

	if (!move->by || !move->by[s])
		return from;
	gt_reduce_best()->scale[move->dtype](room, from, move->by[s], n);
	return room;
}

/*
 * Reduce n elements from `at` on into the first destination or, where a later
 * source might be overwritten too early, into scratch; the address of the
 * result.
 */
static const char *gt_move_reduce(const struct gt_move *move, size_t at,
				  size_t n, char *scratch)
{
	_Alignas(64) char rooms[2][GT_MOVE_BLOCK_BYTES];
	const struct gt_reduce_ops *ops = gt_reduce_best();
	gt_reduce_fn *reduce = ops->reduce[move->dtype][move->op];
	char *to = move->nsrc <= 2 ? move->dst[0] + at : scratch;
	const char *first = gt_move_source(move, 0, at, n, rooms[0]);

	if (move->nsrc == 1)
		gt_move_copy(to, first, n * gt_dtype_bytes(move->dtype));
	else
		reduce(to, first, gt_move_source(move, 1, at, n, rooms[1]), n);
	for (uint32_t s = 2; s < move->nsrc; s++)
		reduce(to, to, gt_move_source(move, s, at, n, rooms[0]), n);
	if (move->divide)
		ops->divide[move->dtype](to, move->divide, n);
	return to;
}

/*
 * The functions that add up more than one source, or divide, without a rounding
 * between; NULL where there is nothing to gain.  A sum of two is rounded once
 * anyway.
 */
static const struct gt_total_ops *gt_move_totals(const struct gt_move *move)
{
	const struct gt_total_ops *totals =
		&gt_reduce_best()->totals[move->dtype];
	int sums = move->op == GT_REDOP_SUM || move->op == GT_REDOP_AVG ||
		   move->op == GT_REDOP_PREMUL;

	if (!totals->begin || !sums || move->nsrc < 2 ||
	    (move->nsrc == 2 && !move->divide))
		return NULL;
	return totals;
}

/*
 * Add n elements of all sources up in floats, and round the totals into the
 * first destination, whose address is returned.
 */
static const char *gt_move_total(const struct gt_move *move,
				 const struct gt_total_ops *ops, size_t at,
				 size_t n)
{
	_Alignas(64) char room[GT_MOVE_BLOCK_BYTES];
	_Alignas(64) float totals[GT_MOVE_TOTALS];

	ops->begin(totals, gt_move_source(move, 0, at, n, room), n);
	for (uint32_t s = 1; s < move->nsrc; s++)
		ops->add(totals, gt_move_source(move, s, at, n, room), n);
	ops->end(move->dst[0] + at, totals, move->divide, n);
	return move->dst[0] + at;
}

static void gt_move_blocks(const struct gt_move *move)
{
	const struct gt_total_ops *totals = gt_move_totals(move);
	_Alignas(64) char scratch[GT_MOVE_BLOCK_BYTES];
	size_t elem = gt_dtype_bytes(move->dtype);
	size_t left = move->count, block = sizeof(scratch) / elem, n;
	const char *from;

	if (totals)
		block = GT_MOVE_TOTALS;
	for (size_t at = 0; left; at += n * elem, left -= n) {
		n = left < block ? left : block;
		from = totals ? gt_move_total(move, totals, at, n)
			      : gt_move_reduce(move, at, n, scratch);
		for (uint32_t d = 0; d < move->ndst; d++)
			gt_move_copy(move->dst[d] + at, from, n * elem);
	}
}

void gt_move_run(const struct gt_move *move)
{
	size_t bytes = move->count * gt_dtype_bytes(move->dtype);

	if (!move->count || !move->nsrc || !move->ndst)
		return;
	if (move->nsrc > 1 || move->divide || move->by) {
		gt_move_blocks(move);
		return;
	}
	for (uint32_t d = 0; d < move->ndst; d++)
		gt_move_copy(move->dst[d], move->src[0], bytes);
}
