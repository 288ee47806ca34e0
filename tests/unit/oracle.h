/*
 * A second opinion on lowered programs, sharing no code with the simulator:
 * one number a slice is really moved and added, ranks and lanes are taken in
 * random order, more loops are run than are simulated, slots are as many as
 * given.
 */
#ifndef GT_TESTS_UNIT_ORACLE_H
#define GT_TESTS_UNIT_ORACLE_H

#include <stdint.h>

#include "plan/ir/program.h"

enum {
	ORACLE_LOOPS = 4,
	ORACLE_RANKS = 9,
	ORACLE_LANES = 3,
	ORACLE_CHUNKS = 18,
	ORACLE_SLOTS = 64,
	ORACLE_TAGS = 5,
};

struct oracle_args {
	enum gt_coll coll;
	uint32_t root;
	uint32_t nranks; /* up to ORACLE_RANKS */
	uint32_t nlanes; /* up to ORACLE_LANES */
	uint32_t slots;  /* up to ORACLE_SLOTS */
	int inplace;
	int one_block; /* only block `block` is moved */
	uint32_t block;
	/* Of a demand, by from * nranks + to: 0 for nothing; NULL: none. */
	const uint32_t *units;
	const struct gt_program *programs; /* [rank][lane] */
	uint32_t seed;
};

/* Do the programs end with the right numbers everywhere? */
int oracle_agrees(const struct oracle_args *args);

/* A random number, and the next seed. */
uint32_t oracle_random(uint32_t *seed);

#endif
