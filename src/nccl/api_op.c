/* ABI: collectives and messages, each one operation of the backend. */
#include "nccl/group.h"
#include "nccl/say.h"
#include "nccl/values.h"

/* A call's arguments, as NCCL numbers them. */
struct gt_api_call {
	const char *name;
	const void *input;
	void *output;
	size_t count;
	gt_nccl_type type;
	gt_nccl_op op;
	int peer;
	gt_nccl_comm comm;
	gt_nccl_stream stream;
};

static gt_nccl_result gt_api_bad(const struct gt_api_call *call,
				 const char *what, int number)
{
	return gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: %s '%d'", call->name,
			    what, number);
}

/* The operator, or what the program has made of a scalar. */
static gt_nccl_result gt_api_redop(struct gt_face *face,
				   const struct gt_api_call *call,
				   struct gt_backend_op *op)
{
	int redop = gt_values_redop(call->op);
	int made = call->op < GT_NCCL_OPS ? -1 : call->op - GT_NCCL_OPS;
	struct gt_face_premul *premul = NULL;

	if (redop >= 0) {
		op->redop = (enum gt_redop)redop;
		return GT_NCCL_SUCCESS;
	}
	pthread_mutex_lock(&face->mutex);
	if (made >= 0 && (uint32_t)made < face->npremuls &&
	    face->premuls[made].used &&
	    face->premuls[made].dtype == op->dtype) {
		premul = &face->premuls[made];
		op->redop = GT_REDOP_PREMUL;
		op->scalar = premul->scalar;
	}
	pthread_mutex_unlock(&face->mutex);
	return premul ? GT_NCCL_SUCCESS
		      : gt_api_bad(call,
				   "this communicator has for the type no "
				   "operator",
				   call->op);
}

/* What an operation of that kind needs of its arguments. */
static gt_nccl_result gt_api_check(struct gt_face *face,
				   const struct gt_api_call *call,
				   struct gt_backend_op *op)
{
	int dtype = gt_values_dtype(call->type), me = (int)face->rank;
	int sends, receives;
	uint64_t bytes;

	if (dtype < 0)
		return gt_api_bad(call, "there is no type", call->type);
	op->dtype = (enum gt_dtype)dtype;
	if (call->peer < 0 || call->peer >= (int)face->size)
		return gt_api_bad(call, "the communicator has no rank",
				  call->peer);
	if (__builtin_mul_overflow(call->count, face->size, &bytes) ||
	    __builtin_mul_overflow(bytes, gt_dtype_bytes(op->dtype), &bytes) ||
	    bytes > INT64_MAX >> 8)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: a count of %zu is too much",
				    call->name, call->count);
	sends = op->kind != GT_BACKEND_RECV &&
		(op->kind != GT_BACKEND_BROADCAST || call->peer == me);
	receives = op->kind != GT_BACKEND_SEND &&
		   (op->kind != GT_BACKEND_REDUCE || call->peer == me);
	if (call->count &&
	    ((sends && !call->input) || (receives && !call->output)))
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: a buffer is NULL", call->name);
	return gt_api_redop(face, call, op);
}

/* One operation, in a group of its own or the one that is open. */
static gt_nccl_result gt_api_op(enum gt_backend_kind kind,
				const struct gt_api_call *call)
{
	struct gt_backend_op op = {.kind = kind,
				   .input = call->input,
				   .output = call->output,
				   .count = call->count,
				   .peer = (uint32_t)call->peer};
	struct gt_face *face;
	gt_nccl_result rc;
	int is_message = kind == GT_BACKEND_SEND || kind == GT_BACKEND_RECV;

	gt_group_open();
	rc = gt_face_get_ready(call->comm, call->name, &face);
	if (rc)
		return gt_group_return(rc, call->name);
	rc = gt_api_check(face, call, &op);
	if (rc || (!call->count && !is_message))
		gt_face_put(face);
	else
		rc = gt_group_add_op(face, &op, call->stream);
	return gt_group_return(rc, call->name);
}

#define GT_API_CALL(NAME, ...)                                                 \
	&(const struct gt_api_call)                                            \
	{                                                                      \
		.name = NAME, .count = count, .type = type, .comm = comm,      \
		.stream = stream, __VA_ARGS__                                  \
	}

GT_NCCL_API(gt_nccl_result, ncclAllReduce, const void *in, void *out,
	    size_t count, gt_nccl_type type, gt_nccl_op op, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_ALLREDUCE,
			 GT_API_CALL("ncclAllReduce", .input = in,
				     .output = out, .op = op));
}

GT_NCCL_API(gt_nccl_result, ncclReduce, const void *in, void *out, size_t count,
	    gt_nccl_type type, gt_nccl_op op, int root, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_REDUCE,
			 GT_API_CALL("ncclReduce", .input = in, .output = out,
				     .op = op, .peer = root));
}

GT_NCCL_API(gt_nccl_result, ncclReduceScatter, const void *in, void *out,
	    size_t count, gt_nccl_type type, gt_nccl_op op, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_REDUCESCATTER,
			 GT_API_CALL("ncclReduceScatter", .input = in,
				     .output = out, .op = op));
}

GT_NCCL_API(gt_nccl_result, ncclAllGather, const void *in, void *out,
	    size_t count, gt_nccl_type type, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(
		GT_BACKEND_ALLGATHER,
		GT_API_CALL("ncclAllGather", .input = in, .output = out));
}

GT_NCCL_API(gt_nccl_result, ncclBroadcast, const void *in, void *out,
	    size_t count, gt_nccl_type type, int root, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_BROADCAST,
			 GT_API_CALL("ncclBroadcast", .input = in,
				     .output = out, .peer = root));
}

GT_NCCL_API(gt_nccl_result, ncclBcast, void *buffer, size_t count,
	    gt_nccl_type type, int root, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_BROADCAST,
			 GT_API_CALL("ncclBcast", .input = buffer,
				     .output = buffer, .peer = root));
}

GT_NCCL_API(gt_nccl_result, ncclSend, const void *in, size_t count,
	    gt_nccl_type type, int peer, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_SEND,
			 GT_API_CALL("ncclSend", .input = in, .peer = peer));
}

GT_NCCL_API(gt_nccl_result, ncclRecv, void *out, size_t count,
	    gt_nccl_type type, int peer, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_api_op(GT_BACKEND_RECV,
			 GT_API_CALL("ncclRecv", .output = out, .peer = peer));
}
