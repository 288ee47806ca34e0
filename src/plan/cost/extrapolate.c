/*
 * Samples of a large cluster's plan on few nodes, and what grows between them.
 */
#include "plan/cost/extrapolate.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/cost/network.h"

int gt_cost_extrapolate_init(struct gt_cost_extrapolation *x,
			     const struct gt_plan *plan, int fast,
			     struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	uint32_t ranks = fast ? GT_COST_FAST_RANKS : GT_COST_EXACT_RANKS;
	uint32_t most, widest;

	x->full = plan;
	x->n = 1;
	x->samples[0].plan = *plan;
	if (!cluster || plan->nranks <= ranks)
		return GT_OK;
	widest = gt_nodes_radix(cluster, gt_cluster_widest(cluster));
	most = ranks / cluster->nlocal >> (cluster->nlevels - 1);
	/*
	 * The larger sample and the smaller one, which has half of its nodes,
	 * have even numbers of them, for rings that alternate.
	 */
	most = fast || most < GT_COST_SAMPLE_NODES ? GT_COST_FAST_NODES
						   : GT_COST_SAMPLE_NODES;
	if (widest <= most)
		return GT_OK;
	x->n = 2;
	return gt_plan_shrink_levels(&x->samples[0], plan, most / 2, arena) ||
			       gt_plan_shrink_levels(&x->samples[1], plan, most,
						     arena)
		       ? gt_err_nomem(err)
		       : GT_OK;
}

double gt_cost_extrapolate_linear(const struct gt_cost_extrapolation *x,
				  const double y[2])
{
	double a = x->samples[0].cluster.nnodes,
	       b = x->samples[1].cluster.nnodes;
	double more = (y[1] - y[0]) / (b - a);

	return x->n < 2 ? y[0] : y[1] + more * (x->full->cluster->nnodes - b);
}

double gt_cost_extrapolate_chain(const struct gt_cost_extrapolation *x,
				 const double y[2], double deep)
{
	double flat[2] = {y[0], y[1]};

	if (x->n < 2)
		return y[0];
	for (int i = 0; i < 2; i++)
		flat[i] -= deep * gt_nodes_depth(&x->samples[i].cluster);
	return gt_cost_extrapolate_linear(x, flat) +
	       deep * gt_nodes_depth(x->full->cluster);
}

static void gt_cost_extrapolate_longer(double us, uint32_t which, double *most,
				       uint32_t *link)
{
	if (us <= *most)
		return;
	*most = us;
	*link = which;
}

/*
 * For how long an uplink is busy on all nodes.  It is crossed once for each
 * node that is not below its switch, by a flow also for each that is; by a ring
 * once for each rank but one, of which there are about as many as nodes.
 */
static double gt_cost_extrapolate_uplink(const struct gt_cost_extrapolation *x,
					 const struct gt_cost_net *net,
					 uint32_t level, uint32_t rail)
{
	const struct gt_plan_cluster *run = net->plan->cluster;
	const struct gt_plan_cluster *all = x->full->cluster;
	double most = 0, times;

	times = (double)(all->nnodes - all->levels[level].nodes) /
		(run->nnodes - run->levels[level].nodes);
	if (net->plan->channels[*net->selected].shape == GT_SHAPE_RING)
		times = (double)all->nnodes / run->nnodes;
	if (net->plan->channels[*net->selected].shape == GT_SHAPE_FLOW)
		times *= (double)all->levels[level].nodes /
			 run->levels[level].nodes;
	for (int in = 0; in < 2; in++) {
		uint32_t at = gt_cost_uplink(net->plan, level, 0, rail, in);

		if (most < net->link_busy_us[at] * times)
			most = net->link_busy_us[at] * times;
	}
	return most;
}

double gt_cost_extrapolate_busiest(const struct gt_cost_extrapolation *x,
				   const struct gt_cost_net *nets,
				   uint32_t *link)
{
	const struct gt_plan_cluster *cluster = x->full->cluster;
	uint32_t n = x->full->nlinks, here = cluster ? n : nets[0].nlinks;
	double most = 0;

	for (uint32_t i = 0; i < here; i++) {
		double busy[2] = {nets[0].link_busy_us[i], 0};

		if (x->n > 1)
			busy[1] = nets[1].link_busy_us[i];
		gt_cost_extrapolate_longer(gt_cost_extrapolate_linear(x, busy),
					   i % n, &most, link);
	}
	for (uint32_t l = 0; cluster && l + 1 < cluster->nlevels; l++)
		for (uint32_t r = 0; r < cluster->nrails; r++)
			gt_cost_extrapolate_longer(
				gt_cost_extrapolate_uplink(x, &nets[x->n - 1],
							   l, r),
				n + l * cluster->nrails + r, &most, link);
	return most;
}

static double gt_cost_extrapolate_levels(uint32_t nnodes)
{
	uint32_t depth = 0;

	while (nnodes >>= 1)
		depth++;
	return depth;
}

double gt_cost_extrapolate_tree(const struct gt_cost_extrapolation *x,
				const double y[2])
{
	double a, b;

	if (x->n < 2)
		return y[0];
	a = gt_cost_extrapolate_levels(x->samples[0].cluster.nnodes);
	b = gt_cost_extrapolate_levels(x->samples[1].cluster.nnodes);
	if (b <= a)
		return y[1];
	return y[1] +
	       (y[1] - y[0]) / (b - a) *
		       (gt_cost_extrapolate_levels(x->full->cluster->nnodes) -
			b);
}

double gt_cost_extrapolate_max(const struct gt_cost_extrapolation *x,
			       const struct gt_cost_net *nets, uint32_t *link)
{
	const struct gt_cost_net *net = &nets[x->n - 1];
	uint32_t n = net->plan->nlinks, nnodes = net->plan->cluster->nnodes;
	uint32_t rails = net->plan->cluster->nrails;
	double most = 0;

	for (uint32_t i = 0; i < net->nlinks; i++) {
		uint32_t up = (i - nnodes * n) / 2;

		gt_cost_extrapolate_longer(
			net->link_busy_us[i],
			i < nnodes * n
				? i % n
				: n + up / rails / nnodes * rails + up % rails,
			&most, link);
	}
	return most;
}
