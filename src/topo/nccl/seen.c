/* A hash table with open addressing, which doubles when it is half full. */
#include "topo/nccl/seen.h"

#include "base/arena.h"

enum { FIRST_ROOM = 256 };

/* This is FNV-1a. */
uint64_t gt_nccl_seen_text(uint64_t hash, const char *text, size_t len)
{
	hash = hash ? hash : 0xcbf29ce484222325u;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash;
}

/* The end spreads what FNV leaves in the high bits over the low ones. */
uint64_t gt_nccl_seen_key(uint64_t kind, uint64_t a, uint64_t b)
{
	uint64_t parts[3] = {kind, a, b}, hash;

	hash = gt_nccl_seen_text(0, (const char *)parts, sizeof(parts));
	hash ^= hash >> 32;
	return hash | !hash;
}

/* Returns where a key is, or the free place where it belongs. */
static uint32_t place_of(const struct gt_nccl_seen *seen, uint64_t key)
{
	uint32_t at = (uint32_t)key & (seen->room - 1);

	while (seen->keys[at] && seen->keys[at] != key)
		at = (at + 1) & (seen->room - 1);
	return at;
}

static int grow(struct gt_nccl_seen *seen)
{
	struct gt_nccl_seen more = {.arena = seen->arena,
				    .n = seen->n,
				    .room = seen->room ? 2 * seen->room
						       : FIRST_ROOM};
	uint32_t at;

	more.keys = gt_arena_array(more.arena, more.room, sizeof(*more.keys));
	more.values =
		gt_arena_array(more.arena, more.room, sizeof(*more.values));
	if (!more.keys || !more.values)
		return -1;
	for (uint32_t i = 0; i < seen->room; i++) {
		if (!seen->keys[i])
			continue;
		at = place_of(&more, seen->keys[i]);
		more.keys[at] = seen->keys[i];
		more.values[at] = seen->values[i];
	}
	*seen = more;
	return 0;
}

uint32_t gt_nccl_seen_get(const struct gt_nccl_seen *seen, uint64_t key)
{
	return seen->room ? seen->values[place_of(seen, key)] : 0;
}

int gt_nccl_seen_set(struct gt_nccl_seen *seen, uint64_t key, uint32_t value)
{
	uint32_t at;

	if (2 * seen->n >= seen->room && grow(seen))
		return -1;
	at = place_of(seen, key);
	seen->n += !seen->keys[at];
	seen->keys[at] = key;
	seen->values[at] = value;
	return 0;
}
