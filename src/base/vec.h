/*
 * Arrays that grow by doubling.  `n` items of item_bytes are in use, *room is
 * how many there is memory for (0 and a NULL array to begin with).  Both
 * functions give the array, with room for one item more: the same one while
 * there is room, else a larger copy.  NULL means that memory ran out; the array
 * and *room are then as they were, so the owner can still release them.
 */
#ifndef GT_BASE_VEC_H
#define GT_BASE_VEC_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;

/* An array of the heap, which its owner releases with free(). */
void *gt_vec_grow(void *array, uint32_t n, uint32_t *room, size_t item_bytes);

/* An array of an arena; copies that it outgrew end with the arena. */
void *gt_vec_grow_in(struct gt_arena *arena, void *array, uint32_t n,
		     uint32_t *room, size_t item_bytes);

#endif
