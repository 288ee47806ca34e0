#include "cli/search_cluster.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rat.h"
#include "cli/cmd.h"
#include "plan/cluster.h"
#include "plan/plan.h"
#include "search/hier_request.h"
#include "search/request.h"
#include "topo/cluster.h"
#include "topo/path.h"

static void gt_search_cluster_tell(const struct gt_cmd_args *args,
				   const struct gt_plan *plan, int64_t ns)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);

	gt_cmd_note(args,
		    "%u nodes of %u GPUs: trees of %g GB/s in %u channels",
		    plan->cluster->nnodes, plan->cluster->nlocal, value,
		    plan->nchannels);
	if (plan->has_proof && proof->optimal)
		gt_cmd_note(args, "proved: no schedule reaches more");
	else if (plan->has_proof)
		gt_cmd_note(args,
			    "no schedule reaches more than %g GB/s (%.3g%% "
			    "more)",
			    bound, 100 * (bound / value - 1));
	gt_cmd_note(args, "%.1f ms", (double)ns / 1e6);
}

static int gt_search_cluster_on(const struct gt_hier_request *base,
				const struct gt_search_cluster *search,
				struct gt_arena *arena, struct gt_plan **plan,
				struct gt_err *err)
{
	const struct gt_topo *topo = base->cluster->kinds[0].topo;
	struct gt_hier_request request = *base;
	struct gt_paths *paths;
	int rc = gt_request_gpus(topo, search->gpus, arena, &request.gpus,
				 &request.ngpus, err);

	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	rc = gt_hier_search(&request, plan, err);
	gt_paths_free(paths);
	return rc;
}

int gt_search_cluster(const struct gt_cmd_args *args,
		      const struct gt_search_cluster *search,
		      const struct gt_cluster *cluster, struct gt_plan **plan,
		      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_hier_request request = {.cluster = cluster,
					  .rates = search->rates,
					  .coll = search->coll};
	int64_t begin = gt_clock_ns();
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_cluster_on(&request, search, arena, plan, err);
	gt_arena_free(arena);
	if (!rc)
		gt_search_cluster_tell(args, *plan, gt_clock_ns() - begin);
	return rc;
}
