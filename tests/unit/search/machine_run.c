/* A plan is opened, run once and compared on ranks of the host engine. */
#include "unit/search/machine_run.h"

#include "unit/test.h"

#include "base/err.h"
#include "exec/engine.h"
#include "plan/ir/plan.h"

void machine_run(const struct gt_plan *plan)
{
	const struct gt_engine_ops *ops = &gt_engine_host;
	struct gt_engine_config config = {.plan = plan,
					  .max_bytes = 4096,
					  .workers = 1,
					  .timeout_ns = 60000000000};
	struct gt_exec_request request = {.coll = plan->coll,
					  .root = plan->root,
					  .count = 101,
					  .dtype = GT_DTYPE_FLOAT,
					  .seed = 7};
	struct gt_engine *engine;
	uint64_t wrong = 0;
	int64_t elapsed_ns;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_coll_has_blocks(plan->coll))
		request.count = 101 / plan->nranks;
	if (ops->open(&config, &engine, &err))
		fail_msg("%s", err.text);
	if (ops->fill(engine, &request, &err) ||
	    ops->run(engine, &request, 1, &elapsed_ns, &err) ||
	    ops->check(engine, &request, &wrong, &err))
		fail_msg("%s", err.text);
	ops->close(engine);
	assert_int_equal(wrong, 0);
}
