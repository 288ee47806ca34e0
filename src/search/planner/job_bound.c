/*
 * Makes a cluster of copies of a machine and asks for the bound of its cuts.
 */
#include "search/planner/job_bound.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "search/problem/gpu_list.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* Asks for the bound of the request's cluster, as bus bandwidth. */
static int gt_job_bound_ask(const struct gt_cluster_request *request,
			    struct gt_arena *arena, int *found,
			    struct gt_rat *gbs)
{
	struct gt_quotient_bound_query ask = {.coll = GT_COLL_ALLREDUCE,
					      .all_routes = 1};
	int64_t nranks = (int64_t)request->cluster->nnodes * request->ngpus;
	struct gt_quotient_bound bound = {0};
	struct gt_quotient *quotient;
	int rc = gt_quotient_new(request, arena, &quotient, NULL);

	if (rc)
		return rc;
	ask.quotient = quotient;
	rc = gt_quotient_bound_find(&ask, arena, &bound, NULL);
	*found = !rc && bound.found &&
		 gt_rat_mul(bound.value, GT_RAT(2 * (nranks - 1), nranks), gbs);
	return rc;
}

static int gt_job_bound_on(const struct gt_job *job, struct gt_arena *arena,
			   int *found, struct gt_rat *gbs)
{
	struct gt_cluster_request request = {.rates = GT_RATES_MEASURED,
					     .coll = GT_COLL_ALLREDUCE};
	struct gt_cluster *cluster;
	struct gt_paths *paths;
	int rc = gt_gpu_list_read(job->topo, NULL, arena, &request.gpus,
				  &request.ngpus, NULL);

	if (!rc)
		rc = gt_cluster_copies(job->topo, job->nnodes, job->nets,
				       &cluster, NULL);
	if (rc)
		return rc;
	rc = gt_paths_new(job->topo, &paths, NULL);
	if (!rc) {
		request.cluster = cluster;
		request.paths = paths;
		rc = gt_job_bound_ask(&request, arena, found, gbs);
		gt_paths_free(paths);
	}
	gt_cluster_free(cluster);
	return rc;
}

int gt_job_bound(const struct gt_job *job, int *found, struct gt_rat *gbs,
		 struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rc = arena ? GT_OK : GT_ESYS;

	*found = 0;
	if (!rc && gt_topo_nnets(job->topo) &&
	    !gt_topo_need_gpus(job->topo, NULL))
		rc = gt_job_bound_on(job, arena, found, gbs);
	gt_arena_free(arena);
	return rc == GT_ESYS ? gt_err_nomem(err) : GT_OK;
}

int gt_job_bound_of_kind(const struct gt_cluster *cluster,
			 const struct gt_cluster_kind *kind, int *found,
			 struct gt_rat *gbs, struct gt_err *err)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];
	struct gt_job job = {.topo = kind->topo, .nnodes = cluster->nnodes};
	struct gt_buf nets = GT_BUF_INIT;
	int rc;

	*found = 0;
	for (uint32_t i = 0; i < ports->n; i++)
		gt_buf_printf(
			&nets, "%s%d", i ? "," : "",
			gt_topo_node(kind->topo, ports->list[i].device)->dev);
	if (!nets.len && !nets.failed)
		return GT_OK;
	job.nets = nets.text;
	rc = nets.failed ? gt_err_nomem(err)
			 : gt_job_bound(&job, found, gbs, err);
	gt_buf_release(&nets);
	return rc;
}

int gt_job_bound_of_kinds(const struct gt_cluster *cluster, struct gt_buf *out,
			  struct gt_err *err)
{
	const struct gt_cluster_kind *worst = NULL, *best = NULL;
	struct gt_rat least = GT_RAT(0, 1), most = GT_RAT(0, 1), gbs;
	int found, rc = GT_OK;

	for (uint32_t i = 0; i < cluster->nkinds && !rc; i++) {
		const struct gt_cluster_kind *kind = &cluster->kinds[i];

		rc = gt_job_bound_of_kind(cluster, kind, &found, &gbs, err);
		if (rc || !found)
			continue;
		if (!worst || gt_rat_cmp(gbs, least) < 0) {
			worst = kind;
			least = gbs;
		}
		if (!best || gt_rat_cmp(gbs, most) > 0) {
			best = kind;
			most = gbs;
		}
	}
	if (!rc && best && best != worst)
		gt_buf_printf(out,
			      "; all-reduce of %u nodes all like '%s' reaches "
			      "at most %.4g GB/s, like '%s' %.4g",
			      cluster->nnodes, worst->name,
			      gt_rat_double(least), best->name,
			      gt_rat_double(most));
	return rc;
}
