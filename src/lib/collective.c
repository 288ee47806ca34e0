/*
 * Collectives as a user calls them: the arguments are checked, and the call
 * goes into the rank's queue, or into the group that the rank has open.
 */
#include "lib/state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/launch.h"
#include "lib/queue.h"
#include "plan/lower/layout.h"

#define GT_SAME(theirs, ours)                                                  \
	_Static_assert((int)(theirs) == (int)(ours), #theirs)

GT_SAME(GTOPO_INT8, GT_DTYPE_INT8);
GT_SAME(GTOPO_UINT8, GT_DTYPE_UINT8);
GT_SAME(GTOPO_INT32, GT_DTYPE_INT32);
GT_SAME(GTOPO_UINT32, GT_DTYPE_UINT32);
GT_SAME(GTOPO_INT64, GT_DTYPE_INT64);
GT_SAME(GTOPO_UINT64, GT_DTYPE_UINT64);
GT_SAME(GTOPO_HALF, GT_DTYPE_HALF);
GT_SAME(GTOPO_BF16, GT_DTYPE_BF16);
GT_SAME(GTOPO_FLOAT, GT_DTYPE_FLOAT);
GT_SAME(GTOPO_DOUBLE, GT_DTYPE_DOUBLE);
GT_SAME(GTOPO_FP8_E4M3, GT_DTYPE_FP8_E4M3);
GT_SAME(GTOPO_FP8_E5M2, GT_DTYPE_FP8_E5M2);
GT_SAME(GTOPO_SUM, GT_REDOP_SUM);
GT_SAME(GTOPO_PROD, GT_REDOP_PROD);
GT_SAME(GTOPO_MIN, GT_REDOP_MIN);
GT_SAME(GTOPO_MAX, GT_REDOP_MAX);
GT_SAME(GTOPO_AVG, GT_REDOP_AVG);
_Static_assert(GT_REDOP_PREMUL == GT_REDOP_AVG + 1, "made by gtopo_op_create");

/* GPUs cannot take an element that lies across its own boundary. */
static int gt_call_is_aligned(const struct gt_call *call)
{
	uintptr_t both = (uintptr_t)call->input | (uintptr_t)call->output;

	return both % gt_dtype_bytes(call->req.dtype) == 0;
}

/* Refuse buffers that are not there, or that GPUs cannot use. */
static int gt_call_check_buffers(struct gtopo_comm *comm, int rank,
				 const struct gt_call *call)
{
	const struct gt_channel_use use = {.coll = call->req.coll,
					   .root = call->req.root};
	uint32_t r = (uint32_t)rank;

	if (!call->req.count)
		return GTOPO_OK;
	if (!call->input && gt_layout_input(&use, r) != GT_EXTENT_NONE)
		return gt_comm_refuse(comm, "rank %d has no input", rank);
	if (!call->output && gt_layout_output(&use, r) != GT_EXTENT_NONE)
		return gt_comm_refuse(comm, "rank %d has no output", rank);
	if (comm->ops->async && !gt_call_is_aligned(call))
		return gt_comm_refuse_unaligned(comm, rank);
	return GTOPO_OK;
}

/* Refuse arguments that no plan could make sense of. */
static int gt_call_check(struct gtopo_comm *comm, int rank,
			 const struct gt_call *call)
{
	uint64_t bytes;

	if ((int)call->req.dtype < 0 || call->req.dtype >= GT_NDTYPES)
		return gt_comm_refuse(comm, "type '%d' is not known",
				      (int)call->req.dtype);
	if ((int)call->req.op < 0)
		return gt_comm_refuse(comm, "operator '%d' is not known",
				      (int)call->req.op);
	if (call->req.root >= comm->nranks)
		return gt_comm_refuse(comm, "root '%d' is no rank, 0 to %u",
				      (int)call->req.root, comm->nranks - 1);
	if (__builtin_mul_overflow(call->req.count, comm->nranks, &bytes) ||
	    __builtin_mul_overflow(bytes, gt_dtype_bytes(call->req.dtype),
				   &bytes) ||
	    bytes > INT64_MAX)
		return gt_comm_refuse(comm,
				      "a count of '%" PRIu64
				      "' is more than memory can have",
				      call->req.count);
	return gt_call_check_buffers(comm, rank, call);
}

/* Put a copy of the call into the rank's queue, or into its open group. */
static int gt_call_add(struct gtopo_comm *comm, int rank,
		       const struct gt_call *call)
{
	struct gt_comm_rank *me = &comm->ranks[rank];
	struct gt_call *copy = malloc(sizeof(*copy));
	struct gt_err err;

	if (!copy) {
		gt_err_init(&err);
		return gt_comm_keep_words(comm, gt_err_nomem(&err), &err);
	}
	*copy = *call;
	copy->stream = me->stream;
	copy->group = 1;
	gt_queue_add(me->in_group ? &me->held : &me->called, copy);
	if (me->in_group)
		return GTOPO_OK;
	me->ncalled++;
	return gt_launch_called(comm, rank);
}

static int gt_collective_call(struct gtopo_comm *comm, int rank,
			      struct gt_call *call)
{
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_check_rank(comm, rank);
	if (rc)
		goto unlock;
	rc = gt_call_check(comm, rank, call);
	if (!rc)
		rc = gt_redop_resolve(comm, rank, call);
	if (!rc && comm->state < 0)
		rc = comm->state;
	if (!rc)
		rc = gt_call_add(comm, rank, call);
	if (rc && comm->ranks[rank].in_group && !comm->ranks[rank].refused)
		comm->ranks[rank].refused = rc;
unlock:
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

/* Call a collective; its operator is the sum where nothing is reduced. */
static int gt_collective(struct gtopo_comm *comm, int rank,
			 const struct gt_call *like, uint64_t count,
			 enum gtopo_type type)
{
	struct gt_call call = *like;

	call.req.count = count;
	call.req.dtype = (enum gt_dtype)type;
	return gt_collective_call(comm, rank, &call);
}

#define GT_CALL(COLL, ...)                                                     \
	&(struct gt_call)                                                      \
	{                                                                      \
		.req = {.coll = GT_COLL_##COLL, __VA_ARGS__}, .input = input,  \
		.output = output                                               \
	}

int gtopo_allreduce(struct gtopo_comm *comm, int rank, const void *input,
		    void *output, uint64_t count, enum gtopo_type type,
		    enum gtopo_op op)
{
	return gt_collective(comm, rank,
			     GT_CALL(ALLREDUCE, .op = (enum gt_redop)op), count,
			     type);
}

int gtopo_allgather(struct gtopo_comm *comm, int rank, const void *input,
		    void *output, uint64_t count, enum gtopo_type type)
{
	return gt_collective(comm, rank, GT_CALL(ALLGATHER, .root = 0), count,
			     type);
}

int gtopo_reducescatter(struct gtopo_comm *comm, int rank, const void *input,
			void *output, uint64_t count, enum gtopo_type type,
			enum gtopo_op op)
{
	return gt_collective(comm, rank,
			     GT_CALL(REDUCESCATTER, .op = (enum gt_redop)op),
			     count, type);
}

int gtopo_alltoall(struct gtopo_comm *comm, int rank, const void *input,
		   void *output, uint64_t count, enum gtopo_type type)
{
	return gt_collective(comm, rank, GT_CALL(ALLTOALL, .root = 0), count,
			     type);
}

int gtopo_broadcast(struct gtopo_comm *comm, int rank, const void *input,
		    void *output, uint64_t count, enum gtopo_type type,
		    int root)
{
	return gt_collective(comm, rank,
			     GT_CALL(BROADCAST, .root = (uint32_t)root), count,
			     type);
}

int gtopo_reduce(struct gtopo_comm *comm, int rank, const void *input,
		 void *output, uint64_t count, enum gtopo_type type,
		 enum gtopo_op op, int root)
{
	return gt_collective(comm, rank,
			     GT_CALL(REDUCE, .op = (enum gt_redop)op,
				     .root = (uint32_t)root),
			     count, type);
}

int gtopo_gather(struct gtopo_comm *comm, int rank, const void *input,
		 void *output, uint64_t count, enum gtopo_type type, int root)
{
	return gt_collective(comm, rank,
			     GT_CALL(GATHER, .root = (uint32_t)root), count,
			     type);
}

int gtopo_scatter(struct gtopo_comm *comm, int rank, const void *input,
		  void *output, uint64_t count, enum gtopo_type type, int root)
{
	return gt_collective(comm, rank,
			     GT_CALL(SCATTER, .root = (uint32_t)root), count,
			     type);
}
