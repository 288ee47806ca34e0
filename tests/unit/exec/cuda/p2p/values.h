/*
 * What there is in buffers of the tests of copies: inputs that are known from
 * the operation, rank and place, and what must come of them.  Who includes this
 * has a `world` with a plan and the requests, ops[].req, and VALUE_BITS, of
 * which sums of all ranks overflow nothing.
 */
#ifndef GT_TESTS_UNIT_EXEC_CUDA_P2P_VALUES_H
#define GT_TESTS_UNIT_EXEC_CUDA_P2P_VALUES_H

static int32_t value(uint32_t op, uint32_t rank, uint64_t index)
{
	uint64_t v = (op * 31ull + rank + 1) * 0x9e3779b97f4a7c15u +
		     index * 0xd1b54a32d192ed03u;

	return (int32_t)((v ^ v >> 29) * 0xbf58476d1ce4e5b9u >>
			 (64 - VALUE_BITS));
}

static int32_t value_of_all(uint32_t op, uint64_t index)
{
	uint32_t n = world.plan.nranks;
	int32_t sum = 0;

	for (uint32_t r = 0; r < n; r++)
		sum += value(op, r, index);
	return world.ops[op].req.op == GT_REDOP_AVG ? sum / (int32_t)n : sum;
}

/* Element i of block `block` of a rank's output. */
static int32_t result(uint32_t op, uint32_t rank, uint64_t block, uint64_t i)
{
	const struct gt_exec_request *req = &world.ops[op].req;
	uint32_t n = world.plan.nranks;

	switch (req->coll) {
	case GT_COLL_REDUCESCATTER:
		return value_of_all(op, rank * req->count + i);
	case GT_COLL_ALLREDUCE:
	case GT_COLL_REDUCE:
		return value_of_all(op, i);
	case GT_COLL_BROADCAST:
		return value(op, req->root, i);
	case GT_COLL_SCATTER:
		return value(op, req->root, rank * req->count + i);
	case GT_COLL_ALLTOALL:
		return value(op, (uint32_t)block, rank * req->count + i);
	case GT_COLL_SENDRECV:
		return value(op, (rank + n - 1) % n, i);
	default: /* all-gather and gather */
		return value(op, (uint32_t)block, i);
	}
}

#endif
