/* ABI: communicators are made, split, shrunk and grown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "nccl/group.h"
#include "nccl/say.h"
#include "nccl/team.h"
#include "nccl/uid.h"

enum { GT_SHRINK_DEFAULT, GT_SHRINK_ABORT };

GT_NCCL_API(gt_nccl_result, ncclGetUniqueId, gt_nccl_id *id)
{
	struct gt_err err;

	if (!id)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclGetUniqueId: id is NULL");
	if (getenv("NCCL_COMM_ID"))
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "ncclGetUniqueId: gtopo knows no "
				    "NCCL_COMM_ID; tell the others the id "
				    "itself");
	gt_err_init(&err);
	return gt_uid_new(id, &err) ? gt_say_err("ncclGetUniqueId", &err)
				    : GT_NCCL_SUCCESS;
}

/* Add a rank that is to be made to the open group, and give its handle out. */
static gt_nccl_result gt_api_add_make(const struct gt_face_start *start,
				      const gt_nccl_id *id, gt_nccl_comm *place,
				      const char *call)
{
	struct gt_task *task = calloc(1, sizeof(*task));

	if (task)
		task->face = gt_face_new(start, &task->handle);
	if (!task || !task->face) {
		free(task);
		return gt_say_error(GT_NCCL_SYSTEM_ERROR, "%s: out of memory",
				    call);
	}
	/* The handle has one, and the task another. */
	gt_face_ref(task->face);
	task->kind = GT_TASK_MAKE;
	task->call = call;
	task->id = *id;
	task->blocking = gt_config_is_blocking(start->config);
	task->place = place;
	gt_face_publish(place, task->handle);
	gt_group_add_task(task);
	return GT_NCCL_SUCCESS;
}

/* The run-time and the device that the caller is on. */
static gt_nccl_result gt_api_find_device(struct gt_face_start *start,
					 const char *call)
{
	int rc;

	start->cuda = gt_cuda_table();
	if (!start->cuda)
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "%s: gtopo was built without CUDA", call);
	rc = start->cuda->device(&start->device);
	return rc ? gt_say_error(GT_NCCL_CUDA_ERROR, "%s: %s", call,
				 start->cuda->words(rc))
		  : GT_NCCL_SUCCESS;
}

static gt_nccl_result gt_api_make(gt_nccl_comm *comm, int size,
				  const gt_nccl_id *id, int rank,
				  const void *client)
{
	static const char call[] = "ncclCommInitRank";
	struct gt_face_start start = {.rank = (uint32_t)rank,
				      .size = (uint32_t)size};
	struct gt_config config;
	struct gt_err err;
	gt_nccl_result rc;

	if (!comm || size < 1 || rank < 0 || rank >= size)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: rank %d of %d%s", call, rank, size,
				    comm ? "" : ", comm is NULL");
	gt_err_init(&err);
	gt_config_init(&config);
	start.config = &config;
	if (gt_config_read(client, &config, &err))
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: %s", call,
				    err.text);
	rc = gt_api_find_device(&start, call);
	return rc ? rc : gt_api_add_make(&start, id, comm, call);
}

static gt_nccl_result gt_api_init(gt_nccl_comm *comm, int size,
				  const gt_nccl_id *id, int rank,
				  const void *config)
{
	static const _Atomic int never = 0;
	gt_nccl_result rc;

	gt_group_open();
	rc = gt_api_make(comm, size, id, rank, config);
	/* The program did nothing wrong, and other ranks wait for this one. */
	if (rc == GT_NCCL_SYSTEM_ERROR || rc == GT_NCCL_CUDA_ERROR)
		gt_uid_decline(id, (uint32_t)rank, (uint32_t)size, &never,
			       gt_say_last());
	if (rc && comm)
		*comm = NULL;
	return gt_group_return(rc, "ncclCommInitRank");
}

GT_NCCL_API(gt_nccl_result, ncclCommInitRank, gt_nccl_comm *comm, int size,
	    gt_nccl_id id, int rank)
{
	return gt_api_init(comm, size, &id, rank, NULL);
}

GT_NCCL_API(gt_nccl_result, ncclCommInitRankConfig, gt_nccl_comm *comm,
	    int size, gt_nccl_id id, int rank, void *config)
{
	return gt_api_init(comm, size, &id, rank, config);
}

/* One root serves all ranks well enough, so the first id is used. */
GT_NCCL_API(gt_nccl_result, ncclCommInitRankScalable, gt_nccl_comm *comm,
	    int size, int rank, int nids, gt_nccl_id *ids, void *config)
{
	static const char call[] = "ncclCommInitRankScalable";

	if (!ids || nids < 1 || nids > size)
		return gt_group_refuse_call(
			gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				     "%s: %d ids for %d ranks", call, nids,
				     size),
			call);
	return gt_api_init(comm, size, ids, rank, config);
}

static gt_nccl_result gt_api_check_devices(const struct gt_cuda *cuda, int n,
					   const int *devices)
{
	int count = 0, rc = cuda->devices(&count);

	if (rc)
		return gt_say_error(GT_NCCL_CUDA_ERROR, "ncclCommInitAll: %s",
				    cuda->words(rc));
	for (int i = 0; i < n; i++) {
		int device = devices ? devices[i] : i;

		if (device < 0 || device >= count)
			return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
					    "ncclCommInitAll: device %d of %d",
					    device, count);
		for (int k = 0; devices && k < i; k++)
			if (devices[k] == device)
				return gt_say_error(
					GT_NCCL_INVALID_USAGE,
					"ncclCommInitAll: device %d is there "
					"twice",
					device);
	}
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclCommInitAll, gt_nccl_comm *comms, int n,
	    const int *devices)
{
	struct gt_face_start start = {.size = (uint32_t)n};
	struct gt_config config;
	gt_nccl_result rc;
	gt_nccl_id id;

	if (!comms || n < 1)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "ncclCommInitAll: %d devices%s", n,
				    comms ? "" : ", comms is NULL");
	gt_config_init(&config);
	start.config = &config;
	rc = gt_api_find_device(&start, "ncclCommInitAll");
	if (!rc)
		rc = gt_api_check_devices(start.cuda, n, devices);
	if (!rc)
		rc = pncclGetUniqueId(&id);
	if (rc)
		return rc;
	gt_group_open();
	for (int i = 0; !rc && i < n; i++) {
		start.rank = (uint32_t)i;
		start.device = devices ? devices[i] : i;
		rc = gt_api_add_make(&start, &id, &comms[i], "ncclCommInitAll");
	}
	return gt_group_return(rc, "ncclCommInitAll");
}

/* What a parent's task makes, unless this rank wants to be in none. */
static gt_nccl_result gt_api_make_child(struct gt_task *task,
					const void *client)
{
	struct gt_face *parent = task->face;
	struct gt_config config = parent->config;
	struct gt_face_start start = {.size = parent->size,
				      .device = parent->device,
				      .cuda = parent->cuda,
				      .config = &config};
	struct gt_err err;

	gt_err_init(&err);
	config.name = *parent->name ? parent->name : NULL;
	if (gt_config_read(client, &config, &err))
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: %s",
				    task->call, err.text);
	/* All ranks agree on the parent's way, but each has its own config. */
	task->blocking = gt_config_is_blocking(&parent->config);
	if (task->colour < 0)
		return GT_NCCL_SUCCESS;
	task->made = gt_face_new(&start, &task->handle);
	if (!task->made)
		return gt_say_error(GT_NCCL_SYSTEM_ERROR, "%s: out of memory",
				    task->call);
	gt_face_ref(task->made);
	return GT_NCCL_SUCCESS;
}

static gt_nccl_result gt_api_add_child(struct gt_task *task, const void *client)
{
	gt_nccl_result rc = gt_api_make_child(task, client);

	if (rc) {
		gt_tasks_drop(task);
		return rc;
	}
	gt_group_add_task(task);
	return GT_NCCL_SUCCESS;
}

GT_NCCL_API(gt_nccl_result, ncclCommSplit, gt_nccl_comm comm, int colour,
	    int key, gt_nccl_comm *made, void *config)
{
	static const char call[] = "ncclCommSplit";
	struct gt_task *task = calloc(1, sizeof(*task));
	struct gt_face *parent;
	gt_nccl_result rc;

	gt_group_open();
	if (made)
		gt_face_publish(made, NULL);
	rc = task ? gt_face_get_parent(comm, call, 0, &parent)
		  : gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");
	if (!rc && (!made || (colour < 0 && colour != GT_NCCL_NO_COLOUR))) {
		gt_face_put(parent);
		rc = gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: colour '%d'%s",
				  call, colour,
				  made ? "" : ", newcomm is NULL");
	}
	if (!rc) {
		*task = (struct gt_task){.kind = GT_TASK_SPLIT,
					 .call = call,
					 .face = parent,
					 .place = made,
					 .colour = colour,
					 .key = key};
		rc = gt_api_add_child(task, config);
	} else {
		free(task);
	}
	return gt_group_return(rc, call);
}

/* Note which ranks the program excludes; this one is not among them. */
static gt_nccl_result gt_api_exclude(struct gt_task *task, const int *ranks,
				     int n)
{
	const struct gt_face *parent = task->face;

	task->excluded = calloc(parent->size, 1);
	if (!task->excluded)
		return gt_say_error(GT_NCCL_SYSTEM_ERROR, "%s: out of memory",
				    task->call);
	for (int i = 0; i < n; i++) {
		if (ranks[i] < 0 || (uint32_t)ranks[i] >= parent->size ||
		    (uint32_t)ranks[i] == parent->rank ||
		    task->excluded[ranks[i]])
			return gt_say_error(GT_NCCL_INVALID_ARGUMENT,
					    "%s: rank %u of %u cannot exclude "
					    "rank %d",
					    task->call, parent->rank,
					    parent->size, ranks[i]);
		task->excluded[ranks[i]] = 1;
	}
	return GT_NCCL_SUCCESS;
}

static gt_nccl_result gt_api_shrink(struct gt_task *task, const int *ranks,
				    int n, const void *config)
{
	gt_nccl_result rc = gt_api_exclude(task, ranks, n);

	if (!rc)
		return gt_api_add_child(task, config);
	gt_tasks_drop(task);
	return rc;
}

GT_NCCL_API(gt_nccl_result, ncclCommShrink, gt_nccl_comm comm, int *excluded,
	    int n, gt_nccl_comm *made, void *config, int flags)
{
	static const char call[] = "ncclCommShrink";
	int wrong = !made || n < 0 || (n && !excluded) ||
		    (flags != GT_SHRINK_DEFAULT && flags != GT_SHRINK_ABORT);
	struct gt_task *task = NULL;
	struct gt_face *parent;
	gt_nccl_result rc;

	gt_group_open();
	if (made)
		gt_face_publish(made, NULL);
	rc = wrong ? gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				  "%s: %d excluded ranks, flags '%d'%s", call,
				  n, flags, made ? "" : ", newcomm is NULL")
		   : gt_face_get_parent(comm, call, flags == GT_SHRINK_ABORT,
					&parent);
	task = rc ? NULL : calloc(1, sizeof(*task));
	if (!rc && !task) {
		gt_face_put(parent);
		rc = gt_say_error(GT_NCCL_SYSTEM_ERROR, "out of memory");
	}
	if (!rc) {
		*task = (struct gt_task){.kind = GT_TASK_SHRINK,
					 .call = call,
					 .face = parent,
					 .place = made,
					 .aborts = flags == GT_SHRINK_ABORT};
		rc = gt_api_shrink(task, excluded, n, config);
	}
	return gt_group_return(rc, call);
}

GT_NCCL_API(gt_nccl_result, ncclCommGetUniqueId, gt_nccl_comm comm,
	    gt_nccl_id *id)
{
	static const char call[] = "ncclCommGetUniqueId";
	struct gt_face_invitation made = {.is_open = 1};
	struct gt_face *face;
	struct gt_err err;
	gt_nccl_result rc;

	if (!id)
		return gt_say_error(GT_NCCL_INVALID_ARGUMENT, "%s: id is NULL",
				    call);
	rc = gt_face_get_ready(comm, call, &face);
	if (rc)
		return rc;
	gt_err_init(&err);
	pthread_mutex_lock(&face->mutex);
	if (face->invitation.is_open)
		rc = gt_say_error(GT_NCCL_INVALID_USAGE,
				  "%s: the id before has not been used: "
				  "ncclCommGrow() comes first",
				  call);
	else if (gt_team_invite(face->team, &made.id, &made.told, &err))
		rc = gt_say_err(call, &err);
	else
		face->invitation = made;
	pthread_mutex_unlock(&face->mutex);
	gt_face_put(face);
	if (!rc)
		*id = made.id;
	return rc;
}

/* A rank of the parent, of which a reference is taken, keeps its number. */
static gt_nccl_result gt_api_grow(struct gt_face *parent, int size,
				  gt_nccl_comm *made, const void *config)
{
	static const char call[] = "ncclCommGrow";
	gt_nccl_result rc = GT_NCCL_SUCCESS;
	struct gt_task *task = NULL;

	if (size <= (int)parent->size)
		rc = gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				  "%s: %d ranks are no more than %u", call,
				  size, parent->size);
	else if (!(task = calloc(1, sizeof(*task))))
		rc = gt_say_error(GT_NCCL_SYSTEM_ERROR, "%s: out of memory",
				  call);
	if (rc) {
		gt_face_put(parent);
		return rc;
	}
	*task = (struct gt_task){.kind = GT_TASK_GROW,
				 .call = call,
				 .face = parent,
				 .place = made,
				 .size = (uint32_t)size};
	return gt_api_add_child(task, config);
}

/* Where it has failed, those that were invited wait in vain. */
static gt_nccl_result gt_api_get_growing(gt_nccl_comm comm,
					 struct gt_face **parent)
{
	static const char call[] = "ncclCommGrow";
	gt_nccl_result rc = gt_face_get_ready(comm, call, parent);
	char why[GT_FACE_TEXT_MAX];

	if (!rc || gt_face_get(comm, call, parent))
		return rc;
	snprintf(why, sizeof(why), "%s", gt_say_last());
	gt_face_withdraw(*parent, why);
	gt_face_put(*parent);
	return gt_say_error(rc, "%s", why);
}

/* Who is new comes as any rank does that was told an id. */
GT_NCCL_API(gt_nccl_result, ncclCommGrow, gt_nccl_comm comm, int size,
	    const gt_nccl_id *id, int rank, gt_nccl_comm *made, void *config)
{
	static const char call[] = "ncclCommGrow";
	struct gt_face *parent;
	gt_nccl_result rc;

	if (!comm && id)
		return pncclCommInitRankConfig(made, size, *id, rank, config);
	gt_group_open();
	if (made)
		gt_face_publish(made, NULL);
	rc = !made || (comm ? rank != -1 : !id)
		     ? gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: rank '%d'%s; who has a communicator "
				    "comes as rank -1, and who has none with "
				    "an id",
				    call, rank, made ? "" : ", newcomm is NULL")
		     : gt_api_get_growing(comm, &parent);
	if (!rc)
		rc = gt_api_grow(parent, size, made, config);
	return gt_group_return(rc, call);
}
