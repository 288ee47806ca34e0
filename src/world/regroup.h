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
#include "world/knock.h"

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
	struct gt_knock knock;
	int is_behind; /* HERE: it does not know of this world yet */
	int probe_fd;  /* at its door, to see whether it is there; or -1 */
	struct gt_auth_greeting
		greeting; /* heard there, as far as it has come */
	size_t heard_bytes;
};

struct gt_regrouping {
	struct gt_world *world; /* the old one */
	const struct gt_regroup *how;
	struct gt_net_deadline deadline;
	int64_t begin_ns;      /* of this attempt */
	struct gt_seat *seats; /* [size of the old world] */
	int hears_all;         /* no one is silent, nor was this process */
	int64_t unheard_ns; /* process 0, when the connection to it broke; -1 */
	uint32_t *left, nleft; /* the result */
	uint32_t epoch;        /* of the new world */
};

/*
 * Follow process `first` if it is there, and hear who is left; else, or when it
 * falls silent meanwhile, its seat says why not, and the result is GT_ENO.
 */
int gt_regroup_follow(struct gt_regrouping *group, uint32_t first,
		      struct gt_err *err);

/* Let all others in, and tell them who is left. */
int gt_regroup_lead(struct gt_regrouping *group, struct gt_err *err);

/*
 * Knock at a process's door, or go on with that, until its seat has a probe_fd
 * or says why not.  GT_ESYS: this process has run out of something.
 */
int gt_regroup_knock(struct gt_regrouping *group, uint32_t rank,
		     struct gt_err *err);

/*
 * When to wait no longer for process `first`, or as the one that leads for
 * those that have not come.  Others may wait for processes before it that this
 * one knows to be gone; so each comes later than the one before, and who
 * leads waits for those who have waited for another one.
 */
struct gt_net_deadline gt_regroup_patience(const struct gt_regrouping *group,
					   uint32_t first);

#endif
