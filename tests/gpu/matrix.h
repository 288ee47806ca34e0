/*
 * What the parts of matrix share: an engine on GPUs, counts of what was done
 * and compared, and the ways that bytes can go.
 */
#ifndef GT_TESTS_GPU_MATRIX_H
#define GT_TESTS_GPU_MATRIX_H

#include <stdint.h>

#include "draw.h"
#include "exec/engine.h"
#include "plan/ir/plan.h"

enum { MAX_RANKS = 16, WAYS = 16 };

extern const struct gt_algo_choice ways[WAYS];

struct matrix {
	struct gt_plan plan;
	struct gt_engine_config config;
	struct gt_engine *engine;
	int64_t deadline_ns;
	uint64_t operations, runs, bad;
};

/* A fresh engine; false with a line printed when there is none. */
int engine_open(struct matrix *m);

int late(const struct matrix *m);

/* Can the request go its way? */
int possible(const struct matrix *m, const struct gt_exec_request *req);

/* matrix_bits.c; false when it did not come to its end. */
int part_bits(struct matrix *m);

#endif
