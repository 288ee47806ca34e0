/*
 * ABI: operators that programs make, memory, and what they tell of it.
 *
 * Registering is local and remembers nothing yet, since nothing has to be
 * registered; what is asked for is a hint.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "nccl/group.h"
#include "nccl/say.h"
#include "nccl/values.h"

/* A free entry of the table, or NULL when memory ran out. */
static struct gt_face_premul *gt_premul_new(struct gt_face *face)
{
	struct gt_face_premul *more;
	uint32_t i = 0;

	while (i < face->npremuls && face->premuls[i].used)
		i++;
	if (i < face->npremuls)
		return &face->premuls[i];
	more = gt_vec_grow(face->premuls, i, &face->premul_room, sizeof(*more));
	if (!more)
		return NULL;
	face->premuls = more;
	face->npremuls++;
	return &face->premuls[i];
}

GT_NCCL_API(gt_nccl_result, ncclRedOpCreatePreMulSum, gt_nccl_op *op,
	    void *scalar, gt_nccl_type type, int residence, gt_nccl_comm comm)
{
	static const char call[] = "ncclRedOpCreatePreMulSum";
	int dtype = gt_values_dtype(type);
	struct gt_face_premul made = {.used = 1}, *to;
	struct gt_face *face;
	struct gt_err err;
	gt_nccl_result rc;

	if (!op || !scalar || dtype < 0 ||
	    (residence != GT_NCCL_SCALAR_DEVICE &&
	     residence != GT_NCCL_SCALAR_HOST))
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: type '%d', residence '%d'", call, type,
				    residence);
	rc = gt_face_get_ready(comm, call, &face);
	if (rc)
		return rc;
	gt_err_init(&err);
	if (face->ops->prepare_premul(face->comm, &err)) {
		gt_face_put(face);
		return gt_say_err(call, &err);
	}
	made.dtype = (enum gt_dtype)dtype;
	if (residence == GT_NCCL_SCALAR_HOST)
		memcpy(&made.scalar.bits, scalar, gt_dtype_bytes(made.dtype));
	else
		made.scalar.at = scalar;
	pthread_mutex_lock(&face->mutex);
	to = gt_premul_new(face);
	if (to) {
		*to = made;
		*op = GT_NCCL_OPS + (int)(to - face->premuls);
	}
	pthread_mutex_unlock(&face->mutex);
	gt_face_put(face);
	return to ? GT_NCCL_SUCCESS
		  : gt_say_error(GT_NCCL_SYSTEM_ERROR, "%s: out of memory",
				 call);
}

/* Calls have copies, so it may end before they are done. */
GT_NCCL_API(gt_nccl_result, ncclRedOpDestroy, gt_nccl_op op, gt_nccl_comm comm)
{
	int i = op < GT_NCCL_OPS ? -1 : op - GT_NCCL_OPS, used = 0;
	struct gt_face *face;
	gt_nccl_result rc = gt_face_get(comm, "ncclRedOpDestroy", &face);

	if (rc)
		return rc;
	pthread_mutex_lock(&face->mutex);
	if (i >= 0 && (uint32_t)i < face->npremuls) {
		used = face->premuls[i].used;
		face->premuls[i].used = 0;
	}
	pthread_mutex_unlock(&face->mutex);
	gt_face_put(face);
	return used ? GT_NCCL_SUCCESS
		    : gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				   "ncclRedOpDestroy: operator '%d' was not "
				   "made with this communicator",
				   op);
}

GT_NCCL_API(gt_nccl_result, ncclMemAlloc, void **memory, size_t bytes)
{
	const struct gt_cuda *cuda = gt_cuda_table();
	int rc;

	if (!memory)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclMemAlloc: there is no place for the "
				    "address");
	*memory = NULL;
	if (!bytes)
		return GT_NCCL_SUCCESS;
	if (!cuda)
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "ncclMemAlloc: gtopo was built without "
				    "CUDA");
	rc = cuda->memory_new(memory, bytes);
	return rc ? gt_say_error(GT_NCCL_CUDA_ERROR, "ncclMemAlloc: %s",
				 cuda->words(rc))
		  : GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclMemFree, void *memory)
{
	const struct gt_cuda *cuda = gt_cuda_table();
	int rc;

	if (!memory || !cuda)
		return GT_NCCL_SUCCESS;
	rc = cuda->memory_free(memory);
	return rc ? gt_say_error(GT_NCCL_CUDA_ERROR, "ncclMemFree: %s",
				 cuda->words(rc))
		  : GT_NCCL_SUCCESS;
}

/* The answer to a call that has nothing to do but with a communicator. */
static gt_nccl_result gt_api_with(gt_nccl_comm comm, const char *call)
{
	struct gt_face *face;
	gt_nccl_result rc = gt_face_get(comm, call, &face);

	if (!rc)
		gt_face_put(face);
	return rc;
}

/*
 * Programs call it for all memory they get, from whatever thread gets it, with
 * their locks held: it may ask nobody.
 */
GT_NCCL_API(gt_nccl_result, ncclCommRegister, gt_nccl_comm comm, void *buffer,
	    size_t bytes, void **handle)
{
	gt_nccl_result rc = gt_api_with(comm, "ncclCommRegister");

	(void)bytes;
	if (!rc && handle)
		*handle = buffer;
	return rc;
}

GT_NCCL_API(gt_nccl_result, ncclCommDeregister, gt_nccl_comm comm, void *handle)
{
	return handle ? gt_api_with(comm, "ncclCommDeregister")
		      : GT_NCCL_SUCCESS;
}

/* No window says, as NCCL does, that there is no symmetric memory here. */
GT_NCCL_API(gt_nccl_result, ncclCommWindowRegister, gt_nccl_comm comm,
	    void *buffer, size_t bytes, void **window, int flags)
{
	gt_nccl_result rc = gt_api_with(comm, "ncclCommWindowRegister");

	(void)buffer;
	(void)bytes;
	(void)flags;
	if (!rc && window)
		*window = NULL;
	return rc;
}

GT_NCCL_API(gt_nccl_result, ncclCommWindowDeregister, gt_nccl_comm comm,
	    void *window)
{
	return window ? gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				     "ncclCommWindowDeregister: the window is "
				     "none of gtopo's")
		      : gt_api_with(comm, "ncclCommWindowDeregister");
}
