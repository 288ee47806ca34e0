/*
 * Measures rows of select with fewer and fewer blocks.  All rows share an
 * engine for each number of blocks, and a row leaves at the first that is slow.
 */
#include "cli/tune/knee.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/tune/measure.h"
#include "plan/ir/envelope.h"
#include "plan/ir/measured.h"

/* Fewer blocks are never faster, so the first that is too slow ends it. */
static const uint32_t limits[] = {64, 32, 16, 8, 4, 2, 1};

enum {
	GT_KNEE_LIMITS = sizeof(limits) / sizeof(*limits),
	/*
	 * Rows that end below are over before anybody would miss the
	 * multiprocessors.
	 */
	GT_KNEE_LEAST_BYTES = 512 << 10,
	GT_KNEE_EDGES = 2, /* sizes more: a row's first and last */
};

/* A row while fewer blocks are tried. */
struct knee {
	const struct gt_plan_measured *base; /* with all blocks; NULL: done */
	uint64_t above;                      /* the row's sizes are, and not
						above max_bytes */
	uint32_t first, end;                 /* those of base's points */
	struct gt_plan_measured best, next;
};

/* Give a measurement room for as many points as a row may have. */
static int make_room(struct gt_tuning *t, const struct knee *knee,
		     struct gt_plan_measured *m, struct gt_err *err)
{
	struct gt_arena *arena = t->sweep->plan->arena;
	uint32_t n = knee->base->npoints + GT_KNEE_EDGES;

	*m = *knee->base;
	m->npoints = 0;
	m->bytes = gt_arena_array(arena, n, sizeof(*m->bytes));
	m->time_us = gt_arena_array(arena, n, sizeof(*m->time_us));
	return m->bytes && m->time_us ? GT_OK : gt_err_nomem(err);
}

/* Find the points of a row that was measured here, if it moves much. */
static int start(struct gt_tuning *t, uint32_t i, struct knee *knee,
		 struct gt_err *err)
{
	const struct gt_plan *plan = t->sweep->plan;
	const struct gt_plan_select *row = &plan->select[i];
	const struct gt_plan_measured *base = gt_plan_measured_find(plan, row);
	int rc;

	*knee = (struct knee){.base = NULL};
	if (!base || base->machine != t->sweep->machine || row->detour_permille)
		return GT_OK;
	if (i && plan->select[i - 1].coll == row->coll)
		knee->above = plan->select[i - 1].max_bytes;
	while (knee->first < base->npoints &&
	       base->bytes[knee->first] <= knee->above)
		knee->first++;
	knee->end = knee->first;
	while (knee->end < base->npoints &&
	       base->bytes[knee->end] <= row->max_bytes)
		knee->end++;
	if (knee->first == knee->end ||
	    base->bytes[knee->end - 1] < GT_KNEE_LEAST_BYTES)
		return GT_OK;
	knee->base = base;
	rc = make_room(t, knee, &knee->best, err);
	return rc ? rc : make_room(t, knee, &knee->next, err);
}

/* Measure a size more, if it is one. */
static int measure_edge(struct gt_tuning *t, const struct gt_plan_select *row,
			struct gt_plan_measured *m, uint64_t bytes,
			struct gt_err *err)
{
	double time_us;
	int rc;

	bytes = gt_tune_round(t, row->coll, bytes);
	if (!bytes || bytes > t->sweep->end_bytes ||
	    (m->npoints && bytes <= m->bytes[m->npoints - 1]))
		return GT_OK;
	rc = gt_tune_measure(t, row, bytes, &time_us, err);
	if (rc || !isfinite(time_us))
		return rc;
	m->bytes[m->npoints] = bytes;
	m->time_us[m->npoints++] = time_us;
	return GT_OK;
}

/*
 * Measure the row at its sizes, the largest first, as most blocks are missed
 * there; *near says whether it is nearly as fast as with all.
 */
static int measure_inner(struct gt_tuning *t, const struct gt_plan_select *row,
			 struct knee *knee, int *near, struct gt_err *err)
{
	const struct gt_plan_measured *base = knee->base;
	uint32_t n = knee->end - knee->first;
	double *time_us = knee->next.time_us + 1;
	int rc = GT_OK;

	*near = 1;
	while (!rc && *near && n--) {
		uint32_t i = knee->first + n;

		if (t->sweep->tell)
			t->sweep->tell(t->sweep->arg, row, base->bytes[i], 1,
				       1);
		rc = gt_tune_measure(t, row, base->bytes[i], &time_us[n], err);
		*near = !rc &&
			gt_envelope_is_near(time_us[n], base->time_us[i]);
	}
	return rc;
}

/*
 * Measure all that a row carries; its ends, too, so that it has times from the
 * one to the other.
 */
static int measure_row(struct gt_tuning *t, const struct gt_plan_select *row,
		       struct knee *knee, int *near, struct gt_err *err)
{
	struct gt_plan_measured *next = &knee->next, last;
	uint32_t n = knee->end - knee->first;
	uint64_t block = gt_dtype_bytes(GT_DTYPE_FLOAT) * t->plan.nranks;
	const uint64_t *bytes = knee->base->bytes + knee->first;
	int rc = measure_inner(t, row, knee, near, err);

	if (rc || !*near)
		return rc;
	next->npoints = 0;
	if (knee->above && knee->above + block < bytes[0])
		rc = measure_edge(t, row, next, knee->above + block, err);
	memmove(next->time_us + next->npoints, next->time_us + 1,
		n * sizeof(*next->time_us));
	memcpy(next->bytes + next->npoints, bytes, n * sizeof(*bytes));
	next->npoints += n;
	if (!rc)
		rc = measure_edge(t, row, next, row->max_bytes, err);
	if (rc)
		return rc;
	next->use.max_blocks = row->max_blocks;
	last = knee->best;
	knee->best = knee->next;
	knee->next = last;
	return GT_OK;
}

/* Measure all rows that are left with so many blocks. */
static int measure_limit(struct gt_tuning *t, struct knee *knees,
			 uint32_t limit, struct gt_err *err)
{
	struct gt_tune_sweep *sweep = t->sweep;
	struct gt_engine_config config = sweep->config;
	struct gt_plan_select *rows = gt_arena_array(
		sweep->plan->arena, sweep->plan->nselect, sizeof(*rows));
	int rc;

	if (!rows)
		return gt_err_nomem(err);
	t->plan = *sweep->plan;
	t->plan.select = rows;
	for (uint32_t i = 0; i < t->plan.nselect; i++) {
		rows[i] = sweep->plan->select[i];
		if (knees[i].base)
			rows[i].max_blocks = limit;
	}
	config.plan = &t->plan;
	config.max_bytes = sweep->end_bytes;
	rc = sweep->ops->open(&config, &t->engine, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < t->plan.nselect; i++) {
		int near = 1;

		if (!knees[i].base)
			continue;
		rc = measure_row(t, &rows[i], &knees[i], &near, err);
		if (!near || rc == GT_ENO)
			knees[i].base = NULL;
		if (rc == GT_ENO)
			rc = GT_OK;
	}
	sweep->ops->close(t->engine);
	return rc;
}

/* Put what was measured for one row behind what another one had of this use. */
static int append(struct gt_plan *plan, struct gt_plan_measured *m,
		  const struct gt_plan_measured *more, struct gt_err *err)
{
	uint32_t n = m->npoints + more->npoints;
	uint64_t *bytes = gt_arena_array(plan->arena, n, sizeof(*bytes));
	double *time_us = gt_arena_array(plan->arena, n, sizeof(*time_us));

	if (!bytes || !time_us)
		return gt_err_nomem(err);
	memcpy(bytes, m->bytes, m->npoints * sizeof(*bytes));
	memcpy(time_us, m->time_us, m->npoints * sizeof(*time_us));
	m->bytes = bytes;
	m->time_us = time_us;
	for (uint32_t i = 0; i < more->npoints; i++) {
		if (more->bytes[i] <= bytes[m->npoints - 1])
			continue;
		bytes[m->npoints] = more->bytes[i];
		time_us[m->npoints++] = more->time_us[i];
	}
	return GT_OK;
}

/* Add what was accepted to the plan's measurements; rows are in order. */
static int keep(struct gt_plan *plan, const struct knee *knees,
		struct gt_err *err)
{
	struct gt_plan_measured *all = gt_arena_array(
		plan->arena, (size_t)plan->nmeasured + plan->nselect,
		sizeof(*all));
	uint32_t n = plan->nmeasured;
	int rc = GT_OK;

	if (!all)
		return gt_err_nomem(err);
	memcpy(all, plan->measured, n * sizeof(*all));
	for (uint32_t i = 0; !rc && i < plan->nselect; i++) {
		const struct gt_plan_measured *best = &knees[i].best;
		uint32_t k = plan->nmeasured;

		if (!best->npoints)
			continue;
		while (k < n && !gt_plan_measured_same(&all[k].use, &best->use))
			k++;
		if (k < n)
			rc = append(plan, &all[k], best, err);
		else
			all[n++] = *best;
	}
	plan->measured = all;
	plan->nmeasured = n;
	return rc ? rc : gt_plan_measured_select(plan, err);
}

int gt_tune_knees(struct gt_tuning *t, struct gt_err *err)
{
	struct gt_plan *plan = t->sweep->plan;
	uint32_t most = t->sweep->max_blocks;
	struct knee *knees =
		gt_arena_array(plan->arena, plan->nselect, sizeof(*knees));
	int rc = knees ? GT_OK : gt_err_nomem(err);

	for (uint32_t i = 0; !rc && i < plan->nselect; i++)
		rc = start(t, i, &knees[i], err);
	for (uint32_t k = 0; !rc && k < GT_KNEE_LIMITS; k++) {
		uint32_t left = 0;

		for (uint32_t i = 0; i < plan->nselect; i++)
			left += knees[i].base != NULL;
		if (left && (!most || limits[k] < most))
			rc = measure_limit(t, knees, limits[k], err);
	}
	return rc ? rc : keep(plan, knees, err);
}
