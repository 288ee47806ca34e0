/* What a thread's group holds, and how it starts. */
#include "nccl/group.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/thread.h"
#include "nccl/launch.h"
#include "nccl/say.h"

/*
 * What one thread puts on one GPU before it comes to the next, in whatever
 * communicators, must fit in the queue that a GPU has, of some thousand
 * commands: it would wait there for ranks that it has not come to.  From either
 * of these on, each GPU has a thread.
 */
enum { GT_GROUP_ALONE_OPS = 32, GT_GROUP_ALONE_BYTES = 64 << 20 };

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

static void gt_group_ops_free(struct gt_group_op **ops)
{
	struct gt_group_op *op;

	while ((op = *ops)) {
		*ops = op->next;
		gt_face_put(op->face);
		free(op);
	}
}

static void gt_group_drop(struct gt_group *group)
{
	gt_tasks_drop(group->tasks);
	gt_tasks_drop(group->ends);
	gt_group_ops_free(&group->ops);
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

/*
 * One rank's operations in one communicator.  Those of a GPU stay in their
 * order, which has to be the same everywhere; where ranks of a communicator
 * share it, those of parts that have a stream in common do.
 */
struct gt_group_part {
	struct gt_group_part *next;
	struct gt_group_part *lead; /* the first of those that keep an order */
	struct gt_group_op *ops;
	uint32_t n;
	int device;
	const char *call;
	gt_nccl_result result;
	char why[GT_FACE_TEXT_MAX]; /* of a failure in another thread */
	pthread_t thread;
	int has_thread;
};

static void gt_group_part_do(struct gt_group_part *part,
			     gt_nccl_result (*what)(struct gt_face *,
						    const struct gt_launch_op *,
						    uint32_t, const char *))
{
	struct gt_launch_op *ops = calloc(part->n, sizeof(*ops));
	uint32_t i = 0;

	for (struct gt_group_op *op = part->ops; ops && op; op = op->next)
		ops[i++] = op->what;
	part->result =
		ops ? what(part->ops->face, ops, part->n, part->call)
		    : gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");
	free(ops);
}

static void gt_group_part_launch(struct gt_group_part *part)
{
	gt_group_part_do(part, gt_launch);
	gt_group_ops_free(&part->ops);
}

static int gt_group_part_is_like(const struct gt_group_part *a,
				 const struct gt_group_part *b)
{
	return a->lead == b->lead;
}

/* Launch the part and those that have to follow it. */
static void gt_group_part_follow(struct gt_group_part *first)
{
	struct gt_group_part *part;

	for (part = first; part; part = part->next) {
		if (!gt_group_part_is_like(first, part))
			continue;
		gt_group_part_launch(part);
		if (part->result)
			snprintf(part->why, sizeof(part->why), "%s",
				 gt_say_last());
	}
}

static void *gt_group_part_main(void *arg)
{
	struct gt_group_part *first = arg;
	const struct gt_face *face = first->ops->face;

	/* To go back to a device that nobody uses would open it. */
	face->cuda->use_device(face->device);
	gt_group_part_follow(first);
	return NULL;
}

static uint64_t gt_group_op_bytes(const struct gt_group_op *op)
{
	const struct gt_backend_op *what = &op->what.op;
	uint64_t bytes = what->count * gt_dtype_bytes(what->dtype);

	return what->kind == GT_BACKEND_ALLGATHER ||
			       what->kind == GT_BACKEND_REDUCESCATTER
		       ? bytes * op->face->size
		       : bytes;
}

/* Is it more than fits in that GPU's queue, in all communicators together? */
static int gt_group_is_large(const struct gt_group_part *parts,
			     const struct gt_group_part *of)
{
	uint64_t left = GT_GROUP_ALONE_BYTES, bytes;
	uint32_t n = 0;

	for (const struct gt_group_part *at = parts; at; at = at->next) {
		if (!gt_group_part_is_like(at, of))
			continue;
		n += at->n;
		for (const struct gt_group_op *op = at->ops; op;
		     op = op->next) {
			bytes = gt_group_op_bytes(op);
			if (bytes >= left)
				return 1;
			left -= bytes;
		}
	}
	return n >= GT_GROUP_ALONE_OPS;
}

/* Another thread has another stream of that name. */
static int gt_group_part_is_bound(const struct gt_group_part *part)
{
	const void *own = part->ops->face->cuda->own_stream;

	for (const struct gt_group_op *op = part->ops; op; op = op->next)
		if (own && op->what.stream == own)
			return 1;
	return 0;
}

/* Are there several GPUs, of which one could keep the thread? */
static int gt_group_wants_threads(const struct gt_group_part *parts)
{
	int several = 0, large = 0, bound = 0;

	for (const struct gt_group_part *at = parts; at; at = at->next) {
		several |= !gt_group_part_is_like(parts, at);
		large |= gt_group_is_large(parts, at);
		bound |= gt_group_part_is_bound(at);
	}
	return several && large && !bound;
}

/* Is there no part before it that it has to follow? */
static int gt_group_part_leads(const struct gt_group_part *part)
{
	return part->lead == part;
}

/* A thread that cannot be had is one that the caller stands in for. */
static void gt_group_parts_start(struct gt_group_part *parts)
{
	struct gt_group_part *part;
	struct gt_err err;

	gt_err_init(&err);
	for (part = parts; part; part = part->next)
		part->has_thread =
			gt_group_part_leads(part) &&
			!gt_thread_start(&part->thread, gt_group_part_main,
					 part, &err);
	for (part = parts; err.code && part; part = part->next)
		if (!part->has_thread && gt_group_part_leads(part))
			gt_group_part_follow(part);
	for (part = parts; part; part = part->next)
		if (part->has_thread)
			pthread_join(part->thread, NULL);
	for (part = parts; part; part = part->next)
		if (part->result)
			gt_say_error(part->result, "%s", part->why);
}

static int gt_group_part_is_on(const struct gt_group_part *part,
			       const void *stream)
{
	const struct gt_group_op *op = part->ops;

	while (op && op->what.stream != stream)
		op = op->next;
	return op != NULL;
}

/* Have they a stream in common?  Most have one for all they do. */
static int gt_group_parts_share_stream(const struct gt_group_part *a,
				       const struct gt_group_part *b)
{
	const struct gt_group_op *before = NULL;

	for (const struct gt_group_op *op = a->ops; op;
	     before = op, op = op->next)
		if ((!before || before->what.stream != op->what.stream) &&
		    gt_group_part_is_on(b, op->what.stream))
			return 1;
	return 0;
}

/* Those that one of two leads are led by the one that comes first. */
static void gt_group_leads_merge(struct gt_group_part *parts,
				 struct gt_group_part *a,
				 struct gt_group_part *b)
{
	struct gt_group_part *first = parts, *other;

	while (first != a && first != b)
		first = first->next;
	other = first == a ? b : a;
	for (struct gt_group_part *at = parts; at; at = at->next)
		if (at->lead == other)
			at->lead = first;
}

/* Find which parts keep an order: those of a GPU, or of streams of it. */
static void gt_group_find_leads(struct gt_group_part *parts, int by_stream)
{
	struct gt_group_part *part, *at;

	for (part = parts; part; part = part->next) {
		part->lead = part;
		for (at = parts; at != part; at = at->next)
			if (at->device == part->device &&
			    at->lead != part->lead &&
			    (!by_stream ||
			     gt_group_parts_share_stream(at, part)))
				gt_group_leads_merge(parts, at->lead,
						     part->lead);
	}
}

/* Divide the operations by rank; 0: memory ran out, and some are left. */
static int gt_group_divide(struct gt_group *group, const char *call,
			   struct gt_group_part **parts)
{
	struct gt_group_part **last = parts, *part;
	struct gt_face *face;
	int shares = 0;

	/* One rule for all, or what is on one stream has no order. */
	for (struct gt_group_op *op = group->ops; op; op = op->next)
		shares |= op->face->shares_gpu;
	while (group->ops && (part = calloc(1, sizeof(*part)))) {
		part->n = gt_group_take(group, &part->ops);
		face = part->ops->face;
		part->call = call;
		part->device = face->device;
		*last = part;
		last = &part->next;
	}
	gt_group_find_leads(*parts, shares);
	return !group->ops;
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

/* May they all be launched?  One alone is seen when it is. */
static gt_nccl_result gt_group_may(struct gt_group_part *parts)
{
	int several = parts && (parts->next || parts->n > 1);

	for (struct gt_group_part *part = parts; part; part = part->next) {
		gt_group_part_do(part, gt_launch_may);
		if (!part->result && several)
			gt_group_part_do(part, gt_launch_may_on);
		if (part->result)
			return part->result;
	}
	return GT_NCCL_SUCCESS;
}

/* Launch all ranks' operations. */
static gt_nccl_result gt_group_launch(struct gt_group *group, const char *call)
{
	struct gt_group_part *parts = NULL, *part;
	gt_nccl_result rc = GT_NCCL_SUCCESS;

	if (!gt_group_divide(group, call, &parts))
		rc = gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");
	if (!rc)
		rc = gt_group_may(parts);
	if (!rc && gt_group_wants_threads(parts))
		gt_group_parts_start(parts);
	else
		for (part = parts; !rc && part; part = part->next)
			gt_group_part_launch(part);
	gt_group_ops_free(&group->ops);
	while ((part = parts)) {
		parts = part->next;
		rc = gt_group_add_up(rc, part->result);
		gt_group_ops_free(&part->ops);
		free(part);
	}
	return rc;
}

/* What is finalized in the group has its operations done first. */
static gt_nccl_result gt_group_run(struct gt_group *group, const char *call)
{
	gt_nccl_result rc = gt_tasks_run(group->tasks);

	group->tasks = NULL;
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

gt_nccl_result gt_group_refuse_call(gt_nccl_result result, const char *call)
{
	gt_group_open();
	return gt_group_return(result, call);
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
