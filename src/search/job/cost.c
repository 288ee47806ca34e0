/* Adds up what the plans of all groups put on links. */
#include "search/job/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/job/links.h"
#include "search/job/loads.h"
#include "search/job/plans.h"
#include "search/job/site.h"
#include "search/job/workload.h"

/* Links that take nearly as long are on the way too, and widened together. */
#define NEARLY_FULL 0.9

int gt_job_cost_init(struct gt_job_cost *cost, const struct gt_job_query *job,
		     struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_workload *w = job->workload;

	cost->nlinks = gt_job_links_count(job->links);
	cost->phase_s = gt_arena_array(arena, w->nphases, sizeof(double));
	cost->full = gt_arena_array(arena, w->nphases, sizeof(*cost->full));
	cost->bytes = gt_arena_array(arena, w->ntraffic * cost->nlinks,
				     sizeof(*cost->bytes));
	cost->gbs = gt_arena_array(arena, cost->nlinks, sizeof(*cost->gbs));
	cost->plans = gt_arena_array(arena, w->ntraffic, sizeof(*cost->plans));
	if (!cost->phase_s || !cost->full || !cost->bytes || !cost->gbs ||
	    !cost->plans)
		return gt_err_nomem(err);
	for (uint32_t e = 0; e < w->ntraffic; e++) {
		cost->plans[e] = gt_arena_array(arena, w->traffic[e].ngroups,
						sizeof(**cost->plans));
		if (!cost->plans[e])
			return gt_err_nomem(err);
	}
	return GT_OK;
}

static int compare_places(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The nodes and GPUs of a group's places, which are `size` many: as many in
 * each node, in the same order.  What is sent to the next rank is in order of
 * rank, all else in order of place.
 */
static int find_place(const struct gt_site *site, uint32_t *places,
		      uint32_t size, uint32_t *nodes,
		      struct gt_group_place *place, struct gt_err *err)
{
	uint32_t each = 1;

	if (place->coll != GT_COLL_SENDRECV)
		qsort(places, size, sizeof(*places), compare_places);
	while (each < size &&
	       places[each] / site->ngpus == places[0] / site->ngpus)
		each++;
	for (uint32_t i = 0; i < size; i++) {
		uint32_t node = places[i] / site->ngpus;

		if (i % each == 0)
			nodes[i / each] = node;
		if (size % each || node != nodes[i / each] ||
		    (i % each == 0 && i && node <= nodes[i / each - 1]) ||
		    places[i] % site->ngpus != places[i % each] % site->ngpus)
			return gt_err_set(err, GT_ENO, NULL,
					  "a group has not the same GPUs in "
					  "each of its nodes, in order");
	}
	for (uint32_t i = 0; i < each; i++)
		places[i] %= site->ngpus;
	place->nnodes = size / each;
	place->ngpus = each;
	place->nodes = nodes;
	place->gpus = places;
	return GT_OK;
}

static void add_load(const struct gt_job_query *job,
		     const struct gt_group_load *load, uint32_t node,
		     double bytes, double *sums)
{
	sums[gt_job_link_of(job->links, load, node)] += bytes * load->portion;
}

static void add_group(const struct gt_job_query *job,
		      const struct gt_group_place *place,
		      const struct gt_group_plan *plan, double bytes,
		      double *sums)
{
	for (uint32_t i = 0; i < plan->nloads; i++) {
		const struct gt_group_load *load = &plan->loads[i];

		if (load->member != GT_EVERY_MEMBER)
			add_load(job, load, place->nodes[load->member], bytes,
				 sums);
		for (uint32_t k = 0;
		     load->member == GT_EVERY_MEMBER && k < place->nnodes; k++)
			add_load(job, load, place->nodes[k], bytes, sums);
	}
}

/* Plan the groups of an entry, and add up what they put on links. */
static int add_entry(const struct gt_job_query *job, uint32_t e,
		     const uint32_t *place, uint32_t *room,
		     struct gt_job_cost *cost, struct gt_err *err)
{
	const struct gt_traffic *t = &job->workload->traffic[e];
	uint32_t *places = room, *nodes = room + t->size;
	int rc = GT_OK;

	for (uint32_t g = 0; g < t->ngroups && t->size > 1 && !rc; g++) {
		const uint32_t *ranks = t->ranks + (size_t)g * t->size;
		const struct gt_group_plan *plan = NULL;
		struct gt_group_place at = {.coll = t->coll};

		for (uint32_t i = 0; i < t->size; i++)
			places[i] = place[ranks[i]];
		rc = find_place(job->site, places, t->size, nodes, &at, err);
		if (!rc)
			rc = gt_group_plans_find(job->plans, &at, &plan, err);
		if (!rc)
			add_group(job, &at, plan, gt_traffic_bytes(t),
				  cost->bytes + e * cost->nlinks);
		cost->plans[e][g] = plan;
	}
	return rc;
}

/* How long a link takes for what a phase puts on it. */
static double phase_seconds(const struct gt_workload *w,
			    const struct gt_job_cost *cost, uint32_t phase,
			    size_t link)
{
	double bytes = 0;

	for (uint32_t e = 0; e < w->ntraffic && cost->gbs[link] > 0; e++)
		if (w->traffic[e].phase == phase)
			bytes += cost->bytes[e * cost->nlinks + link];
	return bytes > 0 ? bytes / cost->gbs[link] / 1e9 : 0;
}

/* The seconds of a phase, and which link takes them. */
static void find_phase(const struct gt_workload *w, struct gt_job_cost *cost,
		       uint32_t phase)
{
	double most = 0;

	cost->full[phase] = SIZE_MAX;
	for (size_t link = 0; link < cost->nlinks; link++) {
		double s = phase_seconds(w, cost, phase, link);

		if (s <= most)
			continue;
		most = s;
		cost->full[phase] = link;
	}
	cost->phase_s[phase] = most;
}

static void find_phases(const struct gt_workload *w, struct gt_job_cost *cost)
{
	cost->seconds = 0;
	for (uint32_t p = 0; p < w->nphases; p++) {
		find_phase(w, cost, p);
		cost->seconds += cost->phase_s[p];
	}
}

static int find_rates(const struct gt_job_query *job, struct gt_job_cost *cost,
		      struct gt_err *err)
{
	int rc = GT_OK;

	for (size_t link = 0; link < cost->nlinks && !rc; link++) {
		double bytes = 0;

		cost->gbs[link] = 0;
		for (uint32_t e = 0; e < job->workload->ntraffic; e++)
			bytes += cost->bytes[e * cost->nlinks + link];
		if (bytes > 0)
			rc = gt_job_link_gbs(job->links, link, &cost->gbs[link],
					     err);
	}
	return rc;
}

/* The seconds of an entry's uses one after the other, latency counted. */
static int find_alone(const struct gt_job_query *job,
		      const struct gt_job_cost *cost, uint32_t e, double *alone,
		      struct gt_err *err)
{
	const struct gt_traffic *t = &job->workload->traffic[e];
	const struct gt_group_plan *last = NULL;
	double s;
	int rc = GT_OK;

	*alone = 0;
	for (uint32_t g = 0; g < t->ngroups && t->size > 1 && !rc; g++) {
		if (cost->plans[e][g] == last)
			continue;
		last = cost->plans[e][g];
		rc = gt_group_plans_price(job->plans, last, t->bytes, &s, err);
		*alone = rc ? 0 : fmax(*alone, s * (double)t->count);
	}
	return rc;
}

static int find_expected(const struct gt_job_query *job,
			 struct gt_job_cost *cost, struct gt_err *err)
{
	const struct gt_workload *w = job->workload;
	double alone, most;
	int rc = GT_OK;

	cost->expected_s = 0;
	for (uint32_t p = 0; p < w->nphases && !rc; p++) {
		most = cost->phase_s[p];
		for (uint32_t e = 0; e < w->ntraffic && !rc; e++) {
			if (w->traffic[e].phase != p)
				continue;
			rc = find_alone(job, cost, e, &alone, err);
			most = rc ? 0 : fmax(most, alone);
		}
		cost->expected_s += most;
	}
	return rc;
}

int gt_job_cost_find(const struct gt_job_query *job, const uint32_t *place,
		     struct gt_job_cost *cost, struct gt_err *err)
{
	const struct gt_workload *w = job->workload;
	uint32_t *room = calloc(2 * (size_t)w->nranks, sizeof(*room));
	int rc = room ? GT_OK : gt_err_nomem(err);

	memset(cost->bytes, 0,
	       w->ntraffic * cost->nlinks * sizeof(*cost->bytes));
	for (uint32_t e = 0; e < w->ntraffic && !rc; e++)
		rc = add_entry(job, e, place, room, cost, err);
	free(room);
	if (!rc)
		rc = find_rates(job, cost, err);
	if (rc)
		return rc;
	find_phases(w, cost);
	return find_expected(job, cost, err);
}

/* What a plan proves of all groups of a phase that have it, in seconds. */
static double proven_seconds(const struct gt_workload *w,
			     const struct gt_job_cost *cost, uint32_t phase,
			     const struct gt_group_plan *plan)
{
	double bytes = 0;

	if (!plan || plan->bound_gbs <= 0)
		return 0;
	for (uint32_t e = 0; e < w->ntraffic; e++)
		for (uint32_t g = 0; g < w->traffic[e].ngroups; g++)
			if (w->traffic[e].phase == phase &&
			    cost->plans[e][g] == plan)
				bytes += gt_traffic_bytes(&w->traffic[e]);
	return bytes / plan->bound_gbs / 1e9;
}

double gt_job_cost_bound(const struct gt_job_query *job,
			 const struct gt_job_cost *cost, const double *phase_s)
{
	const struct gt_workload *w = job->workload;
	double sum = 0;

	for (uint32_t p = 0; p < w->nphases; p++) {
		double most = phase_s[p];

		for (uint32_t e = 0; e < w->ntraffic; e++)
			for (uint32_t g = 0; w->traffic[e].phase == p &&
					     g < w->traffic[e].ngroups;
			     g++)
				most = fmax(most,
					    proven_seconds(w, cost, p,
							   cost->plans[e][g]));
		sum += most;
	}
	return sum;
}

double gt_job_cost_link_s(const struct gt_job_query *job,
			  const struct gt_job_cost *cost, uint32_t phase,
			  size_t link)
{
	return phase_seconds(job->workload, cost, phase, link);
}

/* Is one of the links of a list like this one? */
static int is_listed(const struct gt_job_query *job, const size_t *list,
		     uint32_t n, size_t link)
{
	for (uint32_t i = 0; i < n; i++)
		if (gt_job_links_are_alike(job->links, list[i], link))
			return 1;
	return 0;
}

uint32_t gt_job_cost_full(const struct gt_job_query *job,
			  const struct gt_job_cost *cost, uint32_t phase,
			  size_t *full)
{
	uint32_t n = 0;

	for (size_t link = 0; link < cost->nlinks && n < GT_JOB_MAX_FULL;
	     link++)
		if (phase_seconds(job->workload, cost, phase, link) >=
			    cost->phase_s[phase] * NEARLY_FULL &&
		    cost->phase_s[phase] > 0 && !is_listed(job, full, n, link))
			full[n++] = link;
	return n;
}

int gt_job_cost_widened(const struct gt_job_query *job,
			const struct gt_job_cost *cost, uint32_t phase,
			double times, double *seconds, struct gt_err *err)
{
	uint32_t nphases = job->workload->nphases, n;
	size_t full[GT_JOB_MAX_FULL];
	struct gt_job_cost wide = *cost;

	n = gt_job_cost_full(job, cost, phase, full);
	wide.gbs = calloc(cost->nlinks, sizeof(*wide.gbs));
	wide.phase_s = calloc(nphases, sizeof(*wide.phase_s));
	wide.full = calloc(nphases, sizeof(*wide.full));
	if (wide.gbs && wide.phase_s && wide.full) {
		for (size_t i = 0; i < cost->nlinks; i++)
			wide.gbs[i] =
				cost->gbs[i] > 0 && is_listed(job, full, n, i)
					? cost->gbs[i] * times
					: cost->gbs[i];
		find_phases(job->workload, &wide);
		*seconds = wide.seconds;
		n = 1;
	} else {
		n = 0;
	}
	free(wide.gbs);
	free(wide.phase_s);
	free(wide.full);
	return n ? GT_OK : gt_err_nomem(err);
}
