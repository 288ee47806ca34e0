/*
 * Inside gtopo_comm_shrink(): a communicator on what is left of another one.
 * comm.c makes it, job.c and thread.c go on from there.
 */
#ifndef GT_LIB_SHRINK_H
#define GT_LIB_SHRINK_H

#include <stdatomic.h>

#include "lib/state.h"

/* What is left of a communicator. */
struct gt_shrink {
	struct gt_plan *plan;   /* for the ranks that are left */
	struct gt_world *world; /* NULL: this process is alone */
	uint32_t *starts;       /* of each process, as in exec/engine.h */
	uint32_t *origins;      /* of each rank: its old number */
	struct gt_base *base;   /* as in lib/state.h */
	uint32_t *based;
	uint32_t rank, size; /* the process, among those that are left */
};

/*
 * Find what is left, with all processes that are.  What it holds is the
 * caller's then, where it succeeds.
 */
int gt_shrink_find(struct gtopo_comm *comm, const int *excluded, int nexcluded,
		   struct gt_shrink *shrink, struct gt_err *err);

/*
 * The plan of a communicator that others come from.  It is theirs together, so
 * that whoever makes one of it makes the same, however often it has shrunk.
 */
struct gt_base {
	struct gt_plan *plan;
	_Atomic uint32_t users;
};

/* Free the communicator's plan, and that of its base with its last user. */
void gt_shrink_free_plans(struct gtopo_comm *comm);

/* Free what nobody has taken. */
void gt_shrink_free(struct gt_shrink *shrink);

#endif
