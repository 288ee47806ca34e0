/*
 * The rows of select that a plan's measurements make the quickest: for each
 * collective the lower envelope of the measured times, each with the fewest
 * thread blocks that are nearly as quick.
 */
#include "plan/ir/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/envelope.h"
#include "plan/ir/plan.h"

/*
 * No buffer is larger than this: behind it comes the row that has to be the
 * last one.
 */
static const uint64_t gt_plan_measured_largest = UINT64_C(1) << 40;

/* The rows of one collective while they are made. */
struct gt_choice {
	struct gt_plan *plan;
	enum gt_coll coll;
	uint32_t nschedules, nsizes;
	const struct gt_plan_measured **schedules;
	uint8_t *is_limited; /* [schedule]: another one has more blocks */
	uint64_t *sizes;
	double *time_us; /* [size][schedule] */
	uint32_t *chosen;
	uint32_t home; /* the schedule of the last row; nschedules: any */
};

int gt_plan_measured_same(const struct gt_plan_select *a,
			  const struct gt_plan_select *b)
{
	return a->coll == b->coll && a->algo == b->algo &&
	       a->protocol == b->protocol && a->workers == b->workers &&
	       a->slots == b->slots && a->slice_bytes == b->slice_bytes &&
	       a->detour_permille == b->detour_permille &&
	       a->max_blocks == b->max_blocks && a->nchannels == b->nchannels &&
	       !memcmp(a->channels, b->channels,
		       a->nchannels * sizeof(*a->channels));
}

const struct gt_plan_measured *gt_plan_measured_find(
	const struct gt_plan *plan, const struct gt_plan_select *use)
{
	for (uint32_t i = 0; i < plan->nmeasured; i++)
		if (gt_plan_measured_same(&plan->measured[i].use, use))
			return &plan->measured[i];
	return NULL;
}

double gt_plan_measured_time(const struct gt_plan_measured *m, uint64_t bytes)
{
	double along, slope;
	uint32_t i = 0;

	while (i < m->npoints && m->bytes[i] < bytes)
		i++;
	if (i == m->npoints || (!i && m->bytes[i] != bytes))
		return INFINITY;
	if (m->bytes[i] == bytes)
		return m->time_us[i];
	slope = log(m->time_us[i] / m->time_us[i - 1]) /
		log((double)m->bytes[i] / (double)m->bytes[i - 1]);
	along = log((double)bytes / (double)m->bytes[i - 1]);
	return m->time_us[i - 1] * exp(slope * along);
}

/* Is `a` the same use as `b`, but for fewer blocks? */
static int gt_use_limits(const struct gt_plan_select *a,
			 const struct gt_plan_select *b)
{
	struct gt_plan_select use = *a;

	use.max_blocks = b->max_blocks;
	return a->max_blocks &&
	       (!b->max_blocks || a->max_blocks < b->max_blocks) &&
	       gt_plan_measured_same(&use, b);
}

/* Those that are limited stand back until rows are made of the others. */
static void gt_choice_limits(struct gt_choice *c)
{
	for (uint32_t w = 0; w < c->nschedules; w++)
		for (uint32_t v = 0; v < c->nschedules; v++)
			c->is_limited[w] |=
				gt_use_limits(&c->schedules[w]->use,
					      &c->schedules[v]->use) != 0;
}

static int gt_size_cmp(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/*
 * Collect the sizes at which some schedule that counts was measured, once each.
 */
static void gt_choice_sizes(struct gt_choice *c)
{
	uint32_t n = 0, unique = 0;

	for (uint32_t w = 0; w < c->nschedules; w++)
		for (uint32_t i = 0;
		     !c->is_limited[w] && i < c->schedules[w]->npoints; i++)
			c->sizes[n++] = c->schedules[w]->bytes[i];
	qsort(c->sizes, n, sizeof(*c->sizes), gt_size_cmp);
	for (uint32_t i = 0; i < n; i++)
		if (!i || c->sizes[i] != c->sizes[i - 1])
			c->sizes[unique++] = c->sizes[i];
	c->nsizes = unique;
}

/*
 * Find the schedule for the last row: the one that is the quickest at the
 * largest size among those with the channels and the algorithm that the proof
 * is about.
 */
static void gt_choice_home(struct gt_choice *c)
{
	const struct gt_plan_select *main = gt_plan_main_row(c->plan);
	const double *last = c->time_us + (c->nsizes - 1) * c->nschedules;

	c->home = c->nschedules;
	for (uint32_t w = 0; c->coll == c->plan->coll && w < c->nschedules;
	     w++) {
		struct gt_plan_select use = c->schedules[w]->use;

		use.protocol = main->protocol;
		use.detour_permille = main->detour_permille;
		use.max_blocks = main->max_blocks;
		if (gt_plan_measured_same(&use, main) &&
		    (c->home == c->nschedules || last[w] < last[c->home]))
			c->home = w;
	}
}

static int gt_choice_make(struct gt_choice *c, struct gt_err *err)
{
	struct gt_arena *arena = c->plan->arena;
	uint32_t n = c->plan->nmeasured, npoints = 0, at;

	c->schedules = gt_arena_array(arena, n, sizeof(*c->schedules));
	for (uint32_t i = 0; c->schedules && i < n; i++)
		if (c->plan->measured[i].use.coll == c->coll) {
			c->schedules[c->nschedules++] = &c->plan->measured[i];
			npoints += c->plan->measured[i].npoints;
		}
	c->sizes = gt_arena_array(arena, npoints, sizeof(*c->sizes));
	c->time_us = gt_arena_array(arena, (size_t)npoints * c->nschedules,
				    sizeof(*c->time_us));
	c->chosen = gt_arena_array(arena, npoints, sizeof(*c->chosen));
	c->is_limited = gt_arena_array(arena, n, sizeof(*c->is_limited));
	if (!c->schedules || !c->sizes || !c->time_us || !c->chosen ||
	    !c->is_limited)
		return gt_err_nomem(err);
	if (!c->nschedules)
		return GT_OK;
	gt_choice_limits(c);
	gt_choice_sizes(c);
	for (uint32_t s = 0; s < c->nsizes; s++)
		for (uint32_t w = 0; w < c->nschedules; w++)
			c->time_us[s * c->nschedules + w] =
				c->is_limited[w]
					? INFINITY
					: gt_plan_measured_time(c->schedules[w],
								c->sizes[s]);
	gt_choice_home(c);
	at = c->nschedules;
	for (uint32_t s = 0; s < c->nsizes; s++)
		c->chosen[s] = at =
			gt_envelope_choose(c->time_us + s * c->nschedules,
					   c->nschedules, c->home, at);
	return GT_OK;
}

/*
 * The size up to which the choice at size s is used before that of the next
 * size.
 */
static uint64_t gt_choice_cross(const struct gt_choice *c, uint32_t s)
{
	const double *here = c->time_us + s * c->nschedules;
	const double *next = here + c->nschedules;
	uint32_t a = c->chosen[s], b = c->chosen[s + 1];
	const double time_us[2][2] = {{here[a], next[a]}, {here[b], next[b]}};

	return gt_envelope_crossover(time_us, c->sizes + s);
}

/* Is schedule v nearly as quick as w at the sizes of a run? */
static int gt_choice_is_near(const struct gt_choice *c, uint32_t v, uint32_t w,
			     const uint32_t run[2])
{
	for (uint32_t s = run[0]; s <= run[1]; s++)
		if (!gt_envelope_is_near(
			    gt_plan_measured_time(c->schedules[v], c->sizes[s]),
			    c->time_us[s * c->nschedules + w]))
			return 0;
	return 1;
}

/*
 * The use for a run of sizes, from the first to the last, that have the same
 * choice: with the fewest blocks that will do.
 */
static struct gt_plan_select gt_choice_use(const struct gt_choice *c,
					   const uint32_t run[2])
{
	uint32_t w = c->chosen[run[0]];
	struct gt_plan_select use = c->schedules[w]->use;

	for (uint32_t v = 0; v < c->nschedules; v++)
		if (gt_use_limits(&c->schedules[v]->use, &use) &&
		    gt_choice_is_near(c, v, w, run))
			use = c->schedules[v]->use;
	return use;
}

/* Make a row of each run of sizes with the same choice. */
static void gt_choice_rows(const struct gt_choice *c,
			   struct gt_plan_select *rows, uint32_t *n)
{
	struct gt_plan_select last = *gt_plan_main_row(c->plan);
	uint32_t end = c->nsizes - 1, run[2] = {0, 0};

	for (uint32_t s = 0; s <= end; s++) {
		if (s < end && c->chosen[s + 1] == c->chosen[s])
			continue;
		run[1] = s;
		rows[*n] = gt_choice_use(c, run);
		run[0] = s + 1;
		rows[(*n)++].max_bytes =
			s < end ? gt_choice_cross(c, s) : UINT64_MAX;
	}
	if (c->coll != c->plan->coll || c->chosen[end] == c->home)
		return;
	rows[*n - 1].max_bytes = c->sizes[end] < gt_plan_measured_largest
					 ? gt_plan_measured_largest
					 : c->sizes[end];
	if (c->home < c->nschedules)
		last = c->schedules[c->home]->use;
	rows[*n] = last;
	rows[(*n)++].max_bytes = UINT64_MAX;
}

static void gt_choice_keep(const struct gt_choice *c,
			   struct gt_plan_select *rows, uint32_t *n)
{
	for (uint32_t i = 0; i < c->plan->nselect; i++)
		if (c->plan->select[i].coll == c->coll)
			rows[(*n)++] = c->plan->select[i];
}

int gt_plan_measured_select(struct gt_plan *plan, struct gt_err *err)
{
	uint32_t n = 0, most = plan->nselect + 1;
	struct gt_plan_select *rows;

	for (uint32_t i = 0; i < plan->nmeasured; i++)
		most += plan->measured[i].npoints;
	rows = gt_arena_array(plan->arena, most, sizeof(*rows));
	if (!rows)
		return gt_err_nomem(err);
	for (int coll = 0; coll < GT_NCOLLS; coll++) {
		struct gt_choice c = {.plan = plan, .coll = (enum gt_coll)coll};
		int rc = gt_choice_make(&c, err);

		if (rc)
			return rc;
		if (c.nschedules)
			gt_choice_rows(&c, rows, &n);
		else
			gt_choice_keep(&c, rows, &n);
	}
	plan->select = rows;
	plan->nselect = n;
	return GT_OK;
}
