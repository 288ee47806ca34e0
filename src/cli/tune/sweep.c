/* Measures every candidate at every size, and rewrites select. */
#include "cli/tune/sweep.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/tune/knee.h"
#include "cli/tune/measure.h"
#include "plan/ir/measured.h"

enum { GT_TUNE_SIZES = 64 };

/* The state of a sweep: the engine runs a plan with one row a collective. */
struct tuning {
	struct gt_tuning on;
	struct gt_plan_measured *measured; /* one for each candidate */
	uint32_t nsizes, done;
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

/* Measure a candidate at one size; wrong results leave it without any size. */
static int measure_point(struct tuning *t, struct gt_plan_measured *m,
			 uint64_t bytes, struct gt_err *err)
{
	double time_us;
	int rc;

	bytes = gt_tune_round(&t->on, m->use.coll, bytes);
	if (!bytes || (m->npoints && bytes <= m->bytes[m->npoints - 1]))
		return GT_OK;
	rc = gt_tune_measure(&t->on, &m->use, bytes, &time_us, err);
	if (rc == GT_ENO)
		m->npoints = 0;
	if (rc || !isfinite(time_us))
		return rc;
	m->bytes[m->npoints] = bytes;
	m->time_us[m->npoints++] = time_us;
	return GT_OK;
}

static int measure_candidate(struct tuning *t, uint32_t candidate,
			     struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->on.sweep;
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
	const struct gt_tune_candidates *candidates = &t->on.sweep->candidates;
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
	const struct gt_tune_sweep *sweep = t->on.sweep;
	struct gt_engine_config config = sweep->config;
	struct gt_plan_select rows[GT_NCOLLS];
	uint32_t candidates[GT_NCOLLS];
	int rc;

	*n = find_kth(&sweep->candidates, k, candidates);
	if (!*n)
		return GT_OK;
	for (uint32_t i = 0; i < *n; i++)
		rows[i] = sweep->candidates.rows[candidates[i]];
	t->on.plan = *sweep->plan;
	t->on.plan.select = rows;
	t->on.plan.nselect = *n;
	config.plan = &t->on.plan;
	config.max_bytes = sweep->end_bytes;
	rc = sweep->ops->open(&config, &t->on.engine, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < *n && !rc; i++)
		rc = measure_with_detours(t, candidates[i], &rows[i], err);
	sweep->ops->close(t->on.engine);
	return rc;
}

static int reserve(struct tuning *t, struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->on.sweep;
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
	const struct gt_tune_candidates *candidates = &t->on.sweep->candidates;
	struct gt_plan *plan = t->on.sweep->plan;
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
	struct tuning t = {.on = {.sweep = sweep}};
	uint32_t n = 1;
	int rc;

	sweep->refused = 0;
	for (uint32_t i = 0; i < sweep->candidates.n; i++)
		sweep->candidates.rows[i].max_blocks = sweep->max_blocks;
	rc = reserve(&t, err);
	for (uint32_t k = 0; !rc && n; k++)
		rc = measure_kth(&t, k, &n, err);
	if (!rc)
		rc = keep_measured(&t, err);
	return !rc && sweep->knees ? gt_tune_knees(&t.on, err) : rc;
}
