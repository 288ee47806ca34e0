/* Bounds of a job's traffic by what enters GPUs, nodes and switches. */
#include "search/job/bound.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/job/site.h"
#include "search/job/within.h"
#include "search/job/workload.h"

double gt_traffic_enters(const struct gt_traffic *t, uint32_t k)
{
	double bytes = gt_traffic_bytes(t), n = t->size;

	if (!k || k >= t->size)
		return 0;
	switch (t->coll) {
	case GT_COLL_ALLREDUCE:
		return 2 * (n - k) / n * bytes;
	case GT_COLL_ALLTOALL:
		return k * (n - k) / n * bytes;
	case GT_COLL_SENDRECV:
		return bytes;
	default:
		return (n - k) / n * bytes;
	}
}

/* Seconds of so many bytes at so many GB/s. */
static double seconds_of(double bytes, double gbs)
{
	return bytes / (gbs * 1e9);
}

/* ---- ranks that have their places --------------------------------------- */

/* What enters all domains of `span` places from the groups of one entry. */
static double enters_domains(const struct gt_traffic *t, const uint32_t *place,
			     uint32_t span)
{
	double sum = 0;

	for (uint32_t g = 0; g < t->ngroups; g++) {
		const uint32_t *ranks = t->ranks + (size_t)g * t->size;

		for (uint32_t i = 0; i < t->size; i++) {
			uint32_t domain = place[ranks[i]] / span, k = 0;
			int first = 1;

			for (uint32_t j = 0; j < t->size; j++) {
				int same = place[ranks[j]] / span == domain;

				k += (uint32_t)same;
				first = first && !(same && j < i);
			}
			if (first)
				sum += gt_traffic_enters(t, k);
		}
	}
	return sum;
}

/* How many domains of `span` places have ranks. */
static uint32_t count_domains(const struct gt_workload *w,
			      const struct gt_site *site, const uint32_t *place,
			      uint32_t span)
{
	uint32_t n = 0, all = site->nnodes * site->ngpus;

	for (uint32_t first = 0; first < all; first += span)
		for (uint32_t r = 0; r < w->nranks; r++)
			if (place[r] / span == first / span) {
				n++;
				break;
			}
	return n;
}

/* What a GPU takes in when the phase's groups stay in nodes, or do not. */
static double gpu_gbs(const struct gt_site *site, int inside)
{
	return inside && site->peer_gbs > 0 ? site->peer_gbs : site->gpu_gbs;
}

/* What n nodes with all ranks in them take in together. */
static double nodes_gbs(const struct gt_workload *w, const struct gt_site *site,
			uint32_t n)
{
	double all = site->levels[0].gbs * n;
	double each = site->out_gbs * w->nranks;

	return each > 0 && each < all ? each : all;
}

/* What GPUs take of a phase whose groups stay in nodes, or do not. */
static double bound_gpus(const struct gt_workload *w,
			 const struct gt_site *site, uint32_t phase, int inside)
{
	double bytes = 0;

	for (uint32_t e = 0; e < w->ntraffic; e++)
		if (w->traffic[e].phase == phase)
			bytes += gt_traffic_enters(&w->traffic[e], 1) *
				 w->traffic[e].ngroups * w->traffic[e].size;
	return seconds_of(bytes / w->nranks, gpu_gbs(site, inside));
}

/* Has the entry a group whose ranks are all on one node? */
static int has_inside(const struct gt_site *site, const struct gt_traffic *t,
		      const uint32_t *place)
{
	for (uint32_t g = 0; g < t->ngroups; g++) {
		const uint32_t *ranks = t->ranks + (size_t)g * t->size;
		uint32_t i = 1;

		while (i < t->size && place[ranks[i]] / site->ngpus ==
					      place[ranks[0]] / site->ngpus)
			i++;
		if (i == t->size)
			return 1;
	}
	return 0;
}

/*
 * What the GPUs of a phase take: all of them on average, and those of a group
 * that stays in a node over the links that they have there.
 */
static double bound_placed_gpus(const struct gt_workload *w,
				const struct gt_site *site,
				const uint32_t *place, uint32_t phase,
				int spans)
{
	double most = bound_gpus(w, site, phase, !spans);

	for (uint32_t e = 0; e < w->ntraffic; e++) {
		const struct gt_traffic *t = &w->traffic[e];
		double s =
			seconds_of(gt_traffic_enters(t, 1), gpu_gbs(site, 1));

		if (t->phase == phase && s > most && has_inside(site, t, place))
			most = s;
	}
	return most;
}

double gt_job_bound_placed(const struct gt_workload *w,
			   const struct gt_site *site, const uint32_t *place,
			   double *phase_s)
{
	double bytes[GT_JOB_MAX_TRAFFIC], sum = 0;
	int spans[GT_JOB_MAX_TRAFFIC] = {0};

	memset(phase_s, 0, w->nphases * sizeof(*phase_s));
	for (uint32_t l = 0; l < site->nlevels; l++) {
		const struct gt_site_level *level = &site->levels[l];
		uint32_t span = level->nodes * site->ngpus;
		uint32_t n = count_domains(w, site, place, span);

		memset(bytes, 0, w->nphases * sizeof(*bytes));
		for (uint32_t e = 0; e < w->ntraffic; e++)
			bytes[w->traffic[e].phase] +=
				enters_domains(&w->traffic[e], place, span);
		for (uint32_t p = 0; p < w->nphases; p++) {
			double gbs = level->nodes == 1 ? nodes_gbs(w, site, n)
						       : level->gbs * n;
			double s = seconds_of(bytes[p], gbs);

			spans[p] |= bytes[p] > 0;
			phase_s[p] = s > phase_s[p] ? s : phase_s[p];
		}
	}
	for (uint32_t p = 0; p < w->nphases; p++) {
		double s = bound_placed_gpus(w, site, place, p, spans[p]);

		if (site->nnodes == 1)
			s = fmax(s, gt_within_placed(w, site, place, p));
		phase_s[p] = s > phase_s[p] ? s : phase_s[p];
		sum += phase_s[p];
	}
	return sum;
}

/* ---- wherever ranks are ------------------------------------------------- */

enum {
	MAX_SETS = 100000,    /* down-sets that are looked at */
	MAX_TRIES = 20000000, /* ranks that are tried for one, about a second */
	MAX_ROWS = 4096,      /* of them that differ in what enters them */
	MAX_SPLIT = 6,        /* phases of which each is looked at both ways */
	MAX_SET_RANKS = 64,
	SWEEPS = 6,
	HALVINGS = 24,
};

/* The search for what a node takes, by phase, and what it found. */
struct any {
	const struct gt_workload *w;
	const struct gt_site *site;
	uint32_t set[MAX_SET_RANKS], nset;
	uint32_t nsets;
	uint64_t ntries;
	uint32_t nrows; /* [row * nphases + phase]: seconds */
	double *rows;
	const double *fixed; /* by phase: seconds of GPUs */
	int failed;
};

/* Do two ranks differ on these axes alone? */
static int is_same_group(const struct gt_workload *w, uint32_t axes, uint32_t a,
			 uint32_t b)
{
	for (uint32_t i = 0; i < w->naxes; i++) {
		const struct gt_job_axis *axis = &w->axes[i];

		if (!(axes >> i & 1) && a / axis->stride % axis->size !=
						b / axis->stride % axis->size)
			return 0;
	}
	return 1;
}

/* What enters the set from the groups of an entry over axes. */
static double enters_set(const struct any *a, const struct gt_traffic *t)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->nset && t->axes; i++) {
		uint32_t k = 0;
		int first = 1;

		for (uint32_t j = 0; j < a->nset; j++) {
			int same = is_same_group(a->w, t->axes, a->set[i],
						 a->set[j]);

			k += (uint32_t)same;
			first = first && !(same && j < i);
		}
		if (first)
			sum += gt_traffic_enters(t, k);
	}
	return sum;
}

/*
 * Note what enters the set, as if all nodes that are used had one like it: each
 * rank brings its part of that, so nodes with fewer ranks count by rank.  All
 * of it enters no more nodes than there are, and by no more GPUs than have
 * ranks.
 */
static void note_set(struct any *a)
{
	const struct gt_workload *w = a->w;
	double gbs = nodes_gbs(w, a->site, a->site->nnodes);
	double share = (double)w->nranks / a->nset;
	double *row = a->rows + (size_t)a->nrows * w->nphases;

	memset(row, 0, w->nphases * sizeof(*row));
	for (uint32_t e = 0; e < w->ntraffic; e++)
		row[w->traffic[e].phase] +=
			seconds_of(share * enters_set(a, &w->traffic[e]), gbs);
	for (uint32_t i = 0; i < a->nrows; i++)
		if (!memcmp(row, a->rows + (size_t)i * w->nphases,
			    w->nphases * sizeof(*row)))
			return;
	a->failed |= ++a->nrows == MAX_ROWS;
}

/* May the rank join: are the ranks just below it in the set? */
static int may_join(const struct any *a, uint32_t rank)
{
	for (uint32_t i = 0; i < a->w->naxes; i++) {
		const struct gt_job_axis *axis = &a->w->axes[i];
		uint32_t k = 0;

		if (!(rank / axis->stride % axis->size))
			continue;
		while (k < a->nset && a->set[k] != rank - axis->stride)
			k++;
		if (k == a->nset)
			return 0;
	}
	return 1;
}

/*
 * Look at all down-sets that begin with the set.  In order of rank each rank
 * comes behind those it needs, so each set is made once.
 */
static void try_sets(struct any *a)
{
	const struct gt_workload *w = a->w;
	uint32_t full = a->site->ngpus;
	uint32_t next = a->nset ? a->set[a->nset - 1] + 1 : 0;
	int all = w->nranks == full * a->site->nnodes;

	a->ntries += w->nranks - (next < w->nranks ? next : w->nranks);
	if (a->failed || ++a->nsets > MAX_SETS || a->ntries > MAX_TRIES) {
		a->failed = 1;
		return;
	}
	if (a->nset == full || (a->nset && !all))
		note_set(a);
	if (a->nset == full)
		return;
	for (uint32_t r = next; r < w->nranks && !a->failed; r++) {
		if (!may_join(a, r))
			continue;
		a->set[a->nset++] = r;
		try_sets(a);
		a->nset--;
	}
}

/* The bound that weights of nodes against GPUs give. */
static double weigh(const struct any *a, const double *weights)
{
	uint32_t n = a->w->nphases;
	double fixed = 0, least = -1;

	for (uint32_t i = 0; i < a->nrows; i++) {
		const double *row = a->rows + (size_t)i * n;
		double sum = 0;

		for (uint32_t p = 0; p < n; p++)
			sum += weights[p] * row[p];
		least = least < 0 || sum < least ? sum : least;
	}
	for (uint32_t p = 0; p < n; p++)
		fixed += (1 - weights[p]) * a->fixed[p];
	return fixed + least;
}

/* Find the best weight of a phase, the others as they are: it is concave. */
static double improve(const struct any *a, double *weights, uint32_t p)
{
	double low = 0, high = 1, best = weights[p], most = weigh(a, weights);

	for (uint32_t i = 0; i < HALVINGS; i++) {
		double third = (high - low) / 3, left, right;

		weights[p] = low + third;
		left = weigh(a, weights);
		weights[p] = high - third;
		right = weigh(a, weights);
		if (left < right)
			low += third;
		else
			high -= third;
		best = left > most ? low : best;
		most = left > most ? left : most;
	}
	for (uint32_t i = 0; i < 3; i++) {
		double at[3] = {0, 1, (low + high) / 2}, value;

		weights[p] = at[i];
		value = weigh(a, weights);
		best = value >= most ? at[i] : best;
		most = value > most ? value : most;
	}
	weights[p] = best;
	return weigh(a, weights);
}

/* The best bound that was found from some weights to begin with. */
static double climb(const struct any *a, double first)
{
	double weights[GT_JOB_MAX_TRAFFIC], best;

	for (uint32_t p = 0; p < a->w->nphases; p++)
		weights[p] = first;
	best = weigh(a, weights);
	for (uint32_t k = 0; k < SWEEPS; k++)
		for (uint32_t p = 0; p < a->w->nphases; p++) {
			double value = improve(a, weights, p);

			best = value > best ? value : best;
		}
	return best;
}

/*
 * What a phase takes at least if some group of it stays in a node: what that
 * group's GPUs take in there.  -1: none can.
 */
static double bound_inside(const struct any *a, uint32_t phase)
{
	double least = -1, all = bound_gpus(a->w, a->site, phase, 0);

	for (uint32_t e = 0; e < a->w->ntraffic; e++) {
		const struct gt_traffic *t = &a->w->traffic[e];
		double s = seconds_of(gt_traffic_enters(t, 1),
				      gpu_gbs(a->site, 1));

		s = fmax(s, gt_within_least(a->site, t));
		if (t->phase == phase && t->size > 1 &&
		    t->size <= a->site->ngpus && (least < 0 || s < least))
			least = s;
	}
	return least >= 0 && least < all ? all : least;
}

/*
 * What a phase takes at least if no group of it stays in a node: as few of each
 * group's bytes cross as where one rank is apart, or all are in two halves.
 */
static double bound_apart(const struct any *a, uint32_t phase)
{
	double all = bound_gpus(a->w, a->site, phase, 0), bytes = 0, s;

	for (uint32_t e = 0; e < a->w->ntraffic; e++) {
		const struct gt_traffic *t = &a->w->traffic[e];
		double least = gt_traffic_enters(t, 1) +
			       gt_traffic_enters(t, t->size - 1);

		if (t->phase == phase)
			bytes += least * t->ngroups;
	}
	s = seconds_of(bytes, nodes_gbs(a->w, a->site, a->site->nnodes));
	return s > all ? s : all;
}

/* Bound assignments where just these phases have a group within a node. */
static double bound_case(struct any *a, uint32_t inside)
{
	double fixed[GT_JOB_MAX_TRAFFIC], best = -1;
	double first[] = {1, 0, 0.05};

	for (uint32_t p = 0; p < a->w->nphases; p++) {
		fixed[p] = inside >> p & 1 ? bound_inside(a, p)
					   : bound_apart(a, p);
		if (fixed[p] < 0)
			return -1;
	}
	a->fixed = fixed;
	for (uint32_t i = 0; i < 3; i++) {
		double value = climb(a, first[i]);

		best = value > best ? value : best;
	}
	return best;
}

/* What a phase takes at least on one machine, where all groups are inside. */
static double bound_machine(const struct gt_workload *w,
			    const struct gt_site *site, uint32_t phase)
{
	double most = bound_gpus(w, site, phase, 1);

	for (uint32_t e = 0; e < w->ntraffic; e++)
		if (w->traffic[e].phase == phase)
			most = fmax(most,
				    gt_within_least(site, &w->traffic[e]));
	return most;
}

/* With many phases each has the lesser of its two bounds. */
static double bound_many(struct any *a)
{
	double fixed[GT_JOB_MAX_TRAFFIC];

	for (uint32_t p = 0; p < a->w->nphases; p++) {
		double in = bound_inside(a, p), out = bound_apart(a, p);

		fixed[p] = in >= 0 && in < out ? in : out;
	}
	a->fixed = fixed;
	return climb(a, 0.05);
}

/*
 * In each phase some group stays in a node, or none does; what holds in all
 * cases is the least of their bounds.
 */
static double bound_cases(struct any *a)
{
	uint32_t n = a->w->nphases;
	double least = -1;

	if (n > MAX_SPLIT)
		return bound_many(a);
	for (uint32_t inside = 0; inside < 1u << n; inside++) {
		double value = bound_case(a, inside);

		if (value >= 0 && (least < 0 || value < least))
			least = value;
	}
	return least;
}

int gt_job_bound_any(const struct gt_workload *w, const struct gt_site *site,
		     struct gt_arena *arena, double *seconds, int *joint,
		     struct gt_err *err)
{
	struct any a = {.w = w, .site = site};

	a.rows = gt_arena_array(arena, (size_t)MAX_ROWS * w->nphases,
				sizeof(*a.rows));
	if (!a.rows)
		return gt_err_nomem(err);
	if (site->nlevels && site->ngpus <= MAX_SET_RANKS)
		try_sets(&a);
	*joint = a.nrows && !a.failed;
	*seconds = *joint ? bound_cases(&a) : -1;
	if (*seconds >= 0)
		return GT_OK;
	*joint = 0;
	*seconds = 0;
	for (uint32_t p = 0; p < w->nphases; p++) {
		double in = bound_gpus(w, site, p, 1);
		double out = bound_gpus(w, site, p, 0);

		*seconds += site->nnodes == 1 ? bound_machine(w, site, p)
			    : out < in        ? out
					      : in;
	}
	return GT_OK;
}
