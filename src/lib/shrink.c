/* Which ranks are left of a communicator, in which processes, on which plan. */
#include "lib/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "exec/link/process_group.h"
#include "plan/ir/plan.h"
#include "plan/ir/survivors.h"

/* What is being counted. */
struct gt_shrinking {
	struct gtopo_comm *comm;
	struct gt_shrink *shrink;
	uint8_t *gone;     /* [ranks] */
	uint8_t *excluded; /* [processes]: all their ranks are */
	uint32_t *left;    /* processes, by their old numbers */
	uint32_t nprocesses, nleft;
};

static uint32_t gt_shrink_start(const struct gt_shrinking *s, uint32_t p)
{
	return s->comm->config.starts ? s->comm->config.starts[p]
				      : gt_process_group_first(p, s->nprocesses,
							       s->comm->nranks);
}

static int gt_shrink_exclude(struct gt_shrinking *s, const int *excluded, int n,
			     struct gt_err *err)
{
	for (int i = 0; i < n; i++) {
		if (excluded[i] < 0 ||
		    (uint32_t)excluded[i] >= s->comm->nranks ||
		    s->gone[excluded[i]])
			return gt_err_set(err, GT_EINPUT, NULL,
					  "rank '%d' cannot be excluded: it is "
					  "not there, or there twice",
					  excluded[i]);
		s->gone[excluded[i]] = 1;
	}
	return GT_OK;
}

/* How many ranks of a process are left. */
static uint32_t gt_shrink_count(const struct gt_shrinking *s, uint32_t p)
{
	uint32_t n = 0;

	for (uint32_t r = gt_shrink_start(s, p); r < gt_shrink_start(s, p + 1);
	     r++)
		n += !s->gone[r];
	return n;
}

/*
 * Processes without ranks do not come.  GPUs that are told by a rank's place in
 * its process, or its process's on the host, would be others without some.
 */
static int gt_shrink_processes(struct gt_shrinking *s, struct gt_err *err)
{
	for (uint32_t p = 0; p < s->nprocesses; p++) {
		uint32_t n = gt_shrink_count(s, p);

		s->excluded[p] = !n;
		if (s->comm->ops->async &&
		    s->comm->config.map != GT_DEVICE_BY_ID &&
		    (n ? n < gt_shrink_start(s, p + 1) - gt_shrink_start(s, p)
		       : s->comm->config.map == GT_DEVICE_BY_INDEX))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "which GPU a rank has is told by its "
					  "place here, which changes when "
					  "others go; let the plan name GPUs");
	}
	if (s->excluded[s->comm->job.rank])
		return gt_err_set(err, GT_EINPUT, NULL,
				  "no rank of this process is left");
	return GT_OK;
}

/* Meet those that are left; the ranks of all others are gone. */
static int gt_shrink_regroup(struct gt_shrinking *s, struct gt_err *err)
{
	const struct gt_regroup how = {.excluded = s->excluded,
				       .timeout_ns =
					       s->comm->config.timeout_ns};
	uint32_t i = 0;
	int rc = GT_OK;

	if (s->comm->world)
		rc = gt_world_regroup(s->comm->world, &how, &s->shrink->world,
				      s->left, &s->nleft, err);
	else if (s->nprocesses > 1)
		rc = gt_err_set(err, GT_ESYS, NULL,
				"the communicator was never made");
	else
		s->nleft = 1;
	for (uint32_t p = 0; !rc && p < s->nprocesses; p++) {
		if (i < s->nleft && s->left[i] == p)
			i++;
		else
			memset(s->gone + gt_shrink_start(s, p), 1,
			       gt_shrink_start(s, p + 1) -
				       gt_shrink_start(s, p));
	}
	return rc;
}

/* Number what is left: ranks and processes keep their order. */
static void gt_shrink_number(struct gt_shrinking *s)
{
	struct gt_shrink *shrink = s->shrink;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nleft; i++) {
		shrink->starts[i] = n;
		n += gt_shrink_count(s, s->left[i]);
		if (s->left[i] == s->comm->job.rank)
			shrink->rank = i;
	}
	shrink->starts[s->nleft] = n;
	shrink->size = s->nleft;
	n = 0;
	for (uint32_t r = 0; r < s->comm->nranks; r++)
		if (!s->gone[r]) {
			shrink->based[n] =
				s->comm->based ? s->comm->based[r] : r;
			shrink->origins[n++] = r;
		}
	/* Whoever is gone is so with all ranks, counted by either way. */
	GT_MUST(n == shrink->starts[s->nleft]);
}

/* Share the communicator's base, which it is itself if it has none. */
static int gt_shrink_share(struct gt_shrinking *s, struct gt_err *err)
{
	struct gtopo_comm *comm = s->comm;

	pthread_mutex_lock(&comm->mutex);
	if (!comm->base) {
		comm->base = calloc(1, sizeof(*comm->base));
		if (comm->base) {
			comm->base->plan = comm->plan;
			atomic_init(&comm->base->users, 1);
		}
	}
	if (comm->base)
		atomic_fetch_add(&comm->base->users, 1);
	s->shrink->base = comm->base;
	pthread_mutex_unlock(&comm->mutex);
	return s->shrink->base ? GT_OK : gt_err_nomem(err);
}

/*
 * Others may have shrunk it more often than this process, and all must have one
 * plan: so it is made of the first one, whatever came between.
 */
static int gt_shrink_plan(struct gt_shrinking *s, struct gt_err *err)
{
	struct gt_shrink *shrink = s->shrink;
	const struct gt_plan *plan = shrink->base->plan;
	uint8_t *gone = malloc(plan->nranks);
	int rc;

	if (!gone)
		return gt_err_nomem(err);
	memset(gone, 1, plan->nranks);
	for (uint32_t i = 0; i < shrink->starts[s->nleft]; i++)
		gone[shrink->based[i]] = 0;
	rc = gt_plan_survivors(plan, gone, s->comm->config.invariant,
			       &shrink->plan, err);
	free(gone);
	return rc;
}

static int gt_shrink_do(struct gt_shrinking *s, const int *excluded,
			int nexcluded, struct gt_err *err)
{
	int rc = gt_shrink_exclude(s, excluded, nexcluded, err);

	if (!rc)
		rc = gt_shrink_processes(s, err);
	if (!rc)
		rc = gt_shrink_share(s, err);
	if (!rc)
		rc = gt_shrink_regroup(s, err);
	if (rc)
		return rc;
	gt_shrink_number(s);
	rc = gt_shrink_plan(s, err);
	if (rc && s->shrink->world)
		gt_world_take_back(s->comm->world, s->shrink->world);
	return rc;
}

int gt_shrink_find(struct gtopo_comm *comm, const int *excluded, int nexcluded,
		   struct gt_shrink *shrink, struct gt_err *err)
{
	uint32_t n = comm->job.size;
	struct gt_shrinking s = {
		.comm = comm,
		.shrink = shrink,
		.gone = calloc(comm->nranks, 1),
		.excluded = calloc(n, 1),
		.left = calloc(n, sizeof(*s.left)),
		.nprocesses = n,
	};
	int rc;

	*shrink = (struct gt_shrink){
		.starts = calloc(n + 1, sizeof(*shrink->starts)),
		.origins = calloc(comm->nranks, sizeof(*shrink->origins)),
		.based = calloc(comm->nranks, sizeof(*shrink->based)),
	};
	rc = s.gone && s.excluded && s.left && shrink->starts &&
			     shrink->origins && shrink->based
		     ? gt_shrink_do(&s, excluded, nexcluded, err)
		     : gt_err_nomem(err);
	if (rc)
		gt_shrink_free(shrink);
	free(s.gone);
	free(s.excluded);
	free(s.left);
	return rc;
}

static void gt_base_leave(struct gt_base *base)
{
	if (!base || atomic_fetch_sub(&base->users, 1) > 1)
		return;
	gt_plan_free(base->plan);
	free(base);
}

void gt_shrink_free_plans(struct gtopo_comm *comm)
{
	if (!comm->base || comm->plan != comm->base->plan)
		gt_plan_free(comm->plan);
	gt_base_leave(comm->base);
}

void gt_shrink_free(struct gt_shrink *shrink)
{
	gt_world_close(shrink->world);
	gt_plan_free(shrink->plan);
	free(shrink->starts);
	free(shrink->origins);
	free(shrink->based);
	gt_base_leave(shrink->base);
	memset(shrink, 0, sizeof(*shrink));
}
