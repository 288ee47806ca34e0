/*
 * Copies between buffers of this process, made together by several threads
 * where that is worth it.
 */
#ifndef GT_LIB_PARALLEL_COPY_H
#define GT_LIB_PARALLEL_COPY_H

#include <stdatomic.h>
#include <stdint.h>

struct gt_copy;

/* All zero but for `interrupt`: no copies yet. */
struct gt_copies {
	struct gt_copy *all;
	uint32_t n, room;
	uint64_t bytes, pieces;
	_Atomic uint64_t next;        /* the piece that is taken next */
	const _Atomic int *interrupt; /* ends them early when it is set */
};

/* Note a copy; GT_ESYS when memory ran out. */
int gt_copies_add(struct gt_copies *copies, const void *from, void *to,
		  uint64_t bytes);

/* Make all of them; returns when they are done. */
void gt_copies_run(struct gt_copies *copies);
void gt_copies_free(struct gt_copies *copies);

#endif
