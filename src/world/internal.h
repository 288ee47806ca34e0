/*
 * Inside the world: what its caller's side (world.c) and its thread (loop.c,
 * root.c) share.  The mutex guards everything below it; the thread holds it
 * while it works, never while it waits.
 */
#ifndef GT_WORLD_INTERNAL_H
#define GT_WORLD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "world/listener.h"
#include "world/world.h"

enum gt_world_frame {
	GT_FRAME_PART = 1, /* to process 0: what it tells at meeting `seq` */
	GT_FRAME_ALL,      /* from process 0: (length, bytes) of each */
	GT_FRAME_BEAT,     /* a sign of life; seq: its progress */
	GT_FRAME_ABORT,    /* why the job ends */
	GT_FRAME_BYE,      /* nothing more will come */
};

enum {
	GT_WORLD_TICK_NS = 20000000,
	GT_WORLD_BEAT_TICKS = 10,
	GT_WORLD_WHY_MAX = 1024,
	/* One that stops the whole job is nobody's silence: no more counts. */
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
	struct gt_listener *door;  /* process 0 only */
	uint64_t meeting;          /* the one that is on, or was last */
	uint64_t heard;            /* the last one that is over */
	struct gt_buf all;         /* what was told there */
	int orphan;                /* process 0 is gone, or silent */
	int by_silence;            /* that, which others may still hear */
	int closing;
	int64_t closing_ns; /* for how long */
	int64_t still_ns;   /* a meeting waits and nobody gets on */
	uint64_t progress_sum;
};

/* loop.c: the thread. */
void *gt_world_main(void *world);

/* failure.c: with the mutex held: the job is over, for this reason. */
void gt_world_fail(struct gt_world *world, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* state.c: the thread has something to do, now and not at its next tick. */
void gt_world_wake(struct gt_world *world);

/* state.c: with the mutex held: queue a frame for all that are connected. */
void gt_world_send(struct gt_world *world, const struct gt_frame *frame);

/* root.c: process 0's part, with the mutex held. */
void gt_root_enter(void *world, struct gt_wire *wire,
		   const struct gt_auth_answer *answer);
void gt_root_part(struct gt_world *world, uint32_t rank, const void *bytes,
		  size_t len);
void gt_root_watch(struct gt_world *world, int64_t passed_ns);
void gt_root_silence(struct gt_world *world);

static inline int gt_world_is_root(const struct gt_world *world)
{
	return !world->config.rank;
}

/* Those this process has a connection to: first and how many. */
static inline uint32_t gt_world_first(const struct gt_world *world)
{
	return gt_world_is_root(world) ? 1 : 0;
}

static inline uint32_t gt_world_end(const struct gt_world *world)
{
	return gt_world_is_root(world) ? world->config.size : 1;
}

#endif
