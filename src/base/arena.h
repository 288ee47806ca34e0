/*
 * A grow-only allocator: one per artefact (topology, plan, programs), freed
 * at once.  Memory is zeroed and aligned for any type.  No per-object free.
 *
 * Not thread safe; memory that was handed out may be read from any thread.
 */
#ifndef GT_BASE_ARENA_H
#define GT_BASE_ARENA_H

#include <stddef.h>

struct gt_arena;

/* NULL when memory ran out. */
struct gt_arena *gt_arena_new(void);

/* NULL is allowed. */
void gt_arena_free(struct gt_arena *arena);

/* Zeroed memory, or NULL when it ran out.  size 0 gives a valid pointer. */
void *gt_arena_alloc(struct gt_arena *arena, size_t size_bytes);

/* n objects of size_bytes each; NULL also when the product overflows. */
void *gt_arena_array(struct gt_arena *arena, size_t n, size_t size_bytes);

/* Copies; NULL when memory ran out. */
char *gt_arena_strdup(struct gt_arena *arena, const char *text);
char *gt_arena_printf(struct gt_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
