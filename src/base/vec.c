/* Growing by doubling makes n additions cost O(n) copies in all. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum {
	GT_VEC_FIRST = 4, /* items that the first growth makes room for */
};

/* 0 when twice as many would not fit the type. */
static uint32_t vec_wanted(uint32_t room)
{
	if (room > UINT32_MAX / 2)
		return 0;
	return room ? 2 * room : GT_VEC_FIRST;
}

void *gt_vec_grow(void *array, uint32_t n, uint32_t *room, size_t item_bytes)
{
	uint32_t wanted = vec_wanted(*room);
	void *larger;

	if (n < *room)
		return array;
	if (!wanted)
		return NULL;
	larger = reallocarray(array, wanted, item_bytes);
	if (larger)
		*room = wanted;
	return larger;
}

void *gt_vec_grow_in(struct gt_arena *arena, void *array, uint32_t n,
		     uint32_t *room, size_t item_bytes)
{
	uint32_t wanted = vec_wanted(*room);
	void *larger;

	if (n < *room)
		return array;
	if (!wanted)
		return NULL;
	larger = gt_arena_array(arena, wanted, item_bytes);
	if (!larger)
		return NULL;
	if (n)
		memcpy(larger, array, n * item_bytes);
	*room = wanted;
	return larger;
}
