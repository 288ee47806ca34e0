/* Memory for the program that a shape's file fills in. */
#include "plan/lower/shape.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/program.h"

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
