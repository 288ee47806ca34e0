/*
 * One step of a program: made by name, and checked against its name.  Used
 * by lowering and by the simulator.
 */
#ifndef GT_PLAN_STEP_H
#define GT_PLAN_STEP_H

#include <stdint.h>

#include "plan/program.h"

/* The program's connections that a step may use. */
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

/* Do operands and op agree?  GENERIC agrees with anything. */
int gt_step_is(const struct gt_step *step, enum gt_op op);

#endif
