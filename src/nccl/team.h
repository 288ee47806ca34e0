/*
 * The ranks of one communicator, each of which is wherever it likes: threads of
 * one process or processes of several hosts, several communicators in each.
 * Every rank is a process of a world of its own (world/world.h), even beside
 * others in the same process, so that none ever waits for another's calls but
 * where the communicator does.
 *
 * A team's functions wait for all its ranks, until *stop is set.  One thread
 * at a time uses a team.
 */
#ifndef GT_NCCL_TEAM_H
#define GT_NCCL_TEAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "exec/link/shared_memory.h"
#include "nccl/abi.h"
#include "nccl/cuda.h"
#include "world/world.h"

struct gt_err;

/* A rank, as it tells the others. */
struct gt_team_member {
	char host[GT_HOST_ID_MAX];
	char bus_id[GT_CUDA_BUS_ID_MAX]; /* "": on the host */
	int32_t pid, device;
	int32_t max_ctas; /* thread blocks that it allows; 0: any number */
};

struct gt_team {
	uint32_t rank, size;
	struct gt_world *world;         /* NULL: it is alone */
	struct gt_team_member *members; /* [size] */
	/* Of this an engine's world is made; who takes listen_fd has it. */
	struct gt_world_config engine;
};

/* What a rank wants of a split. */
struct gt_team_wish {
	int colour; /* below 0: to be in none */
	int key;
};

/*
 * Come as one rank, and wait for all; `me` is what it tells.  NULL or a team
 * all of which come: nobody waits where that ends.  GT_EINPUT where ranks do
 * not fit together.
 */
int gt_team_meet(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		 const struct gt_team_member *me, const struct gt_team *before,
		 const _Atomic int *stop, struct gt_team **team,
		 struct gt_err *err);

/*
 * All ranks make new teams of those with the same colour, by key and then by
 * rank.  First comes a round of the parent, and behind it gt_team_enter(),
 * which needs only those of the same colour.  The parent outlives it; where
 * that ends, somebody may be gone who was to come.
 */
struct gt_team_seat;
int gt_team_split(struct gt_team *parent, const struct gt_team_wish *wish,
		  struct gt_team_seat **seat, struct gt_err *err);

/* Takes the seat. */
int gt_team_enter(struct gt_team_seat *seat, const struct gt_team_member *me,
		  const _Atomic int *stop, struct gt_team **team,
		  struct gt_err *err);

/*
 * Takes the seat of a rank that wants to be in none (why is NULL), or cannot
 * be, as the others of that colour are told.
 */
void gt_team_stay_out(struct gt_team_seat *seat, const char *why);

/* How many thread blocks do all allow?  0: any number. */
uint32_t gt_team_max_ctas(const struct gt_team *team);

/*
 * Make a team of all ranks but those r with excluded[r], which do not call it;
 * the parent's world may have failed.  GT_ENO, which names one, where others
 * are gone as well.
 */
int gt_team_shrink(struct gt_team *parent, const uint8_t *excluded,
		   const struct gt_team_member *me, const _Atomic int *stop,
		   struct gt_team **team, struct gt_err *err);

/*
 * Agree that all use a team that was made by _shrink(); its world has failed
 * where one does not.  Who leads it knows first, whoever falls behind: so none
 * is ahead of that one when they shrink again.
 */
int gt_team_conclude(struct gt_team *team, struct gt_err *err);

/*
 * A team that was made by _shrink() is not used, and is still to be closed.
 * Others may go on from it; so the next one of the parent has its place.
 */
void gt_team_take_back(struct gt_team *parent, const struct gt_team *team);

/*
 * Make an id for ranks that come to those of the team, and what goes round of
 * it.
 */
int gt_team_invite(const struct gt_team *team, gt_nccl_id *id, gt_nccl_id *told,
		   struct gt_err *err);

/*
 * A round of all, of which one tells of an id (the others: NULL), and all know
 * it then.  GT_EINPUT where none does, or several do.
 */
int gt_team_tell_id(struct gt_team *team, const gt_nccl_id *told,
		    gt_nccl_id *id, struct gt_err *err);

/* NULL is allowed. */
void gt_team_close(struct gt_team *team);

/*
 * Find two ranks that have one GPU; 0: there are none.  All ranks find the same
 * two.
 */
int gt_team_find_pair(const struct gt_team *team, uint32_t *one,
		      uint32_t *other);

#endif
