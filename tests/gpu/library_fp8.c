/*
 * fp8 to the last bit: sums and products of all pairs of values on GPUs against
 * the host's, whose own are tested against the definition.
 */
#include "gpu/library.h"

#include <stdio.h>
#include <string.h>

#include "exec/host/reduce.h"

enum {
	PAIRS = 65536,
	E4M3_ONE = 0x38,
	E5M2_ONE = 0x3c,
	E5M2_INF = 0x7c,
	MINUS_ZERO = 0x80,
};

/*
 * Ranks 0 and 1 have the pairs, the others what changes nothing; but that it
 * makes the largest number of an infinity, so then there is none.
 */
static void operand(const struct library *lib, const struct operation *op,
		    int rank, uint8_t at[PAIRS])
{
	int e5m2 = op->type == GTOPO_FP8_E5M2;
	uint8_t one = e5m2 ? E5M2_ONE : E4M3_ONE;

	memset(at, op->op == GTOPO_PROD ? one : MINUS_ZERO, PAIRS);
	for (int i = 0; i < PAIRS && rank < 2; i++) {
		at[i] = (uint8_t)(rank ? i : i >> 8);
		if (e5m2 && lib->nranks > 2 && (at[i] & 0x7f) == E5M2_INF)
			at[i]--;
	}
}

static int give(const struct library *lib, const struct operation *op, int rank)
{
	const struct rank *me = &lib->ranks[rank];
	uint8_t at[PAIRS];

	operand(lib, op, rank, at);
	cudaSetDevice(me->gpu);
	return cudaMemcpyAsync(me->input + op->shift, at, PAIRS,
			       cudaMemcpyHostToDevice,
			       me->stream) == cudaSuccess;
}

/* The rank's result is the host's. */
static int agrees(const struct library *lib, const struct operation *op,
		  int rank)
{
	const struct rank *me = &lib->ranks[rank];
	uint8_t a[PAIRS], b[PAIRS], got[PAIRS];

	operand(lib, op, 0, a);
	operand(lib, op, 1, b);
	gt_reduce_plain.reduce[op->type][op->op](a, a, b, PAIRS);
	cudaSetDevice(me->gpu);
	return cudaMemcpyAsync(got, me->output + op->shift, PAIRS,
			       cudaMemcpyDeviceToHost,
			       me->stream) == cudaSuccess &&
	       cudaStreamSynchronize(me->stream) == cudaSuccess &&
	       !memcmp(a, got, PAIRS);
}

static int check_pairs(struct library *lib, struct operation op)
{
	char what[64];
	int all = 1;

	op.count = PAIRS;
	lib->operations++;
	for (int r = lib->first; r < lib->end; r++)
		all = all && give(lib, &op, r);
	all = all && !call_together(lib, &op, 1);
	for (int r = lib->first; r < lib->end; r++)
		all = all && agrees(lib, &op, r);
	if (all)
		return 1;
	snprintf(what, sizeof(what), "fp8 type %d op %d shift %u", op.type,
		 op.op, (unsigned)op.shift);
	complain(lib, what, "not the host's bits");
	return 0;
}

int check_fp8(struct library *lib)
{
	struct operation op = {.coll = GT_COLL_ALLREDUCE};
	int all = 1;

	/* 16 bytes at a time, and one. */
	for (int i = 0; i < 8; i++) {
		op.type = i & 1 ? GTOPO_FP8_E4M3 : GTOPO_FP8_E5M2;
		op.op = i & 2 ? GTOPO_PROD : GTOPO_SUM;
		op.shift = i & 4 ? 1 : 0;
		all = check_pairs(lib, op) && all;
	}
	return all;
}
