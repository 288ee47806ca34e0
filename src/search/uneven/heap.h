/*
 * A queue of numbers by their keys, least first; of equal keys the smaller
 * number is first.  It is a binary heap that knows where each number is, so a
 * key can change.  Several queues may share `place` and `key`, if a number is
 * in one of them at most.
 */
#ifndef GT_SEARCH_UNEVEN_HEAP_H
#define GT_SEARCH_UNEVEN_HEAP_H

#include <stdint.h>

/* All memory is the caller's; `items` has room for all that may be in it. */
struct gt_heap {
	uint32_t n, *items;
	uint32_t
		*place; /* by number: where it is in `items`; UINT32_MAX: not */
	double *key;    /* by number */
};

/* Give the number this key, whether it is in the queue yet or not. */
void gt_heap_set(struct gt_heap *heap, uint32_t number, double key);

/* Take it out, if it is in the queue. */
void gt_heap_remove(struct gt_heap *heap, uint32_t number);

#endif
