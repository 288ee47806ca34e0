/*
 * Inside a regrouping: the first of those that are left leads, and the others
 * follow it.  Who is the first nobody knows beforehand, so each process asks at
 * the doors of those before it, in order, until one lets it in; whoever finds
 * none leads.
 */
#ifndef GT_WORLD_REGROUP_H
#define GT_WORLD_REGROUP_H

#include <stdint.h>

#include "world/internal.h"

enum gt_seat_state {
	GT_SEAT_AWAITED,
	GT_SEAT_HERE,
	GT_SEAT_SILENT,   /* it may be there, but is not heard */
	GT_SEAT_GONE,     /* its host says so */
	GT_SEAT_EXCLUDED, /* nobody wants it */
};

struct gt_seat {
	enum gt_seat_state state;
	struct gt_wire wire; /* HERE: to the one that leads, or from it */
	int probe_fd; /* at its door, to see whether it is there; or -1 */
};

struct gt_regrouping {
	struct gt_world *world; /* the old one */
	const struct gt_regroup *how;
	struct gt_net_deadline deadline;
	struct gt_seat *seats; /* [size of the old world] */
	int was_away;          /* whoever is gone may have gone on before */
	uint32_t *left, nleft; /* the result */
};

/*
 * Follow process `first` if it is there, and hear who is left; else its seat
 * says why not, and the result is GT_ENO.
 */
int gt_regroup_follow(struct gt_regrouping *group, uint32_t first,
		      struct gt_err *err);

/* Let all others in, and tell them who is left. */
int gt_regroup_lead(struct gt_regrouping *group, struct gt_err *err);

/*
 * Connect to a process's door; 0: its seat says why it cannot be done.
 */
int gt_regroup_knock(struct gt_regrouping *group, uint32_t rank, int *fd);

#endif
