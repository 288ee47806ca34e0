/* How a face gets its team and its backend: by a thread that may wait. */
#include "nccl/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/thread.h"
#include "nccl/say.h"
#include "nccl/team.h"
#include "nccl/uid.h"

/* As in NCCL, a variable comes before what the program says. */
static int32_t gt_task_max_ctas(const struct gt_face *face)
{
	const char *text = getenv("NCCL_MAX_CTAS");
	long most = text ? strtol(text, NULL, 10) : 0;

	if (most <= 0 || most > INT32_MAX)
		most = face->config.max_ctas == GT_NCCL_UNDEFINED
			       ? 0
			       : face->config.max_ctas;
	return (int32_t)most;
}

/* What this rank tells the others of itself. */
static int gt_task_introduce(const struct gt_face *face,
			     struct gt_team_member *me, struct gt_err *err)
{
	int rc = face->cuda->use_device(face->device);

	memset(me, 0, sizeof(*me));
	gt_host_id_get(me->host);
	me->pid = (int32_t)getpid();
	me->device = face->device;
	me->max_ctas = gt_task_max_ctas(face);
	if (!rc)
		rc = face->cuda->bus_id(face->device, me->bus_id);
	return rc ? gt_err_set(err, GT_ESYS, NULL, "device %d: %s",
			       face->device, face->cuda->words(rc))
		  : GT_OK;
}

/*
 * GPUs that ranks of this team cannot have together.  All ranks see it alike,
 * so none has to tell the others.
 */
static int gt_task_check_gpus(const struct gt_team *team, struct gt_err *err)
{
	uint32_t one, other;

	if (!getenv("NCCL_MULTI_RANK_GPU_ENABLE") &&
	    gt_team_find_pair(team, &one, &other))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "Duplicate GPU detected: rank %u and rank "
				  "%u both have device %s",
				  one, other, team->members[one].bus_id);
	return GT_OK;
}

/* The team is there: make the backend's communicator. */
static int gt_task_equip(struct gt_face *face, struct gt_team *team,
			 struct gt_err *err)
{
	struct gt_backend_comm *comm;
	uint32_t one, other;
	int rc = gt_task_check_gpus(team, err);

	pthread_mutex_lock(&face->mutex);
	face->team = team;
	face->shares_gpu = gt_team_find_pair(team, &one, &other);
	pthread_mutex_unlock(&face->mutex);
	if (!rc)
		rc = face->ops->start(team, face->cuda, &comm, err);
	if (rc)
		return rc;
	atomic_store(&face->comm, comm);
	if (atomic_load(&face->stop))
		face->ops->abort(comm);
	return face->ops->await(comm, err);
}

/* Come by an id, as one of those that are told it; NULL: of no team before. */
static int gt_task_meet(struct gt_face *face, const gt_nccl_id *id,
			const struct gt_team *before, struct gt_err *err)
{
	struct gt_team_member me;
	struct gt_team *team;
	int rc = gt_task_introduce(face, &me, err);

	if (!rc)
		rc = gt_team_meet(id, face->rank, face->size, &me, before,
				  &face->stop, &team, err);
	else
		gt_uid_decline(id, face->rank, face->size, &face->stop,
			       err->text);
	return rc ? rc : gt_task_equip(face, team, err);
}

/* Splits of a parent have their rounds in the order in which they begin. */
static int gt_task_await_turn(struct gt_task *task, struct gt_err *err)
{
	struct gt_face *parent = task->face;
	int rc = GT_OK;

	pthread_mutex_lock(&parent->mutex);
	while (parent->nsplit_done != task->turn && !atomic_load(&parent->stop))
		pthread_cond_wait(&parent->changed, &parent->mutex);
	if (atomic_load(&parent->stop))
		rc = gt_err_set(err, GT_ESYS, NULL, "aborted");
	pthread_mutex_unlock(&parent->mutex);
	return rc;
}

static void gt_task_end_turn(struct gt_face *parent)
{
	pthread_mutex_lock(&parent->mutex);
	parent->nsplit_done++;
	pthread_cond_broadcast(&parent->changed);
	pthread_mutex_unlock(&parent->mutex);
}

/* While it is made, an abort of the parent ends it as well. */
static void gt_task_adopt(struct gt_face *parent, struct gt_face *child)
{
	pthread_mutex_lock(&parent->mutex);
	child->sister = parent->child;
	parent->child = child;
	if (atomic_load(&parent->stop))
		atomic_store(&child->stop, 1);
	pthread_mutex_unlock(&parent->mutex);
}

static void gt_task_part(struct gt_face *parent, struct gt_face *child)
{
	struct gt_face **at = &parent->child;

	pthread_mutex_lock(&parent->mutex);
	while (*at != child)
		at = &(*at)->sister;
	*at = child->sister;
	pthread_mutex_unlock(&parent->mutex);
}

static int gt_task_join(struct gt_task *task, struct gt_team_seat *seat,
			struct gt_err *err)
{
	struct gt_face *child = task->made;
	struct gt_team_member me;
	struct gt_team *team = NULL;
	int rc = gt_task_introduce(child, &me, err);

	gt_task_adopt(task->face, child);
	if (!rc)
		rc = gt_team_enter(seat, &me, &child->stop, &team, err);
	else
		gt_team_stay_out(seat, err->text);
	if (!rc) {
		child->rank = team->rank;
		child->size = team->size;
		rc = gt_task_equip(child, team, err);
	}
	gt_task_part(task->face, child);
	return rc;
}

static int gt_task_split(struct gt_task *task, struct gt_err *err)
{
	const struct gt_team_wish wish = {task->colour, task->key};
	struct gt_team_seat *seat;
	int rc = gt_task_await_turn(task, err);

	if (rc)
		return rc;
	rc = gt_team_split(task->face->team, &wish, &seat, err);
	gt_task_end_turn(task->face);
	if (rc)
		return rc;
	if (task->made)
		return gt_task_join(task, seat, err);
	gt_team_stay_out(seat, NULL);
	return GT_OK;
}

/*
 * Only those that are left come, and what hangs has ended before.  The turn
 * ends when it is known whether the parent's next one is another one.
 */
static int gt_task_shrink(struct gt_task *task, struct gt_err *err)
{
	struct gt_face *parent = task->face, *child = task->made;
	struct gt_team_member me;
	struct gt_team *team = NULL;
	int rc;

	gt_task_adopt(parent, child);
	if (task->aborts)
		parent->ops->abort(parent->comm);
	rc = gt_task_await_turn(task, err);
	if (!rc)
		rc = gt_task_introduce(child, &me, err);
	if (!rc)
		rc = gt_team_shrink(parent->team, task->excluded, &me,
				    &child->stop, &team, err);
	if (!rc) {
		child->rank = team->rank;
		child->size = team->size;
		rc = gt_task_equip(child, team, err);
		if (!rc)
			rc = gt_team_conclude(team, err);
		if (rc)
			gt_team_take_back(parent->team, team);
	}
	gt_task_end_turn(parent);
	gt_task_part(parent, child);
	return rc;
}

/*
 * Those of the parent tell each other the id, and come by it as the new ranks
 * do, who wait for them there.
 */
static int gt_task_grow(struct gt_task *task, struct gt_err *err)
{
	struct gt_face *parent = task->face, *child = task->made;
	struct gt_face_invitation invitation;
	int invites = gt_face_take_invitation(parent, &invitation);
	int rc = gt_task_await_turn(task, err);

	child->rank = parent->rank;
	child->size = task->size;
	if (!rc) {
		rc = gt_team_tell_id(parent->team,
				     invites ? &invitation.told : NULL,
				     &task->id, err);
		gt_task_end_turn(parent);
	}
	gt_task_adopt(parent, child);
	if (!rc)
		rc = gt_task_meet(child, &task->id, parent->team, err);
	else if (invites)
		gt_uid_decline(&invitation.id, child->rank, child->size,
			       &child->stop, err->text);
	gt_task_part(parent, child);
	return rc;
}

static int gt_task_do(struct gt_task *task, struct gt_err *err)
{
	switch (task->kind) {
	case GT_TASK_MAKE:
		return gt_task_meet(task->face, &task->id, NULL, err);
	case GT_TASK_SPLIT:
		return gt_task_split(task, err);
	case GT_TASK_SHRINK:
		return gt_task_shrink(task, err);
	case GT_TASK_GROW:
		return gt_task_grow(task, err);
	case GT_TASK_FINALIZE:
		gt_face_drain(task->face);
	}
	return GT_OK;
}

static int gt_task_has_parent(const struct gt_task *task)
{
	return task->kind == GT_TASK_SPLIT || task->kind == GT_TASK_SHRINK ||
	       task->kind == GT_TASK_GROW;
}

/* What was made is the program's now, or gone if it was to wait for it. */
static void gt_task_deliver(struct gt_task *task)
{
	struct gt_face *made =
		task->kind == GT_TASK_MAKE ? task->face : task->made;

	if (!made || task->kind == GT_TASK_FINALIZE)
		return;
	if (task->result)
		gt_face_fail(made, task->result, task->why);
	else
		atomic_store(&made->state, GT_NCCL_SUCCESS);
	if (!task->result && !made->rank)
		gt_say_log(GT_SAY_INFO, "%s: %u ranks%s%s, %s, %s", task->call,
			   made->size, *made->name ? ", " : "", made->name,
			   made->cuda->name, made->ops->name);
	if (gt_task_has_parent(task))
		gt_face_publish(task->place,
				task->result ? NULL : task->handle);
	else if (task->result && task->blocking)
		gt_face_publish(task->place, NULL);
	if (task->result && (task->blocking || gt_task_has_parent(task)))
		gt_face_retire(task->handle);
}

/* Has a rank of its team gone, or said that it cannot go on? */
static int gt_task_has_lost(const struct gt_face *face)
{
	struct gt_err err;

	gt_err_init(&err);
	return face && face->team && face->team->world &&
	       gt_world_failed(face->team->world, &err);
}

/* Others may still wait for what has failed only here. */
static void gt_task_tell(const struct gt_task *task, const char *why)
{
	const struct gt_face *made =
		task->kind == GT_TASK_MAKE ? task->face : task->made;

	if (made && atomic_load(&made->comm) && made->team->world)
		gt_world_abort(made->team->world, why);
}

static void gt_task_free(struct gt_task *task)
{
	gt_face_put(task->face);
	if (task->made)
		gt_face_put(task->made);
	free(task->excluded);
	free(task);
}

/* The parent, or the one that is made itself, tells of a failure. */
static void *gt_task_main(void *arg)
{
	struct gt_task *task = arg;
	struct gt_err err;
	int rc, lost;

	gt_err_init(&err);
	rc = gt_task_do(task, &err);
	/* Whoever shrinks a communicator has lost some of its ranks before. */
	lost = rc == GT_ENO ||
	       (task->kind != GT_TASK_SHRINK && gt_task_has_lost(task->face)) ||
	       gt_task_has_lost(task->made);
	if (rc) {
		gt_err_words(&err, task->why, sizeof(task->why));
		task->result = rc == GT_EINPUT ? GT_NCCL_INVALID_USAGE
			       : lost          ? GT_NCCL_REMOTE_ERROR
					       : GT_NCCL_SYSTEM_ERROR;
		gt_task_tell(task, err.text);
	}
	gt_task_deliver(task);
	if (task->result && gt_task_has_parent(task) && !task->blocking)
		gt_face_fail(task->face, task->result, task->why);
	if (task->blocking)
		return NULL;
	atomic_fetch_sub(&task->face->pending, 1);
	gt_task_free(task);
	return NULL;
}

/*
 * What a communicator knows at once, in the order of the calls.  A task that is
 * dropped never comes here, so it leaves no gap between the turns of others.
 */
static void gt_task_begin(struct gt_task *task)
{
	struct gt_face *face = task->face;

	if (task->kind == GT_TASK_FINALIZE)
		atomic_store(&face->finalized, 1);
	if (!gt_task_has_parent(task))
		return;
	pthread_mutex_lock(&face->mutex);
	task->turn = face->nsplits++;
	pthread_mutex_unlock(&face->mutex);
}

/*
 * Without a thread of its own the caller does it, and a task that needs others
 * of the group waits for them in vain.  One that does not block ends itself:
 * then nobody looks at it any more.
 */
static void gt_task_start(struct gt_task *task)
{
	int blocking = task->blocking;
	pthread_t thread;
	struct gt_err err;

	gt_err_init(&err);
	if (!blocking)
		atomic_fetch_add(&task->face->pending, 1);
	if (gt_thread_start(&thread, gt_task_main, task, &err))
		gt_task_main(task);
	else if (!blocking)
		pthread_detach(thread);
	else
		task->thread = thread;
	if (blocking)
		task->has_thread = !err.code;
}

gt_nccl_result gt_tasks_run(struct gt_task *tasks)
{
	gt_nccl_result result = GT_NCCL_SUCCESS;
	struct gt_task *task, *next, *waits = NULL, **last = &waits;

	for (task = tasks; task; task = next) {
		int blocking = task->blocking;

		next = task->next;
		task->next = NULL;
		gt_task_begin(task);
		gt_task_start(task);
		if (blocking) {
			*last = task;
			last = &task->next;
		} else {
			result = GT_NCCL_IN_PROGRESS;
		}
	}
	for (task = waits; task; task = next) {
		next = task->next;
		if (task->has_thread)
			pthread_join(task->thread, NULL);
		if (task->result && !result)
			result = gt_say_error(task->result, "%s: %s",
					      task->call, task->why);
		gt_task_free(task);
	}
	return result;
}

void gt_tasks_drop(struct gt_task *tasks)
{
	struct gt_task *next;

	for (; tasks; tasks = next) {
		next = tasks->next;
		if (tasks->place)
			gt_face_publish(tasks->place, NULL);
		if (tasks->handle)
			gt_face_retire(tasks->handle);
		gt_task_free(tasks);
	}
}
