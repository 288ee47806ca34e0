/*
 * Matches two servers with one hash exactly, by individualization and
 * refinement: a device whose colour is not unique is singled out in both trees,
 * the colours are refined, and so on until all are unique.
 */
#include "topo/diff/match.h"

#include <stdlib.h>
#include <string.h>

#include "topo/diff/device_tree.h"

struct gt_isomorphism {
	const struct gt_device_tree *a, *b;
	uint32_t n;
	uint64_t *colours_a, *colours_b;
	uint64_t *before; /* b's colours before a device of it is singled out */
	uint32_t *mark_a, *mark_b;
};

/*
 * Returns the next device whose colour another one has, too; 0 when there is
 * none.
 */
static uint32_t gt_isomorphism_twin(const struct gt_isomorphism *s,
				    uint32_t next)
{
	for (uint32_t i = next; i < s->n; i++)
		for (uint32_t j = i + 1; j < s->n; j++)
			if (s->colours_a[i] == s->colours_a[j])
				return i;
	return 0;
}

/*
 * Singles out x in a, and in b a device that leaves both with the same hash; 0
 * when there is none.
 */
static int gt_isomorphism_individualize(struct gt_isomorphism *s, uint32_t x,
					uint32_t mark)
{
	uint64_t colour = s->colours_a[x], hash;

	s->mark_a[x] = mark;
	hash = gt_device_tree_colour(s->a, s->mark_a, s->colours_a);
	memcpy(s->before, s->colours_b, s->n * sizeof(*s->before));
	for (uint32_t y = 1; y < s->n; y++) {
		if (s->before[y] != colour)
			continue;
		s->mark_b[y] = mark;
		if (gt_device_tree_colour(s->b, s->mark_b, s->colours_b) ==
		    hash)
			return 1;
		s->mark_b[y] = 0;
	}
	return 0;
}

static void gt_isomorphism_read(const struct gt_isomorphism *s,
				struct gt_match *match)
{
	for (uint32_t x = 0; x < s->n; x++)
		for (uint32_t y = 0; y < s->n; y++)
			if (s->colours_a[x] == s->colours_b[y]) {
				match->image[x] = y;
				match->back[y] = x;
			}
}

int gt_match_isomorphic(const struct gt_device_tree *a,
			const struct gt_device_tree *b, struct gt_match *match)
{
	size_t n = gt_device_tree_ndevices(a);
	uint64_t *memory = calloc(n, 4 * sizeof(*memory));
	struct gt_isomorphism s = {.a = a, .b = b, .n = (uint32_t)n};
	uint32_t x = 1, mark = 0;
	int same = 1;

	if (!memory)
		return 0;
	s.colours_a = memory;
	s.colours_b = memory + n;
	s.before = memory + 2 * n;
	s.mark_a = (uint32_t *)(memory + 3 * n);
	s.mark_b = s.mark_a + n;
	gt_device_tree_colour(a, NULL, s.colours_a);
	gt_device_tree_colour(b, NULL, s.colours_b);
	while (same && (x = gt_isomorphism_twin(&s, x)))
		same = gt_isomorphism_individualize(&s, x, ++mark);
	if (same)
		gt_isomorphism_read(&s, match);
	free(memory);
	return same;
}

int gt_match_is_isomorphic(const struct gt_device_tree *a,
			   const struct gt_device_tree *b)
{
	size_t n = gt_device_tree_ndevices(a);
	uint32_t *memory;
	int same;

	if (n != gt_device_tree_ndevices(b))
		return 0;
	memory = calloc(n, 2 * sizeof(*memory));
	if (!memory)
		return 0;
	same = gt_match_isomorphic(a, b,
				   &(struct gt_match){memory, memory + n});
	free(memory);
	return same;
}
