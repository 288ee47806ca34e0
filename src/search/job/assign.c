/* Makes nestings, bounds them all and plans the most promising. */
#include "search/job/assign.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/job/bound.h"
#include "search/job/cuts.h"
#include "search/job/placements.h"
#include "search/job/site.h"
#include "search/job/workload.h"
#include "search/problem/budget.h"

enum {
	MAX_NESTINGS = 20000,   /* that are bounded */
	MAX_PLANNED = 200,      /* that are planned */
	MAX_PLACEMENTS = 40320, /* of one machine: all, of 8 GPUs */
	MORE_PLACEMENTS = 32,   /* that are planned for their latency */
	MORE_NESTINGS = 16,     /* likewise */
};

/* Of each axis so much is within a node; the orders say which is fastest. */
struct nesting {
	uint32_t inner[GT_JOB_MAX_AXES];
	unsigned char in[GT_JOB_MAX_AXES], out[GT_JOB_MAX_AXES];
	/* In place of these: the GPU of each rank, on one machine. */
	unsigned char gpu[GT_CUTS_MAX_GPUS];
	double bound_s;
	uint32_t number; /* in the order in which they are made */
};

struct search {
	const struct gt_job_query *job;
	struct gt_arena *arena;
	struct nesting at; /* the one that is being made */
	struct nesting *list;
	uint32_t n, most;
	uint32_t most_planned;
	int cut;     /* there are more than these */
	int machine; /* they are placements on one machine */
	uint32_t *place;
	double phase_s[GT_JOB_MAX_TRAFFIC];
};

static void nest_ranks(const struct gt_job_query *job,
		       const struct nesting *nest, uint32_t *place)
{
	const struct gt_workload *w = job->workload;

	for (uint32_t r = 0; r < w->nranks; r++) {
		uint32_t local = 0, node = 0, times = 1;

		for (uint32_t i = 0; i < w->naxes; i++) {
			const struct gt_job_axis *axis = &w->axes[nest->in[i]];
			uint32_t inner = nest->inner[nest->in[i]];

			local += r / axis->stride % axis->size % inner * times;
			times *= inner;
		}
		times = 1;
		for (uint32_t i = 0; i < w->naxes; i++) {
			const struct gt_job_axis *axis = &w->axes[nest->out[i]];
			uint32_t inner = nest->inner[nest->out[i]];

			node += r / axis->stride % axis->size / inner * times;
			times *= axis->size / inner;
		}
		place[r] = node * job->site->ngpus + local;
	}
}

static void place_ranks(const struct search *s, const struct nesting *nest,
			uint32_t *place)
{
	if (!s->machine)
		nest_ranks(s->job, nest, place);
	for (uint32_t r = 0; s->machine && r < s->job->workload->nranks; r++)
		place[r] = nest->gpu[r];
}

/* ---- all nestings ------------------------------------------------------- */

static void note_nesting(struct search *s)
{
	struct nesting *nest = &s->list[s->n];

	if (s->n == s->most || (s->n && gt_budget_is_spent(s->job->budget))) {
		s->cut = 1;
		return;
	}
	*nest = s->at;
	nest->number = s->n++;
	place_ranks(s, nest, s->place);
	nest->bound_s = gt_job_bound_placed(s->job->workload, s->job->site,
					    s->place, s->phase_s);
}

/* How much of an axis is within nodes, or (out) among them. */
static uint32_t part_of(const struct search *s, uint32_t axis, int out)
{
	uint32_t inner = s->at.inner[axis];

	return out ? s->job->workload->axes[axis].size / inner : inner;
}

/*
 * Make all orders of axes from place i on, first within nodes, then among them.
 * Axes of which there is nothing come first, in one order.
 */
static void make_orders(struct search *s, uint32_t i, int out)
{
	uint32_t n = s->job->workload->naxes;
	unsigned char *order = out ? s->at.out : s->at.in;

	if (i == n && out)
		note_nesting(s);
	else if (i == n)
		make_orders(s, 0, 1);
	for (uint32_t a = 0; a < n && i < n && !s->cut; a++) {
		int used = 0, trivial = part_of(s, a, out) == 1;

		for (uint32_t k = 0; k < i; k++)
			used |= order[k] == a;
		/* One of size 1 comes behind the same ones only. */
		for (uint32_t k = 0; k < n && !used; k++) {
			int had = 0;

			for (uint32_t j = 0; j < i; j++)
				had |= order[j] == k;
			used |= !had && part_of(s, k, out) == 1 &&
				(!trivial || k < a);
		}
		if (used)
			continue;
		order[i] = (unsigned char)a;
		make_orders(s, i + 1, out);
	}
}

/* Make all ways to take parts of the axes from `axis` on into nodes. */
static void make_parts(struct search *s, uint32_t axis, uint32_t ranks)
{
	const struct gt_workload *w = s->job->workload;
	const struct gt_site *site = s->job->site;

	if (axis == w->naxes) {
		if ((uint64_t)ranks * site->nnodes >= w->nranks)
			make_orders(s, 0, 0);
		return;
	}
	for (uint32_t d = 1; d <= w->axes[axis].size && !s->cut; d++) {
		if (w->axes[axis].size % d || (uint64_t)ranks * d > site->ngpus)
			continue;
		s->at.inner[axis] = d;
		make_parts(s, axis + 1, ranks * d);
	}
}

static int note_placement(void *context, const uint32_t *place)
{
	struct search *s = context;

	for (uint32_t r = 0; r < s->job->workload->nranks; r++)
		s->at.gpu[r] = (unsigned char)place[r];
	note_nesting(s);
	return s->cut;
}

static void make_all(struct search *s)
{
	const struct gt_job_query *job = s->job;

	if (s->machine)
		gt_placements_each(job->workload, job->site->ngpus,
				   note_placement, s);
	else if (job->workload->naxes)
		make_parts(s, 0, 1);
}

static int compare_nestings(const void *a, const void *b)
{
	const struct nesting *x = a, *y = b;

	if (x->bound_s != y->bound_s)
		return x->bound_s < y->bound_s ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- the best of them --------------------------------------------------- */

static int init_assignment(const struct gt_job_query *job,
			   struct gt_arena *arena, struct gt_assignment *made,
			   struct gt_err *err)
{
	*made = (struct gt_assignment){0};
	gt_err_init(&made->why);
	made->place = gt_arena_array(arena, job->workload->nranks,
				     sizeof(*made->place));
	if (!made->place)
		return gt_err_nomem(err);
	return gt_job_cost_init(&made->cost, job, arena, err);
}

/* Plan an assignment; that it cannot be planned is noted in it. */
static int plan_assignment(const struct gt_job_query *job,
			   struct gt_assignment *made, struct gt_err *err)
{
	double phase_s[GT_JOB_MAX_TRAFFIC];
	int rc;

	gt_err_init(&made->why);
	made->bound_s = gt_job_bound_placed(job->workload, job->site,
					    made->place, phase_s);
	rc = gt_job_cost_find(job, made->place, &made->cost, &made->why);
	made->planned = !rc;
	if (!rc && job->site->nnodes == 1)
		made->bound_s = gt_job_cost_bound(job, &made->cost, phase_s);
	return rc == GT_ESYS ? gt_err_set(err, rc, made->why.where, "%s",
					  made->why.text)
			     : GT_OK;
}

/* Does one take less time than another, latency counted? */
static int is_quicker(const struct gt_assignment *a,
		      const struct gt_assignment *b)
{
	if (!b->planned)
		return a->planned;
	return a->planned && a->cost.expected_s < b->cost.expected_s;
}

/*
 * That all placements on a machine were bounded bounds any assignment: by the
 * least of those that were planned, whose plans may prove more, and of those
 * that were not, in order from `next` on.
 */
static void bound_machine(const struct search *s, double planned, uint32_t next,
			  struct gt_assign *assign)
{
	double least = next < s->n ? s->list[next].bound_s : HUGE_VAL;

	if (!s->machine || s->cut)
		return;
	assign->bound_s = fmax(assign->bound_s, fmin(least, planned));
	assign->joint = 1;
}

/*
 * Many take as long for their bytes, or little longer; a few more are planned,
 * as one of them may have less latency.
 */
static int may_be_quicker(const struct search *s, uint32_t next,
			  const struct gt_assign *assign)
{
	return assign->nplanned <
		       (s->machine ? MORE_PLACEMENTS : MORE_NESTINGS) &&
	       s->list[next].bound_s < assign->best.cost.expected_s;
}

/*
 * Plan nestings in order of their bounds, until no other one's bytes can take
 * less than those of one that was planned; the quickest takes its place.
 */
static int plan_nestings(struct search *s, struct gt_assign *assign,
			 struct gt_assignment *spare, struct gt_err *err)
{
	double least = HUGE_VAL, bound = HUGE_VAL;
	uint32_t i = 0;
	int rc = GT_OK;

	assign->complete = !s->cut;
	for (; i < s->n && !rc; i++) {
		if (s->list[i].bound_s >= least * (1 - 1e-12) &&
		    !may_be_quicker(s, i, assign))
			break;
		if (assign->nplanned == s->most_planned ||
		    (assign->nplanned && gt_budget_is_spent(s->job->budget))) {
			assign->complete = 0;
			break;
		}
		place_ranks(s, &s->list[i], spare->place);
		rc = plan_assignment(s->job, spare, err);
		assign->nplanned++;
		bound = fmin(bound, spare->bound_s);
		if (rc || !spare->planned)
			continue;
		least = fmin(least, spare->cost.seconds);
		if (is_quicker(spare, &assign->best)) {
			struct gt_assignment better = *spare;

			*spare = assign->best;
			assign->best = better;
		}
	}
	if (assign->best.planned)
		bound_machine(s, bound, i, assign);
	return rc;
}

static int find_best(struct search *s, struct gt_assign *assign,
		     struct gt_err *err)
{
	const struct gt_job_query *job = s->job;
	struct gt_assignment spare;
	int rc = init_assignment(job, s->arena, &spare, err);

	s->machine = gt_assign_is_of_machine(job->workload, job->site);
	s->most = s->machine ? MAX_PLACEMENTS : MAX_NESTINGS;
	s->most_planned = s->machine ? MAX_PLACEMENTS : MAX_PLANNED;
	s->list = gt_arena_array(s->arena, s->most, sizeof(*s->list));
	s->place = spare.place;
	if (!rc && !s->list)
		rc = gt_err_nomem(err);
	if (rc)
		return rc;
	make_all(s);
	qsort(s->list, s->n, sizeof(*s->list), compare_nestings);
	assign->nnestings = s->n;
	rc = plan_nestings(s, assign, &spare, err);
	if (rc)
		return rc;
	/* The order of the numbers stays unless another is better. */
	if (assign->by_number.planned &&
	    !is_quicker(&assign->best, &assign->by_number))
		assign->best = assign->by_number;
	if (assign->best.planned)
		return GT_OK;
	return gt_err_set(err, GT_ENO, assign->by_number.why.where,
			  "no assignment of the ranks can be planned: %s",
			  assign->by_number.why.text);
}

int gt_assign_is_of_machine(const struct gt_workload *w,
			    const struct gt_site *site)
{
	return w->naxes && site->nnodes == 1 && site->cuts;
}

/* Where the launcher puts ranks: on no more nodes than they need. */
static void place_by_number(const struct gt_job_query *job, uint32_t *place)
{
	uint32_t n = job->workload->nranks, ngpus = job->site->ngpus;
	uint32_t nnodes = (n + ngpus - 1) / ngpus;

	for (uint32_t r = 0; r < n; r++)
		place[r] = job->by_node ? r % nnodes * ngpus + r / nnodes : r;
}

int gt_assign_find(const struct gt_job_query *job, struct gt_arena *arena,
		   struct gt_assign *assign, struct gt_err *err)
{
	const struct gt_workload *w = job->workload;
	const struct gt_site *site = job->site;
	struct search s = {.job = job, .arena = arena};
	int rc;

	*assign = (struct gt_assign){.joint = 0};
	if ((uint64_t)site->nnodes * site->ngpus < w->nranks)
		return gt_err_set(
			err, GT_EINPUT, w->file,
			"the job has %u ranks, but there are %" PRIu64
			" GPUs; --nodes says how many nodes there are",
			w->nranks, (uint64_t)site->nnodes * site->ngpus);
	rc = init_assignment(job, arena, &assign->by_number, err);
	if (!rc)
		rc = init_assignment(job, arena, &assign->best, err);
	if (rc)
		return rc;
	place_by_number(job, assign->by_number.place);
	rc = gt_job_bound_any(w, site, arena, &assign->bound_s, &assign->joint,
			      err);
	if (!rc)
		rc = plan_assignment(job, &assign->by_number, err);
	return rc ? rc : find_best(&s, assign, err);
}

int gt_assign_uses(const struct gt_assign *assign, const struct gt_workload *w,
		   const struct gt_group_plan *plan)
{
	const struct gt_assignment *made[] = {&assign->best,
					      &assign->by_number};

	for (int i = 0; i < 2; i++)
		for (uint32_t e = 0; made[i]->planned && e < w->ntraffic; e++)
			for (uint32_t g = 0; g < w->traffic[e].ngroups; g++)
				if (made[i]->cost.plans[e][g] == plan)
					return 1;
	return 0;
}
