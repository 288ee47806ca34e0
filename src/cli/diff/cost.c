/* Solves a server's bound with and without a finding, to tell what it costs. */
#include "cli/diff/cost.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/planner/job_bound.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/diff/apply.h"
#include "topo/diff/diff.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"
#include "topo/synth/fuse.h"

struct gt_diff_server {
	const struct gt_topo *topo;
	const struct gt_paths *paths;
	uint32_t ngpus;
	const uint32_t *gpus;
};

static int gt_diff_bound_inside(const struct gt_diff_server *server,
				struct gt_arena *arena,
				struct gt_diff_bound *bound, struct gt_err *err)
{
	struct gt_search_request request = {.topo = server->topo,
					    .paths = server->paths,
					    .gpus = server->gpus,
					    .nranks = server->ngpus,
					    .coll = GT_COLL_ALLREDUCE};
	struct gt_bound_query ask = {.coll = GT_COLL_ALLREDUCE};
	struct gt_fabric *fabric;
	struct gt_bound all;
	int rc = gt_search_request_fabric(&request, arena, &fabric, err);

	ask.fabric = fabric;
	if (!rc)
		rc = gt_bound_find_routed(&ask, arena, &all, err);
	if (rc)
		return rc;
	bound->found = all.found;
	bound->gbs = all.value;
	return GT_OK;
}

static int gt_diff_bound_between(const struct gt_diff_server *server,
				 uint32_t nnodes, struct gt_diff_bound *bound,
				 struct gt_err *err)
{
	struct gt_job job = {.topo = server->topo, .nnodes = nnodes};
	struct gt_buf nets = GT_BUF_INIT;
	int rc;

	gt_fuse_near_nets(server->topo, server->paths, &nets);
	if (nets.len)
		job.nets = nets.text;
	rc = nets.failed ? gt_err_nomem(err)
			 : gt_job_bound(&job, &bound->found_between,
					&bound->between_gbs, err);
	gt_buf_release(&nets);
	return rc;
}

static int gt_diff_bound_on(const struct gt_topo *topo, uint32_t nnodes,
			    struct gt_arena *arena, struct gt_diff_bound *bound,
			    struct gt_err *err)
{
	struct gt_diff_server server = {.topo = topo};
	struct gt_paths *paths;
	int rc;

	bound->asked = 1;
	bound->ngpus = gt_topo_ngpus(topo);
	if (gt_topo_need_gpus(topo, NULL))
		return GT_OK;
	rc = gt_gpu_list_read(topo, NULL, arena, &server.gpus, &server.ngpus,
			      err);
	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	server.paths = paths;
	rc = gt_diff_bound_inside(&server, arena, bound, err);
	if (!rc)
		rc = gt_diff_bound_between(&server, nnodes, bound, err);
	gt_paths_free(paths);
	return rc;
}

/* A file that is no machine has no bound; only lack of memory is a failure. */
static int gt_diff_bound(const struct gt_buf *text, uint32_t nnodes,
			 struct gt_diff_bound *bound, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_topo *topo;
	int rc;

	if (!arena || text->failed) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	rc = gt_topo_parse("bound", text->text, text->len, GT_RATES_MEASURED,
			   &topo, NULL);
	if (!rc) {
		rc = gt_diff_bound_on(topo, nnodes, arena, bound, err);
		gt_topo_free(topo);
	} else {
		rc = rc == GT_ESYS ? gt_err_nomem(err) : GT_OK;
	}
	gt_arena_free(arena);
	return rc;
}

int gt_diff_costs_find(const struct gt_diff *diff, uint32_t nnodes,
		       struct gt_arena *arena, struct gt_diff_costs *costs,
		       struct gt_err *err)
{
	uint32_t n = diff->nfindings;
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	*costs = (struct gt_diff_costs){0};
	costs->each = gt_arena_array(arena, n, sizeof(*costs->each));
	if (!costs->each)
		return gt_err_nomem(err);
	gt_diff_apply(diff, NULL, &text);
	rc = gt_diff_bound(&text, nnodes, &costs->norm, err);
	text.len = 0;
	gt_diff_print_other(diff, &text);
	if (!rc)
		rc = gt_diff_bound(&text, nnodes, &costs->other, err);
	for (uint32_t i = 0; i < n && n <= GT_DIFF_MAX_COSTS && !rc; i++) {
		text.len = 0;
		gt_diff_apply(diff, &diff->findings[i], &text);
		rc = gt_diff_bound(&text, nnodes, &costs->each[i], err);
	}
	gt_buf_release(&text);
	return rc;
}
