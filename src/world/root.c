/* Process 0: lets the others in, collects what they tell, watches them. */
#include "world/inside.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Tell a process of the job why it cannot come in; the job goes on. */
static void gt_root_refuse(struct gt_wire *wire, const char *why)
{
	struct gt_frame frame = {.type = GT_FRAME_ABORT,
				 .bytes = (uint32_t)strlen(why),
				 .payload = why};

	if (gt_wire_put(wire, &frame))
		gt_wire_flush(wire);
	gt_wire_close(wire);
}

void gt_root_enter(void *arg, struct gt_wire *wire,
		   const struct gt_auth_answer *answer)
{
	struct gt_world *world = arg;
	struct gt_member *member;
	char why[128];

	why[0] = '\0';
	if (answer->kind != GT_DOOR_CONTROL)
		snprintf(why, sizeof(why), "this is the door for control");
	else if (answer->size != world->config.size)
		snprintf(why, sizeof(why), "the job has %u processes, not %u",
			 world->config.size, answer->size);
	else if (!answer->rank || answer->rank >= world->config.size ||
		 world->members[answer->rank].state != GT_MEMBER_ABSENT)
		snprintf(why, sizeof(why), "there is a process %u already",
			 answer->rank);
	if (*why) {
		gt_root_refuse(wire, why);
		return;
	}
	member = &world->members[answer->rank];
	member->wire = *wire;
	member->state = GT_MEMBER_HERE;
	world->nhere++;
	pthread_cond_broadcast(&world->changed);
}

/* All have told: pass it to all. */
static void gt_root_spread(struct gt_world *world)
{
	struct gt_frame frame = {.type = GT_FRAME_ALL, .seq = world->meeting};
	struct gt_member *member;
	uint32_t len;

	world->all.len = 0;
	for (uint32_t r = 0; r < world->config.size; r++) {
		member = &world->members[r];
		len = htonl((uint32_t)member->part.len);
		gt_buf_add(&world->all, &len, sizeof(len));
		gt_buf_add(&world->all, member->part.text, member->part.len);
		member->part.len = 0;
		member->has_part = 0;
	}
	frame.bytes = (uint32_t)world->all.len;
	frame.payload = world->all.text;
	for (uint32_t r = 1; r < world->config.size; r++)
		if (world->all.failed ||
		    !gt_wire_put(&world->members[r].wire, &frame))
			gt_world_fail(world, "out of memory");
	world->heard = world->meeting;
	world->still_ns = 0;
	pthread_cond_broadcast(&world->changed);
}

void gt_root_part(struct gt_world *world, uint32_t rank, const void *bytes,
		  size_t len)
{
	struct gt_member *member = &world->members[rank];

	member->part.len = 0;
	gt_buf_add(&member->part, bytes, len);
	member->has_part = 1;
	if (member->part.failed) {
		gt_world_fail(world, "out of memory");
		return;
	}
	for (uint32_t r = 0; r < world->config.size; r++)
		if (!world->members[r].has_part)
			return;
	gt_root_spread(world);
}

/* Names of those that have not come to the meeting. */
static void gt_root_missing(const struct gt_world *world, char *text,
			    size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t r = 0; r < world->config.size && at < size; r++)
		if (!world->members[r].has_part)
			at += (size_t)snprintf(text + at, size - at, "%s%s",
					       at ? ", " : "",
					       world->members[r].called);
}

/* Some wait at a meeting, and nobody gets on with anything. */
void gt_root_watch(struct gt_world *world, int64_t passed_ns)
{
	uint64_t sum = atomic_load(&world->progress);
	uint32_t waiting = 0;
	char missing[512];

	for (uint32_t r = 0; r < world->config.size; r++) {
		sum += world->members[r].progress;
		waiting += (uint32_t)world->members[r].has_part;
	}
	world->still_ns += passed_ns;
	if (!waiting || sum != world->progress_sum)
		world->still_ns = 0;
	world->progress_sum = sum;
	if (world->still_ns < 2 * world->config.timeout_ns)
		return;
	gt_root_missing(world, missing, sizeof(missing));
	gt_world_fail(world, "%s came to no meeting for %.1f s", missing,
		      (double)world->still_ns / 1e9);
}
