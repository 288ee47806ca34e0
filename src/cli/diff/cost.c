/* Solves a server's bound with and without a finding, to tell what it costs. */
#include "cli/diff/cost.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
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

/* Asks for the bound of a cluster, as bus bandwidth. */
static int gt_diff_bound_of_cluster(const struct gt_diff_server *server,
				    const struct gt_cluster *cluster,
				    struct gt_arena *arena,
				    struct gt_diff_bound *bound,
				    struct gt_err *err)
{
	struct gt_cluster_request request = {.cluster = cluster,
					     .paths = server->paths,
					     .rates = GT_RATES_MEASURED,
					     .coll = GT_COLL_ALLREDUCE,
					     .ngpus = server->ngpus,
					     .gpus = server->gpus};
	struct gt_quotient_bound_query ask = {.coll = GT_COLL_ALLREDUCE,
					      .all_routes = 1};
	int64_t nranks = (int64_t)cluster->nnodes * server->ngpus;
	struct gt_quotient_bound all = {0};
	struct gt_quotient *quotient;
	int rc = gt_quotient_new(&request, arena, &quotient, err);

	ask.quotient = quotient;
	if (!rc)
		rc = gt_quotient_bound_find(&ask, arena, &all, err);
	if (rc)
		return rc;
	bound->found_between =
		all.found &&
		gt_rat_mul(all.value, GT_RAT(2 * (nranks - 1), nranks),
			   &bound->between_gbs);
	return GT_OK;
}

/* What cannot be a cluster has no bound; only lack of memory is a failure. */
static int gt_diff_bound_between(const struct gt_diff_server *server,
				 uint32_t nnodes, struct gt_arena *arena,
				 struct gt_diff_bound *bound,
				 struct gt_err *err)
{
	struct gt_buf nets = GT_BUF_INIT;
	struct gt_cluster *cluster;
	int rc;

	if (!gt_topo_nnets(server->topo))
		return GT_OK;
	gt_fuse_near_nets(server->topo, server->paths, &nets);
	gt_buf_add(&nets, "", 1);
	if (nets.failed) {
		gt_buf_release(&nets);
		return gt_err_nomem(err);
	}
	rc = gt_cluster_copies(server->topo, nnodes,
			       *nets.text ? nets.text : NULL, &cluster, NULL);
	gt_buf_release(&nets);
	if (!rc) {
		rc = gt_diff_bound_of_cluster(server, cluster, arena, bound,
					      NULL);
		gt_cluster_free(cluster);
	}
	return rc == GT_ESYS ? gt_err_nomem(err) : GT_OK;
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
		rc = gt_diff_bound_between(&server, nnodes, arena, bound, err);
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
