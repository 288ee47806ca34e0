/*
 * A flag that two GPUs send each other, there and back: what a step of an
 * algorithm waits at least.  Plain C; enqueued on the stream given, on the
 * current device; returns a cudaError_t.
 */
#ifndef GT_KERNELS_PING_H
#define GT_KERNELS_PING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum { GT_PING_WARM = 100 }; /* rounds before time is taken */

/* Runs one side; both run at the same time, with the same numbers. */
struct gt_ping {
	uint64_t *mine;   /* in this GPU's memory, 0 before */
	uint64_t *theirs; /* the other's `mine` */
	uint64_t *ns;     /* first: the time of all rounds, 0: it took longer
			     than limit_ns */
	uint64_t limit_ns;
	uint32_t rounds; /* after the warm ones */
	uint32_t first;  /* one of the sides begins */
};

/* Loads the kernel, so that its first run starts at once. */
int gt_ping_prepare(void);

int gt_ping_run(const struct gt_ping *ping, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
