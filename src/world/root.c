/*
 * Process 0 alone does this: it admits the others, collects what they tell, and
 * watches them.
 */
#include "world/internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/must.h"

/*
 * So many of the processes that are silent are named, which leaves room for
 * their names in the message.
 */
enum { GT_ROOT_NAMED = 3 };

/* Why a process that knows the secret may not come in; "": it may. */
static void gt_root_object(const struct gt_world *world,
			   const struct gt_auth_answer *answer, char why[128])
{
	why[0] = '\0';
	if (answer->kind != GT_CONNECTION_CONTROL)
		snprintf(why, 128, "this is the door for control");
	else if (answer->size != world->config.size)
		snprintf(why, 128, "the job has %u processes, not %u",
			 world->config.size, answer->size);
	else if (!answer->rank || answer->rank >= world->config.size ||
		 world->members[answer->rank].state != GT_MEMBER_ABSENT)
		snprintf(why, 128, "there is a process %u already",
			 answer->rank);
}

/*
 * Who comes when the job has failed is let in all the same, to hear the reason:
 * a connection that is closed at once can lose its last words.
 */
void gt_root_enter(void *arg, struct gt_wire *wire,
		   const struct gt_auth_answer *answer)
{
	struct gt_frame end = {.type = GT_FRAME_ABORT};
	struct gt_world *world = arg;
	int failed = atomic_load(&world->failed);
	struct gt_member *member;
	char why[128];

	gt_root_object(world, answer, why);
	if (*why) {
		gt_world_refuse(wire, failed ? world->why : why);
		return;
	}
	member = &world->members[answer->rank];
	member->wire = *wire;
	member->state = GT_MEMBER_HERE;
	world->nhere++;
	/* Each number is given once, and one of them is process 0's own. */
	GT_MUST(world->nhere <= world->config.size);
	end.bytes = (uint32_t)strlen(world->why);
	end.payload = world->why;
	if (failed)
		gt_wire_put(&member->wire, &end);
	pthread_cond_broadcast(&world->changed);
}

/* All have told their parts: pass them on to all. */
static void gt_root_spread(struct gt_world *world)
{
	struct gt_frame frame = {.type = GT_FRAME_ALL, .seq = world->round};
	struct gt_member *member;
	uint32_t len;

	/* Others may be a round ahead, but not without process 0's own part. */
	GT_MUST(world->round == world->last_round + 1);
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
			gt_world_lacks_memory(world);
	world->last_round = world->round;
	world->still_ns = 0;
	pthread_cond_broadcast(&world->changed);
}

void gt_root_part(struct gt_world *world, uint32_t rank, const void *bytes,
		  size_t len)
{
	struct gt_member *member = &world->members[rank];

	/* A round that is not over by now is so for nobody. */
	if (atomic_load(&world->failed))
		return;
	member->part.len = 0;
	gt_buf_add(&member->part, bytes, len);
	member->has_part = 1;
	if (member->part.failed) {
		gt_world_lacks_memory(world);
		return;
	}
	for (uint32_t r = 0; r < world->config.size; r++)
		if (!world->members[r].has_part)
			return;
	gt_root_spread(world);
}

/* Print the names of those that are missing in the round. */
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

static void gt_root_address(int fd, int own, struct gt_net_address *address)
{
	struct sockaddr *name = (struct sockaddr *)&address->storage;

	*address = (struct gt_net_address){.len = sizeof(address->storage)};
	if (own ? getsockname(fd, name, &address->len)
		: getpeername(fd, name, &address->len))
		address->storage.ss_family = AF_UNSPEC;
}

/*
 * Whether this process is rather the one that is cut off: there are several
 * other hosts, and nobody there is heard.
 */
static int gt_root_is_cut_off(const struct gt_world *world, int64_t least_ns)
{
	struct gt_net_address own, peer, first = {.len = 0};
	int several = 0;

	for (uint32_t r = 1; r < world->config.size; r++) {
		const struct gt_member *member = &world->members[r];

		if (member->state != GT_MEMBER_HERE)
			continue;
		gt_root_address(member->wire.fd, 1, &own);
		gt_root_address(member->wire.fd, 0, &peer);
		if (gt_net_is_same(&own, &peer))
			continue;
		if (member->silent_ns < least_ns)
			return 0;
		if (!first.len)
			first = peer;
		several |= !gt_net_is_same(&first, &peer);
	}
	return several;
}

/* Tell those that are heard who is not: a regrouping does not wait for them. */
static void gt_root_tell_silent(struct gt_world *world, int64_t least_ns)
{
	struct gt_buf list = GT_BUF_INIT;
	struct gt_frame frame = {.type = GT_FRAME_SILENT};
	uint32_t rank;

	for (uint32_t r = 1; r < world->config.size; r++) {
		struct gt_member *member = &world->members[r];

		if (member->state != GT_MEMBER_HERE ||
		    member->silent_ns < least_ns)
			continue;
		member->is_silent = 1;
		rank = htonl(r);
		gt_buf_add(&list, &rank, sizeof(rank));
	}
	frame.bytes = (uint32_t)list.len;
	frame.payload = list.text;
	if (!list.failed)
		gt_world_send(world, &frame);
	gt_buf_release(&list);
}

/*
 * One process has been silent for too long.  Those that have been nearly so
 * long are named as well: a host or a cable has taken them all, and which is
 * first is chance.
 */
void gt_root_silence(struct gt_world *world)
{
	int64_t least_ns = world->config.timeout_ns / 2, all_ns = INT64_MAX;
	char names[512] = "", more[32] = "";
	uint32_t n = 0;
	size_t at = 0;
	int cut;

	for (uint32_t r = 1; r < world->config.size; r++) {
		const struct gt_member *member = &world->members[r];

		if (member->state != GT_MEMBER_HERE ||
		    member->silent_ns < least_ns)
			continue;
		if (member->silent_ns < all_ns)
			all_ns = member->silent_ns;
		if (n++ < GT_ROOT_NAMED)
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       "%s%s", at ? ", " : "",
					       member->called);
	}
	if (n > GT_ROOT_NAMED)
		snprintf(more, sizeof(more), " and %u more", n - GT_ROOT_NAMED);
	if (world->config.has_door)
		gt_root_tell_silent(world, least_ns);
	cut = gt_root_is_cut_off(world, least_ns);
	gt_world_fail(world, "%s%s %s silent for %.1f s%s%s%s", names, more,
		      n > 1 ? "are" : "is", (double)all_ns / 1e9,
		      cut ? "; is " : "", cut ? world->members[0].called : "",
		      cut ? " cut off?" : "");
}

/*
 * Count for how long some have waited in a round while nobody gets on with
 * anything, and fail when that is too long.
 */
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
