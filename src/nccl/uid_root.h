/*
 * The thread of a unique id, in the process that made it, and what goes between
 * it and the ranks: each comes with a card, and is told a door or why not.
 */
#ifndef GT_NCCL_UID_ROOT_H
#define GT_NCCL_UID_ROOT_H

#include "nccl/abi.h"
#include "nccl/door.h"
#include "world/wire.h"

struct gt_err;

enum gt_uid_frame {
	GT_UID_CARD = 1, /* from a rank: a struct gt_uid_card, of its door */
	GT_UID_WELCOME,  /* all have come; the door of rank 0.  seq, for rank 0:
			    the first other one of this process; 0: none */
	GT_UID_COME,     /* from a rank: it has come there, too */
	GT_UID_REFUSAL,  /* why there will be no communicator, also from a
			    rank that cannot come; seq: 1 if one has gone */
};

enum {
	GT_UID_LOOK_MS = 20, /* how often those who wait look at other things */
	GT_UID_FRAME_BYTES = 4096, /* the most of a frame */
};

/* What an id holds, and what a rank tells of itself. */
struct gt_uid_card {
	char magic[8];
	struct gt_door door;
	char version[20]; /* of gtopo */
	/* Which process it is from: its number, and when it first had a card;
	 * a child has its parent's time. */
	int32_t pid;
	int64_t since_ns;
};

_Static_assert(sizeof(struct gt_uid_card) == GT_NCCL_ID_BYTES, "as NCCL's");

/* Magic and version of this library, this process, and no door. */
void gt_uid_card_init(struct gt_uid_card *card);

/*
 * Serve the door, whose socket is taken, until all have come, and then to rank
 * 0's.
 */
int gt_uid_root_start(const struct gt_door *door, int fd, struct gt_err *err);

#endif
