/* The state of a simulation, for the simulator's files only. */
#ifndef GT_PLAN_SIMULATE_STATE_H
#define GT_PLAN_SIMULATE_STATE_H

#include <stdint.h>

#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_sim_args;

enum { GT_SIM_LOOPS = 2 };

/*
 * The value in a place: the contributions of a set of ranks to one chunk, which
 * is named by its number in the inputs.
 */
struct gt_sim_value {
	uint32_t chunk, loop;
	uint8_t known; /* something was written here */
	uint8_t final; /* by a step marked GT_STEP_FINAL */
	uint64_t *set;
};

/* The processes that touched a place, and when on their clocks. */
struct gt_sim_epochs {
	uint32_t writer, written;
	uint32_t *read; /* by process */
};

struct gt_sim_fifo {
	uint32_t from, to; /* processes */
	uint32_t from_conn, to_conn;
	uint32_t per_loop; /* slices announced in one loop */
	uint32_t slots;
	uint32_t data, credit;
	struct gt_sim_value *slot;
	uint32_t *data_clocks; /* nprocs each, per announcement */
	uint32_t *credit_clocks;
};

/* A process runs one program: a rank's on one lane. */
struct gt_sim_proc {
	uint32_t loop, step;
	uint8_t queued;
	struct gt_sim_fifo **conns; /* by the program's connections */
	uint32_t *clock;
};

/* The memory of a rank. */
struct gt_sim_rank {
	/* The output and then the scratch, by chunk and loop. */
	struct gt_sim_value *cells;
	struct gt_sim_epochs *epochs;
};

struct gt_sim {
	const struct gt_sim_args *args;
	struct gt_arena *arena;
	uint32_t nranks, nprocs, nchunks, nscratch, per_block, nwords;
	uint32_t nfifos;
	int shared; /* some memory is reached by more than one process */
	struct gt_sim_proc *procs;
	struct gt_sim_rank *ranks;
	struct gt_sim_fifo *fifos;
	uint32_t *queue; /* processes that may go on, a ring of nprocs */
	uint32_t queue_at, queue_len;
	struct gt_sim_value work;          /* of the step being executed */
	uint32_t nadded;                   /* its sources so far */
	const struct gt_sim_value *source; /* its only source, or NULL */
};

/*
 * Record that the plan is wrong, at a step or, with NULL, at no one step; the
 * result is GT_ENO.
 */
int gt_sim_wrong(const struct gt_sim_args *args, uint32_t proc,
		 const struct gt_step *step, struct gt_err *err,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

uint32_t gt_sim_nprocs(const struct gt_sim_args *args);

/* The number of chunks of a block. */
uint32_t gt_sim_per_block(const struct gt_sim_args *args);

/* Does the rank's input, or its output, have the chunk? */
int gt_sim_has_input(const struct gt_sim_args *args, uint32_t rank,
		     uint32_t chunk);
int gt_sim_has_output(const struct gt_sim_args *args, uint32_t rank,
		      uint32_t chunk);

/* Are steps and connections well formed?  Each program is looked at alone. */
int gt_sim_check_steps(const struct gt_sim_args *args, struct gt_err *err);

/* Pair the connections' ends, count slices, and make room for everything. */
int gt_sim_init(struct gt_sim *sim, const struct gt_sim_args *args,
		struct gt_arena *arena, struct gt_err *err);

/* Execute all programs to the end; then look at what came out. */
int gt_sim_run(struct gt_sim *sim, struct gt_err *err);
int gt_sim_check_result(struct gt_sim *sim, struct gt_err *err);

int gt_sim_is_input(const struct gt_operand *operand);

/* The place in a rank's memory for a chunk's slice. */
struct gt_sim_value *gt_sim_cell(const struct gt_sim *sim, uint32_t rank,
				 uint32_t chunk, uint32_t loop);

/* An operand of the step that a process is at. */
struct gt_sim_access {
	uint32_t proc;
	const struct gt_step *step;
	const struct gt_operand *operand;
	int writes; /* it is a destination */
};

struct gt_sim_access gt_sim_access_of(uint32_t proc, const struct gt_step *step,
				      uint32_t i);

/*
 * The happens-before order by vector clocks (Fidge 1988, Mattern 1989): every
 * step is a tick of its process, every counter carries its poster's clock.
 * These functions do nothing unless sim->shared.
 */
int gt_sim_race_init(struct gt_sim *sim, struct gt_err *err);
void gt_sim_race_wait(struct gt_sim *sim, const struct gt_sim_access *access);
void gt_sim_race_post(struct gt_sim *sim, const struct gt_sim_access *access);
void gt_sim_race_tick(struct gt_sim *sim, uint32_t proc);
int gt_sim_race_touch(struct gt_sim *sim, const struct gt_sim_access *access,
		      uint32_t owner, struct gt_err *err);
int gt_sim_race_end(struct gt_sim *sim, struct gt_err *err);

#endif
