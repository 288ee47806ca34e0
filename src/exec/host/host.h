/*
 * The files of the host engine share this.  Ranks are threads, FIFOs are shared
 * memory.
 *
 * The caller's thread hands a job (fill, run, check) to all rank threads and
 * watches them; a rank thread does its part of the job and says so.  Within a
 * run, a rank progresses all its lanes (those of plan/ir/program.h, for each
 * channel and worker) in turn and never blocks in one of them.  Whoever waits
 * looks at `abort`, which is set once and for good: after it the engine can
 * only be closed.
 *
 * A rank's lanes, buffers and counters belong to its thread while a job runs,
 * and to the caller between jobs; the mutex around the hand-over orders the
 * two.  FIFOs have rules of their own (exec/link/fifo.h).
 */
#ifndef GT_EXEC_HOST_HOST_H
#define GT_EXEC_HOST_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "exec/link/bell.h"
#include "exec/engine.h"
#include "exec/link/fifo.h"
#include "exec/link/process_group.h"
#include "plan/lower/layout.h"

struct gt_arena;
struct gt_err;

/* One program that is run by one worker. */
struct gt_host_lane {
	const struct gt_program *program;
	struct gt_layout layout;
	const struct gt_layout_span *spans; /* by pair; NULL: all are alike */
	struct gt_fifo_end *ends; /* one per connection of the program */
	char *scratch; /* the rank's for the channel, shared by its programs */
	uint32_t worker;
	uint32_t iter, loop, step; /* what comes next */
	int64_t since_ns;          /* traced: the end of the step before */
};

enum { GT_HOST_IDLE = UINT32_MAX }; /* the iter of a lane without steps */

/* A counter, and for how long it has not changed. */
struct gt_stall_counter {
	uint64_t value;
	int64_t still_ns;
};

/* A user buffer: `base` is the element with index `origin`. */
struct gt_host_buffer {
	char *base;
	uint64_t origin;
	struct gt_range has; /* the elements that the collective has there */
};

/*
 * A rank.  The first cache line is written by the rank's thread all the time
 * and read by the watching caller now and then; the order is relaxed, as
 * nothing else depends on these values.
 */
struct gt_host_rank {
	_Alignas(GT_CACHE_LINE_BYTES) _Atomic uint64_t beats; /* sign of life */
	_Atomic uint64_t moved; /* slices of this run */
	_Atomic uint64_t at;    /* lane << 32 | step that it is at */
	_Atomic int done;       /* whether it has done the job */

	struct gt_bell *bell; /* rung by those who post something for it */

	_Alignas(GT_CACHE_LINE_BYTES) struct gt_engine *engine;
	uint32_t rank;
	struct gt_host_lane *lanes;
	char *send, *recv; /* buffers of max_bytes each */
	struct gt_host_buffer input, output;
	struct gt_scalar times; /* premul: the factor of its input */
	uint64_t wrong;         /* result of check */
	int64_t end_ns;         /* when its run was over */
	int64_t visit_ns;       /* when it last changed processors */
	pthread_t thread;
	int has_thread;
};

enum gt_host_job { GT_HOST_FILL, GT_HOST_RUN, GT_HOST_CHECK };

struct gt_engine {
	struct gt_engine_config config;
	uint32_t nranks;
	uint32_t first, end; /* the ranks of this process */
	uint32_t workers;    /* per channel */
	uint32_t spins;      /* polls before a waiting rank sleeps */
	uint32_t yields;     /* polls from one sched_yield() to the next */
	struct gt_host_rank *ranks; /* nranks; others' are not used */
	struct gt_process_group group;

	/* The programs, FIFOs and memory of the collective that runs now. */
	struct gt_arena *arena;
	const struct gt_plan_select *row; /* NULL: none yet */
	struct gt_channel_use use;
	uint32_t nprograms; /* of a rank on a channel; they are neighbours */
	uint32_t nlanes;    /* of a rank */
	struct gt_fifo *fifos;
	struct gt_layout_span *spans; /* by channel and pair; or NULL */
	char *slots;
	char *scratch; /* of all ranks */
	uint64_t scratch_bytes;
	uint64_t pitch_bytes; /* from a slice in slots or scratch to the next */
	uint32_t slice_bytes;

	/* The job, which the caller writes under the mutex. */
	pthread_mutex_t mutex;
	pthread_cond_t go, done;
	uint64_t job_number;
	enum gt_host_job job;
	struct gt_exec_request req;
	uint32_t iters;
	uint32_t ndone;
	int quit;
	int failed;                       /* only close is left */
	struct gt_stall_counter *watched; /* one per rank, then one for all */

	_Alignas(GT_CACHE_LINE_BYTES) _Atomic int abort;
	_Alignas(GT_CACHE_LINE_BYTES) _Atomic uint32_t arrived;
	_Atomic int64_t start_ns; /* 0: not all ranks have arrived */
};

/*
 * memory.c: make the ranks' buffers, which is refused beforehand when there is
 * no room for what the configuration asks for.  _place finds a request's input
 * and output; GT_EINPUT when it is larger than the buffers.
 */
int gt_host_memory_new(struct gt_engine *engine, struct gt_err *err);
void gt_host_memory_free(struct gt_engine *engine);
int gt_host_memory_place(struct gt_engine *engine,
			 const struct gt_exec_request *req, struct gt_err *err);

/*
 * lanes.c: make programs, FIFOs and layouts for a request, unless those of the
 * last one will do.
 */
int gt_host_lanes_prepare(struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  struct gt_err *err);
void gt_host_lanes_free(struct gt_engine *engine);

/* step.c: do the lane's next step; 0 when it has to wait. */
int gt_host_step(struct gt_host_rank *rank, struct gt_host_lane *lane);

/* data.c: a rank's part of filling inputs and of checking outputs. */
void gt_host_fill(struct gt_host_rank *rank);
void gt_host_check(struct gt_host_rank *rank);

/* rank.c: start and end the rank threads, which run their ranks' lanes. */
int gt_host_threads_start(struct gt_engine *engine, struct gt_err *err);
void gt_host_threads_join(struct gt_engine *engine);

/*
 * watch.c: wait for all ranks to finish the job, or say which one stands still.
 */
int gt_host_watch(struct gt_engine *engine, struct gt_err *err);

static inline uint32_t gt_host_nlocal(const struct gt_engine *engine)
{
	return engine->end - engine->first;
}

static inline int gt_host_is_local(const struct gt_engine *engine,
				   uint32_t rank)
{
	return rank >= engine->first && rank < engine->end;
}

/* The address of an element of a buffer. */
static inline char *gt_host_element(const struct gt_host_buffer *buffer,
				    uint64_t index, size_t elem_bytes)
{
	return buffer->base + (index - buffer->origin) * elem_bytes;
}

static inline int gt_host_aborted(struct gt_engine *engine)
{
	return atomic_load_explicit(&engine->abort, memory_order_relaxed);
}

static inline void gt_host_ring_all(struct gt_engine *engine)
{
	for (uint32_t r = engine->first; r < engine->end; r++)
		gt_bell_ring(engine->ranks[r].bell);
}

static inline void gt_host_abort(struct gt_engine *engine)
{
	atomic_store(&engine->abort, 1);
	gt_host_ring_all(engine);
}

static inline void gt_host_beat(struct gt_host_rank *rank)
{
	uint64_t beats =
		atomic_load_explicit(&rank->beats, memory_order_relaxed);

	atomic_store_explicit(&rank->beats, beats + 1, memory_order_relaxed);
}

#endif
