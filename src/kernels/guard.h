/*
 * What host and kernels tell each other while a kernel waits: why it does,
 * since when, whether it is to end, and which operation it is in.
 */
#ifndef GT_KERNELS_GUARD_H
#define GT_KERNELS_GUARD_H

#include <stdint.h>

/*
 * A report says why a block waits. Each block has one in host memory and writes
 * it when a wait lasts long.
 */
struct gt_kernel_report {
	uint32_t state; /* enum gt_kernel_state */
	uint32_t peer;
	uint32_t channel;
	uint32_t step; /* the step's id */
	uint64_t slice;
};

enum gt_kernel_state {
	GT_KERNEL_SILENT,      /* nothing to tell */
	GT_KERNEL_WAIT_DATA,   /* for the peer's data */
	GT_KERNEL_WAIT_CREDIT, /* for the peer to make room */
	GT_KERNEL_MISMATCH,    /* messages: the peer sends `slice` bytes */
};

/*
 * A mark says when a slice of a block was waited for, ready, moved and posted,
 * by the GPU's own clock; zeros if it never was.
 */
struct gt_kernel_mark {
	uint64_t at_ns[4]; /* GT_MARK_... */
};

enum {
	GT_MARK_SINCE, /* waits begin, */
	GT_MARK_READY, /* all are over; */
	GT_MARK_DONE,  /* it was moved, */
	GT_MARK_POSTED /* and announced */
};

/*
 * In the kernel of a p2p flow a block has a mark for each of its stages and
 * each rank: its own says when the stage began, had all that it waits for and
 * was done, a peer's when it was READY.
 */
enum { GT_P2P_STAGES = 3 };

/*
 * The watch lies in mapped host memory and is shared by the host and all ranks.
 */
struct gt_kernel_watch {
	uint32_t abort; /* not 0: everyone ends at once */
};

enum gt_kernel_fault {
	GT_KERNEL_FAULT_NONE,
	GT_KERNEL_FAULT_STALL,
	GT_KERNEL_FAULT_EXIT,
};

enum { GT_KERNEL_EPOCH = 1 << 16 }; /* more than a launch has blocks */

/*
 * The epoch counts the operations on this rank so far, in device memory. The
 * blocks of one launch of each operation add up to GT_KERNEL_EPOCH.  A barrier
 * that gave up says so here, for kernels behind it that do not wait themselves.
 */
struct gt_kernel_epoch {
	uint64_t count;
	uint64_t ended;
};

/* The guard is what every kernel of a p2p flow needs to wait safely. */
struct gt_kernel_guard {
	struct gt_kernel_epoch *epoch;
	struct gt_kernel_watch *watch;
	struct gt_kernel_report *reports; /* of this rank's blocks */
	uint64_t timeout_ns;              /* of one wait */
	uint32_t fault;                   /* enum gt_kernel_fault */
	uint32_t reserved;
	/* [block][GT_P2P_STAGES][GT_P2P_RANKS], or NULL: no trace */
	struct gt_kernel_mark *marks;
};

#endif
