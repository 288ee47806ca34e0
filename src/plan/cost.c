#include "plan/cost.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/cost_net.h"
#include "plan/layout.h"

/*
 * How the engines cut messages: below a part of this many bytes a worker is
 * not worth it, and a slice is handed over in two pieces of up to 128 KiB.
 */
enum {
	GT_COST_PART_BYTES = 16384,
	GT_COST_PIECE_BYTES = 131072,
};

struct gt_cost_model {
	const struct gt_plan *plan;
	struct gt_arena *arena;
	enum gt_coll coll;
	struct gt_cost_params params[GT_NPROTOCOLS];
	struct gt_cost_net *nets; /* by row of select; arena NULL: not yet */
	struct gt_cost_cut *cuts; /* room for all channels */
};

const char *gt_cost_hop_name(enum gt_cost_hop hop)
{
	static const char *const names[] = {"NVL", "PCI", "SYS", "NET"};

	return names[hop];
}

struct gt_cost_params gt_cost_default(enum gt_protocol protocol)
{
	static const struct gt_cost_params params[] = {
		[GT_PROTOCOL_SIMPLE] =
			{6.3, {3.85, 5.7, 5.7, 14}, 0.99, 33.7, 3900},
		[GT_PROTOCOL_LL] = {3, {0.6, 1, 1, 2.7}, 0.5, 33.7, 3900},
		[GT_PROTOCOL_LL128] =
			{3, {1.9, 2.5, 2.5, 4}, 0.9375, 33.7, 3900},
		[GT_PROTOCOL_DIRECT] =
			{4, {2.7, 5.7, 5.7, 14}, 0.95, 33.7, 3900},
		[GT_PROTOCOL_CE] = {60, {10, 10, 10, 14}, 1.04, 400, 3900},
	};

	return params[protocol];
}

int gt_cost_new(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_cost_model **model, struct gt_err *err)
{
	struct gt_arena *arena;
	struct gt_cost_model *m;

	if (plan->cluster)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "plans of clusters are not predicted");
	arena = gt_arena_new();
	m = arena ? gt_arena_alloc(arena, sizeof(*m)) : NULL;
	if (!m) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	m->plan = plan;
	m->arena = arena;
	m->coll = coll;
	m->nets = gt_arena_array(arena, plan->nselect, sizeof(*m->nets));
	m->cuts = gt_arena_array(arena, plan->nchannels, sizeof(*m->cuts));
	if (!m->nets || !m->cuts) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	for (int p = 0; p < GT_NPROTOCOLS; p++)
		m->params[p] = gt_cost_default(p);
	*model = m;
	return GT_OK;
}

void gt_cost_free(struct gt_cost_model *model)
{
	if (model)
		gt_arena_free(model->arena);
}

struct gt_cost_params gt_cost_get(const struct gt_cost_model *model,
				  enum gt_protocol protocol)
{
	return model->params[protocol];
}

void gt_cost_set(struct gt_cost_model *model, enum gt_protocol protocol,
		 const struct gt_cost_params *params)
{
	model->params[protocol] = *params;
}

/* What one worker does in a loop, and how many loops its part takes. */
static struct gt_cost_cut gt_cost_cut_of(const struct gt_plan *plan,
					 const struct gt_plan_select *select,
					 double chunk_bytes)
{
	uint32_t slice = select->slice_bytes ? select->slice_bytes
					     : plan->fifo_slice_bytes;
	struct gt_cost_cut cut = {.workers = 1, .turn = GT_COST_TURN};
	double part, most = GT_COST_PIECE_BYTES;

	if (chunk_bytes >= 2 * GT_COST_PART_BYTES && select->workers > 1)
		cut.workers = (uint32_t)fmin(select->workers,
					     chunk_bytes / GT_COST_PART_BYTES);
	part = chunk_bytes / cut.workers;
	most = fmin(most, fmax(slice / GT_COST_TURN, 16));
	if (part <= fmin(most, GT_COST_PART_BYTES))
		cut.turn = 1;
	/* All loops alike: the last one is not shorter. */
	cut.loops = ceil(part / (most * cut.turn));
	if (cut.loops > 0)
		cut.piece_bytes = chunk_bytes / cut.loops / cut.turn;
	return cut;
}

/* A message as the row's channels cut it; the most loops of any. */
static int gt_cost_cuts(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double *loops, struct gt_err *err)
{
	const struct gt_cost_net *net = &model->nets[row];
	const struct gt_plan *plan = model->plan;
	struct gt_layout_args args = {
		.use = {model->coll, plan->select[row].algo, plan->root},
		.count = bytes /
			 (gt_coll_has_blocks(model->coll) ? plan->nranks : 1),
		.elem_bytes = 1,
		.slice_bytes = 1 << 30,
		.nworkers = 1,
		.nsel = net->nselected,
		.sel = net->selected,
	};

	*loops = 0;
	for (uint32_t i = 0; i < net->nselected; i++) {
		struct gt_layout lay;
		double chunk;
		int rc = gt_layout_init(plan, net->selected[i], &args, &lay,
					err);

		if (rc)
			return rc;
		chunk = (double)(lay.hi - lay.lo);
		chunk /= lay.per_block;
		model->cuts[i] =
			gt_cost_cut_of(plan, &plan->select[row], chunk);
		*loops = fmax(*loops, model->cuts[i].loops);
	}
	/* Channels run side by side: each as often as the longest one. */
	for (uint32_t i = 0; i < net->nselected; i++) {
		struct gt_cost_cut *cut = &model->cuts[i];

		if (cut->loops > 0)
			cut->piece_bytes *= cut->loops / *loops;
		else
			cut->turn = 0;
	}
	return GT_OK;
}

static int gt_cost_net_get(struct gt_cost_model *model, uint32_t row,
			   struct gt_err *err)
{
	if (model->nets[row].arena)
		return GT_OK;
	return gt_cost_net_init(&model->nets[row], model->plan, row,
				model->coll, model->arena, err);
}

/* The link that was busiest in a run, and for how long in each loop. */
static double gt_cost_busiest(const struct gt_cost_net *net,
			      const struct gt_cost_run *run, uint32_t *link)
{
	double most = 0;

	for (uint32_t i = 0; i < net->plan->nlinks; i++) {
		if (net->link_busy_us[i] <= most)
			continue;
		most = net->link_busy_us[i];
		*link = i;
	}
	return most / run->loops;
}

/*
 * A first loop in which all workers are at the same step, then further ones
 * as far apart as when each works on at its own pace.
 */
static void gt_cost_loops(struct gt_cost_net *net, struct gt_cost_run *run,
			  struct gt_cost *cost)
{
	double period, busy;

	run->ngroups = run->loops = 1;
	gt_cost_net_run(net, run);
	cost->time_us = run->end_us[0];
	if (cost->loops > 1) {
		run->ngroups = net->ngroups;
		run->loops = GT_COST_LOOPS;
		gt_cost_net_run(net, run);
	}
	busy = gt_cost_busiest(net, run, &cost->link);
	if (cost->loops > 1) {
		period = run->end_us[run->loops - 1] -
			 run->end_us[run->loops - 2];
		cost->time_us += (cost->loops - 1) * fmax(period, busy);
	}
	if (cost->time_us > 0)
		cost->busy = busy * cost->loops / cost->time_us;
}

int gt_cost_price_row(struct gt_cost_model *model, uint32_t row, uint64_t bytes,
		      struct gt_cost *cost, struct gt_err *err)
{
	struct gt_cost_run run = {
		.params = &model->params[model->plan->select[row].protocol],
		.cuts = model->cuts,
	};
	struct gt_cost made = {.row = row, .link = UINT32_MAX};
	int rc = gt_cost_net_get(model, row, err);

	if (!rc)
		rc = gt_cost_cuts(model, row, bytes, &made.loops, err);
	if (rc)
		return rc;
	if (made.loops > 0)
		gt_cost_loops(&model->nets[row], &run, &made);
	made.time_us += run.params->base_us;
	*cost = made;
	return GT_OK;
}

int gt_cost_price(struct gt_cost_model *model, uint64_t bytes,
		  struct gt_cost *cost, struct gt_err *err)
{
	const struct gt_plan *plan = model->plan;
	const struct gt_plan_select *row =
		gt_plan_row(plan, model->coll, bytes);

	if (!row)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "nothing in select is for '%s'",
				  gt_coll_name(model->coll));
	return gt_cost_price_row(model, (uint32_t)(row - plan->select), bytes,
				 cost, err);
}
