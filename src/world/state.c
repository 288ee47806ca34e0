/*
 * This tells what is known of a job without asking the other processes, and how
 * its thread is woken and given something to send.
 */
#include "world/internal.h"

#include <string.h>
#include <unistd.h>

enum {
	/*
	 * The grace is such a part of the time limit, so that the ranks' own
	 * verdicts on who waits, which take all of it, come later.
	 */
	GT_WORLD_GRACE_PARTS = 32,
	GT_WORLD_GRACE_NS = 1000000000, /* at most */
};

/*
 * Processes with a parent have all started and meet at once.  Whoever gave up
 * before all have come in would leave others before a closed door.
 */
int gt_world_is_interrupted(const struct gt_world *world)
{
	int are_in = world->last_round || world->nhere == world->config.size;

	return world->config.interrupt &&
	       (!world->config.has_parent || are_in) &&
	       atomic_load(world->config.interrupt);
}

void gt_world_wake(struct gt_world *world)
{
	uint64_t one = 1;

	if (write(world->wake_fd, &one, sizeof(one)) < 0) {
		/* It is full, so the thread is awake. */
	}
}

void gt_world_send(struct gt_world *world, const struct gt_frame *frame)
{
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++)
		if (world->members[r].state == GT_MEMBER_HERE)
			gt_wire_put(&world->members[r].wire, frame);
}

void gt_world_refuse(struct gt_wire *wire, const char *why)
{
	struct gt_frame frame = {.type = GT_FRAME_ABORT,
				 .bytes = (uint32_t)strlen(why),
				 .payload = why};

	if (gt_wire_put(wire, &frame))
		gt_wire_flush(wire);
	gt_wire_close(wire);
}

uint32_t gt_world_rank(const struct gt_world *world)
{
	return world->config.rank;
}

uint32_t gt_world_size(const struct gt_world *world)
{
	return world->config.size;
}

int64_t gt_world_timeout_ns(const struct gt_world *world)
{
	return world->config.timeout_ns;
}

int64_t gt_world_grace_ns(const struct gt_world *world)
{
	int64_t part_ns = world->config.timeout_ns / GT_WORLD_GRACE_PARTS;

	return part_ns < GT_WORLD_GRACE_NS ? part_ns : GT_WORLD_GRACE_NS;
}

const struct gt_world_config *gt_world_config(const struct gt_world *world)
{
	return &world->config;
}

const struct gt_secret *gt_world_secret(const struct gt_world *world)
{
	return &world->config.secret;
}

const char *gt_world_name(struct gt_world *world, uint32_t rank)
{
	return world->members[rank].called;
}

void gt_world_progress(struct gt_world *world, uint64_t progress)
{
	atomic_store_explicit(&world->progress, progress, memory_order_relaxed);
}
