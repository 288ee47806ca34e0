/* ABI: communicators are asked, finalized, destroyed and aborted. */
#include <stdlib.h>

#include "nccl/group.h"
#include "nccl/say.h"

static gt_nccl_result gt_api_ask(gt_nccl_comm comm, int *out, const char *call,
				 int (*what)(const struct gt_face *face))
{
	struct gt_face *face;
	gt_nccl_result rc;

	if (!out)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: there is no place for the answer",
				    call);
	rc = gt_face_get(comm, call, &face);
	if (rc)
		return rc;
	*out = what(face);
	gt_face_put(face);
	return GT_NCCL_SUCCESS;
}

static int gt_api_size(const struct gt_face *face)
{
	return (int)face->size;
}

static int gt_api_rank(const struct gt_face *face)
{
	return (int)face->rank;
}

static int gt_api_device(const struct gt_face *face)
{
	return face->device;
}

GT_NCCL_API(gt_nccl_result, ncclCommCount, gt_nccl_comm comm, int *count)
{
	return gt_api_ask(comm, count, "ncclCommCount", gt_api_size);
}

GT_NCCL_API(gt_nccl_result, ncclCommUserRank, gt_nccl_comm comm, int *rank)
{
	return gt_api_ask(comm, rank, "ncclCommUserRank", gt_api_rank);
}

GT_NCCL_API(gt_nccl_result, ncclCommCuDevice, gt_nccl_comm comm, int *device)
{
	return gt_api_ask(comm, device, "ncclCommCuDevice", gt_api_device);
}

GT_NCCL_API(gt_nccl_result, ncclCommGetAsyncError, gt_nccl_comm comm,
	    gt_nccl_result *state)
{
	struct gt_face *face;
	gt_nccl_result rc;

	if (!state)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclCommGetAsyncError: there is no place "
				    "for the answer");
	rc = gt_face_get(comm, "ncclCommGetAsyncError", &face);
	if (rc)
		return rc;
	*state = gt_face_state(face);
	gt_face_put(face);
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclCommFinalize, gt_nccl_comm comm)
{
	static const char call[] = "ncclCommFinalize";
	struct gt_task *task;
	struct gt_face *face;
	gt_nccl_result rc;

	if (!comm)
		return GT_NCCL_SUCCESS;
	gt_group_open();
	rc = gt_face_get_ready(comm, call, &face);
	task = rc ? NULL : calloc(1, sizeof(*task));
	if (!rc && !task) {
		gt_face_put(face);
		rc = gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");
	}
	if (!rc) {
		*task = (struct gt_task){
			.kind = GT_TASK_FINALIZE,
			.call = call,
			.face = face,
			.blocking = gt_config_is_blocking(&face->config)};
		gt_group_add_task(task);
	}
	return gt_group_return(rc, call);
}

/*
 * Operations that are on streams go on, and the last of them closes.  So this
 * waits for nobody, in whatever order ranks and communicators are destroyed.
 */
GT_NCCL_API(gt_nccl_result, ncclCommDestroy, gt_nccl_comm comm)
{
	struct gt_face *face;
	gt_nccl_result rc;

	if (!comm)
		return GT_NCCL_SUCCESS;
	rc = gt_face_get(comm, "ncclCommDestroy", &face);
	if (rc)
		return rc;
	/* While it is being made there is nothing to wait for. */
	if (atomic_load(&face->state) == GT_NCCL_IN_PROGRESS)
		gt_face_abort(face);
	gt_face_retire(comm);
	gt_face_put(face);
	return GT_NCCL_SUCCESS;
}

/* Splits and shrinks may follow, and the end. */
GT_NCCL_API(gt_nccl_result, ncclCommRevoke, gt_nccl_comm comm, int flags)
{
	static const char call[] = "ncclCommRevoke";
	struct gt_face *face;
	gt_nccl_result rc;

	if (!comm)
		return GT_NCCL_SUCCESS;
	if (flags)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: flags '%d'",
				    call, flags);
	rc = gt_face_get_parent(comm, call, 1, &face);
	if (rc)
		return rc;
	gt_face_revoke(face);
	gt_face_put(face);
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclCommAbort, gt_nccl_comm comm)
{
	struct gt_face *face;
	gt_nccl_result rc;

	if (!comm)
		return GT_NCCL_SUCCESS;
	rc = gt_face_get(comm, "ncclCommAbort", &face);
	if (rc)
		return rc;
	gt_face_abort(face);
	gt_face_retire(comm);
	gt_face_put(face);
	return GT_NCCL_SUCCESS;
}
