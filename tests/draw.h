/*
 * A linear congruential generator (Knuth), so that a seed means the same
 * everywhere and a case that fails can be made again.
 */
#ifndef GT_TESTS_DRAW_H
#define GT_TESTS_DRAW_H

#include <stdint.h>

/* Returns a number of 0 .. below - 1; the state goes on. */
static inline uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

#endif
