/*
 * The rows of `select`: plans of one request are merged, every use of their
 * channels and of the mesh is priced, and each size gets the quickest.
 */
#include "search/emit/select_by_size.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/cost/cost.h"
#include "plan/ir/envelope.h"
#include "plan/ir/plan.h"
#include "search/emit/merge.h"

enum {
	/*
	 * The smallest and largest size, as powers of two.  The largest is what
	 * the memory of a GPU holds, so that no message that can be is sent to
	 * the last row while another is quicker; in a cluster, where each
	 * rank's part is smaller, only so large ones reach a plan's bandwidth.
	 */
	GT_BY_SIZE_FIRST = 3,
	GT_BY_SIZE_LAST = 38,
	GT_BY_SIZE_SIZES = GT_BY_SIZE_LAST - GT_BY_SIZE_FIRST + 1,
	/* With more ranks the largest bandwidth has to do for all sizes, but
	   in clusters, which are priced by few of their nodes. */
	GT_BY_SIZE_MAX_RANKS = 64,
	GT_BY_SIZE_MAX_PLANS = 8,
	/*
	 * There is at most one row for each plan, and one for each use of the
	 * mesh.
	 */
	GT_BY_SIZE_USES = 8,
	GT_BY_SIZE_ROWS = GT_BY_SIZE_MAX_PLANS + GT_BY_SIZE_USES,
	/*
	 * Once the last row of one machine's plan is best at so many sizes in
	 * turn, it stays so.  In a cluster others may be quicker again.
	 */
	GT_BY_SIZE_SETTLED = 6,
	/* Of clusters only every so many-th size is priced, the last among
	   them: it takes longer. */
	GT_BY_SIZE_STEP = 5,
};

#define GT_BY_SIZE_ALL UINT32_MAX

/*
 * A row is not chosen if its time, even times this, is above the quickest
 * row's, whichever row came before (gt_envelope_choose()).
 */
#define GT_BY_SIZE_NEAR 0.96

/*
 * The candidates; the last row is the one with the largest bandwidth, which the
 * proof is about.
 */
struct gt_by_size {
	struct gt_plan *plan;
	uint32_t nrows;
	struct gt_plan_select rows[GT_BY_SIZE_ROWS];
	uint32_t chosen[GT_BY_SIZE_SIZES]; /* the row at each size */
};

/* The bytes of the result over the time, for large messages. */
static double gt_by_size_algbw(const struct gt_plan *plan)
{
	return gt_rat_double(plan->proof.value) *
	       gt_rat_double(gt_plan_algbw_factor(plan));
}

/*
 * The plan with the largest bandwidth, whose row is the last one.  In a cluster
 * a pass over the blocks of all ranks may take so long that others are quicker
 * for whatever fits a GPU: they then have rows up to the largest size.
 */
static uint32_t gt_by_size_widest(struct gt_plan *const *plans, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (gt_by_size_algbw(plans[i]) >
		    gt_by_size_algbw(plans[best]) * (1 + 1e-9))
			best = i;
	return best;
}

/* Append the row of a plan whose channels are merged, with their new places. */
static int gt_by_size_merge(struct gt_by_size *a, const struct gt_plan *other,
			    struct gt_err *err)
{
	const struct gt_plan_select *from = gt_plan_main_row(other);
	struct gt_plan_select *row = &a->rows[a->nrows];
	uint32_t first = a->plan->nchannels;
	int rc = gt_merge_channels(a->plan, other, err);

	if (rc)
		return rc;
	*row = *from;
	row->channels = gt_arena_array(a->plan->arena, row->nchannels,
				       sizeof(*row->channels));
	if (!row->channels)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < row->nchannels; i++)
		row->channels[i] = first + from->channels[i];
	a->nrows++;
	return GT_OK;
}

/* Append a row of the mesh, with as many workers as the last row has in all. */
static int gt_by_size_use(struct gt_by_size *a, enum gt_algo algo,
			  enum gt_protocol protocol, struct gt_err *err)
{
	const struct gt_plan_select *last = gt_plan_main_row(a->plan);
	struct gt_plan_select *row = &a->rows[a->nrows];

	if (!gt_algo_supports(algo, a->plan->coll))
		return GT_OK;
	*row = *last;
	row->algo = algo;
	row->protocol = protocol;
	row->nchannels = 1;
	row->workers = last->workers * last->nchannels;
	row->channels = gt_arena_alloc(a->plan->arena, sizeof(uint32_t));
	if (!row->channels)
		return gt_err_nomem(err);
	row->channels[0] = a->plan->nchannels - 1;
	a->nrows++;
	return GT_OK;
}

/*
 * Can GPUs use the mesh so?  A broadcast or reduce in two shots is only done
 * by packets, and so is an all-reduce in one shot, which would otherwise
 * replace what others still read.  Copy engines do not add, so what ends with
 * a sum waits for another kernel; through the host's memory it does so anyhow,
 * and nobody reaches buffers or gets 128 bytes as a whole.
 */
static int gt_by_size_is_use(const struct gt_plan *plan, enum gt_algo algo,
			     enum gt_protocol protocol)
{
	int packets =
		protocol == GT_PROTOCOL_LL || protocol == GT_PROTOCOL_LL128;

	if (algo == GT_ALGO_TWO_SHOT && plan->coll != GT_COLL_ALLREDUCE &&
	    !packets)
		return 0;
	if (algo == GT_ALGO_ONE_SHOT && plan->coll == GT_COLL_ALLREDUCE &&
	    !packets)
		return 0;
	if (gt_plan_is_staged(plan))
		return protocol == GT_PROTOCOL_LL || protocol == GT_PROTOCOL_CE;
	if (protocol == GT_PROTOCOL_CE && gt_coll_goes_up(plan->coll) &&
	    !gt_coll_goes_down(plan->coll))
		return 0;
	return protocol != GT_PROTOCOL_LL128 || gt_plan_allows_ll128(plan);
}

static int gt_by_size_mesh(struct gt_by_size *a, struct gt_err *err)
{
	static const struct {
		enum gt_algo algo;
		enum gt_protocol protocol;
	} uses[GT_BY_SIZE_USES] = {
		{GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL},
		{GT_ALGO_ONE_SHOT, GT_PROTOCOL_LL128},
		{GT_ALGO_ONE_SHOT, GT_PROTOCOL_DIRECT},
		{GT_ALGO_ONE_SHOT, GT_PROTOCOL_CE},
		{GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL},
		{GT_ALGO_TWO_SHOT, GT_PROTOCOL_LL128},
		{GT_ALGO_TWO_SHOT, GT_PROTOCOL_DIRECT},
		{GT_ALGO_TWO_SHOT, GT_PROTOCOL_CE},
	};
	const struct gt_plan *plan = a->plan;
	struct gt_err none;
	int rc = GT_OK;

	gt_err_init(&none);
	if (plan->channels[plan->nchannels - 1].shape != GT_SHAPE_MESH)
		rc = gt_merge_mesh(a->plan, &none);
	if (rc == GT_ENO)
		return GT_OK;
	if (rc)
		return gt_err_set(err, rc, none.where, "%s", none.text);
	for (uint32_t i = 0; !rc && i < GT_BY_SIZE_USES; i++)
		if (gt_by_size_is_use(plan, uses[i].algo, uses[i].protocol))
			rc = gt_by_size_use(a, uses[i].algo, uses[i].protocol,
					    err);
	return rc;
}

/*
 * What a row's time has to be below to matter for the choice: as the last row
 * is chosen wherever it is near, that is what a change from it is worth.
 */
static double gt_by_size_limit(const struct gt_by_size *a,
			       const double *time_us, double best_us)
{
	double home_us = time_us[a->nrows - 1];

	if (isfinite(home_us) && gt_envelope_is_near(home_us, best_us))
		return gt_envelope_worth_us(home_us);
	return best_us / GT_BY_SIZE_NEAR;
}

/*
 * The row to price next, or nrows if none can be below the limit: the one that
 * may be the quickest, but the last one first where it may be near.
 */
static uint32_t gt_by_size_promising(const struct gt_by_size *a,
				     const double *least_us, double limit_us)
{
	uint32_t home = a->nrows - 1, best = home;

	for (uint32_t i = 0; i < home; i++)
		if (least_us[i] < least_us[best])
			best = i;
	if (least_us[best] >= limit_us)
		return a->nrows;
	if (least_us[home] < limit_us &&
	    gt_envelope_is_near(least_us[home], least_us[best]))
		return home;
	return best;
}

/*
 * Price rows from the one with the lowest bound on, which becomes infinite; for
 * one that is only told to be above a limit it is the limit, which may rise.
 */
static int gt_by_size_times(struct gt_by_size *a, struct gt_cost_model *model,
			    uint64_t bytes, double *least_us, double *time_us,
			    struct gt_err *err)
{
	double best_us = HUGE_VAL, limit_us = HUGE_VAL;
	struct gt_cost cost;

	for (uint32_t i;
	     (i = gt_by_size_promising(a, least_us, limit_us)) < a->nrows;) {
		int rc = gt_cost_price_below(model, i, bytes, limit_us, &cost,
					     err);

		if (rc)
			return rc;
		time_us[i] = cost.time_us;
		least_us[i] = isfinite(cost.time_us) ? HUGE_VAL : limit_us;
		best_us = fmin(best_us, cost.time_us);
		limit_us = gt_by_size_limit(a, time_us, best_us);
	}
	return GT_OK;
}

/*
 * The row that is quickest at size s, seen from the choice before, among all
 * rows or only among that one and `after`.
 */
static int gt_by_size_nth(struct gt_by_size *a, struct gt_cost_model *model,
			  uint32_t s, uint32_t before, uint32_t after,
			  struct gt_err *err)
{
	uint64_t bytes = UINT64_C(1) << (s + GT_BY_SIZE_FIRST);
	double time_us[GT_BY_SIZE_ROWS], least_us[GT_BY_SIZE_ROWS];
	int rc = GT_OK;

	for (uint32_t i = 0; i < a->nrows && !rc; i++) {
		time_us[i] = least_us[i] = HUGE_VAL;
		if (after == GT_BY_SIZE_ALL || i == before || i == after)
			rc = gt_cost_lower_bound(model, i, bytes, &least_us[i],
						 err);
	}
	if (!rc)
		rc = gt_by_size_times(a, model, bytes, least_us, time_us, err);
	if (!rc)
		a->chosen[s] = gt_envelope_choose(time_us, a->nrows,
						  a->nrows - 1, before);
	return rc;
}

/*
 * Fill in the sizes between two that were priced: where they choose
 * differently, find by halves where the one hands over to the other.
 */
static int gt_by_size_between(struct gt_by_size *a, struct gt_cost_model *model,
			      uint32_t low, uint32_t high, struct gt_err *err)
{
	uint32_t before = a->chosen[low], after = a->chosen[high], mid;
	int rc = GT_OK;

	while (low + 1 < high && before != after && !rc) {
		mid = (low + high) / 2;
		rc = gt_by_size_nth(a, model, mid, before, after, err);
		if (a->chosen[mid] == before)
			for (; low < mid; low++)
				a->chosen[low + 1] = before;
		else
			for (; high > mid; high--)
				a->chosen[high - 1] = after;
	}
	for (; low + 1 < high; low++)
		a->chosen[low + 1] = before;
	return rc;
}

/*
 * Find the row that is quickest at each size: every step-th size is priced, and
 * some between two of these that choose differently.
 */
static int gt_by_size_price(struct gt_by_size *a, struct gt_cost_model *model,
			    struct gt_err *err)
{
	uint32_t last = a->nrows - 1, settled = 0, before = last;
	uint32_t step = a->plan->cluster ? GT_BY_SIZE_STEP : 1;
	int rc = GT_OK;

	for (uint32_t s = 0; s < GT_BY_SIZE_SIZES && !rc; s += step) {
		if (settled >= GT_BY_SIZE_SETTLED)
			a->chosen[s] = last;
		else
			rc = gt_by_size_nth(a, model, s, before, GT_BY_SIZE_ALL,
					    err);
		if (!rc && s >= step)
			rc = gt_by_size_between(a, model, s - step, s, err);
		before = a->chosen[s];
		settled = before == last && !a->plan->cluster ? settled + 1 : 0;
	}
	return rc;
}

/*
 * Prices that are only compared are less exact, so look once more at where rows
 * meet: the one before goes on as long as the next one would be slower.
 */
static int gt_by_size_meet(struct gt_by_size *a, struct gt_err *err)
{
	struct gt_cost_model *model;
	struct gt_cost cost;
	int rc = gt_cost_new(a->plan, a->plan->coll, &model, err);

	if (rc)
		return rc;
	for (uint32_t s = 0; s + 2 < GT_BY_SIZE_SIZES && !rc; s++) {
		const uint32_t rows[2] = {a->chosen[s], a->chosen[s + 1]};
		uint64_t bytes = UINT64_C(1) << (s + 1 + GT_BY_SIZE_FIRST);
		double least;

		if (rows[0] == rows[1])
			continue;
		rc = gt_cost_price_row(model, rows[0], bytes, &cost, err);
		if (rc)
			break;
		least = cost.time_us;
		rc = gt_cost_price_below(model, rows[1], bytes,
					 least / GT_BY_SIZE_NEAR, &cost, err);
		if (!rc && cost.time_us * GT_BY_SIZE_NEAR > least)
			a->chosen[s + 1] = a->chosen[s];
	}
	gt_cost_free(model);
	return rc;
}

/* Each run of sizes with the same choice becomes a row. */
static int gt_by_size_select(struct gt_by_size *a, struct gt_err *err)
{
	struct gt_plan_select *select = gt_arena_array(
		a->plan->arena, GT_BY_SIZE_SIZES, sizeof(*select));
	uint32_t n = 0;

	if (!select)
		return gt_err_nomem(err);
	a->chosen[GT_BY_SIZE_SIZES - 1] = a->nrows - 1;
	for (uint32_t s = 0; s < GT_BY_SIZE_SIZES; s++) {
		if (s + 1 < GT_BY_SIZE_SIZES &&
		    a->chosen[s + 1] == a->chosen[s])
			continue;
		select[n] = a->rows[a->chosen[s]];
		select[n++].max_bytes =
			s + 1 < GT_BY_SIZE_SIZES
				? UINT64_C(1) << (s + GT_BY_SIZE_FIRST)
				: UINT64_MAX;
	}
	a->plan->select = select;
	a->plan->nselect = n;
	return GT_OK;
}

/* Leave out channels that no row uses. */
static void gt_by_size_prune(struct gt_plan *plan)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < plan->nchannels; c++) {
		int used = 0;

		for (uint32_t r = 0; r < plan->nselect; r++)
			for (uint32_t k = 0; k < plan->select[r].nchannels; k++)
				used |= plan->select[r].channels[k] == c;
		if (!used)
			continue;
		for (uint32_t r = 0; n != c && r < plan->nselect; r++)
			for (uint32_t k = 0; k < plan->select[r].nchannels; k++)
				if (plan->select[r].channels[k] == c)
					plan->select[r].channels[k] = n;
		plan->channels[n++] = plan->channels[c];
	}
	plan->nchannels = n;
}

static int gt_by_size_run(struct gt_by_size *a, struct gt_err *err)
{
	struct gt_cost_model *model;
	int rc;

	a->plan->select = a->rows;
	a->plan->nselect = a->nrows;
	rc = gt_cost_new(a->plan, a->plan->coll, &model, err);
	if (rc)
		return rc;
	rc = gt_cost_set_fast(model, err);
	if (!rc)
		rc = gt_by_size_price(a, model, err);
	gt_cost_free(model);
	if (!rc && a->plan->cluster)
		rc = gt_by_size_meet(a, err);
	if (!rc)
		rc = gt_by_size_select(a, err);
	if (!rc)
		gt_by_size_prune(a->plan);
	return rc;
}

int gt_by_size_choose(struct gt_plan **plans, uint32_t n, uint32_t *best,
		      struct gt_err *err)
{
	struct gt_by_size a = {.nrows = 0};
	struct gt_plan_select main;
	int rc;

	*best = gt_by_size_widest(plans, n);
	a.plan = plans[*best];
	main = *gt_plan_main_row(a.plan);
	if (a.plan->nranks < 2 ||
	    (a.plan->nranks > GT_BY_SIZE_MAX_RANKS && !a.plan->cluster))
		return GT_OK;
	rc = gt_by_size_mesh(&a, err);
	for (uint32_t i = 0; !rc && i < n && i < GT_BY_SIZE_MAX_PLANS; i++)
		if (i != *best)
			rc = gt_by_size_merge(&a, plans[i], err);
	if (rc)
		return rc;
	a.rows[a.nrows++] = main;
	return gt_by_size_run(&a, err);
}

int gt_by_size_take(struct gt_by_size_tries *tries, struct gt_plan **plan,
		    struct gt_err *err)
{
	int rc = tries->rc;

	if (tries->n && (!rc || rc == GT_ENO))
		rc = gt_by_size_choose(tries->plans, tries->n, &tries->best,
				       err);
	else
		gt_err_set(err, rc, tries->why.where, "%s", tries->why.text);
	for (uint32_t i = 0; i < tries->n; i++)
		if (rc || i != tries->best)
			gt_plan_free(tries->plans[i]);
	if (!rc)
		*plan = tries->plans[tries->best];
	return rc;
}
