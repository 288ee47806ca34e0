/*
 * Measuring how fast this machine's GPUs reach one another and the host.
 *
 * What is to be measured is decided here and knows no device; who moves the
 * bytes is a table, struct gt_mover_ops: CUDA's, or a machine that a test makes
 * up.
 *
 * Measured are, each for a few ms and the best of three: every ordered pair of
 * GPUs alone, every pair both ways at once, all GPUs at once, each to the next;
 * every GPU from and to the host, alone and all at once, and every two GPUs
 * from the host at once, which shows links that they share though the machine
 * hides them; the latency of a flag between every two GPUs that may write to
 * each other's memory.
 *
 * All of it is for one thread, and blocks for a minute at most.
 */
#ifndef GT_MEASURE_MEASURE_H
#define GT_MEASURE_MEASURE_H

#include <stdint.h>

#include "topo/xml/measured.h"

struct gt_arena;
struct gt_err;
struct gt_mover;

enum { GT_TRANSFER_HOST = UINT32_MAX }; /* in place of a GPU */

/* One stream of bytes; a GPU sends at most one and gets at most one. */
struct gt_transfer {
	uint32_t from, to; /* the mover's GPUs, one of them may be the host */
};

struct gt_mover_ops {
	/*
	 * Open the GPUs; those of `known` say which NUMA node their host memory
	 * is to be on.  GT_ESYS where there is no GPU; nothing is left behind
	 * then.
	 */
	int (*open)(const struct gt_measured *known, struct gt_mover **mover,
		    struct gt_err *err);
	void (*close)(struct gt_mover *mover); /* NULL is allowed */

	uint32_t (*ngpus)(const struct gt_mover *mover);
	/* "0000:1b:00.0" */
	const char *(*bus_id)(const struct gt_mover *mover, uint32_t gpu);

	/*
	 * Make all moves at once; gbs[i] is the rate of moves[i].  Errors name
	 * the GPU.
	 */
	int (*move)(struct gt_mover *mover, const struct gt_transfer *moves,
		    uint32_t nmoves, double *gbs, struct gt_err *err);

	/*
	 * Measure half of a flag's way there and back; 0 where GPUs cannot
	 * write to each other's memory.
	 */
	int (*ping)(struct gt_mover *mover, uint32_t a, uint32_t b, double *ns,
		    struct gt_err *err);
};

extern const struct gt_mover_ops gt_mover_cuda; /* if built with CUDA */

/* The mover that CUDA is, or NULL where it was not built in. */
const struct gt_mover_ops *gt_mover_ops_get(void);

/*
 * Measure all that the mover has.  `known` are the machine's GPUs as its
 * topology lists them; *measured has those that were measured, in the mover's
 * order, and the arena's memory.
 */
int gt_measure_run(const struct gt_mover_ops *ops,
		   const struct gt_measured *known, struct gt_arena *arena,
		   struct gt_measured *measured, struct gt_err *err);

#endif
