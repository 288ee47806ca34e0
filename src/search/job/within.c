/* Bounds of what stays in a node whose GPUs no NVSwitches join. */
#include "search/job/within.h"

#include <math.h>

#include "search/job/cuts.h"
#include "search/job/site.h"
#include "search/job/workload.h"

/* The groups of a phase on a node, each of two ranks at least. */
enum { MAX_GROUPS = GT_JOB_MAX_TRAFFIC * GT_CUTS_MAX_GPUS / 2 };

/* A group that is on the node: the GPU of each of its ranks. */
struct group {
	const struct gt_traffic *traffic;
	uint32_t gpu[GT_CUTS_MAX_GPUS];
	uint32_t members; /* a set of GPUs */
};

static uint32_t count_gpus(uint32_t set)
{
	uint32_t n = 0;

	for (; set; set &= set - 1)
		n++;
	return n;
}

/* How many ranks of a group are in the set and send to one that is not. */
static uint32_t count_leaving(const struct group *group, uint32_t set)
{
	uint32_t n = group->traffic->size, leaving = 0;

	for (uint32_t i = 0; i < n; i++)
		leaving += (set >> group->gpu[i] & 1) &&
			   !(set >> group->gpu[(i + 1) % n] & 1);
	return leaving;
}

/*
 * The messages of an element between the parts of a partition, those of an
 * all-reduce being 1.
 */
static double message_part(enum gt_coll coll)
{
	switch (coll) {
	case GT_COLL_ALLREDUCE:
		return 1;
	case GT_COLL_ALLGATHER:
	case GT_COLL_REDUCESCATTER:
		return 0.5;
	default:
		return 0;
	}
}

/* The bytes of a group that go from one GPU to another at least. */
static double goes(const struct group *group)
{
	double n = group->traffic->size;
	double bytes = gt_traffic_bytes(group->traffic);

	switch (group->traffic->coll) {
	case GT_COLL_ALLREDUCE:
		return 2 * (n - 1) * bytes;
	case GT_COLL_SENDRECV:
		return n * bytes;
	default:
		return (n - 1) * bytes;
	}
}

/*
 * The bytes of a group that leave those of its GPUs that are in the set, or go
 * between any two if that is all that are looked at.
 */
static double leaves(const struct group *group, uint32_t set, uint32_t all)
{
	double n = group->traffic->size, k = count_gpus(set & group->members);
	double bytes = gt_traffic_bytes(group->traffic);

	if (set == all)
		return goes(group);
	if (k < 1 || k >= n)
		return 0;
	switch (group->traffic->coll) {
	case GT_COLL_ALLREDUCE:
		return bytes;
	case GT_COLL_ALLTOALL:
		return k * (n - k) / n * bytes;
	case GT_COLL_SENDRECV:
		return count_leaving(group, set) * bytes;
	case GT_COLL_REDUCESCATTER:
		return (n - k) / n * bytes;
	default:
		return k / n * bytes;
	}
}

/* What all groups that have just these members take if no others are there. */
static double bound_members(const struct gt_job_cuts *cuts,
			    const struct group *groups, uint32_t n,
			    uint32_t members)
{
	const double *out = cuts->out + (size_t)members * GT_CUTS_SETS;
	double most = 0, messages = 0;

	for (uint32_t i = 0; i < n; i++)
		if (groups[i].members == members)
			messages += gt_traffic_bytes(groups[i].traffic) *
				    message_part(groups[i].traffic->coll);
	most = messages / cuts->strength[members];
	for (uint32_t set = members; set; set = (set - 1) & members) {
		double bytes = 0;

		for (uint32_t i = 0; i < n; i++)
			if (groups[i].members == members)
				bytes += leaves(&groups[i], set, members);
		if (bytes > 0)
			most = fmax(most, bytes / out[set]);
	}
	return most / 1e9;
}

/* What all groups take that have none but these members. */
static double bound_among(const struct gt_job_cuts *cuts,
			  const struct group *groups, uint32_t n,
			  uint32_t members)
{
	const double *any = cuts->any + (size_t)members * GT_CUTS_SETS;
	double most = 0;

	for (uint32_t set = members; set; set = (set - 1) & members) {
		double bytes = 0;

		for (uint32_t i = 0; i < n; i++)
			if (!(groups[i].members & ~members))
				bytes += leaves(&groups[i], set, members);
		if (bytes > 0)
			most = fmax(most, bytes / any[set]);
	}
	return most / 1e9;
}

/* Find where a group is; is all of it on the node of rank 0? */
static int find_group(const struct gt_site *site, const struct gt_traffic *t,
		      uint32_t g, const uint32_t *place, struct group *group)
{
	const uint32_t *ranks = t->ranks + (size_t)g * t->size;
	uint32_t first = place[0] / site->ngpus * site->ngpus;

	*group = (struct group){.traffic = t};
	if (t->size < 2 || t->size > site->ngpus)
		return 0;
	for (uint32_t i = 0; i < t->size; i++) {
		uint32_t gpu = place[ranks[i]] - first;

		if (place[ranks[i]] < first || gpu >= site->ngpus)
			return 0;
		group->gpu[i] = gpu;
		group->members |= 1u << gpu;
	}
	return 1;
}

/* Find the groups of a phase that are on the node of rank 0; their number. */
static uint32_t find_groups(const struct gt_workload *w,
			    const struct gt_site *site, const uint32_t *place,
			    uint32_t phase, struct group *groups)
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < w->ntraffic; e++) {
		const struct gt_traffic *t = &w->traffic[e];

		for (uint32_t g = 0; g < t->ngroups && t->phase == phase; g++)
			n += (uint32_t)find_group(site, t, g, place,
						  &groups[n]);
	}
	return n;
}

/* Is it the first of the groups that have these members? */
static int is_first(const struct group *groups, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (groups[j].members == groups[i].members)
			return 0;
	return 1;
}

double gt_within_placed(const struct gt_workload *w, const struct gt_site *site,
			const uint32_t *place, uint32_t phase)
{
	struct group groups[MAX_GROUPS + 1]; /* and one that is looked at */
	uint32_t n, all = 0;
	double most = 0;

	if (!site->cuts)
		return 0;
	n = find_groups(w, site, place, phase, groups);
	for (uint32_t i = 0; i < n; i++) {
		all |= groups[i].members;
		if (is_first(groups, i))
			most = fmax(most, bound_members(site->cuts, groups, n,
							groups[i].members));
	}
	for (uint32_t i = 0; i < n; i++)
		if (groups[i].members != all && is_first(groups, i))
			most = fmax(most, bound_among(site->cuts, groups, n,
						      groups[i].members));
	return all ? fmax(most, bound_among(site->cuts, groups, n, all)) : most;
}

double gt_within_least(const struct gt_site *site, const struct gt_traffic *t)
{
	struct group group = {.traffic = t};
	double least = HUGE_VAL;

	/* Of what goes to the next rank the order of the GPUs matters, too. */
	if (!site->cuts || t->size < 2 || t->size > site->ngpus ||
	    t->coll == GT_COLL_SENDRECV)
		return 0;
	for (uint32_t set = 1; set < 1u << site->ngpus; set++) {
		group.members = set;
		if (count_gpus(set) == t->size)
			least = fmin(least,
				     bound_members(site->cuts, &group, 1, set));
	}
	return least;
}
