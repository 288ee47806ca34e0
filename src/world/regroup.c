/*
 * A job that has lost processes, or is to leave some out, becomes a new one of
 * those that are left.
 *
 * Each knocks at the doors of those before it until one lets it in; whoever
 * finds nobody leads (regroup.h).  The connections over which they have found
 * each other are those of the new world.
 */
#include "world/regroup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

/* What is known before anybody is asked. */
static void gt_regroup_begin(struct gt_regrouping *group)
{
	struct gt_world *world = group->world;
	const uint8_t *excluded = group->how->excluded;

	pthread_mutex_lock(&world->mutex);
	group->hears_all = !world->was_away;
	for (uint32_t r = 0; r < world->config.size; r++) {
		gt_wire_init(&group->seats[r].wire, -1);
		gt_knock_init(&group->seats[r].knock);
		group->seats[r].probe_fd = -1;
		group->seats[r].state =
			excluded && excluded[r]       ? GT_SEAT_EXCLUDED
			: world->members[r].is_silent ? GT_SEAT_SILENT
						      : GT_SEAT_AWAITED;
		group->hears_all &= !world->members[r].is_silent;
	}
	group->unheard_ns = -1;
	if (world->orphan) {
		group->unheard_ns = world->members[0].silent_ns;
		world->members[0].silent_ns = 0; /* for the next attempt */
	}
	pthread_mutex_unlock(&world->mutex);
	group->begin_ns = gt_clock_ns();
	group->epoch = gt_world_next_epoch(group->world);
	group->nleft = 0;
}

static void gt_regroup_end(struct gt_regrouping *group)
{
	for (uint32_t r = 0; r < group->world->config.size; r++) {
		gt_wire_close(&group->seats[r].wire);
		gt_knock_end(&group->seats[r].knock);
		if (group->seats[r].probe_fd >= 0)
			close(group->seats[r].probe_fd);
	}
}

/* Find those that are left: the first is this one, or one before it. */
static int gt_regroup_find(struct gt_regrouping *group, struct gt_err *err)
{
	int rc;

	for (uint32_t r = 0; r < group->world->config.rank; r++) {
		if (group->seats[r].state != GT_SEAT_AWAITED)
			continue;
		rc = gt_regroup_follow(group, r, err);
		if (rc != GT_ENO)
			return rc;
	}
	return gt_regroup_lead(group, err);
}

/* Begin the new world over the connections that there are. */
static int gt_regroup_start(struct gt_regrouping *group, struct gt_world **next,
			    struct gt_err *err)
{
	const struct gt_world *world = group->world;
	const struct gt_world_descent descent = {world, group->left,
						 group->epoch};
	struct gt_world_config config = world->config;
	struct gt_wire *wires = calloc(group->nleft, sizeof(*wires));
	int rc;

	if (!wires)
		return gt_err_nomem(err);
	config.size = group->nleft;
	config.listen_fd = -1;
	config.interrupt = group->how->stop;
	/* What was borrowed while the world before was opened is gone. */
	config.origin_end = NULL;
	config.herald = 0;
	config.address = world->doors[group->left[0]];
	for (uint32_t i = 0; i < group->nleft; i++) {
		wires[i] = group->seats[group->left[i]].wire;
		gt_wire_init(&group->seats[group->left[i]].wire, -1);
		if (group->left[i] == world->config.rank)
			config.rank = i;
	}
	rc = gt_world_start(&config, &descent, wires, next, err);
	for (uint32_t i = 0; i < group->nleft; i++)
		gt_wire_close(&wires[i]);
	free(wires);
	gt_secret_wipe(&config.secret);
	return rc;
}

/* One attempt; GT_ENO: another one was lost meanwhile. */
static int gt_regroup_once(struct gt_regrouping *group, struct gt_world **next,
			   struct gt_err *err)
{
	int rc;

	gt_regroup_begin(group);
	rc = gt_regroup_find(group, err);
	if (!rc && group->nleft > 1)
		rc = gt_regroup_start(group, next, err);
	gt_regroup_end(group);
	return rc;
}

/*
 * The attempts of others may be more, or fewer, than this process's; from now
 * on all count alike.  Whoever leads from the world behind this one says the
 * number of one of that.
 */
static void gt_regroup_count(struct gt_world *world, uint32_t epoch)
{
	uint32_t attempt = gt_world_attempt(world, epoch);

	world->nregroups = attempt ? attempt : world->nregroups + 1;
}

int gt_world_regroup(struct gt_world *world, const struct gt_regroup *how,
		     struct gt_world **next, uint32_t *left, uint32_t *nleft,
		     struct gt_err *err)
{
	struct gt_regrouping group = {
		.world = world,
		.how = how,
		.deadline = {.deadline_ns = gt_clock_ns() + 3 * how->timeout_ns,
			     .stop = how->stop},
		.seats = calloc(world->config.size, sizeof(*group.seats)),
		.left = left,
	};
	int rc;

	if (!group.seats)
		return gt_err_nomem(err);
	*next = NULL;
	do {
		gt_err_init(err);
		rc = gt_regroup_once(&group, next, err);
	} while (rc == GT_ENO && gt_net_poll_ms(&group.deadline));
	free(group.seats);
	if (rc == GT_ENO)
		rc = err->code ? err->code : GT_ESYS;
	if (rc)
		return rc;
	gt_regroup_count(world, group.epoch);
	world->has_moved = atomic_load(&world->failed);
	*nleft = group.nleft;
	return GT_OK;
}

void gt_world_take_back(struct gt_world *world, const struct gt_world *next)
{
	if (gt_world_attempt(world, next->epoch) == world->nregroups)
		world->nregroups--;
}
