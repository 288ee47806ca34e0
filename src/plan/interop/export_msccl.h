/*
 * A plan's programs as MSCCL sees them: each GPU has thread blocks, each with
 * at most one connection it receives from and one it sends to, and steps that
 * wait for steps of other thread blocks of the same GPU where memory makes that
 * necessary.  export_msccl.c writes this as XML; export_mscclpp.c uses the
 * units.
 */
#ifndef GT_PLAN_INTEROP_EXPORT_MSCCL_H
#define GT_PLAN_INTEROP_EXPORT_MSCCL_H

#include <stdint.h>

#include "plan/lower/layout.h"

struct gt_arena;
struct gt_err;
struct gt_plan;
struct gt_plan_select;

enum gt_msccl_type {
	GT_MSCCL_S,
	GT_MSCCL_R,
	GT_MSCCL_RCS,
	GT_MSCCL_RRS,
	GT_MSCCL_RRC,
	GT_MSCCL_RRCS,
	GT_MSCCL_CPY,
	GT_MSCCL_NOP,
	GT_NMSCCLTYPES
};

/* A place: 'i', 'o' or 's', and the first unit of it. */
struct gt_msccl_at {
	char buf;
	uint32_t
		/*
		 * the program's number of it; places with other numbers are
		 * apart
		 */
		chunk;
	uint32_t unit;
};

struct gt_msccl_op {
	enum gt_msccl_type type;
	uint32_t tb, step; /* the op's place */
	uint32_t lane;     /* ops of other lanes are never in its way */
	struct gt_msccl_at src, dst;
	uint32_t count; /* units */
	int reads, writes;
	int has_dep, awaited;
	uint32_t dep; /* the op that it waits for */
};

struct gt_msccl_tb {
	int send, recv; /* peers, or -1 */
	uint32_t chan;
	uint32_t nsteps;
};

struct gt_msccl_gpu {
	uint32_t ntbs, nops, nscratch;
	struct gt_msccl_tb *tbs;
	/* those of all thread blocks, in program order */
	struct gt_msccl_op *ops;
};

/* All GPUs share this: how the row's shares become units. */
struct gt_msccl {
	const struct gt_plan *plan;
	const struct gt_plan_select *row;
	struct gt_channel_use use;
	struct gt_arena *arena;
	uint32_t per_block; /* chunks of a block */
	uint32_t block;     /* units of a block */
	uint32_t nblocks;
	uint32_t *count;  /* by selected channel: units of a chunk */
	uint32_t *before; /* units of a block before its first */
	uint32_t *chan;   /* its first channel number */
	uint32_t nchans;
	uint32_t nlanes;
};

/*
 * The operands of a step, sorted by what it receives, sends, reads and writes.
 */
struct gt_msccl_step {
	uint32_t nrecvs, nsends;
	uint32_t recvs[UINT8_MAX + 1], sends[UINT8_MAX + 1]; /* connections */
	int has_src, has_dst;
	int other; /* it does what MSCCL has no word for */
	struct gt_msccl_at src, dst;
};

void gt_msccl_sort(const struct gt_msccl *m, uint32_t selected, uint32_t rank,
		   const struct gt_step *step, struct gt_msccl_step *out);

int gt_msccl_init(struct gt_msccl *m, const struct gt_plan *plan,
		  struct gt_arena *arena, struct gt_err *err);

/* Make all of one GPU's thread blocks. */
int gt_msccl_lower(const struct gt_msccl *m, uint32_t rank,
		   struct gt_msccl_gpu *gpu, struct gt_err *err);

#endif
