/* What a thread's group holds, and how it starts. */
#include "nccl/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "nccl/launch.h"
#include "nccl/say.h"

/* An operation that waits for the end of the group. */
struct gt_group_op {
	struct gt_group_op *next;
	struct gt_face *face; /* a reference */
	struct gt_launch_op what;
};

struct gt_group {
	int depth;
	gt_nccl_result refused; /* why none of it starts */
	struct gt_task *tasks, **last_task;
	struct gt_task *ends, **last_end; /* behind the operations */
	struct gt_group_op *ops, **last_op;
};

/* NCCL's ABI has groups of the thread, not of a communicator. */
static _Thread_local struct gt_group gt_group;

void gt_group_open(void)
{
	struct gt_group *group = &gt_group;

	if (group->depth++)
		return;
	group->refused = GT_NCCL_SUCCESS;
	group->tasks = NULL;
	group->last_task = &group->tasks;
	group->ends = NULL;
	group->last_end = &group->ends;
	group->ops = NULL;
	group->last_op = &group->ops;
}

gt_nccl_result gt_group_refuse(gt_nccl_result result)
{
	if (!gt_group.refused)
		gt_group.refused = result;
	return result;
}

void gt_group_add_task(struct gt_task *task)
{
	struct gt_task ***last = task->kind == GT_TASK_FINALIZE
					 ? &gt_group.last_end
					 : &gt_group.last_task;

	task->next = NULL;
	**last = task;
	*last = &task->next;
}

gt_nccl_result gt_group_add_op(struct gt_face *face,
			       const struct gt_backend_op *op, void *stream)
{
	struct gt_group_op *add = calloc(1, sizeof(*add));

	if (!add) {
		gt_face_put(face);
		return gt_group_refuse(
			gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory"));
	}
	add->face = face;
	add->what.op = *op;
	add->what.stream = stream;
	*gt_group.last_op = add;
	gt_group.last_op = &add->next;
	return GT_NCCL_SUCCESS;
}

static void gt_group_drop(struct gt_group *group)
{
	struct gt_group_op *op;

	gt_tasks_drop(group->tasks);
	gt_tasks_drop(group->ends);
	while ((op = group->ops)) {
		group->ops = op->next;
		gt_face_put(op->face);
		free(op);
	}
	group->tasks = group->ends = NULL;
}

/* Move all operations of the first one's face to `list`; how many. */
static uint32_t gt_group_take(struct gt_group *group, struct gt_group_op **list)
{
	struct gt_group_op **at = &group->ops, **last = list, *op;
	const struct gt_face *face = group->ops->face;
	uint32_t n = 0;

	while ((op = *at))
		if (op->face == face) {
			*at = op->next;
			*last = op;
			last = &op->next;
			n++;
		} else {
			at = &op->next;
		}
	*last = NULL;
	return n;
}

static gt_nccl_result gt_group_launch(struct gt_group *group, const char *call)
{
	struct gt_group_op *list, *op;
	uint32_t n = gt_group_take(group, &list), i = 0;
	struct gt_launch_op *ops = calloc(n, sizeof(*ops));
	gt_nccl_result rc =
		ops ? GT_NCCL_SUCCESS
		    : gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");

	for (op = list; ops && op; op = op->next)
		ops[i++] = op->what;
	if (ops)
		rc = gt_launch(list->face, ops, n, call);
	free(ops);
	while ((op = list)) {
		list = op->next;
		gt_face_put(op->face);
		free(op);
	}
	return rc;
}

/* Communicators that block and such that do not cannot be in one group. */
static gt_nccl_result gt_group_check(const struct gt_group *group,
				     const char *call)
{
	int blocks = 0, others = 0;

	for (const struct gt_task *task = group->tasks; task; task = task->next)
		*(task->blocking ? &blocks : &others) = 1;
	for (const struct gt_task *task = group->ends; task; task = task->next)
		*(task->blocking ? &blocks : &others) = 1;
	for (const struct gt_group_op *op = group->ops; op; op = op->next)
		*(gt_config_is_blocking(&op->face->config) ? &blocks
							   : &others) = 1;
	return blocks && others ? gt_say_error(GT_NCCL_INVALID_USAGE,
					       "%s: blocking and non-blocking "
					       "communicators are in one group",
					       call)
				: GT_NCCL_SUCCESS;
}

/* The first failure, or that something is in progress, is a group's result. */
static gt_nccl_result gt_group_add_up(gt_nccl_result one, gt_nccl_result other)
{
	return other && (!one || one == GT_NCCL_IN_PROGRESS) ? other : one;
}

/* What is finalized in the group has its operations done first. */
static gt_nccl_result gt_group_run(struct gt_group *group, const char *call)
{
	gt_nccl_result rc = gt_tasks_run(group->tasks);

	group->tasks = NULL;
	while (group->ops)
		rc = gt_group_add_up(rc, gt_group_launch(group, call));
	rc = gt_group_add_up(rc, gt_tasks_run(group->ends));
	group->ends = NULL;
	return rc;
}

gt_nccl_result gt_group_close(const char *call)
{
	struct gt_group *group = &gt_group;
	gt_nccl_result rc;

	if (!group->depth)
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "%s: there is no group to end", call);
	if (--group->depth)
		return GT_NCCL_SUCCESS;
	rc = group->refused ? group->refused : gt_group_check(group, call);
	if (rc) {
		gt_group_drop(group);
		return rc;
	}
	return gt_group_run(group, call);
}

gt_nccl_result gt_group_return(gt_nccl_result result, const char *call)
{
	if (!result)
		return gt_group_close(call);
	gt_group_refuse(result);
	gt_group_close(call);
	return result;
}

gt_nccl_result gt_group_cancel(const char *call)
{
	if (!gt_group.depth)
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "%s: there is no group to end", call);
	if (!--gt_group.depth)
		gt_group_drop(&gt_group);
	return GT_NCCL_SUCCESS;
}
