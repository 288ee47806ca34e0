/*
 * Which communicator a line of a log is of.
 *
 * A line names it seldom: by its address in a process, when it begins and ends.
 * Between, a thread's lines are of the one that it named last.  The addresses
 * of ranks belong together by commId; by the parent, the how manieth split and
 * the color where that is all that is told; or else by how many ranks there are
 * on how many machines; and by the how manieth such one it is for each rank.
 * Lines of other threads are of the process's communicator if it has one alone,
 * and otherwise of none with a name.
 */
#ifndef GT_TOPO_NCCL_COMMS_H
#define GT_TOPO_NCCL_COMMS_H

#include <stdint.h>

#include "topo/nccl/seen.h"

struct gt_arena;
struct gt_nccl_log_comm;
struct gt_nccl_means;

struct gt_nccl_comms {
	struct gt_arena *arena;
	struct gt_nccl_seen seen;
	struct gt_nccl_log_comm **list;
	uint32_t n, room;
	uint64_t host, process, thread; /* hashes, of the line that is read */
	uint64_t nleft_out; /* communicators that there was no room for */
	int failed;         /* memory ran out */
};

void gt_nccl_comms_init(struct gt_nccl_comms *comms, struct gt_arena *arena);

/* Looks whether a message names a communicator, and learns from it. */
void gt_nccl_comms_learn(struct gt_nccl_comms *comms, const char *message);

/*
 * Returns the communicator that a line is of; `nranks` is how many ranks it has
 * (0 is not known), `least` how many at least.  NULL is one that was left out.
 */
struct gt_nccl_log_comm *gt_nccl_comms_of(struct gt_nccl_comms *comms,
					  uint32_t nranks, uint32_t least);

/*
 * Counts connections in a communicator by means, whose name is copied to the
 * arena if it is new there; 0, or -1 without room.
 */
int gt_nccl_comms_count(struct gt_nccl_comms *comms,
			struct gt_nccl_log_comm *comm,
			const struct gt_nccl_means *means);

/*
 * Sorts communicators, the largest first.  What could not be told apart goes to
 * the only one, and there is one at least.
 */
void gt_nccl_comms_finish(struct gt_nccl_comms *comms);

#endif
