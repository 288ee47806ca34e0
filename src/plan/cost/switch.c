/*
 * Rates and latencies of NCCL's NVLS, as others have published them.
 *
 * 8 H100 reach 275 GB/s of algbw (NVIDIA/nccl-tests issue 212, NVIDIA/nccl
 * issue 2140), where links allow 329.6 by NCCL's 20.6 GB/s an NVLink; 5, 6 and
 * 7 reach 258, 265 and 270 of 309, 317.8 and 324.5 (NVIDIA/nccl issue 1455):
 * 0.834 each time.  8 B300 reach 483 of 641.6 (issue 2140), which is 0.753.
 * NCCL's own tuning counts with 0.85 and 0.74, and with 25 us for NVLS over
 * NVLink and 18 us across a network.
 */
#include "plan/cost/switch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/cost/cost.h"
#include "plan/cost/params.h"
#include "plan/ir/plan.h"

static const double rate_nvlink4 = 0.834, rate_nvlink5 = 0.753;
static const double nvlink_us = 25, network_us = 18;

/* A GPU's NVLinks of the fifth generation carry more than this together. */
static const double nvlink4_max_gbs = 500;

double gt_cost_nvls_rate(double gpu_gbs)
{
	return gpu_gbs > nvlink4_max_gbs ? rate_nvlink5 : rate_nvlink4;
}

static int is_nvlink(const struct gt_plan_link *link)
{
	return link->kind && !strcmp(link->kind, "NVL");
}

/* What a GPU's own NVLinks carry: those of several GPUs carry more. */
static double gpu_gbs(const struct gt_plan *plan)
{
	double least = HUGE_VAL;

	for (uint32_t i = 0; i < plan->nlinks; i++)
		if (is_nvlink(&plan->links[i]))
			least = fmin(least, gt_rat_double(plan->links[i].gbs));
	return least;
}

/* Add a channel's rate to each of some links. */
static void add_rate(double *loads, uint32_t n, const uint32_t *links,
		     double gbs)
{
	for (uint32_t i = 0; i < n; i++)
		loads[links[i]] += gbs;
}

/* Sum up what the row's channels load; the sum of their rates. */
static double add_channels(const struct gt_plan *plan,
			   const struct gt_plan_select *row, double *loads)
{
	double sum = 0;

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[c]];
		double gbs = gt_rat_double(channel->gbs);

		sum += gbs;
		for (uint32_t i = 0; i < channel->nvertices; i++) {
			const struct gt_plan_vertex *v = &channel->vertices[i];

			if (gt_coll_goes_up(row->coll))
				add_rate(loads, v->nup, v->up, gbs);
			if (gt_coll_goes_down(row->coll))
				add_rate(loads, v->ndown, v->down, gbs);
		}
	}
	return sum;
}

int gt_cost_switch(const struct gt_plan *plan, uint32_t row, uint64_t bytes,
		   const struct gt_cost_params *params, struct gt_cost *cost,
		   struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	double *loads = calloc((size_t)plan->nlinks + 1, sizeof(*loads));
	double nvls = gt_cost_nvls_rate(gpu_gbs(plan)), sum, busy_us = 0, us;

	if (!loads)
		return gt_err_nomem(err);
	*cost = (struct gt_cost){.row = row,
				 .loops = 1,
				 .link = UINT32_MAX,
				 .time_us = nvlink_us};
	if (select->algo == GT_ALGO_COLLNET)
		cost->time_us += network_us;
	sum = add_channels(plan, select, loads);
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		us = (double)bytes / 1e3 * loads[i] / sum /
		     gt_rat_double(plan->links[i].gbs) /
		     (is_nvlink(&plan->links[i]) ? nvls : params->rate);
		if (us <= busy_us)
			continue;
		busy_us = us;
		cost->link = i;
	}
	free(loads);
	cost->time_us += busy_us;
	cost->busy = busy_us / cost->time_us;
	return GT_OK;
}
