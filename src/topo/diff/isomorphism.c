/*
 * Matches two servers with one hash exactly, by individualization and
 * refinement: a device whose colour is not unique is singled out in both, the
 * colours are refined, and so on until all are unique.
 */
#include "topo/diff/match.h"

#include <stdlib.h>
#include <string.h>

#include "topo/diff/device_tree.h"
#include "topo/diff/mix.h"
#include "topo/diff/wiring.h"

/* What may be spent on a match, in devices and links: well below a second. */
enum { GT_ISOMORPHISM_WORK = 20000000 };

struct gt_isomorphism {
	struct gt_wiring *a, *b;
	uint64_t *colours_a, *colours_b;
	uint64_t *before; /* b's colours before a device of it is singled out */
	uint64_t *sorted;
	uint64_t *work;
};

/*
 * Returns the next device whose colour another one has, too; 0 when there is
 * none.
 */
static uint32_t gt_isomorphism_twin(const struct gt_isomorphism *s,
				    uint32_t next)
{
	for (uint32_t i = next; i < s->a->n; i++)
		for (uint32_t j = i + 1; j < s->a->n && !s->a->gone[i]; j++)
			if (!s->a->gone[j] &&
			    s->colours_a[i] == s->colours_a[j])
				return i;
	return 0;
}

static int gt_isomorphism_has_name(const struct gt_isomorphism *s, uint32_t x,
				   uint32_t y)
{
	return !strcmp(gt_device_tree_device(s->a->tree, x)->name,
		       gt_device_tree_device(s->b->tree, y)->name);
}

/*
 * Singles out x in a, and in b a device that leaves both with the same hash,
 * one of the same name if it does; 0 when there is none.
 */
static int gt_isomorphism_individualize(struct gt_isomorphism *s, uint32_t x,
					uint32_t mark)
{
	uint64_t colour = s->colours_a[x], hash, own;

	s->a->own[x] = gt_hash_mix(s->a->own[x], mark);
	hash = gt_wiring_colour(s->a, s->colours_a, s->sorted, s->work);
	memcpy(s->before, s->colours_b, s->b->n * sizeof(*s->before));
	for (int named = 1; named >= 0; named--)
		for (uint32_t y = 1; y < s->b->n; y++) {
			if (s->b->gone[y] || s->before[y] != colour ||
			    gt_isomorphism_has_name(s, x, y) != named)
				continue;
			if (*s->work > GT_ISOMORPHISM_WORK)
				return 0;
			own = s->b->own[y];
			s->b->own[y] = gt_hash_mix(own, mark);
			if (gt_wiring_colour(s->b, s->colours_b, s->sorted,
					     s->work) == hash)
				return 1;
			s->b->own[y] = own;
		}
	return 0;
}

static void gt_isomorphism_read(const struct gt_isomorphism *s,
				struct gt_match *match)
{
	for (uint32_t x = 0; x < s->a->n; x++)
		for (uint32_t y = 0; y < s->b->n && !s->a->gone[x]; y++)
			if (!s->b->gone[y] &&
			    s->colours_a[x] == s->colours_b[y]) {
				match->image[x] = y;
				match->back[y] = x;
			}
}

static int gt_isomorphism_run(struct gt_isomorphism *s, struct gt_match *match)
{
	uint32_t x = 1, mark = 0;
	int same = gt_wiring_colour(s->a, s->colours_a, s->sorted, s->work) ==
		   gt_wiring_colour(s->b, s->colours_b, s->sorted, s->work);

	while (same && (x = gt_isomorphism_twin(s, x)))
		same = gt_isomorphism_individualize(s, x, ++mark);
	if (same)
		gt_isomorphism_read(s, match);
	return same;
}

int gt_match_wirings(struct gt_wiring *a, struct gt_wiring *b,
		     struct gt_match *match, uint64_t *work)
{
	size_t n = a->n > b->n ? a->n : b->n;
	uint64_t *memory = calloc(n, 6 * sizeof(*memory));
	struct gt_isomorphism s = {.a = a, .b = b, .work = work};
	int same;

	if (!memory)
		return -1;
	s.colours_a = memory;
	s.colours_b = memory + n;
	s.before = memory + 2 * n;
	s.sorted = memory + 3 * n;
	memcpy(memory + 4 * n, a->own, a->n * sizeof(*a->own));
	memcpy(memory + 5 * n, b->own, b->n * sizeof(*b->own));
	same = gt_isomorphism_run(&s, match);
	memcpy(a->own, memory + 4 * n, a->n * sizeof(*a->own));
	memcpy(b->own, memory + 5 * n, b->n * sizeof(*b->own));
	free(memory);
	return same;
}

int gt_match_isomorphic(const struct gt_device_tree *a,
			const struct gt_device_tree *b, struct gt_match *match)
{
	struct gt_wiring wiring_a = {0}, wiring_b = {0};
	uint64_t work = 0;
	int same = -1;

	if (gt_wiring_init(&wiring_a, a) && gt_wiring_init(&wiring_b, b))
		same = wiring_a.n == wiring_b.n
			       ? gt_match_wirings(&wiring_a, &wiring_b, match,
						  &work)
			       : 0;
	gt_wiring_release(&wiring_a);
	gt_wiring_release(&wiring_b);
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
		return -1;
	same = gt_match_isomorphic(a, b,
				   &(struct gt_match){memory, memory + n});
	free(memory);
	return same;
}
