/*
 * Checks a candidate's result at each size, then takes the median of nine
 * rounds.
 */
#include "cli/tune/sweep.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/measured.h"

/*
 * A round is so long that starting it does not show, and the first one does
 * not count.  Before all a machine that was idle has to wake up: without that
 * the first size of the first candidate took 6.8 us instead of 4.2 on H200.
 */
enum {
	GT_TUNE_WAKE_NS = 100000000,
	GT_TUNE_ROUNDS = 9,
	GT_TUNE_ROUND_NS = 1000000,
	GT_TUNE_MAX_ITERS = 200,
	GT_TUNE_SIZES = 64,
};

/* The state of a sweep: the engine runs a plan with one row a collective. */
struct tuning {
	struct gt_tune_sweep *sweep;
	struct gt_plan plan;
	struct gt_engine *engine;
	struct gt_plan_measured *measured; /* one for each candidate */
	uint32_t nsizes, done;
	int64_t awake_ns; /* how long something has been run */
};

static uint32_t count_sizes(const struct gt_tune_sweep *sweep)
{
	uint64_t bytes = sweep->begin_bytes;
	uint32_t n = 1;

	while (bytes <= sweep->end_bytes / sweep->factor && n < GT_TUNE_SIZES) {
		bytes *= sweep->factor;
		n++;
	}
	return n;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Would the engine run the candidate as it is, or choose something else? */
static int is_taken(const struct tuning *t, const struct gt_exec_request *req,
		    const struct gt_plan_select *candidate)
{
	struct gt_algo_choice taken = {.algo = 0};
	struct gt_err none;

	if (!t->sweep->ops->algo_choice)
		return 1;
	gt_err_init(&none);
	if (t->sweep->ops->algo_choice(t->engine, req, &taken, &none))
		return 0;
	if (taken.detour_permille != candidate->detour_permille)
		return 0;
	if (!gt_algo_fits_shape(candidate->algo, GT_SHAPE_MESH))
		return taken.protocol == GT_PROTOCOL_SIMPLE;
	return taken.algo == candidate->algo &&
	       taken.protocol == candidate->protocol;
}

static int check_result(const struct tuning *t,
			const struct gt_exec_request *req, uint64_t *wrong,
			struct gt_err *err)
{
	const struct gt_engine_ops *ops = t->sweep->ops;
	int64_t elapsed_ns;
	int rc = ops->fill(t->engine, req, err);

	if (!rc)
		rc = ops->run(t->engine, req, 1, &elapsed_ns, err);
	return rc ? rc : ops->check(t->engine, req, wrong, err);
}

static int wake_up(struct tuning *t, const struct gt_exec_request *req,
		   struct gt_err *err)
{
	int rc = GT_OK;

	while (!rc && t->awake_ns < GT_TUNE_WAKE_NS) {
		int64_t ns = 0;

		rc = t->sweep->ops->run(t->engine, req, GT_TUNE_MAX_ITERS, &ns,
					err);
		t->awake_ns += ns > 0 ? ns : 1000000;
	}
	return rc;
}

static int time_runs(struct tuning *t, const struct gt_exec_request *req,
		     double *time_us, struct gt_err *err)
{
	const struct gt_engine_ops *ops = t->sweep->ops;
	double us[GT_TUNE_ROUNDS];
	uint32_t iters = 1;
	int64_t ns;
	int rc = wake_up(t, req, err);

	if (!rc)
		rc = ops->run(t->engine, req, 1, &ns, err);
	if (!rc && ns < GT_TUNE_ROUND_NS)
		iters = (uint32_t)(GT_TUNE_ROUND_NS / (ns > 0 ? ns : 1));
	if (iters > GT_TUNE_MAX_ITERS)
		iters = GT_TUNE_MAX_ITERS;
	if (!rc)
		rc = ops->run(t->engine, req, iters, &ns, err);
	for (int i = 0; !rc && i < GT_TUNE_ROUNDS; i++) {
		rc = ops->run(t->engine, req, iters, &ns, err);
		us[i] = (double)ns / iters / 1e3;
	}
	if (rc)
		return rc;
	qsort(us, GT_TUNE_ROUNDS, sizeof(*us), compare_doubles);
	*time_us = us[GT_TUNE_ROUNDS / 2];
	return GT_OK;
}

/* Measure a candidate at one size; wrong results leave it without any size. */
static int measure_point(struct tuning *t, struct gt_plan_measured *m,
			 uint64_t bytes, struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->sweep;
	uint64_t blocks = gt_coll_has_blocks(m->use.coll) ? t->plan.nranks : 1;
	uint64_t elem = gt_dtype_bytes(GT_DTYPE_FLOAT), wrong = 0;
	struct gt_exec_request req = {
		.coll = m->use.coll,
		.dtype = GT_DTYPE_FLOAT,
		.op = GT_REDOP_SUM,
		.count = bytes / elem / blocks,
		.root = t->plan.root,
		.seed = bytes + 1,
	};
	double time_us;
	int rc;

	bytes = req.count * blocks * elem;
	if (!bytes || !is_taken(t, &req, &m->use) ||
	    (m->npoints && bytes <= m->bytes[m->npoints - 1]))
		return GT_OK;
	rc = check_result(t, &req, &wrong, err);
	if (!rc && wrong) {
		sweep->refuse(sweep->arg, &m->use, bytes, wrong);
		t->sweep->refused++;
		m->npoints = 0;
		return GT_ENO;
	}
	/* The run has made what a detour needs, or it cannot be had. */
	if (!rc && !is_taken(t, &req, &m->use))
		return GT_OK;
	if (!rc)
		rc = time_runs(t, &req, &time_us, err);
	if (rc)
		return rc;
	m->bytes[m->npoints] = bytes;
	m->time_us[m->npoints++] = time_us > 0 ? time_us : 1e-3;
	return GT_OK;
}

static int measure_candidate(struct tuning *t, uint32_t candidate,
			     struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->sweep;
	struct gt_plan_measured *m = &t->measured[candidate];
	uint64_t bytes = sweep->begin_bytes;
	int rc = GT_OK;

	for (uint32_t s = 0; s < t->nsizes; s++, bytes *= sweep->factor) {
		if (sweep->tell)
			sweep->tell(sweep->arg, &m->use, bytes, t->done + s,
				    t->nsizes * sweep->candidates.n);
		rc = measure_point(t, m, bytes, err);
		if (rc)
			break;
	}
	t->done += t->nsizes;
	return rc == GT_ENO ? GT_OK : rc;
}

/* Find all collectives' k-th candidates without a detour; return how many. */
static uint32_t find_kth(const struct gt_tune_candidates *candidates,
			 uint32_t k, uint32_t *kth)
{
	uint32_t seen[GT_NCOLLS] = {0}, n = 0;

	for (uint32_t i = 0; i < candidates->n; i++)
		if (!candidates->rows[i].detour_permille &&
		    seen[candidates->rows[i].coll]++ == k)
			kth[n++] = i;
	return n;
}

/* Measure a candidate, `row` of the engine's plan, then it with detours. */
static int measure_with_detours(struct tuning *t, uint32_t candidate,
				struct gt_plan_select *row, struct gt_err *err)
{
	const struct gt_tune_candidates *candidates = &t->sweep->candidates;
	int rc;

	do {
		row->detour_permille =
			candidates->rows[candidate].detour_permille;
		rc = measure_candidate(t, candidate++, err);
	} while (!rc && candidate < candidates->n &&
		 candidates->rows[candidate].detour_permille);
	return rc;
}

/* Measure all collectives' k-th candidates on one engine; *n: how many. */
static int measure_kth(struct tuning *t, uint32_t k, uint32_t *n,
		       struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->sweep;
	struct gt_engine_config config = sweep->config;
	struct gt_plan_select rows[GT_NCOLLS];
	uint32_t candidates[GT_NCOLLS];
	int rc;

	*n = find_kth(&sweep->candidates, k, candidates);
	if (!*n)
		return GT_OK;
	for (uint32_t i = 0; i < *n; i++)
		rows[i] = sweep->candidates.rows[candidates[i]];
	t->plan = *sweep->plan;
	t->plan.select = rows;
	t->plan.nselect = *n;
	config.plan = &t->plan;
	config.max_bytes = sweep->end_bytes;
	rc = sweep->ops->open(&config, &t->engine, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < *n && !rc; i++)
		rc = measure_with_detours(t, candidates[i], &rows[i], err);
	sweep->ops->close(t->engine);
	return rc;
}

static int reserve(struct tuning *t, struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->sweep;
	struct gt_arena *arena = sweep->plan->arena;

	t->nsizes = count_sizes(sweep);
	t->measured = gt_arena_array(arena, sweep->candidates.n,
				     sizeof(*t->measured));
	for (uint32_t i = 0; t->measured && i < sweep->candidates.n; i++) {
		struct gt_plan_measured *m = &t->measured[i];

		m->use = sweep->candidates.rows[i];
		m->machine = sweep->machine;
		m->bytes = gt_arena_array(arena, t->nsizes, sizeof(*m->bytes));
		m->time_us =
			gt_arena_array(arena, t->nsizes, sizeof(*m->time_us));
		if (!m->bytes || !m->time_us)
			return gt_err_nomem(err);
	}
	return t->measured ? GT_OK : gt_err_nomem(err);
}

/* Keep what was measured before of collectives that were not measured now. */
static int keep_measured(struct tuning *t, struct gt_err *err)
{
	const struct gt_tune_candidates *candidates = &t->sweep->candidates;
	struct gt_plan *plan = t->sweep->plan;
	struct gt_plan_measured *all = gt_arena_array(
		plan->arena, (size_t)plan->nmeasured + candidates->n,
		sizeof(*all));
	uint32_t n = 0, colls = 0;

	if (!all)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < candidates->n; i++) {
		colls |= 1u << candidates->rows[i].coll;
		if (t->measured[i].npoints)
			all[n++] = t->measured[i];
	}
	for (uint32_t i = 0; i < plan->nmeasured; i++)
		if (!(colls >> plan->measured[i].use.coll & 1))
			all[n++] = plan->measured[i];
	plan->measured = all;
	plan->nmeasured = n;
	return gt_plan_measured_select(plan, err);
}

int gt_tune_sweep(struct gt_tune_sweep *sweep, struct gt_err *err)
{
	struct tuning t = {.sweep = sweep};
	uint32_t n = 1;
	int rc = reserve(&t, err);

	sweep->refused = 0;
	for (uint32_t k = 0; !rc && n; k++)
		rc = measure_kth(&t, k, &n, err);
	return rc ? rc : keep_measured(&t, err);
}
