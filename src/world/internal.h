/*
 * The files of the world share this: the caller's side (open.c, allgather.c,
 * state.c, failure.c) and the thread's (loop.c, root.c).  The mutex guards
 * everything below it; the thread holds it while it works, never while it
 * waits.
 */
#ifndef GT_WORLD_INTERNAL_H
#define GT_WORLD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "world/listener.h"
#include "world/world.h"

enum gt_world_frame {
	GT_FRAME_PART = 1, /* to process 0: the sender's part of round `seq` */
	GT_FRAME_ALL,    /* from process 0: (length, bytes) of every process */
	GT_FRAME_BEAT,   /* a sign of life; seq: its progress */
	GT_FRAME_ABORT,  /* why the job ends */
	GT_FRAME_BYE,    /* nothing more will come */
	GT_FRAME_SILENT, /* from process 0: the numbers of those that are */
	GT_FRAME_ROLL,   /* regrouping: the numbers of those that are left */
};

enum {
	GT_WORLD_TICK_NS = 20000000,
	GT_WORLD_BEAT_TICKS = 10,
	GT_WORLD_WHY_MAX = 1024,
	/*
	 * The longest time that counts as one tick.  A pause that stops all
	 * processes of the job at once is no one's silence.
	 */
	GT_WORLD_GAP_NS = 5 * GT_WORLD_TICK_NS,
};

enum gt_member_state { GT_MEMBER_ABSENT, GT_MEMBER_HERE, GT_MEMBER_LEFT };

/* Process 0's view of another process, or another's view of process 0. */
struct gt_member {
	enum gt_member_state state;
	struct gt_wire wire;
	int64_t silent_ns;
	uint64_t progress;
	int has_part;
	int is_silent; /* the job has failed because of that */
	struct gt_buf part;
	char called[GT_WORLD_NAME_MAX + 32]; /* "process 3 (...)" */
};

struct gt_world {
	struct gt_world_config config;
	pthread_t thread;
	int wake_fd; /* an eventfd: the thread has something to do */
	_Atomic int failed;
	_Atomic uint64_t progress;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char why[GT_WORLD_WHY_MAX];
	struct gt_member *members; /* size of them; others use number 0 */
	uint32_t nhere;            /* process 0: that have come, itself too */
	struct gt_listener *listener; /* process 0 only */
	uint64_t round;               /* the round that is on, or was last */
	uint64_t last_round;          /* the last round that is over */
	struct gt_buf all;            /* what all have told in it */
	/*
	 * This process stood still, or did not hear another one, for so long
	 * that the others may have gone on, and ended, without it.
	 */
	int was_away;
	int64_t looked_ns; /* when the thread last began to look at others */
	int64_t late_ns;   /* when somebody was heard again after long; or 0 */
	int64_t failed_ns; /* when it failed */
	int orphan;        /* process 0 is gone, or silent */
	int by_silence;    /* silent: others may still hear it */
	int gave_up;       /* process 0: on those that have not come */
	int closing;
	int64_t closing_ns; /* how long the thread has been closing */
	int64_t still_ns; /* how long a round has waited while nobody gets on */
	uint64_t progress_sum;

	/* Set by the caller's side alone: where the others are found when the
	 * job is regrouped. */
	int door_fd; /* -1: none */
	struct gt_net_address *doors;
	uint32_t epoch; /* which of a job's worlds it is */
	uint32_t nregroups;
	uint32_t *was; /* its processes' numbers in the world before; or NULL */
	uint32_t was_size; /* of that one */
	int has_moved;     /* nobody waits for this world's end */
};

/* loop.c: the thread that keeps the connections. */
void *gt_world_main(void *world);

/*
 * failure.c: with the mutex held, end the job for this reason, if it has not
 * ended before.
 */
void gt_world_fail(struct gt_world *world, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* As _fail(): this process, which is named, has no memory. */
void gt_world_lacks_memory(struct gt_world *world);

/* failure.c: with the mutex held, note whether this process stood still. */
void gt_world_note_gap(struct gt_world *world);

/* state.c: has the user interrupted this process, which may wait for long? */
int gt_world_is_interrupted(const struct gt_world *world);

/*
 * state.c: make the thread look at once what there is to do, not at its next
 * tick.
 */
void gt_world_wake(struct gt_world *world);

/* state.c: with the mutex held, queue a frame for all that are connected. */
void gt_world_send(struct gt_world *world, const struct gt_frame *frame);

/*
 * state.c: tell a process of the job why it cannot come in, and close its wire;
 * the job goes on.
 */
void gt_world_refuse(struct gt_wire *wire, const char *why);

/*
 * root.c: what only process 0 does, with the mutex held.  _enter lets in a
 * process that has proved itself, _part keeps what one has told, _watch counts
 * how long a round has waited, and _silence ends the job because some processes
 * are silent.
 */
void gt_root_enter(void *world, struct gt_wire *wire,
		   const struct gt_auth_answer *answer);
void gt_root_part(struct gt_world *world, uint32_t rank, const void *bytes,
		  size_t len);
void gt_root_watch(struct gt_world *world, int64_t passed_ns);
void gt_root_silence(struct gt_world *world);

/*
 * door.c: open this process's door, or share the one of `origin`, and tell
 * all others where it is.
 */
int gt_world_open_door(struct gt_world *world, const struct gt_world *origin,
		       struct gt_err *err);

/* Which world comes of which. */
struct gt_world_descent {
	const struct gt_world *origin;
	const uint32_t *left; /* the numbers of its processes in the origin */
	uint32_t epoch;
};

/*
 * open.c: begin a world among processes that are connected already: wires[size]
 * are taken, of which process 0 uses all but its own, the others number 0.
 * GT_ENO: others were lost meanwhile.
 */
int gt_world_start(const struct gt_world_config *config,
		   const struct gt_world_descent *descent,
		   struct gt_wire *wires, struct gt_world **world,
		   struct gt_err *err);

/*
 * A world that is regrouped has several that follow, each with a number of its
 * own.  The factor is that of a linear congruential generator (Knuth), so that
 * numbers that come from different worlds are different.
 */
enum { GT_WORLD_EPOCH_FACTOR = 1664525, GT_WORLD_ATTEMPTS_MAX = 1 << 20 };

static inline uint32_t gt_world_next_epoch(const struct gt_world *origin)
{
	return origin->epoch * GT_WORLD_EPOCH_FACTOR + origin->nregroups + 1;
}

/* Which attempt to regroup the world has this number?  0: none. */
static inline uint32_t gt_world_attempt(const struct gt_world *origin,
					uint32_t epoch)
{
	uint32_t n = epoch - origin->epoch * GT_WORLD_EPOCH_FACTOR;

	return n <= GT_WORLD_ATTEMPTS_MAX ? n : 0;
}

static inline int gt_world_is_root(const struct gt_world *world)
{
	return !world->config.rank;
}

/* The processes [_first, _end) are those that this one has a connection to. */
static inline uint32_t gt_world_first(const struct gt_world *world)
{
	return gt_world_is_root(world) ? 1 : 0;
}

static inline uint32_t gt_world_end(const struct gt_world *world)
{
	return gt_world_is_root(world) ? world->config.size : 1;
}

#endif
