/*
 * ABI: collectives that only move blocks.  They are messages: each rank sends
 * a block to each that is to have one, in one group.
 */
#include "nccl/abi.h"

#include "nccl/group.h"
#include "nccl/say.h"
#include "nccl/values.h"

/* Which blocks a rank sends, and which it gets. */
struct gt_blocks {
	const char *name;
	const char *input; /* NULL: this rank sends nothing */
	char *output;      /* NULL: this rank gets nothing */
	size_t count;
	gt_nccl_type type;
	int root;             /* of all, or the only one; -1: all */
	int root_sends;       /* scatter: the root sends, else it gets */
	struct gt_face *face; /* a reference of the call */
	gt_nccl_stream stream;
};

static gt_nccl_result gt_blocks_message(const struct gt_blocks *blocks,
					enum gt_backend_kind kind,
					uint32_t peer, uint32_t block)
{
	struct gt_backend_op op = {
		.kind = kind,
		.count = blocks->count,
		.dtype = (enum gt_dtype)gt_values_dtype(blocks->type),
		.peer = peer};
	size_t at = block * blocks->count * gt_dtype_bytes(op.dtype);

	if (kind == GT_BACKEND_SEND)
		op.input = blocks->input + at;
	else
		op.output = blocks->output + at;
	return gt_group_add_op(gt_face_ref(blocks->face), &op, blocks->stream);
}

/* The own block is where it belongs already. */
static int gt_blocks_is_in_place(const struct gt_blocks *blocks)
{
	size_t at =
		blocks->face->rank * blocks->count *
		gt_dtype_bytes((enum gt_dtype)gt_values_dtype(blocks->type));

	if (blocks->root != (int)blocks->face->rank)
		return 0;
	return blocks->root_sends ? blocks->output == blocks->input + at
				  : blocks->input == blocks->output + at;
}

/* All blocks that leave this rank for its peers, or reach it from them. */
static gt_nccl_result gt_blocks_move(const struct gt_blocks *blocks,
				     enum gt_backend_kind kind)
{
	int sends = kind == GT_BACKEND_SEND, root = blocks->root;
	uint32_t me = blocks->face->rank;
	gt_nccl_result rc = GT_NCCL_SUCCESS;

	/* One block, to or from the root. */
	if (root >= 0 && sends != blocks->root_sends)
		return gt_blocks_is_in_place(blocks)
			       ? rc
			       : gt_blocks_message(blocks, kind, (uint32_t)root,
						   0);
	if (root >= 0 && root != (int)me)
		return rc;
	for (uint32_t r = 0; !rc && r < blocks->face->size; r++)
		if (r != me || !gt_blocks_is_in_place(blocks))
			rc = gt_blocks_message(blocks, kind, r, r);
	return rc;
}

static gt_nccl_result gt_blocks_check(const struct gt_blocks *blocks)
{
	const struct gt_face *face = blocks->face;
	int dtype = gt_values_dtype(blocks->type), me = (int)face->rank;
	int is_root = blocks->root < 0 || blocks->root == me;
	int sends = is_root || !blocks->root_sends;
	int gets = is_root || blocks->root_sends;
	uint64_t bytes;

	if (dtype < 0 || blocks->root >= (int)face->size || blocks->root < -1)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: type '%d', root '%d'", blocks->name,
				    blocks->type, blocks->root);
	if (__builtin_mul_overflow(blocks->count, face->size, &bytes) ||
	    __builtin_mul_overflow(bytes, gt_dtype_bytes((enum gt_dtype)dtype),
				   &bytes) ||
	    bytes > INT64_MAX >> 8)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: a count of %zu is too much",
				    blocks->name, blocks->count);
	if (blocks->count &&
	    ((sends && !blocks->input) || (gets && !blocks->output)))
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: a buffer is NULL", blocks->name);
	return GT_NCCL_SUCCESS;
}

static gt_nccl_result gt_blocks_call(struct gt_blocks *blocks,
				     gt_nccl_comm comm)
{
	gt_nccl_result rc;

	gt_group_open();
	rc = gt_face_get_ready(comm, blocks->name, &blocks->face);
	if (rc)
		return gt_group_return(rc, blocks->name);
	rc = gt_blocks_check(blocks);
	if (!rc && blocks->count)
		rc = gt_blocks_move(blocks, GT_BACKEND_SEND);
	if (!rc && blocks->count)
		rc = gt_blocks_move(blocks, GT_BACKEND_RECV);
	gt_face_put(blocks->face);
	return gt_group_return(rc, blocks->name);
}

#define GT_BLOCKS(NAME, ...)                                                   \
	&(struct gt_blocks)                                                    \
	{                                                                      \
		.name = NAME, .input = in, .output = out, .count = count,      \
		.type = type, .stream = stream, __VA_ARGS__                    \
	}

GT_NCCL_API(gt_nccl_result, ncclAlltoAll, const void *in, void *out,
	    size_t count, gt_nccl_type type, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	return gt_blocks_call(GT_BLOCKS("ncclAlltoAll", .root = -1), comm);
}

GT_NCCL_API(gt_nccl_result, ncclGather, const void *in, void *out, size_t count,
	    gt_nccl_type type, int root, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	if (root < 0)
		return gt_group_refuse_call(
			gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				     "ncclGather: root '%d'", root),
			"ncclGather");
	return gt_blocks_call(GT_BLOCKS("ncclGather", .root = root), comm);
}

GT_NCCL_API(gt_nccl_result, ncclScatter, const void *in, void *out,
	    size_t count, gt_nccl_type type, int root, gt_nccl_comm comm,
	    gt_nccl_stream stream)
{
	if (root < 0)
		return gt_group_refuse_call(
			gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				     "ncclScatter: root '%d'", root),
			"ncclScatter");
	return gt_blocks_call(
		GT_BLOCKS("ncclScatter", .root = root, .root_sends = 1), comm);
}
