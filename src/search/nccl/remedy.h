/*
 * What to set so that NCCL does better on a machine, or at least otherwise.
 */
#ifndef GT_SEARCH_NCCL_REMEDY_H
#define GT_SEARCH_NCCL_REMEDY_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_nccl_answer;

/* A variable of NCCL's environment; the arena owns the words. */
struct gt_nccl_remedy {
	const char *variable, *value;
	const char *why; /* a sentence without a full stop */
};

enum { GT_NCCL_MAX_REMEDIES = 5 };

/* What the answer is about. */
struct gt_nccl_origin {
	const char *file;
	const char *p2p;  /* the words that took peer access away, or NULL */
	uint32_t repairs; /* how many faults of the file lint repairs */
};

/* Lists remedies for an answer about a machine. */
int gt_nccl_remedies(const struct gt_nccl_answer *answer,
		     const struct gt_nccl_origin *origin,
		     struct gt_arena *arena,
		     struct gt_nccl_remedy list[GT_NCCL_MAX_REMEDIES],
		     uint32_t *n, struct gt_err *err);

#endif
