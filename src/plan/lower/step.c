/*
 * Steps from their names, and names from operands, by the table of primitives
 * (plan/ir/op.def).
 */
#include "plan/lower/step.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/shape.h"

struct gt_op_parts {
	uint8_t recv, local, copy, send;
};

static const struct gt_op_parts gt_op_parts[GT_NOPS] = {
#define GT_OP(NAME, name, recv, local, copy, send)                             \
	[GT_OP_##NAME] = {recv, local, copy, send},
#include "plan/ir/op.def"
};

int gt_lower_alloc(const struct gt_lowering *l, size_t nsteps, size_t nconns,
		   struct gt_err *err)
{
	struct gt_program *program = l->program;

	program->steps =
		gt_arena_array(l->arena, nsteps, sizeof(*program->steps));
	program->conns =
		gt_arena_array(l->arena, nconns, sizeof(*program->conns));
	return program->steps && program->conns ? GT_OK : gt_err_nomem(err);
}

struct gt_operand gt_operand_slot(uint16_t conn)
{
	return (struct gt_operand){GT_BUF_FIFO,
				   GT_OPERAND_WAIT | GT_OPERAND_POST, conn, 0};
}

struct gt_operand gt_operand_chunk(enum gt_operand_buf buf, uint32_t chunk)
{
	return (struct gt_operand){(uint8_t)buf, 0, 0, chunk};
}

struct gt_step *gt_step_add(struct gt_program *program, enum gt_op op,
			    struct gt_step_conns conns, uint32_t chunk)
{
	const struct gt_op_parts *parts = &gt_op_parts[op];
	struct gt_step *step = &program->steps[program->nsteps];
	unsigned n = 0;

	*step = (struct gt_step){.op = (uint8_t)op, .chunk = chunk};
	step->id = program->nsteps++;
	if (parts->recv)
		step->operand[n++] = gt_operand_slot(conns.recv);
	if (parts->local)
		step->operand[n++] = gt_operand_chunk(GT_BUF_INPUT, chunk);
	step->nsrc = (uint8_t)n;
	if (parts->copy)
		step->operand[n++] = gt_operand_chunk(GT_BUF_OUTPUT, chunk);
	if (parts->send)
		step->operand[n++] = gt_operand_slot(conns.send);
	step->ndst = (uint8_t)(n - step->nsrc);
	return step;
}

static int gt_operand_is_local(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT ||
	       operand->buf == GT_BUF_SCRATCH;
}

int gt_operand_is_remote(const struct gt_operand *operand)
{
	return !gt_operand_is_local(operand);
}

int gt_step_matches(const struct gt_step *step, enum gt_op op)
{
	const struct gt_op_parts *parts = &gt_op_parts[op];
	const struct gt_operand *operand = step->operand;

	if (op == GT_OP_GENERIC)
		return 1;
	if (step->nsrc != parts->recv + parts->local ||
	    step->ndst != parts->copy + parts->send)
		return 0;
	if (parts->recv && !gt_operand_is_remote(operand++))
		return 0;
	if (parts->local && !gt_operand_is_local(operand++))
		return 0;
	if (parts->copy && !gt_operand_is_local(operand++))
		return 0;
	return !parts->send || gt_operand_is_remote(operand);
}

static enum gt_op gt_step_name(const struct gt_step *step)
{
	for (int op = 0; op < GT_OP_GENERIC; op++)
		if (gt_step_matches(step, (enum gt_op)op))
			return (enum gt_op)op;
	return GT_OP_GENERIC;
}

void gt_step_add_list(struct gt_program *program,
		      const struct gt_step_list *list)
{
	struct gt_step *step = &program->steps[program->nsteps];
	uint32_t n = list->nsrc + list->ndst, nrecords;

	*step = (struct gt_step){.nsrc = (uint8_t)list->nsrc,
				 .ndst = (uint8_t)list->ndst};
	nrecords = gt_step_nrecords(step);
	for (uint32_t i = 0; i < nrecords; i++)
		step[i] = (struct gt_step){
			.op = i ? GT_OP_NOP : GT_OP_GENERIC,
			.flags = i + 1 < nrecords ? GT_STEP_MORE : 0,
			.chunk = list->chunk,
			.id = program->nsteps++};
	step->nsrc = (uint8_t)list->nsrc;
	step->ndst = (uint8_t)list->ndst;
	step->flags |= list->flags;
	for (uint32_t i = 0; i < n; i++)
		step[i / GT_STEP_OPERANDS].operand[i % GT_STEP_OPERANDS] =
			list->operands[i];
	step->op = (uint8_t)gt_step_name(step);
}
