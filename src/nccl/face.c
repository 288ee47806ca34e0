/* Handles and faces: how they come, are found, fail and go. */
#include "nccl/face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "nccl/say.h"
#include "nccl/team.h"
#include "nccl/uid.h"
#include "world/close_on_fork.h"

enum { GT_FACE_MAGIC = 0x67746f70, GT_FACE_LOOK_NS = 1000000 };

/* At exit, so long for the others to leave what was destroyed together. */
static const int64_t gt_face_linger_ns = 5000000000;

/* The pid is of the process that made it: threads do not survive a fork. */
struct ncclComm {
	struct ncclComm *next; /* made before it */
	uint32_t magic;
	pid_t pid;
	pthread_mutex_t mutex;
	struct gt_face *face; /* NULL: destroyed */
};

/* The last handle that was made; it leads to all others. */
static struct ncclComm *_Atomic gt_handles;

/* Faces that are being closed, for the process's end to wait for. */
static _Atomic int gt_faces_closing;
static pthread_once_t gt_faces_once = PTHREAD_ONCE_INIT;
static _Atomic pid_t gt_faces_pid;

static void gt_face_nap(void)
{
	struct timespec nap = {0, GT_FACE_LOOK_NS};

	nanosleep(&nap, NULL);
}

/*
 * A program that ends right behind its last ncclCommDestroy() would take away
 * from under other ranks what they still read.
 */
static void gt_faces_end(void)
{
	if (atomic_load(&gt_faces_pid) != getpid())
		return;
	for (int64_t at = 0;
	     at < gt_face_linger_ns && atomic_load(&gt_faces_closing);
	     at += GT_FACE_LOOK_NS)
		gt_face_nap();
}

/*
 * Other libraries register their ends when they are first used.  Registered
 * later, when ranks that have met part, this comes before theirs.
 */
static void gt_faces_watch_end(void)
{
	atexit(gt_faces_end);
}

/* A child of this process closes nothing of what its parent closed. */
static void gt_faces_begin(void)
{
	pid_t before = atomic_exchange(&gt_faces_pid, getpid());

	if (before && before != getpid())
		atomic_store(&gt_faces_closing, 0);
	pthread_once(&gt_faces_once, gt_faces_watch_end);
}

struct gt_face *gt_face_new(const struct gt_face_start *start,
			    gt_nccl_comm *out)
{
	struct ncclComm *handle = calloc(1, sizeof(*handle));
	struct gt_face *face = calloc(1, sizeof(*face));

	gt_close_on_fork_begin();
	if (!handle || !face) {
		free(handle);
		free(face);
		return NULL;
	}
	atomic_init(&face->refs, 1);
	atomic_init(&face->state, GT_NCCL_IN_PROGRESS);
	face->rank = start->rank;
	face->size = start->size;
	face->device = start->device;
	face->cuda = start->cuda;
	face->ops = &gt_backend_lib;
	face->config = *start->config;
	if (face->config.name)
		snprintf(face->name, sizeof(face->name), "%s",
			 face->config.name);
	face->config.name = face->config.net_name = NULL;
	pthread_mutex_init(&face->mutex, NULL);
	pthread_cond_init(&face->changed, NULL);
	pthread_mutex_init(&handle->mutex, NULL);
	handle->magic = GT_FACE_MAGIC;
	handle->pid = getpid();
	handle->face = face;
	handle->next = atomic_load(&gt_handles);
	while (!atomic_compare_exchange_weak(&gt_handles, &handle->next,
					     handle))
		;
	*out = handle;
	return face;
}

gt_nccl_result gt_face_get(gt_nccl_comm handle, const char *call,
			   struct gt_face **face)
{
	if (!handle || handle->magic != GT_FACE_MAGIC)
		return gt_say_error(
			GT_NCCL_INVALID_ARGUMENT, "%s: the communicator is %s",
			call, handle ? "no handle of this library" : "NULL");
	if (handle->pid != getpid())
		return gt_say_error(GT_NCCL_INVALID_USAGE,
				    "%s: the communicator is process %d's; "
				    "none survives a fork()",
				    call, (int)handle->pid);
	pthread_mutex_lock(&handle->mutex);
	*face = handle->face ? gt_face_ref(handle->face) : NULL;
	pthread_mutex_unlock(&handle->mutex);
	return *face ? GT_NCCL_SUCCESS
		     : gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				    "%s: the communicator was destroyed", call);
}

struct gt_face *gt_face_ref(struct gt_face *face)
{
	atomic_fetch_add(&face->refs, 1);
	return face;
}

int gt_face_take_invitation(struct gt_face *face,
			    struct gt_face_invitation *invitation)
{
	pthread_mutex_lock(&face->mutex);
	*invitation = face->invitation;
	face->invitation.is_open = 0;
	pthread_mutex_unlock(&face->mutex);
	return invitation->is_open;
}

void gt_face_withdraw(struct gt_face *face, const char *why)
{
	static const _Atomic int never = 0;
	struct gt_face_invitation invitation;

	if (gt_face_take_invitation(face, &invitation))
		gt_uid_decline(&invitation.id, face->rank, 0, &never, why);
}

static void *gt_face_close(void *arg)
{
	struct gt_face *face = arg;

	gt_face_withdraw(face, "it has ended its communicator");
	if (face->comm)
		face->ops->close(face->comm,
				 atomic_load(&face->orders[0].event));
	gt_team_close(face->team);
	for (int i = 0; i <= GT_FACE_CAPTURES; i++)
		if (atomic_load(&face->orders[i].event))
			face->cuda->event_free(
				atomic_load(&face->orders[i].event));
	if (atomic_load(&face->join))
		face->cuda->event_free(atomic_load(&face->join));
	pthread_cond_destroy(&face->changed);
	pthread_mutex_destroy(&face->mutex);
	free(face->premuls);
	free(face);
	atomic_fetch_sub(&gt_faces_closing, 1);
	return NULL;
}

/* The last one may be a stream's own thread, which must not wait for others. */
void gt_face_put(struct gt_face *face)
{
	pthread_t thread;

	if (atomic_fetch_sub(&face->refs, 1) > 1)
		return;
	if (face->comm)
		gt_faces_begin();
	atomic_fetch_add(&gt_faces_closing, 1);
	if (pthread_create(&thread, NULL, gt_face_close, face))
		gt_face_close(face);
	else
		pthread_detach(thread);
}

int gt_face_retire(gt_nccl_comm handle)
{
	struct gt_face *face;

	pthread_mutex_lock(&handle->mutex);
	face = handle->face;
	handle->face = NULL;
	pthread_mutex_unlock(&handle->mutex);
	if (face)
		gt_face_put(face);
	return face != NULL;
}

void gt_face_fail(struct gt_face *face, gt_nccl_result result, const char *why)
{
	pthread_mutex_lock(&face->mutex);
	/* Who looked before a revocation may have seen what it did. */
	if (!atomic_load(&face->revoked) &&
	    (atomic_load(&face->state) == GT_NCCL_SUCCESS ||
	     atomic_load(&face->state) == GT_NCCL_IN_PROGRESS)) {
		snprintf(face->why, sizeof(face->why), "%s", why);
		atomic_store(&face->state, result);
		gt_say_error(result, "rank %u of %u%s%s: %s", face->rank,
			     face->size, *face->name ? ", " : "", face->name,
			     why);
	}
	pthread_cond_broadcast(&face->changed);
	pthread_mutex_unlock(&face->mutex);
}

/* What has failed on its streams since somebody has last asked. */
static void gt_face_look(struct gt_face *face)
{
	char words[GT_FACE_TEXT_MAX];
	struct gt_err err;
	int rc, lost;

	gt_err_init(&err);
	rc = face->ops->state(face->comm, &lost, &err);
	if (!rc)
		return;
	gt_err_words(&err, words, sizeof(words));
	gt_face_fail(face,
		     rc == GT_EINPUT ? GT_NCCL_INVALID_USAGE
		     : lost          ? GT_NCCL_REMOTE_ERROR
				     : GT_NCCL_SYSTEM_ERROR,
		     words);
}

gt_nccl_result gt_face_state(struct gt_face *face)
{
	gt_nccl_result state = atomic_load(&face->state);

	if (state == GT_NCCL_SUCCESS && !atomic_load(&face->revoked)) {
		gt_face_look(face);
		state = atomic_load(&face->state);
	}
	return state == GT_NCCL_SUCCESS && atomic_load(&face->pending)
		       ? GT_NCCL_IN_PROGRESS
		       : state;
}

gt_nccl_result gt_face_get_ready(gt_nccl_comm handle, const char *call,
				 struct gt_face **out)
{
	gt_nccl_result rc = gt_face_get(handle, call, out), state;
	struct gt_face *face = *out;

	if (rc)
		return rc;
	state = gt_face_state(face);
	if (!state && !atomic_load(&face->finalized) &&
	    !atomic_load(&face->revoked))
		return GT_NCCL_SUCCESS;
	if (!state && atomic_load(&face->revoked))
		rc = gt_say_error(GT_NCCL_INVALID_USAGE,
				  "%s: the communicator was revoked", call);
	else if (state == GT_NCCL_IN_PROGRESS)
		rc = gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				  "%s: the communicator is in progress; ask "
				  "ncclCommGetAsyncError() until it is not",
				  call);
	else if (!state)
		rc = gt_say_error(GT_NCCL_INVALID_ARGUMENT,
				  "%s: the communicator was finalized", call);
	else
		rc = gt_say_error(state, "%s: rank %u of %u has failed: %s",
				  call, face->rank, face->size, face->why);
	gt_face_put(face);
	return rc;
}

/* It was made, so `team` and `comm` are there, and was not aborted. */
static int gt_face_may_be_parent(struct gt_face *face, int any)
{
	int made = atomic_load(&face->comm) && !atomic_load(&face->stop) &&
		   atomic_load(&face->state) != GT_NCCL_IN_PROGRESS;

	return made &&
	       (any || (atomic_load(&face->revoked) && !gt_face_state(face)));
}

gt_nccl_result gt_face_get_parent(gt_nccl_comm handle, const char *call,
				  int any, struct gt_face **out)
{
	gt_nccl_result rc = gt_face_get(handle, call, out);

	if (rc || gt_face_may_be_parent(*out, any))
		return rc;
	gt_face_put(*out);
	return gt_face_get_ready(handle, call, out);
}

void gt_face_revoke(struct gt_face *face)
{
	int ended = GT_NCCL_REMOTE_ERROR;

	/*
	 * What fails from now on is nobody's concern, nor is it when another
	 * rank's revocation was noticed before: who is gone shows when others
	 * are made of it.
	 */
	atomic_store(&face->revoked, 1);
	/* Who holds the mutex may be with the backend, which then lets go. */
	face->ops->abort(face->comm);
	pthread_mutex_lock(&face->mutex);
	atomic_compare_exchange_strong(&face->state, &ended, GT_NCCL_SUCCESS);
	pthread_mutex_unlock(&face->mutex);
}

void gt_face_abort(struct gt_face *face)
{
	struct gt_backend_comm *comm;

	atomic_store(&face->stop, 1);
	comm = atomic_load(&face->comm);
	/* Who holds the mutex may be with the backend, which then lets go. */
	if (comm)
		face->ops->abort(comm);
	pthread_mutex_lock(&face->mutex);
	for (struct gt_face *at = face->child; at; at = at->sister)
		gt_face_abort(at);
	pthread_cond_broadcast(&face->changed);
	pthread_mutex_unlock(&face->mutex);
}

void gt_face_drain(struct gt_face *face)
{
	while (!atomic_load(&face->stop) && face->comm &&
	       face->ops->is_busy(face->comm,
				  atomic_load(&face->orders[0].event))) {
		gt_face_look(face);
		if (atomic_load(&face->state) != GT_NCCL_SUCCESS)
			break;
		gt_face_nap();
	}
}
