/*
 * Unique ids: whoever is told one finds the others.
 *
 * The process that makes an id listens, in a thread of its own, until all ranks
 * have come, and then tells them where rank 0 waits for them.  It need not have
 * a rank itself.  An id is good for one communicator.
 */
#ifndef GT_NCCL_UID_H
#define GT_NCCL_UID_H

#include <stdatomic.h>
#include <stdint.h>

#include "nccl/abi.h"
#include "nccl/door.h"
#include "world/wire.h"

struct gt_err;
struct gt_secret;

/* Make an id, and start to listen. */
int gt_uid_new(gt_nccl_id *id, struct gt_err *err);

/*
 * Make an id for ranks that come to those that know a secret, and what these
 * may be told of it over connections that anybody may listen to.
 */
int gt_uid_invite(const struct gt_secret *known, gt_nccl_id *id,
		  gt_nccl_id *told, struct gt_err *err);

/* Find the id again from what ranks were told of it and what they know. */
int gt_uid_understand(const gt_nccl_id *told, const struct gt_secret *known,
		      gt_nccl_id *id, struct gt_err *err);

/* The secret that an id holds; GT_EINPUT for what is none. */
int gt_uid_secret(const gt_nccl_id *id, struct gt_secret *secret,
		  struct gt_err *err);

/* A rank of `size` that comes, and waits for the others until *stop is set. */
struct gt_uid_visit {
	uint32_t rank, size;
	const _Atomic int *stop;
	const _Atomic int *origin_end; /* NULL, or as in a world's config */
	struct gt_wire wire;           /* from _meet() until _leave() */
	/*
	 * Rank 0: the one whose process made the id, and ends the wire with
	 * itself; 0: there is none.
	 */
	uint32_t maker;
};

/*
 * Come, and wait for all others.  In rank 0 *door is the one it has opened, for
 * the others it is filled in.  GT_EINPUT for what is no id, or where ranks do
 * not fit together: another number of ranks, a rank twice, another version of
 * gtopo.  GT_ENO where one that they need has gone.
 */
int gt_uid_meet(const gt_nccl_id *id, struct gt_uid_visit *visit,
		struct gt_door *door, struct gt_err *err);

/*
 * Behind _meet(): the rank has come to that door, or it has not.  Whoever goes
 * before it says so is missed: rank 0 is told, who waits for it there.
 */
void gt_uid_leave(struct gt_uid_visit *visit, int has_come);

/*
 * In the place of _meet(), where a rank cannot come: tell the others why.  The
 * size is 0 where nobody has said how many there are to be.  It is quiet where
 * that fails as well.
 */
void gt_uid_decline(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		    const _Atomic int *stop, const char *why);

#endif
