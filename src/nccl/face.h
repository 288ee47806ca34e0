/*
 * A communicator as a program holds it: a handle, which is one rank.
 *
 * Handles are never freed, only what is behind them, so a handle that was
 * destroyed is known as such.  Whoever uses a face holds a reference to it;
 * the program's own ends with destroy or abort, and with the last one the face
 * is closed by a thread of its own, which may have to wait for other ranks.
 *
 * The mutex guards what is below it.  Nobody holds it while waiting for other
 * ranks.
 */
#ifndef GT_NCCL_FACE_H
#define GT_NCCL_FACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "nccl/abi.h"
#include "nccl/backend.h"
#include "nccl/config.h"
#include "nccl/cuda.h"

struct gt_team;

enum { GT_FACE_NAME_MAX = 64, GT_FACE_TEXT_MAX = 1024 };

/* An operator that the program has made of a scalar. */
struct gt_face_premul {
	int used;
	enum gt_dtype dtype;
	struct gt_scalar scalar;
};

/* An id for ranks that are to come to those of a communicator. */
struct gt_face_invitation {
	int is_open; /* it was made, and nobody has used it */
	gt_nccl_id id, told;
};

/* Where the last operation is that the next one has to follow. */
struct gt_face_order {
	unsigned long long stream; /* its id; 0: any, or none */
	/*
	 * Behind what was put there last, as the program may take its stream
	 * away; NULL: nothing was.
	 */
	void *_Atomic event;
	unsigned long long capture;
	void *node;    /* of that capture's graph: see gt_cuda.graph_record */
	uint64_t used; /* the greater the later */
};

/* So many captures at a time keep their order; an older one is forgotten. */
enum { GT_FACE_CAPTURES = 4 };

struct gt_face {
	_Atomic int refs;
	uint32_t rank, size;
	int device;
	int shares_gpu; /* with another rank; set once, before `state` */
	const struct gt_cuda *cuda;
	const struct gt_backend *ops;
	struct gt_config config;
	char name[GT_FACE_NAME_MAX]; /* "" or the program's, for logs */
	_Atomic int stop;            /* it was aborted: nobody waits any more */
	_Atomic int pending;         /* non-blocking calls that are under way */
	/* GT_NCCL_IN_PROGRESS until it is made, then how it fares. */
	_Atomic int state;
	_Atomic int finalized;
	_Atomic int revoked; /* no more operations, but splits */
	struct gt_backend_comm *_Atomic comm; /* set once, before `state` */

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char why[GT_FACE_TEXT_MAX];    /* of an error in `state` */
	struct gt_team *team;          /* set once, before `state` */
	uint64_t nsplits, nsplit_done; /* begun, and through their round */
	struct gt_face *child;  /* a split that is under way; not a reference */
	struct gt_face *sister; /* the next one of the same parent */
	/*
	 * Of operations at once, whose event graphs wait for and record as
	 * well, and of those of each capture among each other.
	 */
	struct gt_face_order orders[1 + GT_FACE_CAPTURES];
	uint64_t nordered;  /* operations so far */
	int has_graphs;     /* that do so */
	void *_Atomic join; /* for streams of one group */
	struct gt_face_invitation invitation;
	struct gt_face_premul *premuls;
	uint32_t npremuls, premul_room;
};

struct ncclComm;

/* What a face is made of.  The configuration is copied. */
struct gt_face_start {
	uint32_t rank, size;
	int device;
	const struct gt_cuda *cuda;
	const struct gt_config *config;
};

/* Make a face and its handle; NULL when memory ran out. */
struct gt_face *gt_face_new(const struct gt_face_start *start,
			    gt_nccl_comm *handle);

/*
 * Take a reference by the handle.  What is wrong with the handle is said, in
 * the name of `call`.
 */
gt_nccl_result gt_face_get(gt_nccl_comm handle, const char *call,
			   struct gt_face **face);
struct gt_face *gt_face_ref(struct gt_face *face);
void gt_face_put(struct gt_face *face);

/*
 * Take the program's own reference away from the handle; 0: it has none any
 * more.
 */
int gt_face_retire(gt_nccl_comm handle);

/* As _get(), and GT_NCCL_SUCCESS only if operations may be called. */
gt_nccl_result gt_face_get_ready(gt_nccl_comm handle, const char *call,
				 struct gt_face **face);

/*
 * As _get(), of one that others are to be made from: it may have been revoked,
 * and with `any` it may have failed.
 */
gt_nccl_result gt_face_get_parent(gt_nccl_comm handle, const char *call,
				  int any, struct gt_face **face);

/* Its operations end, done or not, and there are no more. */
void gt_face_revoke(struct gt_face *face);

/* How it fares, for ncclCommGetAsyncError(): never waits for anybody. */
gt_nccl_result gt_face_state(struct gt_face *face);

/* Note a failure, the first of which stays, and keep the words. */
void gt_face_fail(struct gt_face *face, gt_nccl_result result, const char *why);

/* Take the invitation that this rank has made; 0: none is open. */
int gt_face_take_invitation(struct gt_face *face,
			    struct gt_face_invitation *invitation);

/* Tell whom it has invited, if it has, that there will be no such ranks. */
void gt_face_withdraw(struct gt_face *face, const char *why);

/* Everything ends, done or not, also what is being made. */
void gt_face_abort(struct gt_face *face);

/* Wait until operations of this rank are done, or it is aborted. */
void gt_face_drain(struct gt_face *face);

/*
 * Write a handle where the program wants it: another of its threads may wait
 * for it there, to abort what this one waits in.
 */
static inline void gt_face_publish(gt_nccl_comm *place, gt_nccl_comm handle)
{
	__atomic_store_n(place, handle, __ATOMIC_RELEASE);
}

#endif
