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

struct gt_err;
struct gt_secret;

/* Make an id, and start to listen. */
int gt_uid_new(gt_nccl_id *id, struct gt_err *err);

/* The secret that an id holds; GT_EINPUT for what is none. */
int gt_uid_secret(const gt_nccl_id *id, struct gt_secret *secret,
		  struct gt_err *err);

/*
 * Come as one rank of `size` and wait, until *stop is set, for all others.  In
 * rank 0 *door is the one it has opened, for the others it is filled in.
 * GT_EINPUT for what is no id, or where ranks do not fit together: another
 * number of ranks, a rank twice, another version of gtopo.  GT_ENO where one
 * that they need has gone.
 */
int gt_uid_meet(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		const _Atomic int *stop, struct gt_door *door,
		struct gt_err *err);

/*
 * In the place of _meet(), where a rank cannot come: tell the others why.  It
 * is quiet where that fails as well.
 */
void gt_uid_decline(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		    const _Atomic int *stop, const char *why);

#endif
