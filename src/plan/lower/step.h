/*
 * One step of a program: made by name, and checked against its name.  Used
 * by lowering and by the simulator.
 */
#ifndef GT_PLAN_LOWER_STEP_H
#define GT_PLAN_LOWER_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "plan/ir/program.h"

struct gt_err;
struct gt_lowering;

/*
 * Make room in the lowering's program for so many records of steps, and
 * connections.
 */
int gt_lower_alloc(const struct gt_lowering *l, size_t nsteps, size_t nconns,
		   struct gt_err *err);

/* The numbers of the program's connections that a step uses. */
struct gt_step_conns {
	uint16_t recv;
	uint16_t send;
};

/*
 * Append the step `op` on `chunk` to the program, whose steps array has room.
 * Sources are, as far as the op has them, the slot of conns.recv and then the
 * input; destinations the output and then a slot of conns.send.  A slot is
 * waited for and posted.
 */
struct gt_step *gt_step_add(struct gt_program *program, enum gt_op op,
			    struct gt_step_conns conns, uint32_t chunk);

/* A step with any number of operands. */
struct gt_step_list {
	uint32_t nsrc, ndst; /* up to 255 of each */
	const struct gt_operand *operands;
	uint32_t chunk;
	uint8_t flags;
};

/*
 * Append the list as one step, under the primitive's name that fits it, else
 * GENERIC.
 */
void gt_step_add_list(struct gt_program *program,
		      const struct gt_step_list *list);

/*
 * Does the operand take part in a message with another rank, or another lane?
 */
int gt_operand_is_remote(const struct gt_operand *operand);

/*
 * An operand that is a FIFO's slot, and one that is a chunk of the rank's input
 * or output.
 */
struct gt_operand gt_operand_slot(uint16_t conn);
struct gt_operand gt_operand_chunk(enum gt_operand_buf buf, uint32_t chunk);

/*
 * Do the step's operands agree with the primitive?  GENERIC agrees with
 * anything.
 */
int gt_step_matches(const struct gt_step *step, enum gt_op op);

#endif
