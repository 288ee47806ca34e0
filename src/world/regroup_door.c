/*
 * Both sides of a regrouping ask at doors whether a process is there, and wait
 * for it no longer than all have agreed to; this is what an answer proves.
 */
#include "world/regroup.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

struct gt_net_deadline gt_regroup_patience(const struct gt_regrouping *group,
					   uint32_t first)
{
	int64_t left_ns = group->deadline.deadline_ns - group->begin_ns;
	int64_t n = 1, after = 0;

	/*
	 * Two thirds of the time in as many steps as there may be processes to
	 * wait for: whom this one knows to be gone a stranger may stand for
	 * since.  Who waits for a leader waits half a step longer than it does.
	 */
	for (uint32_t r = 0; r < group->world->config.size; r++)
		if (group->seats[r].state != GT_SEAT_EXCLUDED) {
			n++;
			after += r >= first;
		}
	left_ns = left_ns / 3 * 2 / (2 * n) *
		  (2 * after - (first == group->world->config.rank));
	return (struct gt_net_deadline){
		.deadline_ns = group->deadline.deadline_ns - left_ns,
		.stop = group->deadline.stop};
}

/*
 * Nobody counts as silent who may have been so for less than half of the limit,
 * but one whose host has another one that is.
 */
static int64_t gt_regroup_limit_ns(const struct gt_regrouping *group,
				   uint32_t rank)
{
	const struct gt_world *world = group->world;
	int64_t limit_ns = group->how->timeout_ns / 2;

	for (uint32_t r = 0; r < world->config.size; r++)
		if (group->seats[r].state == GT_SEAT_SILENT &&
		    gt_net_is_same(&world->doors[r], &world->doors[rank]))
			limit_ns = GT_KNOCK_LEAST_NS;
	return limit_ns > GT_KNOCK_LEAST_NS ? limit_ns : GT_KNOCK_LEAST_NS;
}

/*
 * A host has refused for a process, which has ended.  That proves that it is
 * gone only so long as the others cannot have gone on without this process,
 * which they do not before half of the limit has passed; it may have ended
 * behind that.
 */
static enum gt_seat_state gt_regroup_judge_refusal(struct gt_regrouping *group)
{
	struct gt_world *world = group->world;
	int64_t since_ns;

	/* A death that the world does not know of is heard of soon. */
	if (!atomic_load(&world->failed))
		return GT_SEAT_AWAITED;
	pthread_mutex_lock(&world->mutex);
	since_ns = gt_clock_ns() - world->failed_ns;
	pthread_mutex_unlock(&world->mutex);
	return group->hears_all && since_ns < group->how->timeout_ns / 4
		       ? GT_SEAT_GONE
		       : GT_SEAT_SILENT;
}

int gt_regroup_knock(struct gt_regrouping *group, uint32_t rank,
		     struct gt_err *err)
{
	struct gt_seat *seat = &group->seats[rank];

	switch (gt_knock_look(&seat->knock, &group->world->doors[rank],
			      gt_regroup_limit_ns(group, rank),
			      &seat->probe_fd)) {
	case GT_KNOCK_WAITS:
	case GT_KNOCK_OPEN:
		seat->heard_bytes = 0;
		return GT_OK;
	case GT_KNOCK_WANT:
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot look whether %s is there: %s",
				  group->world->members[rank].called,
				  strerror(errno));
	case GT_KNOCK_REFUSED:
		seat->state = gt_regroup_judge_refusal(group);
		return GT_OK;
	case GT_KNOCK_SILENCE:
		break;
	}
	seat->state = GT_SEAT_SILENT;
	return GT_OK;
}
