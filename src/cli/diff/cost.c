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

/* Returns the part of a bound that is left, 1 where it is not known. */
static double part_left(int was_found, struct gt_rat was, int is_found,
			struct gt_rat is)
{
	if (!was_found || gt_rat_double(was) <= 0)
		return 1;
	return is_found ? gt_rat_double(is) / gt_rat_double(was) : 0;
}

/* Returns the least part that a finding leaves, inside and between servers. */
static double what_is_left(const struct gt_diff_bound *norm,
			   const struct gt_diff_bound *with)
{
	double inside =
		part_left(norm->found, norm->gbs, with->found, with->gbs);
	double between = part_left(norm->found_between, norm->between_gbs,
				   with->found_between, with->between_gbs);

	return inside < between ? inside : between;
}

static int costs_more(const struct gt_diff_costs *costs, uint32_t a, uint32_t b)
{
	const struct gt_diff_bound *norm = &costs->norm;
	uint32_t left_a = costs->each[a].ngpus, left_b = costs->each[b].ngpus;

	if (left_a > norm->ngpus)
		left_a = norm->ngpus;
	if (left_b > norm->ngpus)
		left_b = norm->ngpus;
	if (left_a != left_b)
		return left_a < left_b;
	return what_is_left(norm, &costs->each[a]) <
	       what_is_left(norm, &costs->each[b]);
}

void gt_diff_costs_sort(struct gt_diff *diff, struct gt_diff_costs *costs)
{
	struct gt_diff_finding finding;
	struct gt_diff_bound bound;

	if (diff->nfindings > GT_DIFF_MAX_COSTS)
		return;
	for (uint32_t i = 1; i < diff->nfindings; i++)
		for (uint32_t j = i; j && costs_more(costs, j, j - 1); j--) {
			finding = diff->findings[j];
			diff->findings[j] = diff->findings[j - 1];
			diff->findings[j - 1] = finding;
			bound = costs->each[j];
			costs->each[j] = costs->each[j - 1];
			costs->each[j - 1] = bound;
		}
}
