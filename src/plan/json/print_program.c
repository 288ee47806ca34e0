/*
 * Programs of explicit steps in a plan's file.  Values that the reader fills in
 * by itself are left out.
 */
#include "plan/json/print_sections.h"

#include "base/json_writer.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

static void print_operand(struct gt_json_writer *json,
			  const struct gt_step *step,
			  const struct gt_operand *operand)
{
	int wait = !!(operand->flags & GT_OPERAND_WAIT);
	int post = !!(operand->flags & GT_OPERAND_POST);
	int slot = operand->buf == GT_BUF_FIFO;

	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_text(json, "buf",
			 gt_operand_name((enum gt_operand_buf)operand->buf));
	if (!slot && operand->buf != GT_BUF_NONE &&
	    operand->chunk != step->chunk)
		gt_json_put_int(json, "chunk", operand->chunk);
	if (gt_operand_is_remote(operand))
		gt_json_put_int(json, "conn", operand->conn);
	if (wait != slot)
		gt_json_put_bool(json, "wait", wait);
	if (post != slot)
		gt_json_put_bool(json, "post", post);
	gt_json_end(json);
}

static void print_operands(struct gt_json_writer *json,
			   const struct gt_step *step, const char *key,
			   uint32_t begin, uint32_t end)
{
	if (begin == end)
		return;
	gt_json_open_array(json, key, GT_JSON_FLAT);
	for (uint32_t i = begin; i < end; i++)
		print_operand(json, step, gt_step_operand(step, i));
	gt_json_end(json);
}

static void print_step(struct gt_json_writer *json, const struct gt_step *step)
{
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_text(json, "op", gt_op_name((enum gt_op)step->op));
	gt_json_put_int(json, "chunk", step->chunk);
	if (step->flags & GT_STEP_FINAL)
		gt_json_put_bool(json, "final", 1);
	print_operands(json, step, "src", 0, step->nsrc);
	print_operands(json, step, "dst", step->nsrc,
		       (uint32_t)step->nsrc + step->ndst);
	gt_json_end(json);
}

static void print_conns(struct gt_json_writer *json,
			const struct gt_program *program)
{
	gt_json_open_array(json, "conns", GT_JSON_FLAT);
	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, conn->sends ? "to" : "from", conn->peer);
		if (conn->tag)
			gt_json_put_int(json, "tag", conn->tag);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void print_program(const struct gt_plan *plan,
			  const struct gt_program *program,
			  struct gt_json_writer *json)
{
	gt_json_open_object(json, NULL, GT_JSON_LINES);
	gt_json_put_int(json, "channel", plan->channels[program->channel].id);
	gt_json_put_int(json, "rank", program->rank);
	gt_json_put_int(json, "lane", program->lane);
	print_conns(json, program);
	gt_json_open_array(json, "steps", GT_JSON_LINES);
	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i]))
		print_step(json, &program->steps[i]);
	gt_json_end(json);
	gt_json_end(json);
}

void gt_print_programs(const struct gt_plan *plan, struct gt_json_writer *json)
{
	if (!plan->nprograms)
		return;
	gt_json_open_array(json, "programs", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nprograms; i++)
		print_program(plan, &plan->programs[i], json);
	gt_json_end(json);
}
