/*
 * The plan of a cluster: what it has whatever the shape of its channels is, and
 * the choice of channels and proof by what was found.
 */
#include "search/cluster/emit.h"

#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/block_templates.h"
#include "search/cluster/double_tree.h"
#include "search/cluster/emit_parts.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"
#include "topo/cluster/cluster.h"

/* Workers (thread blocks) of all channels together. */
enum {
	GT_CLUSTER_WORKERS = 32,         /* a port needs few */
	GT_CLUSTER_ALLTOALL_WORKERS = 8, /* each has FIFOs to all of a rail */
};

static void emit_head(struct gt_cluster_emitter *e)
{
	const struct gt_cluster_request *request = e->solution->request;

	gt_plan_builder_head(
		&e->b, &(struct gt_plan_head){request->coll, request->root,
					      request->rates,
					      request->cluster->kinds[0].topo});
}

static void emit_cluster(struct gt_cluster_emitter *e)
{
	const struct gt_plan_cluster *from = &e->solution->quotient->cluster;
	struct gt_plan_cluster *to =
		gt_plan_builder_copy(&e->b, from, 1, sizeof(*to));

	if (e->b.failed)
		return;
	to->levels = gt_plan_builder_copy(&e->b, from->levels, from->nlevels,
					  sizeof(*to->levels));
	to->ports = gt_plan_builder_copy(&e->b, from->ports, from->nports,
					 sizeof(*to->ports));
	for (uint32_t i = 0; i < to->nports && !e->b.failed; i++)
		to->ports[i].id =
			gt_plan_builder_text(&e->b, from->ports[i].id);
	e->b.plan->cluster = to;
}

static void emit_ranks(struct gt_cluster_emitter *e)
{
	const struct gt_cluster_request *request = e->solution->request;
	const struct gt_topo *topo = request->cluster->kinds[0].topo;
	struct gt_plan_rank *local =
		gt_plan_builder_array(&e->b, request->ngpus, sizeof(*local));

	if (e->b.failed)
		return;
	for (uint32_t i = 0; i < request->ngpus; i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, request->gpus[i]);

		local[i].device = gt_plan_builder_text(&e->b, gpu->bus_id);
		local[i].name = gt_plan_builder_text(&e->b, gpu->name);
		local[i].has_dev = gpu->dev >= 0;
		local[i].dev = (uint32_t)gpu->dev;
	}
	if (!e->b.failed)
		e->b.failed = gt_plan_expand_ranks(e->b.plan, local) < 0;
}

static void emit_links(struct gt_cluster_emitter *e)
{
	const struct gt_quotient *q = e->solution->quotient;
	uint32_t n = q->fabric->nlinks;
	struct gt_plan_link *links =
		gt_plan_builder_array(&e->b, n, sizeof(*links));

	if (e->b.failed)
		return;
	for (uint32_t i = 0; i < n; i++) {
		links[i].id = gt_plan_builder_text(&e->b, q->link_ids[i]);
		links[i].kind = q->link_kinds[i];
		links[i].gbs = q->fabric->links[i].gbs;
	}
	e->b.plan->links = links;
	e->b.plan->nlinks = n;
}

static enum gt_algo algo_of(const struct gt_cluster_solution *solution)
{
	if (solution->a2a)
		return GT_ALGO_FLOW;
	if (solution->double_trees)
		return GT_ALGO_TREE;
	return solution->templates ? GT_ALGO_HIER : GT_ALGO_RING;
}

static void emit_channels(struct gt_cluster_emitter *e, enum gt_algo algo)
{
	switch (algo) {
	case GT_ALGO_FLOW:
		gt_cluster_emit_alltoall(e);
		break;
	case GT_ALGO_TREE:
		gt_cluster_emit_double_trees(e);
		break;
	case GT_ALGO_HIER:
		gt_cluster_emit_templates(e);
		break;
	default:
		gt_cluster_emit_rings(e);
	}
}

static void emit_proof(struct gt_cluster_emitter *e, enum gt_algo algo)
{
	if (algo == GT_ALGO_FLOW)
		gt_cluster_emit_alltoall_proof(e);
	else if (algo == GT_ALGO_RING)
		gt_cluster_emit_ring_proof(e);
	else
		gt_cluster_emit_cut_proof(e);
}

static void emit_all(struct gt_cluster_emitter *e)
{
	enum gt_algo algo = algo_of(e->solution);
	uint32_t workers = algo == GT_ALGO_FLOW ? GT_CLUSTER_ALLTOALL_WORKERS
						: GT_CLUSTER_WORKERS;

	emit_head(e);
	emit_cluster(e);
	if (!e->b.failed)
		emit_ranks(e);
	if (!e->b.failed)
		emit_links(e);
	if (!e->b.failed)
		emit_channels(e, algo);
	if (!e->b.failed)
		gt_plan_builder_select(&e->b, algo, workers);
	if (!e->b.failed && algo == GT_ALGO_HIER)
		gt_cluster_emit_lag(e);
	if (!e->b.failed)
		emit_proof(e, algo);
}

/*
 * What templates reach as the size of the result over the time: every rank's
 * block at the rate of the templates, and an all-reduce has each twice.
 */
static int template_value(const struct gt_cluster_solution *solution,
			  struct gt_rat *value)
{
	const struct gt_quotient *q = solution->quotient;
	int64_t n = (int64_t)q->fabric->nranks * q->cluster.nnodes;
	int64_t times = solution->request->coll == GT_COLL_ALLREDUCE ? 2 : 1;

	return gt_rat_mul(solution->templates->rate, GT_RAT(n, 1), value) &&
	       gt_rat_div(*value, GT_RAT(times, 1), value);
}

/* What the channels reach together; 0 when that needs more than 64 bits. */
static int find_value(const struct gt_cluster_solution *solution,
		      struct gt_rat *value)
{
	if (solution->templates)
		return template_value(solution, value);
	if (solution->a2a)
		*value = solution->a2a->rate;
	else if (solution->double_trees)
		*value = solution->double_trees->value;
	else
		*value = solution->rings->value;
	return 1;
}

int gt_cluster_emit(const struct gt_cluster_solution *solution,
		    struct gt_plan **plan, struct gt_err *err)
{
	struct gt_cluster_emitter e = {.solution = solution};
	int rc;

	if (!find_value(solution, &e.value))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the rates need more than 64 bits");
	rc = gt_plan_builder_init(&e.b, err);
	if (rc)
		return rc;
	emit_all(&e);
	return gt_plan_builder_finish(&e.b, plan, err);
}
