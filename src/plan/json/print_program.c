#include "plan/json/print_sections.h"

#include <inttypes.h>

#include "base/buf.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* What reading fills in by itself is left out. */
static void gt_print_operand(struct gt_buf *out, const struct gt_step *step,
			     const struct gt_operand *operand)
{
	int wait = !!(operand->flags & GT_OPERAND_WAIT);
	int post = !!(operand->flags & GT_OPERAND_POST);
	int slot = operand->buf == GT_BUF_FIFO;
	int here = operand->buf == GT_BUF_INPUT ||
		   operand->buf == GT_BUF_OUTPUT ||
		   operand->buf == GT_BUF_SCRATCH;

	gt_buf_printf(out, "{\"buf\": \"%s\"",
		      gt_operand_name((enum gt_operand_buf)operand->buf));
	if (!slot && operand->buf != GT_BUF_NONE &&
	    operand->chunk != step->chunk)
		gt_buf_printf(out, ", \"chunk\": %" PRIu32, operand->chunk);
	if (!here)
		gt_buf_printf(out, ", \"conn\": %u", operand->conn);
	if (wait != slot)
		gt_buf_printf(out, ", \"wait\": %s", wait ? "true" : "false");
	if (post != slot)
		gt_buf_printf(out, ", \"post\": %s", post ? "true" : "false");
	gt_buf_puts(out, "}");
}

static void gt_print_operands(struct gt_buf *out, const struct gt_step *step,
			      const char *key, uint32_t begin, uint32_t end)
{
	if (begin == end)
		return;
	gt_buf_printf(out, ", \"%s\": [", key);
	for (uint32_t i = begin; i < end; i++) {
		gt_buf_puts(out, i > begin ? ", " : "");
		gt_print_operand(out, step, gt_step_operand(step, i));
	}
	gt_buf_puts(out, "]");
}

static void gt_print_step(struct gt_buf *out, const struct gt_step *step)
{
	gt_buf_printf(out, "        {\"op\": \"%s\", \"chunk\": %" PRIu32 "%s",
		      gt_op_name((enum gt_op)step->op), step->chunk,
		      step->flags & GT_STEP_FINAL ? ", \"final\": true" : "");
	gt_print_operands(out, step, "src", 0, step->nsrc);
	gt_print_operands(out, step, "dst", step->nsrc,
			  (uint32_t)step->nsrc + step->ndst);
	gt_buf_puts(out, "}");
}

static void gt_print_program(const struct gt_plan *plan,
			     const struct gt_program *program,
			     struct gt_buf *out)
{
	gt_buf_printf(out,
		      "    {\n      \"channel\": %" PRIu32
		      ",\n      \"rank\": %" PRIu32
		      ",\n      \"lane\": %" PRIu32 ",\n      \"conns\": [",
		      plan->channels[program->channel].id, program->rank,
		      program->lane);
	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];

		gt_buf_printf(out, "%s{\"%s\": %" PRIu32, i ? ", " : "",
			      conn->sends ? "to" : "from", conn->peer);
		if (conn->tag)
			gt_buf_printf(out, ", \"tag\": %u", conn->tag);
		gt_buf_puts(out, "}");
	}
	gt_buf_puts(out, "],\n      \"steps\": [\n");
	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		gt_buf_puts(out, i ? ",\n" : "");
		gt_print_step(out, &program->steps[i]);
	}
	gt_buf_puts(out, "\n      ]\n    }");
}

void gt_print_programs(const struct gt_plan *plan, struct gt_buf *out)
{
	if (!plan->nprograms)
		return;
	gt_buf_puts(out, ",\n  \"programs\": [\n");
	for (uint32_t i = 0; i < plan->nprograms; i++) {
		gt_buf_puts(out, i ? ",\n" : "");
		gt_print_program(plan, &plan->programs[i], out);
	}
	gt_buf_puts(out, "\n  ]");
}
