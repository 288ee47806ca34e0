/*
 * An arena is a list of blocks; what is larger than a block gets one of its
 * own.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GT_ARENA_BLOCK_BYTES = 64 * 1024 };

struct gt_block {
	struct gt_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char data[];
};

struct gt_arena {
	struct gt_block *blocks;
};

struct gt_arena *gt_arena_new(void)
{
	return calloc(1, sizeof(struct gt_arena));
}

void gt_arena_free(struct gt_arena *arena)
{
	struct gt_block *block, *next;

	if (!arena)
		return;
	for (block = arena->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

/* A large object gets a block of its own behind the one being filled. */
static struct gt_block *gt_block_add(struct gt_arena *arena, size_t size_bytes)
{
	size_t room = GT_ARENA_BLOCK_BYTES;
	struct gt_block *block;

	if (size_bytes > room / 4)
		room = size_bytes;
	block = calloc(1, sizeof(*block) + room);
	if (!block)
		return NULL;
	block->size = room;
	if (room == size_bytes && arena->blocks) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

void *gt_arena_alloc(struct gt_arena *arena, size_t size_bytes)
{
	const size_t align = alignof(max_align_t);
	struct gt_block *block = arena->blocks;
	void *memory;

	if (size_bytes > SIZE_MAX / 2)
		return NULL;
	size_bytes = (size_bytes + align - 1) & ~(align - 1);
	if (!block || block->size - block->used < size_bytes)
		block = gt_block_add(arena, size_bytes);
	if (!block)
		return NULL;
	memory = block->data + block->used;
	block->used += size_bytes;
	return memory;
}

void *gt_arena_array(struct gt_arena *arena, size_t n, size_t size_bytes)
{
	if (size_bytes && n > SIZE_MAX / size_bytes)
		return NULL;
	return gt_arena_alloc(arena, n * size_bytes);
}

char *gt_arena_strdup(struct gt_arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = gt_arena_alloc(arena, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *gt_arena_printf(struct gt_arena *arena, const char *fmt, ...)
{
	va_list ap, again;
	char *text;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = len < 0 ? NULL : gt_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}
