/*
 * What a log shows that makes a job slow, and what to do about it.
 */
#ifndef GT_TOPO_NCCL_ADVICE_H
#define GT_TOPO_NCCL_ADVICE_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_nccl_log;
struct gt_nccl_set;

/* The arena owns the words, sentences without a full stop. */
struct gt_nccl_advice {
	const char *name; /* one word, for programs */
	const char *text, *remedy;
};

enum { GT_NCCL_MAX_ADVICE = 24 };

/*
 * Lists advice about a log; first variables that were set and limit NCCL, as
 * what follows may be due to them.  `rings` is what NCCL would choose on the
 * job's machine, with GPUs by their numbers; or NULL where that is not known.
 */
int gt_nccl_advise(const struct gt_nccl_log *log,
		   const struct gt_nccl_set *rings, struct gt_arena *arena,
		   struct gt_nccl_advice list[GT_NCCL_MAX_ADVICE], uint32_t *n,
		   struct gt_err *err);

#endif
