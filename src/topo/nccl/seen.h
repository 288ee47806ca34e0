/*
 * Numbers by key, for what a log names again and again: hosts, threads,
 * communicators.  Keys are hashes of 64 bits; two things with one hash would be
 * taken for one.
 */
#ifndef GT_TOPO_NCCL_SEEN_H
#define GT_TOPO_NCCL_SEEN_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;

/* Begins zeroed but for its arena, which owns the tables. */
struct gt_nccl_seen {
	struct gt_arena *arena;
	uint64_t *keys; /* 0 is a free place */
	uint32_t *values;
	uint32_t n, room; /* room is 0 or a power of two */
};

/* Hashes a text on top of a hash, or of 0. */
uint64_t gt_nccl_seen_text(uint64_t hash, const char *text, size_t len);

/* Hashes three numbers; `kind` keeps keys of different things apart. */
uint64_t gt_nccl_seen_key(uint64_t kind, uint64_t a, uint64_t b);

/* Returns the number of a key, 0 where it has none. */
uint32_t gt_nccl_seen_get(const struct gt_nccl_seen *seen, uint64_t key);

/* Gives a key a number; 0, or -1 when memory ran out. */
int gt_nccl_seen_set(struct gt_nccl_seen *seen, uint64_t key, uint32_t value);

#endif
