/* Solves a server's bound with and without a finding, to tell what it costs. */
#include "cli/diff/cost.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/diff/diff.h"
#include "topo/diff/apply.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

static int gt_diff_bound_on(const struct gt_topo *topo, struct gt_arena *arena,
			    struct gt_diff_bound *bound, struct gt_err *err)
{
	struct gt_search_request request = {.topo = topo,
					    .coll = GT_COLL_ALLREDUCE};
	struct gt_bound all;
	struct gt_fabric *fabric;
	struct gt_paths *paths;
	struct gt_bound_query ask = {.coll = GT_COLL_ALLREDUCE};
	int rc;

	if (gt_topo_need_gpus(topo, NULL))
		return GT_OK;
	rc = gt_gpu_list_read(topo, NULL, arena, &request.gpus, &request.nranks,
			      err);
	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	rc = gt_search_request_fabric(&request, arena, &fabric, err);
	ask.fabric = fabric;
	if (!rc)
		rc = gt_bound_find_routed(&ask, arena, &all, err);
	gt_paths_free(paths);
	if (rc)
		return rc;
	bound->found = all.found;
	bound->gbs = all.value;
	return GT_OK;
}

/* A file that is no machine has no bound; only lack of memory is a failure. */
static int gt_diff_bound(const struct gt_buf *text, struct gt_diff_bound *bound,
			 struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_topo *topo;
	int rc = GT_OK;

	if (!arena || text->failed) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	if (!gt_topo_parse("bound", text->text, text->len, GT_RATES_MEASURED,
			   &topo, NULL)) {
		rc = gt_diff_bound_on(topo, arena, bound, err);
		gt_topo_free(topo);
	}
	gt_arena_free(arena);
	return rc;
}

int gt_diff_costs_find(const struct gt_diff *diff, struct gt_arena *arena,
		       struct gt_diff_costs *costs, struct gt_err *err)
{
	uint32_t n = diff->nfindings;
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	*costs = (struct gt_diff_costs){0};
	costs->each = gt_arena_array(arena, n, sizeof(*costs->each));
	if (!costs->each)
		return gt_err_nomem(err);
	gt_diff_apply(diff, NULL, &text);
	rc = gt_diff_bound(&text, &costs->norm, err);
	text.len = 0;
	gt_diff_print_other(diff, &text);
	if (!rc)
		rc = gt_diff_bound(&text, &costs->other, err);
	for (uint32_t i = 0; i < n && n <= GT_DIFF_MAX_COSTS && !rc; i++) {
		text.len = 0;
		gt_diff_apply(diff, &diff->findings[i], &text);
		rc = gt_diff_bound(&text, &costs->each[i], err);
	}
	gt_buf_release(&text);
	return rc;
}
