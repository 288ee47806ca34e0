/*
 * The end of a job by a failure: the first reason is kept and told to all, and
 * each process learns whether it is the one to tell the user.
 */
#include "world/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

/* So many of the first processes speak when process 0 is gone. */
enum { GT_WORLD_SPEAKERS = 8 };

void gt_world_note_gap(struct gt_world *world)
{
	world->was_away |=
		world->looked_ns && gt_clock_ns() - world->looked_ns >=
					    world->config.timeout_ns / 2;
}

/*
 * Somebody who was not heard for long may not have heard this process; news of
 * a failure that come behind such a silence are as old as it is.
 */
static void gt_world_note_silence(struct gt_world *world)
{
	world->was_away |=
		world->late_ns &&
		gt_clock_ns() - world->late_ns < world->config.timeout_ns / 2;
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++)
		world->was_away |= world->members[r].state == GT_MEMBER_HERE &&
				   world->members[r].silent_ns >=
					   world->config.timeout_ns / 4;
}

void gt_world_fail(struct gt_world *world, const char *fmt, ...)
{
	struct gt_frame frame = {.type = GT_FRAME_ABORT};
	va_list args;

	if (atomic_load(&world->failed))
		return;
	va_start(args, fmt);
	vsnprintf(world->why, sizeof(world->why), fmt, args);
	va_end(args);
	gt_text_make_printable(world->why);
	world->failed_ns = gt_clock_ns();
	atomic_store(&world->failed, 1);
	gt_world_note_gap(world);
	gt_world_note_silence(world);
	frame.bytes = (uint32_t)strlen(world->why);
	frame.payload = world->why;
	gt_world_send(world, &frame);
	pthread_cond_broadcast(&world->changed);
}

void gt_world_lacks_memory(struct gt_world *world)
{
	gt_world_fail(world, "%s: out of memory",
		      world->members[world->config.rank].called);
}

void gt_world_abort_for(struct gt_world *world, const struct gt_err *err)
{
	char words[sizeof(err->where) + sizeof(err->text)];

	gt_err_words(err, words, sizeof(words));
	gt_world_abort(world, words);
}

void gt_world_abort(struct gt_world *world, const char *why)
{
	pthread_mutex_lock(&world->mutex);
	gt_world_fail(world, "%s: %s",
		      world->members[world->config.rank].called, why);
	pthread_mutex_unlock(&world->mutex);
	gt_world_wake(world);
}

/*
 * Whether two processes are on one host: beside a parent all are, else by their
 * names: "process 3 (node3, pid 77)".
 */
static int gt_world_share_host(const struct gt_world *world, uint32_t a,
			       uint32_t b)
{
	const char *one = strchr(world->members[a].called, '(');
	const char *other = strchr(world->members[b].called, '(');
	size_t len = one ? strcspn(one, ",") : 0;

	return world->config.has_parent ||
	       (one && other && strcspn(other, ",") == len &&
		!memcmp(one, other, len));
}

/*
 * Without process 0 nobody knows who else is left: the one that goes next may
 * have gone with it.  So several speak, but not a thousand.  Where process 0 is
 * merely silent all are there, and one of each host speaks.
 */
int gt_world_reports_failure(const struct gt_world *world)
{
	uint32_t first = 1, rank = world->config.rank;

	if (gt_world_is_root(world))
		return 1;
	while (first < rank && !gt_world_share_host(world, first, rank))
		first++;
	if (!world->orphan || first == rank)
		return world->orphan;
	return !world->by_silence && !world->config.has_parent &&
	       rank < GT_WORLD_SPEAKERS;
}

const _Atomic int *gt_world_end_flag(const struct gt_world *world)
{
	return &world->failed;
}

int gt_world_failed(struct gt_world *world, struct gt_err *err)
{
	if (!atomic_load(&world->failed))
		return GT_OK;
	pthread_mutex_lock(&world->mutex);
	gt_err_set(err, GT_ESYS, NULL, "%s", world->why);
	pthread_mutex_unlock(&world->mutex);
	return GT_ESYS;
}
