/*
 * The way in: a message is cut as the engines cut it, the row's programs are
 * executed for a few loops (run.c), and the rest is extrapolated.
 */
#include "plan/cost/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/cost/copies.h"
#include "plan/cost/extrapolate.h"
#include "plan/cost/network.h"
#include "plan/cost/switch.h"
#include "plan/lower/layout.h"
#include "plan/ir/measured.h"

/*
 * How the engines cut messages: below a part of GT_COST_PART_BYTES a worker is
 * not worth it, and a slice is handed over in two pieces of up to
 * GT_COST_PIECE_BYTES.
 */
enum {
	GT_COST_PART_BYTES = 16384,
	GT_COST_PIECE_BYTES = 131072,
};

struct gt_cost_model {
	const struct gt_plan *plan;
	struct gt_arena *arena;
	enum gt_coll coll;
	int is_staged; /* all goes through the host's memory */
	struct gt_cost_params params[GT_NPROTOCOLS];
	struct gt_cost_extrapolation extrapolation;
	/*
	 * By row of select, two for each; a net is made when its arena is set.
	 */
	struct gt_cost_net *nets;
	struct gt_cost_slicing *slicings; /* room for all channels */
};

/*
 * Does everything go through the host's memory?  Ranks of several hosts have
 * links between them, which carry their FIFOs.
 */
static int gt_cost_stages_all(const struct gt_plan *plan)
{
	if (plan->cluster || !gt_plan_is_staged(plan))
		return 0;
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++) {
			enum gt_transport by =
				plan->channels[c].hops[i].transport;

			if (by != GT_TRANSPORT_SHM && by != GT_TRANSPORT_PEER)
				return 0;
		}
	return 1;
}

int gt_cost_new(const struct gt_plan *plan, enum gt_coll coll,
		struct gt_cost_model **model, struct gt_err *err)
{
	struct gt_arena *arena;
	struct gt_cost_model *m;
	int rc;

	arena = gt_arena_new();
	m = arena ? gt_arena_alloc(arena, sizeof(*m)) : NULL;
	if (!m) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	m->plan = plan;
	m->arena = arena;
	m->coll = coll;
	m->is_staged = gt_cost_stages_all(plan);
	m->nets = gt_arena_array(arena, 2 * (size_t)plan->nselect,
				 sizeof(*m->nets));
	m->slicings =
		gt_arena_array(arena, plan->nchannels, sizeof(*m->slicings));
	rc = m->nets && m->slicings
		     ? gt_cost_extrapolate_init(&m->extrapolation, plan, 0,
						arena, err)
		     : gt_err_nomem(err);
	if (rc) {
		gt_arena_free(arena);
		return rc;
	}
	for (int p = 0; p < GT_NPROTOCOLS; p++)
		m->params[p] = gt_cost_default(p);
	*model = m;
	return GT_OK;
}

int gt_cost_set_fast(struct gt_cost_model *model, struct gt_err *err)
{
	memset(model->nets, 0,
	       2 * (size_t)model->plan->nselect * sizeof(*model->nets));
	return gt_cost_extrapolate_init(&model->extrapolation, model->plan, 1,
					model->arena, err);
}

void gt_cost_free(struct gt_cost_model *model)
{
	if (model)
		gt_arena_free(model->arena);
}

const char *gt_cost_link_name(const struct gt_plan *plan, uint32_t link,
			      char text[GT_COST_LINK_MAX])
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	if (link < plan->nlinks)
		return plan->links[link].id;
	link -= plan->nlinks;
	if (cluster->levels[link / cluster->nrails].by_rail)
		snprintf(text, GT_COST_LINK_MAX, "uplink of level %u, rail %u",
			 link / cluster->nrails, link % cluster->nrails);
	else
		snprintf(text, GT_COST_LINK_MAX, "uplink of level %u",
			 link / cluster->nrails);
	return text;
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
	for (uint32_t i = 0; i < 2 * model->plan->nselect; i++)
		model->nets[i].alpha_us = model->nets[i].load_us = NULL;
}

/* How chunks of this length are cut: workers, pieces and loops. */
static struct gt_cost_slicing gt_cost_slicing_of(
	const struct gt_plan *plan, const struct gt_plan_select *select,
	double chunk_bytes)
{
	uint32_t slice = select->slice_bytes ? select->slice_bytes
					     : plan->fifo_slice_bytes;
	struct gt_cost_slicing slicing = {.workers = 1,
					  .pieces = GT_COST_PIECES};
	double part, most = GT_COST_PIECE_BYTES;

	if (chunk_bytes >= 2 * GT_COST_PART_BYTES && select->workers > 1)
		slicing.workers = (uint32_t)fmin(
			select->workers, chunk_bytes / GT_COST_PART_BYTES);
	part = chunk_bytes / slicing.workers;
	most = fmin(most, fmax(slice / GT_COST_PIECES, 16));
	if (part <= fmin(most, GT_COST_PART_BYTES))
		slicing.pieces = 1;
	/* All loops are alike: the last one is not shorter. */
	slicing.loops = ceil(part / (most * slicing.pieces));
	if (slicing.loops > 0)
		slicing.piece_bytes =
			chunk_bytes / slicing.loops / slicing.pieces;
	return slicing;
}

/*
 * Cut a message for each of the row's channels; *loops becomes the largest
 * number of loops of any channel.
 */
static int gt_cost_slicings(struct gt_cost_model *model, uint32_t row,
			    uint64_t bytes, double *loops, struct gt_err *err)
{
	const struct gt_cost_net *net = &model->nets[2 * row];
	const struct gt_plan *plan = model->plan;
	struct gt_layout_args args = {
		.use = {model->coll, plan->select[row].algo, plan->root},
		.count = gt_plan_block_count(plan, model->coll, bytes),
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
		model->slicings[i] =
			gt_cost_slicing_of(plan, &plan->select[row], chunk);
		*loops = fmax(*loops, model->slicings[i].loops);
	}
	/*
	 * Channels run side by side, so each counts as many loops as the
	 * longest one.
	 */
	for (uint32_t i = 0; i < net->nselected; i++) {
		struct gt_cost_slicing *slicing = &model->slicings[i];

		if (slicing->loops > 0)
			slicing->piece_bytes *= slicing->loops / *loops;
		else
			slicing->pieces = 0;
	}
	return GT_OK;
}

static int gt_cost_nets_get(struct gt_cost_model *model, uint32_t row,
			    struct gt_err *err)
{
	struct gt_cost_net *nets = &model->nets[2 * (size_t)row];
	int rc = GT_OK;

	for (uint32_t i = 0;
	     i < model->extrapolation.n && !nets[i].arena && !rc; i++)
		rc = gt_cost_net_init(&nets[i],
				      &model->extrapolation.samples[i].plan,
				      row, model->coll, model->arena, err);
	return rc;
}

/*
 * The slowest kind of hop in the net: between nodes it is the network, or
 * NVLink.
 */
static enum gt_cost_hop gt_cost_net_kind(const struct gt_cost_net *net)
{
	enum gt_cost_hop kind = GT_COST_HOP_NVL;

	for (uint32_t i = 0; i < net->nedges; i++)
		if (net->edges[i].kind > kind &&
		    net->edges[i].kind != GT_COST_HOP_HOST)
			kind = net->edges[i].kind;
	return kind;
}

static int gt_cost_is_tree(const struct gt_cost_model *model, uint32_t row)
{
	return model->plan->cluster &&
	       model->plan->select[row].algo == GT_ALGO_TREE;
}

/* For how long the busiest link serves, by what the nets say of theirs. */
static double gt_cost_busy(const struct gt_cost_model *model, uint32_t row,
			   uint32_t *link)
{
	const struct gt_cost_net *nets = &model->nets[2 * (size_t)row];

	return gt_cost_is_tree(model, row)
		       ? gt_cost_extrapolate_max(&model->extrapolation, nets,
						 link)
		       : gt_cost_extrapolate_busiest(&model->extrapolation,
						     nets, link);
}

/* The time of a first loop, in which all workers are at the same step. */
static int gt_cost_first(const struct gt_cost_model *model, uint32_t row,
			 struct gt_cost_run *run, double *first_us,
			 struct gt_err *err)
{
	struct gt_cost_net *nets = &model->nets[2 * (size_t)row];
	const struct gt_cost_extrapolation *x = &model->extrapolation;
	enum gt_algo algo = model->plan->select[row].algo;
	double us[2], deep;
	int rc = GT_OK;

	run->ngroups = run->loops = 1;
	for (uint32_t i = 0; i < x->n && !rc; i++) {
		rc = gt_cost_net_run(&nets[i], run, err);
		us[i] = run->end_us[0];
	}
	if (rc)
		return rc;
	deep = run->params->hop_us[gt_cost_net_kind(&nets[0])];
	if (model->coll == GT_COLL_ALLREDUCE)
		deep *= 2;
	if (algo == GT_ALGO_RING || algo == GT_ALGO_FLOW)
		/* rings and flows go node after node, which grows evenly */
		deep = 0;
	*first_us = gt_cost_is_tree(model, row)
			    ? gt_cost_extrapolate_tree(x, us)
			    : gt_cost_extrapolate_chain(x, us, deep);
	return GT_OK;
}

/*
 * Does a loop of the row last as long on any number of nodes?  A tree's does,
 * and that of a chain from or to the root: more nodes only make the first one
 * longer.
 */
static int gt_cost_is_steady(const struct gt_cost_model *model, uint32_t row)
{
	return gt_cost_is_tree(model, row) ||
	       model->coll == GT_COLL_BROADCAST ||
	       model->coll == GT_COLL_REDUCE;
}

/*
 * The period of further loops, which are as far apart as when each worker goes
 * on at its own pace.
 */
static int gt_cost_period(const struct gt_cost_model *model, uint32_t row,
			  struct gt_cost_run *run, double *period_us,
			  struct gt_err *err)
{
	struct gt_cost_net *nets = &model->nets[2 * (size_t)row];
	const struct gt_cost_extrapolation *x = &model->extrapolation;
	double us[2];
	int rc = GT_OK;

	run->ngroups = nets[0].ngroups;
	run->loops = GT_COST_LOOPS;
	for (uint32_t i = 0; i < x->n && !rc; i++) {
		rc = gt_cost_net_run(&nets[i], run, err);
		us[i] = run->end_us[run->loops - 1] -
			run->end_us[run->loops - 2];
	}
	if (!rc)
		*period_us = gt_cost_is_steady(model, row)
				     ? us[x->n - 1]
				     : gt_cost_extrapolate_linear(x, us);
	return rc;
}

/*
 * The time of cost->loops loops.  Where the first one and the busiest link show
 * that it is above limit_us it is left at infinity.
 */
static int gt_cost_time(const struct gt_cost_model *model,
			struct gt_cost_run *run, double limit_us,
			struct gt_cost *cost, struct gt_err *err)
{
	double first_us, period_us = 0, busy_us;
	int rc = gt_cost_first(model, cost->row, run, &first_us, err);

	if (rc)
		return rc;
	busy_us = gt_cost_busy(model, cost->row, &cost->link);
	cost->time_us = HUGE_VAL;
	if ((fmax(first_us, busy_us) + (cost->loops - 1) * busy_us) *
		    GT_COST_SURE >
	    limit_us)
		return GT_OK;
	if (cost->loops > 1) {
		rc = gt_cost_period(model, cost->row, run, &period_us, err);
		if (rc)
			return rc;
		busy_us = gt_cost_busy(model, cost->row, &cost->link) /
			  run->loops;
	}
	cost->time_us = fmax(first_us, busy_us);
	if (cost->loops > 1)
		cost->time_us += (cost->loops - 1) * fmax(period_us, busy_us);
	if (cost->time_us > 0)
		cost->busy = busy_us * cost->loops / cost->time_us;
	return GT_OK;
}

static int gt_cost_is_switch(const struct gt_cost_model *model, uint32_t row)
{
	enum gt_algo algo = model->plan->select[row].algo;

	return algo == GT_ALGO_NVLS || algo == GT_ALGO_COLLNET;
}

static int gt_cost_are_copies(const struct gt_cost_model *model, uint32_t row)
{
	return model->is_staged &&
	       model->plan->select[row].protocol == GT_PROTOCOL_CE;
}

/* Is the row priced by a formula, and its programs not executed? */
static int gt_cost_is_formula(const struct gt_cost_model *model, uint32_t row)
{
	return gt_cost_is_switch(model, row) || gt_cost_are_copies(model, row);
}

/* What a message takes before its first byte and behind its last one. */
static double gt_cost_base_us(const struct gt_cost_model *model,
			      const struct gt_cost_params *params)
{
	return model->is_staged ? params->host_base_us : params->base_us;
}

/* The price of copies through the host's memory, without host_base_us. */
static int gt_cost_copies(struct gt_cost_model *model,
			  const struct gt_cost_run *run, uint64_t bytes,
			  struct gt_cost *cost, struct gt_err *err)
{
	struct gt_cost_net *net = &model->nets[2 * (size_t)cost->row];
	struct gt_cost_copies copies = {.nranks = model->plan->nranks,
					.coll = model->coll,
					.bytes = (double)bytes};
	int rc = gt_cost_net_serve(net, run, err);

	if (rc)
		return rc;
	copies.busy_us =
		gt_cost_busy(model, cost->row, &cost->link) * cost->loops;
	cost->time_us = gt_cost_copies_us(&copies, run->params);
	if (cost->time_us > 0)
		cost->busy = copies.busy_us / cost->time_us;
	return GT_OK;
}

int gt_cost_price_below(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double limit_us, struct gt_cost *cost,
			struct gt_err *err)
{
	struct gt_cost_run run = {
		.params = &model->params[model->plan->select[row].protocol],
		.slicings = model->slicings,
	};
	struct gt_cost made = {.row = row, .link = UINT32_MAX};
	double base_us = gt_cost_base_us(model, run.params);
	int rc;

	if (gt_cost_is_switch(model, row))
		return gt_cost_switch(model->plan, row, bytes, run.params, cost,
				      err);
	rc = gt_cost_nets_get(model, row, err);
	if (!rc)
		rc = gt_cost_slicings(model, row, bytes, &made.loops, err);
	if (!rc && made.loops > 0)
		rc = gt_cost_are_copies(model, row)
			     ? gt_cost_copies(model, &run, bytes, &made, err)
			     : gt_cost_time(model, &run, limit_us - base_us,
					    &made, err);
	if (rc)
		return rc;
	made.time_us += base_us;
	*cost = made;
	return GT_OK;
}

int gt_cost_price_row(struct gt_cost_model *model, uint32_t row, uint64_t bytes,
		      struct gt_cost *cost, struct gt_err *err)
{
	return gt_cost_price_below(model, row, bytes, HUGE_VAL, cost, err);
}

/* What the busiest link serves in all loops. */
static int gt_cost_least_busy(struct gt_cost_model *model, uint32_t row,
			      const struct gt_cost_run *run, double loops,
			      double *least_us, struct gt_err *err)
{
	uint32_t link;
	int rc = GT_OK;

	for (uint32_t i = 0; i < model->extrapolation.n && !rc; i++)
		rc = gt_cost_net_serve(&model->nets[2 * (size_t)row + i], run,
				       err);
	if (!rc)
		*least_us =
			gt_cost_busy(model, row, &link) * loops * GT_COST_SURE;
	return rc;
}

int gt_cost_lower_bound(struct gt_cost_model *model, uint32_t row,
			uint64_t bytes, double *time_us, struct gt_err *err)
{
	struct gt_cost_run run = {
		.params = &model->params[model->plan->select[row].protocol],
		.slicings = model->slicings,
	};
	struct gt_cost exact;
	double loops, least = 0;
	int rc;

	if (gt_cost_is_formula(model, row)) {
		rc = gt_cost_price_row(model, row, bytes, &exact, err);
		*time_us = rc ? 0 : exact.time_us;
		return rc;
	}
	rc = gt_cost_nets_get(model, row, err);
	if (!rc)
		rc = gt_cost_slicings(model, row, bytes, &loops, err);
	if (!rc && loops > 0 && model->extrapolation.n == 1)
		rc = gt_cost_net_lower_bound(&model->nets[2 * (size_t)row],
					     &run, loops, &least, err);
	else if (!rc && loops > 0)
		rc = gt_cost_least_busy(model, row, &run, loops, &least, err);
	*time_us = least + gt_cost_base_us(model, run.params);
	return rc;
}

int gt_cost_price(struct gt_cost_model *model, uint64_t bytes,
		  struct gt_cost *cost, struct gt_err *err)
{
	const struct gt_plan *plan = model->plan;
	const struct gt_plan_select *row =
		gt_plan_row(plan, model->coll, bytes);

	if (!row)
		return gt_err_set(err, GT_EINPUT, plan->file,
				  "nothing in select is for '%s'; gtopo search "
				  "--coll %s makes a plan for it",
				  gt_coll_name(model->coll),
				  gt_coll_name(model->coll));
	return gt_cost_price_row(model, (uint32_t)(row - plan->select), bytes,
				 cost, err);
}

/*
 * Beyond the sizes that were measured the model says how the time goes on: it
 * is scaled to meet the nearest measurement.
 */
static int gt_cost_beyond(struct gt_cost_model *model,
			  const struct gt_plan_measured *measured,
			  uint64_t bytes, struct gt_cost *cost,
			  struct gt_err *err)
{
	uint32_t end = bytes < measured->bytes[0] ? 0 : measured->npoints - 1;
	struct gt_cost known;
	int rc = gt_cost_price_row(model, cost->row, measured->bytes[end],
				   &known, err);

	if (!rc)
		cost->time_us *= measured->time_us[end] / known.time_us;
	return rc;
}

int gt_cost_expect(struct gt_cost_model *model, uint64_t bytes,
		   struct gt_cost *cost, struct gt_err *err)
{
	const struct gt_plan_measured *measured;
	struct gt_plan_select use;
	struct gt_cost made;
	double modelled_us, time_us;
	int rc = gt_cost_price(model, bytes, &made, err);

	if (rc)
		return rc;
	use = model->plan->select[made.row];
	use.coll = model->coll;
	measured = gt_plan_measured_find(model->plan, &use);
	if (measured) {
		modelled_us = made.time_us;
		time_us = gt_plan_measured_time(measured, bytes);
		if (isfinite(time_us))
			made.time_us = time_us;
		else
			rc = gt_cost_beyond(model, measured, bytes, &made, err);
		made.busy = fmin(made.busy * modelled_us / made.time_us, 1);
		made.measured = 1;
	}
	if (!rc)
		*cost = made;
	return rc;
}
