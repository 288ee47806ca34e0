/* gtopo import: an algorithm that another tool wrote becomes a plan. */
#include "cli/common/command.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "plan/check/check.h"
#include "plan/interop/import.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "topo/graph/path.h"

struct gt_import_opts {
	const char *topology, *gpus;
	int rates;
};

static const struct gt_opt gt_import_opts[] = {
	{GT_OPT_TOPO, 0, "topology", "FILE",
	 offsetof(struct gt_import_opts, topology),
	 "the machine that it is to run on", 0, 0},
	{GT_OPT_TEXT, 0, "gpus", "LIST", offsetof(struct gt_import_opts, gpus),
	 "0-3, GPU0,GPU2 or bus ids, in order of rank (all)", 0, 0},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_import_opts, rates),
	 "which link rates to use (default: measured)", 0, 0},
	GT_OPT_END,
};

/*
 * An algorithm that is right out of place and wrong in place becomes a plan
 * that says so.  Of one that is wrong in both ways gtopo verify tells more.
 */
static int gt_import_placement(const struct gt_cmd_args *args,
			       struct gt_plan *plan, struct gt_err *err)
{
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_simulate(plan, plan->coll, &why);
	if (rc == GT_ENO) {
		plan->out_of_place = 1;
		gt_err_init(&why);
		rc = gt_simulate(plan, plan->coll, &why);
		plan->out_of_place = !rc;
	}
	if (plan->out_of_place)
		gt_cmd_warn(args, "the algorithm works out of place only, and "
				  "so does the plan");
	return rc == GT_ESYS ? gt_err_set(err, rc, why.where, "%s", why.text)
			     : GT_OK;
}

/* Write the plan; that it is wrong is the input's fault here. */
static int gt_import_write(const struct gt_cmd_args *args, struct gt_plan *plan,
			   struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_plan_check(plan, err);

	if (!rc)
		rc = gt_import_placement(args, plan, err);
	if (!rc)
		rc = gt_plan_print(plan, &text, err);
	return gt_cmd_write(args, &text, rc, err);
}

/* The mesh of all pairs has every route that the algorithm may need. */
static int gt_import_on(const struct gt_cmd_args *args,
			const struct gt_topo *topo, struct gt_arena *arena,
			struct gt_err *err)
{
	const struct gt_import_opts *opts = args->opts;
	struct gt_search_request request = {
		.topo = topo,
		.rates = (enum gt_rates)opts->rates,
		.coll = GT_COLL_ALLREDUCE,
	};
	struct gt_paths *paths;
	struct gt_plan *plan;
	int rc = gt_gpu_list_read(topo, opts->gpus, arena, &request.gpus,
				  &request.nranks, err);

	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	rc = gt_search(&request, "mesh", &plan, NULL, err);
	if (!rc) {
		rc = gt_import(args->operands[0], plan, err);
		if (!rc)
			rc = gt_import_write(args, plan, err);
		gt_plan_free(plan);
	}
	gt_paths_free(paths);
	return rc;
}

static int cmd_import(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_import_opts *opts = args->opts;
	struct gt_arena *arena;
	struct gt_topo *topo;
	int rc;

	if (!opts->topology)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--topology is missing");
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	rc = gt_topo_read(opts->topology, (enum gt_rates)opts->rates, &topo,
			  err);
	if (!rc) {
		rc = gt_import_on(args, topo, arena, err);
		gt_topo_free(topo);
	}
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_import = {
	.name = "import",
	.summary = "make a plan of an MSCCL or MSCCL++ algorithm",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_import_opts,
	.opts_bytes = sizeof(struct gt_import_opts),
	.run = cmd_import,
};
