#include "cli/search/cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rat.h"
#include "cli/common/command.h"
#include "cli/search/explain_cluster.h"
#include "plan/ir/cluster.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "search/cluster/quotient.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/search.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

#define GT_SEARCH_LARGE_BYTES ((uint64_t)1 << 30)

static void gt_search_cluster_tell(const struct gt_cmd_args *args,
				   const struct gt_plan *plan, int64_t ns)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);
	double any = gt_rat_double(proof->any_bound);
	int rings = proof->class_ == GT_PROOF_RING;
	int flows = gt_coll_only_moves(plan->coll);

	gt_cmd_note(args, "%u nodes of %u GPUs: %s of %g GB/s%s in %u channels",
		    plan->cluster->nnodes, plan->cluster->nlocal,
		    rings   ? "rings"
		    : flows ? "flows"
			    : "trees",
		    value, flows ? " a pair" : "",
		    gt_plan_main_row(plan)->nchannels);
	if (plan->has_proof && proof->optimal)
		gt_cmd_note(args, "proved: no %s more",
			    rings ? "rings reach" : "schedule reaches");
	else if (plan->has_proof)
		gt_cmd_note(args, "no %s more than %g GB/s (%.3g%% more)",
			    rings ? "rings reach" : "schedule reaches", bound,
			    100 * (bound / value - 1));
	if (proof->has_any_bound)
		gt_cmd_note(args,
			    "no schedule at all reaches more than %g GB/s "
			    "(%.3g%% more)",
			    any, 100 * (any / value - 1));
	gt_cmd_note(args, "%.1f ms", (double)ns / 1e6);
}

/* A bound of the uneven cluster, from one that has all that any node has. */
static int search_union_bound(const struct gt_cluster_request *base,
			      const struct gt_cluster *uneven,
			      struct gt_quotient_bound *bound,
			      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster_request request = *base;
	struct gt_cluster *most = NULL;
	struct gt_alltoall flow;
	struct gt_quotient *q = NULL;
	struct gt_quotient_bound_query query;
	int rc = arena ? gt_cluster_homogenize(uneven, GT_UNION, &most, err)
		       : gt_err_nomem(err);

	request.cluster = most;
	if (!rc)
		rc = gt_quotient_new(&request, arena, &q, err);
	query = (struct gt_quotient_bound_query){q, request.coll, request.root,
						 1};
	if (!rc && gt_coll_only_moves(request.coll)) {
		rc = gt_alltoall_solve(q, arena, &flow, err);
		bound->found = !rc && flow.has_bound;
		bound->value = flow.bound;
	} else if (!rc) {
		rc = gt_quotient_bound_find(&query, arena, bound, err);
	}
	gt_cluster_free(most);
	gt_arena_free(arena);
	return rc;
}

/* What it costs to plan with what all nodes have. */
static int search_warn_of_loss(const struct gt_cmd_args *args,
			       const struct gt_cluster_request *request,
			       const struct gt_cluster *uneven,
			       const struct gt_plan *plan, struct gt_err *err)
{
	int flows = gt_coll_only_moves(request->coll);
	double value = gt_rat_double(plan->proof.value), most;
	struct gt_quotient_bound bound;
	int rc;

	gt_cmd_warn(args,
		    "nodes or switches are not all alike: planned with what "
		    "all have, %u ports of each node",
		    plan->cluster->nports);
	if (!flows)
		value *= gt_rat_double(gt_plan_algbw_factor(plan));
	rc = search_union_bound(request, uneven, &bound, err);
	if (rc || !bound.found)
		return rc;
	most = gt_rat_double(bound.value);
	gt_cmd_warn(args,
		    "that reaches %g GB/s%s; with what any has no schedule "
		    "reaches more than %g GB/s (%.3g%% more)",
		    value, flows ? " a pair" : "", most,
		    100 * (most / value - 1));
	return GT_OK;
}

/* At a size that is large for any cluster that is searched as one machine. */
static int gt_search_large_us(const struct gt_plan *plan, double *us,
			      struct gt_err *err)
{
	struct gt_cost_model *model;
	struct gt_cost cost;
	int rc = gt_cost_new(plan, plan->coll, &model, err);

	if (rc)
		return rc;
	rc = gt_cost_price(model, GT_SEARCH_LARGE_BYTES, &cost, err);
	gt_cost_free(model);
	*us = rc ? 0 : cost.time_us;
	return rc;
}

/* Not by its proof alone: what shares a FIFO does not share its load. */
static int search_beats_rival(const struct gt_plan *plan,
			      const struct gt_plan *rival, struct gt_err *err)
{
	double us[2];
	int rc = GT_ENO;

	if (gt_rat_cmp(plan->proof.value, rival->proof.value) > 0)
		rc = gt_search_large_us(plan, &us[0], err);
	if (!rc)
		rc = gt_search_large_us(rival, &us[1], err);
	return rc || us[0] < us[1] ? rc : GT_ENO;
}

static int gt_search_cluster_on(const struct gt_cmd_args *args,
				const struct gt_cluster_request *base,
				const struct gt_search_cluster *search,
				struct gt_arena *arena, struct gt_plan **plan,
				struct gt_err *err)
{
	const struct gt_topo *topo = base->cluster->kinds[0].topo;
	struct gt_cluster_request request = *base;
	struct gt_paths *paths;
	int rc = gt_gpu_list_read(topo, search->gpus, arena, &request.gpus,
				  &request.ngpus, err);

	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	if (request.root >= (uint64_t)base->cluster->nnodes * request.ngpus)
		rc = gt_err_set(err, GT_EINPUT, "--root",
				"there is no rank '%u', only %u of them",
				request.root,
				base->cluster->nnodes * request.ngpus);
	else if (gt_coll_only_moves(request.coll))
		rc = gt_cluster_search_alltoall(&request, plan, err);
	else if (!strcmp(search->algo, "ring"))
		rc = gt_cluster_search_rings(&request, plan, err);
	else if (!strcmp(search->algo, "tree"))
		rc = gt_cluster_search_trees(&request, plan, err);
	else if (!strcmp(search->algo, "hier"))
		rc = gt_cluster_search_templates(&request, plan, err);
	else
		rc = gt_cluster_search_by_size(&request, plan, err);
	if (!rc && search->rival) {
		rc = search_beats_rival(*plan, search->rival, err);
		if (rc)
			gt_plan_free(*plan);
	}
	if (!rc) {
		if (search->explain)
			rc = gt_search_explain_cluster(&request,
						       search->explain, err);
		if (!rc && search->uneven)
			rc = search_warn_of_loss(args, &request, search->uneven,
						 *plan, err);
		if (rc)
			gt_plan_free(*plan);
	}
	gt_paths_free(paths);
	return rc;
}

int gt_search_cluster(const struct gt_cmd_args *args,
		      const struct gt_search_cluster *search,
		      const struct gt_cluster *cluster, struct gt_plan **plan,
		      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int64_t begin = gt_clock_ns();
	struct gt_cluster_request request = {.cluster = cluster,
					     .rates = search->rates,
					     .coll = search->coll,
					     .root = search->root,
					     .max_channels =
						     search->max_channels,
					     .watch = search->watch};
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_cluster_on(args, &request, search, arena, plan, err);
	gt_arena_free(arena);
	if (!rc)
		gt_search_cluster_tell(args, *plan, gt_clock_ns() - begin);
	return rc;
}
