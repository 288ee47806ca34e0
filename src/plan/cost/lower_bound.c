/*
 * A lower bound on the time of a row without executing its message: one loop
 * without bytes, and how long the busiest link has to serve.
 */
#include "plan/cost/network.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * The time of a loop without bytes, by channel: nothing waits for a link, so
 * each channel is on its own.
 */
static int gt_lower_bound_alpha(struct gt_cost_net *net,
				const struct gt_cost_params *params,
				struct gt_err *err)
{
	struct gt_cost_slicing *slicings =
		gt_arena_array(net->arena, net->nselected, sizeof(*slicings));
	struct gt_cost_run run = {.params = params,
				  .slicings = slicings,
				  .ngroups = 1,
				  .loops = 1};
	int rc;

	net->alpha_us = gt_arena_array(net->arena, net->nselected,
				       sizeof(*net->alpha_us));
	if (!slicings || !net->alpha_us)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nselected; i++)
		slicings[i] =
			(struct gt_cost_slicing){.workers = 1, .pieces = 1};
	rc = gt_cost_net_run(net, &run, err);
	for (uint32_t i = 0; i < net->nprocs; i++) {
		const struct gt_cost_proc *proc = &net->procs[i];
		double *alpha_us = &net->alpha_us[proc->selected];

		*alpha_us = fmax(*alpha_us, proc->time_us);
	}
	return rc;
}

/*
 * Add what the steps of a process put on links, in microseconds for a byte in
 * each piece.
 */
static void gt_lower_bound_add(const struct gt_cost_proc *proc,
			       const struct gt_cost_params *params,
			       double *load_us)
{
	for (uint32_t at = 0; at < proc->nops; at++) {
		const struct gt_cost_op *op = &proc->ops[at];

		for (uint32_t i = 0; i < op->nends; i++) {
			const struct gt_cost_route *route = gt_cost_edge_route(
				&proc->edges[op->ends[i].edge], op);

			for (uint32_t k = 0;
			     op->ends[i].moves && k < route->nlegs; k++) {
				const struct gt_cost_leg *leg = &route->legs[k];

				load_us[leg->link] +=
					op->scale * leg->us /
					gt_cost_leg_rate(leg, params);
			}
		}
	}
}

static int gt_lower_bound_load(struct gt_cost_net *net,
			       const struct gt_cost_params *params,
			       struct gt_err *err)
{
	net->load_us =
		gt_arena_array(net->arena, (size_t)net->nselected * net->nlinks,
			       sizeof(*net->load_us));
	if (!net->load_us)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nprocs; i++) {
		const struct gt_cost_proc *proc = &net->procs[i];

		if (!proc->group)
			gt_lower_bound_add(proc, params,
					   net->load_us +
						   (size_t)proc->selected *
							   net->nlinks);
	}
	return GT_OK;
}

int gt_cost_net_serve(struct gt_cost_net *net, const struct gt_cost_run *run,
		      struct gt_err *err)
{
	int rc = net->load_us ? GT_OK
			      : gt_lower_bound_load(net, run->params, err);

	for (uint32_t l = 0; l < net->nlinks && !rc; l++) {
		double us = 0;

		for (uint32_t i = 0; i < net->nselected; i++)
			us += net->load_us[(size_t)i * net->nlinks + l] *
			      run->slicings[i].piece_bytes *
			      run->slicings[i].pieces;
		net->link_busy_us[l] = us;
	}
	return rc;
}

int gt_cost_net_lower_bound(struct gt_cost_net *net,
			    const struct gt_cost_run *run, double loops,
			    double *time_us, struct gt_err *err)
{
	double alpha_us = 0, busy_us = 0;
	int rc = GT_OK;

	if (!net->alpha_us)
		rc = gt_lower_bound_alpha(net, run->params, err);
	if (!rc)
		rc = gt_cost_net_serve(net, run, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < net->nselected; i++)
		if (run->slicings[i].pieces)
			alpha_us = fmax(alpha_us, net->alpha_us[i]);
	for (uint32_t l = 0; l < net->nlinks; l++)
		busy_us = fmax(busy_us, net->link_busy_us[l]);
	*time_us = (fmax(alpha_us, busy_us) + (loops - 1) * busy_us) *
		   GT_COST_SURE;
	return GT_OK;
}
